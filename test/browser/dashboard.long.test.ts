import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RealProvider, startRealProvider } from '../account/real-provider.ts';
import { catchMails, type SmtpCatcher } from '../account/smtp-catcher.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { finished, type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage, type Page } from './chromium.ts';

const SECRET = 'secret-of-a-browser-test';
const MARKETS = '/v1/btc/markets?limit=1';
const CLIENTS = 50;
/** Requests of each client after the first refusal: an address may send 600 without a valid key in a minute. */
const LATER_REQUESTS = 5;

describe.skipIf(!HAS_CHROMIUM)('people and admins in a browser (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let origin: string;
  let smtp: SmtpCatcher;
  let provider: RealProvider;
  let server: RunningServer;

  beforeAll(async () => {
    const [port, providerPort] = [await freePort(), await freePort()];
    origin = `http://127.0.0.1:${port}`;
    const secretFile = join(directory.path, 'secret');
    writeFileSync(secretFile, SECRET, { mode: 0o600 });
    smtp = await catchMails();
    provider = await startRealProvider(providerPort, SECRET, `${origin}/sign-in/oidc/judge/callback`);
    server = await startServer(data, [
      ...['--demo', '--port', String(port), '--public-url', origin, '--sign-up', 'open'],
      ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@example.com'],
      ...['--oidc-providers', `judge ${provider.issuer} bookreel ${secretFile}`],
    ]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const command = (...args: string[]) => outputOf([...args, '--data', data]);
  const statusWith = async (key: string): Promise<number> => {
    const answer = await fetch(`${origin}${MARKETS}`, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    return answer.status;
  };
  const signInByLink = async (page: Page, email: string) => {
    await page.goto((await command('account', 'link', email, '--public-url', origin)).trim());
    await press(page, /Sign in as/);
    await see(page, /Signed in as/);
  };

  const signInByMail = async (page: Page) => {
    await page.goto(`${origin}/sign-in`);
    await page.locator('input[name=email]').fill('ada@example.com');
    await press(page, /Send/);
    await page.locator('input[name=code]').fill((await smtp.nth(0)).code);
    await press(page, /Sign in/);
    await see(page, 'ada@example.com');
  };
  const signInAtProvider = async (page: Page) => {
    await page.goto(`${origin}/sign-in`);
    await page.locator('a[href="/sign-in/oidc/judge"]').click();
    await page.locator('input[name=login]').fill('eve@example.com');
    await page.locator('input[name=password]').fill('any');
    await press(page, /Sign-in/);
    await press(page, /Continue/);
    await see(page, 'eve@example.com');
  };

  test.each([
    ['by email', signInByMail],
    ['at a provider', signInAtProvider],
  ])('a person signs up %s, creates, uses, rotates and revokes a key, and signs out', async (_, signIn) => {
    await using watched = await openPage();
    const { page } = watched;
    await signIn(page);
    await page.goto(`${origin}/account`);
    await follow(page, 'Create a key');
    await page.locator('input[name=name]').fill('backtests');
    await press(page, /Create the key/);
    const key = await shownKey(page);
    const [line = ''] = await page.locator('#command').allInnerTexts();
    const { stdout, code } = await finished(['sh', '-c', line], { env: { PATH: process.env.PATH! } });
    expect([code, (JSON.parse(stdout) as { data: { symbol: string }[] }).data.map(({ symbol }) => symbol)]).toEqual([
      0,
      ['btc'],
    ]);

    await page.goto(`${origin}/account/usage`);
    await see(page, '/v1/{coin}/markets');

    await page.goto(`${origin}/account/keys`);
    await follow(page, 'backtests');
    await unfold(page, 'Rotate');
    await press(page, /Rotate now/);
    const rotated = await shownKey(page);
    expect(rotated).not.toBe(key);
    expect([await statusWith(key), await statusWith(rotated)]).toEqual([401, 200]);

    await page.goto(`${origin}/account/keys`);
    await follow(page, 'backtests');
    await unfold(page, 'Revoke');
    await press(page, /Revoke now/);
    await see(page, /is revoked: requests with it are refused/);
    expect(await statusWith(rotated)).toBe(401);

    await press(page, /Signed in as/);
    await press(page, /Sign out/);
    await see(page, 'Send');
    await page.goto(`${origin}/account/keys`);
    expect(page.url()).toBe(`${origin}/sign-in`);
    // The console has a line about each violation; the provider's pages have other complaints.
    expect(watched.complaints.filter((text) => /policy|trusted/i.test(text))).toEqual([]);
  });

  test('an admin disables an account: its next request fails, and so does the next page of its browser', async () => {
    await command('account', 'create', 'admin@example.com', '--admin');
    await command('account', 'create', 'grace@example.com');
    const key = (await command('key', 'create', '--account', 'grace@example.com', '--rpm', '1000')).trim();
    await using hers = await openPage();
    await signInByLink(hers.page, 'grace@example.com');
    expect(await statusWith(key)).toBe(200);

    await using watched = await openPage();
    const { page } = watched;
    await signInByLink(page, 'admin@example.com');
    await page.goto(`${origin}/admin/accounts`);
    await follow(page, 'grace@example.com');
    await unfold(page, 'Disable');
    await press(page, /Disable now/);
    await page.getByText('disabled').first().waitFor();
    expect(await statusWith(key)).toBe(401);
    await hers.page.goto(`${origin}/account`);
    expect(hers.page.url()).toBe(`${origin}/sign-in`);
    expect(watched.complaints).toEqual([]);
  });

  test(`a key that is rotated in the browser has no success of its old form, while ${CLIENTS} clients use it`, async () => {
    await command('account', 'create', 'busy@example.com');
    const limits = ['--tier', 'enterprise', '--rpm', '1000000'];
    const old = (await command('key', 'create', '--account', 'busy@example.com', '--name', 'bot', ...limits)).trim();
    await using watched = await openPage();
    const { page } = watched;
    await signInByLink(page, 'busy@example.com');
    await page.goto(`${origin}/account/keys`);
    await follow(page, 'bot');
    await unfold(page, 'Rotate');

    let answered = 0;
    let isRefused = false;
    let isShown = false;
    /** Of the requests that began after the first refusal, or after the browser had the new key. */
    const later: number[] = [];
    const client = async () => {
      for (let sent = 0; sent < LATER_REQUESTS; ) {
        const isLater = isRefused || isShown;
        const status = await statusWith(old);
        answered += 1;
        isRefused ||= status === 401;
        if (!isLater) continue;
        later.push(status);
        sent += 1;
      }
    };
    const clients = Array.from({ length: CLIENTS }, client);
    while (answered < CLIENTS * 2) await Bun.sleep(1);
    expect(isRefused).toBe(false);
    await press(page, /Rotate now/);
    const rotated = await shownKey(page);
    isShown = true;
    await Promise.all(clients);
    expect(later.length).toBe(CLIENTS * LATER_REQUESTS);
    expect(new Set(later)).toEqual(new Set([401]));
    expect(await statusWith(rotated)).toBe(200);
  });
});

const press = async (page: Page, name: RegExp) => await page.getByRole('button', { name }).first().click();
const see = async (page: Page, text: string | RegExp) => await page.getByText(text).first().waitFor();
const follow = async (page: Page, text: string) =>
  await page
    .getByRole('link', { name: new RegExp(`^${text}$`) })
    .first()
    .click();
const unfold = async (page: Page, text: string) => await page.locator(`summary:text-is("${text}")`).click();

async function shownKey(page: Page): Promise<string> {
  await see(page, /br_live_/);
  const [key = ''] = await page.locator('#key').allInnerTexts();
  expect(key).toMatch(/^br_live_\w+$/);
  return key;
}
