import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signInAtProvider, startRealProvider } from '../account/real-provider.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from './browser.ts';

test('A certified provider signs people in and states when, demands the proof again of those who are signed in, and an address that it has not verified is proved by email', async () => {
  using directory = temporaryDirectory();
  const secretFile = join(directory.path, 'secret');
  writeFileSync(secretFile, 'a secret: with characters / that % need escapes\n', { mode: 0o600 });
  const [port, providerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  await using smtp = await catchMails();
  const secret = 'a secret: with characters / that % need escapes';
  await using provider = await startRealProvider(providerPort, secret, `${url}/sign-in/oidc/judge/callback`);
  await using server = await startServer(join(directory.path, 'data'), [
    ...['--port', String(port), '--public-url', url, '--sign-up', 'open'],
    ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@example.com'],
    ...['--oidc-providers', `judge ${provider.issuer}\n  bookreel ${secretFile}`],
  ]);
  const arrive = async (
    browser: PlainBrowser,
    email: string,
    path = '/sign-in/oidc/judge',
    known?: Map<string, string>,
  ) => {
    const away = await browser.open(path, { 'sec-fetch-site': 'same-origin' });
    return await browser.open(await signInAtProvider(away.headers.get('location')!, email, known));
  };

  const browser = new PlainBrowser(server.origin);
  expect((await arrive(browser, 'ada@example.com')).headers.get('location')).toBe('/account');
  expect((await browser.open('/account')).text).toContain('Signed in as ada@example.com');

  const unproven = new PlainBrowser(server.origin);
  expect((await arrive(unproven, 'unverified@example.com')).headers.get('location')).toBe('/sign-in/code');
  expect((await unproven.open('/account')).status).toBe(303);
  expect((await unproven.post('/sign-in/code', { code: (await smtp.nth(0)).code })).headers.get('location')).toBe(
    '/account',
  );
  const again = new PlainBrowser(server.origin);
  expect((await arrive(again, 'unverified@example.com')).headers.get('location')).toBe('/account');
  expect((await again.open('/account')).text).toContain('unverified@example.com');

  // The provider knows the browser, signs it in without a password, and states that it asked for one a moment ago.
  const known = new Map<string, string>();
  const admin = new PlainBrowser(server.origin);
  await arrive(admin, 'ada@example.com', '/sign-in/oidc/judge', known);
  await admin.post('/sign-out');
  await outputOf(['account', 'role', 'ada@example.com', 'admin', '--data', join(directory.path, 'data')]);
  expect((await arrive(admin, 'nobody types', '/sign-in/oidc/judge', known)).headers.get('location')).toBe('/account');
  expect((await admin.open('/admin/accounts')).status).toBe(200);
  // A browser that is signed in here has to prove it again there.
  const { searchParams } = new URL((await admin.open('/sign-in/oidc/judge')).headers.get('location')!);
  expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['login', '0']);
  const repeated = await arrive(admin, 'ada@example.com', '/sign-in/oidc/judge', known);
  expect(repeated.headers.get('location')).toBe('/account');
  expect((await admin.open('/admin/accounts')).status).toBe(200);
  const linked = await arrive(admin, 'second@example.com', '/account/settings/providers/judge');
  expect(linked.headers.get('location')).toBe('/account/settings?linked');
});
