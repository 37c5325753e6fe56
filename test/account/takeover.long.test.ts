import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from '../web/browser.ts';
import { type MockProvider, startMockProvider } from './oidc-provider.ts';
import { catchMails } from './smtp-catcher.ts';

const BOSS = 'boss@corp.example';
const ADA = 'ada@corp.example';
const OWN = { 'sec-fetch-site': 'same-origin' };

/** A service with the providers `corp` and `other`, its commands, and a restart. */
async function startService() {
  await using resources = new AsyncDisposableStack();
  const directory = resources.use(temporaryDirectory());
  const smtp = resources.use(await catchMails());
  const corp = resources.use(await startMockProvider());
  const other = resources.use(await startMockProvider());
  const data = join(directory.path, 'data');
  const secretFile = join(directory.path, 'secret');
  writeFileSync(secretFile, 'secret\n', { mode: 0o600 });
  const port = String(await freePort());
  const start = () =>
    startServer(data, [
      ...['--port', port, '--public-url', `http://127.0.0.1:${port}`, '--sign-up', 'open'],
      ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@corp.example'],
      '--oidc-providers',
      `corp ${corp.issuer} bookreel ${secretFile}, other ${other.issuer} bookreel ${secretFile}`,
    ]);
  let server = await start();
  resources.defer(() => server[Symbol.asyncDispose]());
  const command = (...args: string[]) => outputOf([...args, '--data', data]);
  const kept = resources.move();
  const newBrowser = () => new PlainBrowser(server.origin);
  /** Opens the link to a provider, and comes back from it with these claims. */
  const visit = async (browser: PlainBrowser, provider: MockProvider, path: string, claims: object) => {
    const away = await browser.open(path, OWN);
    if (away.status !== 303) return away;
    const query = await provider.visit(away.headers.get('location')!);
    provider.nextToken(({ payload }) => Object.assign(payload, claims));
    const name = provider === corp ? 'corp' : 'other';
    return await browser.open(`/sign-in/oidc/${name}/callback${query}`);
  };
  return {
    smtp,
    corp,
    other,
    command,
    newBrowser,
    visit,
    async signedIn(email: string) {
      const link = await command('account', 'link', email, '--public-url', server.origin);
      const browser = newBrowser();
      await browser.post('/sign-in/link', { token: new URL(link.trim()).searchParams.get('token')! });
      return browser;
    },
    async restart() {
      await server.stop('SIGKILL');
      server = await start();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test('An identity of a second provider that states the verified address of an admin gets no page of the executable, no email and no link; the admin links it.', async () => {
  await using service = await startService();
  const { smtp, corp, other, command, newBrowser, visit } = service;
  await command('account', 'create', BOSS, '--admin');
  const boss = await service.signedIn(BOSS);
  const claims = (sub: string, verified = true) => ({ sub, email: BOSS, email_verified: verified });

  for (const [provider, name] of [
    [other, 'other'],
    [corp, 'corp'],
  ] as const) {
    const stranger = newBrowser();
    const refused = await visit(stranger, provider, `/sign-in/oidc/${name}`, claims('stranger'));
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('has an account here: sign in to it by email or at a linked provider, then link'),
    ]);
    expect(stranger.cookies.has('__Host-bookreel-session')).toBe(false);
    expect((await stranger.open('/admin/accounts')).status).toBe(303);
  }
  // For an address that is not verified the answer is the same with an account and without one.
  const answers = [];
  for (const email of [BOSS, 'nobody@corp.example']) {
    const unverified = { ...claims(`unverified ${email}`, false), email };
    const { status, headers, text } = await visit(newBrowser(), other, '/sign-in/oidc/other', unverified);
    answers.push([status, headers.get('location'), text]);
  }
  expect(answers).toEqual(Array(2).fill([303, '/sign-in/code', '']));
  await smtp.nth(1);

  // Another site has signed the admin's browser in at the provider, and sends it to the link.
  for (const site of ['cross-site', 'same-site', 'none', undefined]) {
    const headers: Record<string, string> = site === undefined ? {} : { 'sec-fetch-site': site };
    const { status, text } = await boss.open('/account/settings/providers/corp', headers);
    expect([site, status, text]).toEqual([
      site,
      403,
      expect.stringContaining('is linked by the button in your settings'),
    ]);
  }
  const linked = await visit(boss, corp, '/account/settings/providers/corp', claims('boss'));
  expect([linked.status, linked.headers.get('location')]).toEqual([303, '/account/settings?linked']);
  const back = newBrowser();
  expect((await visit(back, corp, '/sign-in/oidc/corp', claims('boss'))).headers.get('location')).toBe('/account');
  // The provider did not say when the person proved who they are: not recent enough for administration, and not after a second try.
  expect((await back.open('/admin/accounts')).headers.get('location')).toBe('/sign-in');
  const hourAgo = Math.floor(Date.now() / 1000) - 3600;
  for (const proved of [{}, { auth_time: hourAgo }]) {
    const again = await visit(back, corp, '/sign-in/oidc/corp', { ...claims('boss'), ...proved });
    expect([again.status, again.text]).toEqual([
      403,
      expect.stringContaining('sign in by email to confirm that it is you'),
    ]);
  }
  expect((await back.open('/account')).status).toBe(200);
  const proved = { ...claims('boss'), auth_time: Math.floor(Date.now() / 1000) };
  expect((await visit(back, corp, '/sign-in/oidc/corp', proved)).headers.get('location')).toBe('/admin/accounts');
  expect((await back.open('/admin/accounts')).status).toBe(200);
  expect((await smtp.nth(2)).to).toEqual([BOSS]);
  expect(smtp.mails.length).toBe(3);
});

test('The owner of an account undoes what a thief changed twice in the executable, once, after a restart, without being signed in.', async () => {
  await using service = await startService();
  const { smtp, corp, command, newBrowser, visit } = service;
  await command('account', 'create', ADA);
  const owner = await service.signedIn(ADA);
  const thief = await service.signedIn(ADA);
  const changeTo = async (email: string) => {
    const before = smtp.mails.length;
    expect((await thief.post('/account/settings/email', { email })).headers.get('location')).toBe(
      '/account/settings?sent',
    );
    const { link } = await smtp.nth(before);
    expect((await thief.post('/account/settings/link', { token: link })).status).toBe(303);
    return [await smtp.nth(before + 1), await smtp.nth(before + 2)];
  };
  const mails = await changeTo('thief@evil.example');
  const toOwner = mails.find(({ to }) => to[0] === ADA)!;
  expect(toOwner.raw).not.toContain('evil.example');
  expect((await owner.open('/account')).status).toBe(303);
  await changeTo('another@evil.example');
  const linked = await visit(thief, corp, '/account/settings/providers/corp', {
    sub: 'thief',
    email: 'x@evil.example',
  });
  expect(linked.headers.get('location')).toBe('/account/settings?linked');
  expect((await smtp.nth(6)).to).toEqual(['another@evil.example']);
  await service.restart();

  const anyone = newBrowser();
  const path = `/sign-in/undo?token=${toOwner.link}`;
  const shown = await anyone.open(path);
  expect([shown.status, shown.text]).toEqual([200, expect.stringContaining(`<strong>${ADA}</strong>`)]);
  expect(shown.text).not.toContain('evil.example');
  expect((await thief.open('/account')).status).toBe(200);
  const foreign = await anyone.post('/sign-in/undo', { token: toOwner.link }, { 'sec-fetch-site': 'cross-site' });
  expect(foreign.status).toBe(403);
  const undone = await anyone.post('/sign-in/undo', { token: toOwner.link });
  expect([undone.status, undone.text]).toEqual([200, expect.stringContaining(ADA)]);
  expect((await thief.open('/account')).status).toBe(303);
  for (const { link } of smtp.mails.filter(({ raw }) => raw.includes('/sign-in/undo'))) {
    expect((await anyone.open(`/sign-in/undo?token=${link}`)).status).toBe(403);
    expect((await anyone.post('/sign-in/undo', { token: link })).status).toBe(403);
  }
  const { email, identities, audit } = JSON.parse(await command('account', 'show', ADA, '--json'));
  expect([email, identities]).toEqual([ADA, []]);
  expect(audit.map(({ action }: { action: string }) => action).slice(0, 3)).toEqual([
    'account.undo',
    'identity.unlink',
    'account.email',
  ]);
  const thiefAgain = await visit(newBrowser(), corp, '/sign-in/oidc/corp', {
    sub: 'thief',
    email: ADA,
    email_verified: true,
  });
  expect(thiefAgain.status).toBe(403);
});
