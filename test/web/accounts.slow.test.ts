import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openActivity } from '../../src/store/activity.ts';
import { ACCOUNT_FORMS, ACCOUNT_PAGES } from '../../src/web/account/routes.ts';
import { SIGN_IN_FORMS } from '../../src/web/sign-in/sign-in-pages.tsx';
import { type MockProvider, startMockProvider } from '../account/oidc-provider.ts';
import { catchMails, type SmtpCatcher } from '../account/smtp-catcher.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { type RunningServer, runExecutable, startServer } from '../support/executable.ts';
import { PlainBrowser, type Shown } from './browser.ts';

const ADA = 'ada@example.com';
const SESSION = '__Host-bookreel-session';
/** Pages that show something without a parameter. */
const PAGES = ['/sign-in', '/sign-in/code', ...Object.keys(ACCOUNT_PAGES).filter((path) => !/:|\/link$/.test(path))];
const FORMS = [...Object.keys(SIGN_IN_FORMS), ...Object.keys(ACCOUNT_FORMS)];

describe('The pages of accounts', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const secretFile = join(directory.path, 'secret');
  let smtp: SmtpCatcher;
  let provider: MockProvider;
  let server: RunningServer;
  const command = (...args: string[]) => runCommand([...args, '--data', data]);
  const newBrowser = () => new PlainBrowser(server.origin);

  beforeAll(async () => {
    writeFileSync(secretFile, 'secret-of-the-client\n', { mode: 0o600 });
    smtp = await catchMails();
    provider = await startMockProvider();
    const port = String(await freePort());
    server = await startServer(data, [
      ...[
        '--port',
        port,
        '--public-url',
        `http://127.0.0.1:${port}`,
        '--sign-up',
        'invited',
        '--sign-up-domains',
        'example.com',
      ],
      ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@example.com', '--access-log', 'on'],
      ...['--oidc-providers', `mock ${provider.issuer} bookreel ${secretFile}`],
    ]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  async function signedIn(email = ADA): Promise<PlainBrowser> {
    const browser = newBrowser();
    const { stdout } = await command('account', 'link', email, '--public-url', server.origin);
    const token = new URL(stdout.trim()).searchParams.get('token')!;
    expect((await browser.post('/sign-in/link', { token })).headers.get('location')).toBe('/account');
    return browser;
  }

  test('A person signs up by code, sees the keys, and signs out', async () => {
    const browser = newBrowser();
    expect((await browser.open('/account')).headers.get('location')).toBe('/sign-in');
    expect((await browser.open('/sign-in')).text).toContain('action="/sign-in/email"');
    const asked = await browser.post('/sign-in/email', { email: ADA });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/sign-in/code']);
    const { code } = await smtp.nth(0);
    const wrong = await browser.post('/sign-in/code', { code: '1' });
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining('4 of 5 tries')]);
    const early = await browser.post('/sign-in/code', { code });
    expect([early.status, early.text]).toEqual([
      429,
      expect.stringContaining('Wait 1 second before you type the next code'),
    ]);
    // The form is off until then, and comes back without a script.
    expect(early.text).toMatch(/<input[^>]* name="code"[^>]* disabled/);
    expect(early.text).toContain('<button class="button primary wide" type="submit" disabled>Sign in</button>');
    expect(early.headers.get('refresh')).toBe('1;url=/sign-in/code');
    const ready = (await browser.open('/sign-in/code')).text;
    expect([ready.includes(' disabled'), ready.includes('Only addresses that may sign in here get one.')]).toEqual([
      false,
      true,
    ]);
    await Bun.sleep(1000);
    const entered = await browser.post('/sign-in/code', { code });
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/account']);
    expect(entered.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-bookreel-session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=7776000$/,
      ),
      expect.stringMatching(
        /^__Host-bookreel-device=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=34560000$/,
      ),
      '__Host-bookreel-attempt=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      '__Host-bookreel-passkey=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      '__Host-bookreel-next=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      '__Host-bookreel-address=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
    ]);
    expect((await browser.open('/account')).text).toMatch(/Valid keys<\/dt><dd>0<\/dd><dd class="note">of 10/);
    const key = (await command('key', 'create', '--account', ADA, '--name', '<script>')).stdout.trim();
    const shown = await browser.open('/account/keys');
    expect(shown.text).toContain(`Signed in as ${ADA}`);
    expect(shown.text).toContain(`${key.slice(0, 14)}…`);
    expect(shown.text).toContain('&lt;script>');
    expect([shown.text.includes(key), shown.text.includes('<script>')]).toEqual([false, false]);
    const cookie = browser.cookies.get(SESSION)!;
    expect((await browser.post('/sign-out')).headers.get('location')).toBe('/sign-in');
    expect([browser.cookies.has(SESSION), (await browser.open('/account')).status]).toEqual([false, 303]);
    const stale = await fetch(`${server.origin}/account`, {
      headers: { cookie: `${SESSION}=${cookie}` },
      redirect: 'manual',
    });
    expect(stale.headers.get('location')).toBe('/sign-in');
  });

  test('Opening a link of an email shows the address and a button, and changes nothing: mail scanners may open it.', async () => {
    const count = smtp.mails.length;
    await newBrowser().post('/sign-in/email', { email: ADA });
    const { link } = await smtp.nth(count);
    for (let scans = 0; scans < 3; scans += 1) {
      const page = await newBrowser().open(`/sign-in/link?token=${link}`);
      expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
      expect(page.text).toContain(`Sign in as ${ADA}`);
    }
    const browser = newBrowser();
    expect((await browser.post('/sign-in/link', { token: link })).status).toBe(303);
    expect((await browser.open('/account')).status).toBe(200);
    const again = await newBrowser().post('/sign-in/link', { token: link });
    expect([again.status, again.text]).toEqual([403, expect.stringContaining('This link was used already')]);
    expect(again.text).toContain('<a class="button primary" href="/sign-in">Send a new link</a>');
    const unknown = await newBrowser().open('/sign-in/link');
    expect(unknown.text).toContain('This link is not valid');
    expect(unknown.text).toContain(
      'A link works once, for 15 minutes. If you have copied it, check that you have all of it.',
    );
  });

  test('The answer to a request for an email is the same with an account and without', async () => {
    const described = ({ status, headers, text }: Shown, email: string) => {
      const typed = Buffer.from(email).toString('base64url');
      const kept = [...headers].filter(([name]) => !/^(?:date|x-request-id|x-ratelimit-\w+|set-cookie)$/.test(name));
      const cookies = headers.getSetCookie().map((line) => line.replace(/=[\w-]{43};/, '=…;').replace(typed, 'typed'));
      return { status, kept, cookies, text };
    };
    const [known, admitted, refused] = await Promise.all(
      [ADA, 'new@example.com', 'nobody@other.org'].map(async (email) =>
        described(await newBrowser().post('/sign-in/email', { email }), email),
      ),
    );
    expect(admitted).toEqual(known!);
    expect(refused).toEqual(known!);
    const split = await newBrowser().post('/sign-in/email', { email: 'ada@example.com\r\nBcc: eve@example.com' });
    expect([split.status, split.text]).toEqual([400, expect.stringContaining('That is not an email address')]);
  });

  test('A person signs in at a provider and comes back, and another site cannot start that.', async () => {
    const browser = newBrowser();
    for (const site of ['cross-site', 'same-site']) {
      // It would replace the cookie of a sign-in by email.
      const foreign = await browser.open('/sign-in/oidc/mock', { 'sec-fetch-site': site });
      expect([foreign.status, foreign.headers.getSetCookie()]).toEqual([403, []]);
      expect(foreign.text).toContain('Another site started this sign-in');
    }
    expect((await browser.open('/sign-in/oidc/mock', { 'sec-fetch-site': 'none' })).status).toBe(303);
    expect((await browser.open('/sign-in', { 'sec-fetch-site': 'cross-site' })).text).toContain(
      'href="/sign-in/oidc/mock"',
    );
    const away = await browser.open('/sign-in/oidc/mock', { 'sec-fetch-site': 'same-origin' });
    const query = await provider.visit(away.headers.get('location')!);
    provider.nextToken(({ payload }) => Object.assign(payload, { email: 'eve@example.com', email_verified: true }));
    const callback = `/sign-in/oidc/mock/callback${query}`;
    expect((await newBrowser().open(callback)).text).toContain('was not started in this browser');
    expect((await browser.open(callback)).headers.get('location')).toBe('/account');
    expect((await browser.open('/account')).text).toContain('eve@example.com');
    expect((await browser.open('/sign-in/oidc/other')).status).toBe(404);
  });

  test('A form is accepted if Sec-Fetch-Site says same-origin, or without it if Origin is the public URL; the Host decides nothing.', async () => {
    const browser = await signedIn();
    const origin = server.origin.replace('127.0.0.1', 'localhost');
    for (const path of FORMS) {
      const { status, text } = await browser.post(path, { email: ADA }, { 'sec-fetch-site': undefined, origin });
      expect([path, status, text]).toEqual([path, 403, expect.stringContaining('Another site sent this form')]);
    }
    expect((await browser.open('/account')).status).toBe(200);
    expect((await browser.post('/sign-out', {}, { 'sec-fetch-site': undefined })).status).toBe(303);
  });

  test('Of two requests at once with the same link, one signs in', async () => {
    const { stdout } = await command('account', 'link', ADA, '--public-url', server.origin);
    const token = new URL(stdout.trim()).searchParams.get('token')!;
    const answers = await Promise.all([1, 2, 3].map(() => newBrowser().post('/sign-in/link', { token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
  });

  test('The Host of a request decides nothing', async () => {
    const foreign = { host: 'evil.example', 'sec-fetch-site': undefined, origin: 'http://evil.example' };
    expect((await newBrowser().post('/sign-in/email', { email: ADA }, foreign)).status).toBe(403);
    const count = smtp.mails.length;
    const asked = await newBrowser().post('/sign-in/email', { email: 'host@example.com' }, { host: 'evil.example' });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/sign-in/code']);
    const { raw, link } = await smtp.nth(count);
    expect(raw).not.toContain('evil.example');
    const page = await newBrowser().open(`/sign-in/link?token=${link}`, { host: 'evil.example' });
    expect([page.status, page.text.includes('evil.example')]).toEqual([200, false]);
  });

  test('Too many sign-ins get a 429 that states when to try again', async () => {
    const email = 'often@other.org';
    for (let count = 0; count < 5; count += 1) {
      expect((await newBrowser().post('/sign-in/email', { email })).status).toBe(303);
    }
    const { status, headers, text } = await newBrowser().post('/sign-in/email', { email });
    expect([status, headers.get('retry-after')]).toEqual([429, '3600']);
    expect(text).toContain('try again in an hour');
  });

  test('A person ends sessions of the own account only', async () => {
    const [here, there] = [await signedIn(), await signedIn()];
    const eve = await signedIn('eve@example.com');
    const idsIn = ({ text }: Shown) => [...text.matchAll(/name="session" value="(\w+)"/g)].map(([, id]) => id!);
    const [eves] = idsIn(await eve.open('/account/sessions'));
    const refused = await here.post('/account/sessions/end', { session: eves! });
    expect([refused.status, refused.text]).toEqual([404, expect.stringContaining('There is no such session')]);
    const ids = idsIn(await here.open('/account/sessions'));
    await here.post('/account/sessions/end', { session: ids.at(-1)! });
    expect((await there.open('/account')).status).toBe(303);
    const third = await signedIn();
    await here.post('/account/sessions/end-all');
    expect([(await here.open('/account')).status, (await third.open('/account')).status]).toEqual([303, 303]);
    expect((await eve.open('/account')).status).toBe(200);
  });

  test('account disable ends the sessions of an account, and account sessions --end and --end-all end them without that.', async () => {
    const browser = await signedIn();
    const listed = JSON.parse((await command('account', 'sessions', ADA, '--json')).stdout) as {
      id: string;
      method: string;
    }[];
    expect(listed.map(({ method }) => method)).toEqual(['command']);
    const { stdout } = await command('account', 'sessions', ADA, '--end', listed[0]!.id, '--json');
    expect([JSON.parse(stdout), (await browser.open('/account')).status]).toEqual([[], 303]);
    const again = await signedIn();
    expect((await again.open('/account')).status).toBe(200);
    await command('account', 'disable', ADA);
    expect((await again.open('/account')).status).toBe(303);
    const link = await command('account', 'link', ADA, '--public-url', server.origin);
    expect([link.code, link.stderr]).toEqual([1, expect.stringContaining(`'${ADA}' is disabled`)]);
    await command('account', 'enable', ADA);
    expect((await again.open('/account')).status).toBe(303);
    const unseen = await signedIn();
    await command('account', 'disable', ADA);
    await command('account', 'enable', ADA);
    expect((await unseen.open('/account')).status).toBe(303);
    expect((await command('account', 'sessions', ADA, '--end', 'ses_0')).stderr).toContain('there is no such session');
  });

  test('Pages load nothing of other hosts, are not stored, and send forms only to this service', async () => {
    const browser = await signedIn();
    for (const path of PAGES) {
      const { status, headers } = await browser.open(path);
      expect([path, status, headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([
        path,
        200,
        'no-store',
        'same-origin',
      ]);
      const policy = headers.get('content-security-policy')!;
      expect(policy).toMatch(/^default-src 'none'; .*form-action 'self'; .*require-trusted-types-for 'script'/);
      expect(policy).toContain("; script-src 'self'; ");
      expect(policy).not.toMatch(/unsafe|https?:/);
    }
    const key = await fetch(`${server.origin}/v1/coins`, {
      headers: { cookie: `${SESSION}=${browser.cookies.get(SESSION)}` },
    });
    expect(key.status).toBe(401);
    const large = await browser.post('/sign-in/email', { email: 'a'.repeat(9000) });
    expect([large.status, large.text]).toEqual([400, expect.stringContaining('The form is too large')]);
    const headers = { 'content-type': 'application/json', origin: server.origin };
    const json = await fetch(`${server.origin}/sign-in/email`, { method: 'POST', body: '{}', headers });
    expect([json.status, await json.text()]).toEqual([400, expect.stringContaining('The body is not a form')]);
    expect((await fetch(`${server.origin}/sign-out`)).status).toBe(405);
  });

  // The last one: it stops the server.
  test('No session, link, code or token is in the data, a backup, the log or the access log', async () => {
    const count = smtp.mails.length;
    const browser = newBrowser();
    await browser.post('/sign-in/email', { email: 'last@example.com' });
    const { link, code } = await smtp.nth(count);
    const cookies = [...browser.cookies.values()];
    await browser.open(`/sign-in/link?token=${link}`);
    await browser.post(`/sign-in/link?token=${link}`, { token: link });
    const away = await browser.open('/sign-in/oidc/mock');
    cookies.push(...browser.cookies.values());
    const query = await provider.visit(away.headers.get('location')!);
    await browser.open(`/sign-in/oidc/mock/callback${query}`);
    const secrets = [
      link,
      code,
      ...cookies,
      ...new URLSearchParams(query).values(),
      ...smtp.mails.map((mail) => mail.link),
    ];
    expect(secrets.filter((secret) => secret.length < 6)).toEqual([]);
    const backup = join(directory.path, 'backup');
    expect((await command('backup', backup)).code).toBe(0);
    const filesIn = (path: string) =>
      readdirSync(path).map((name) => {
        const bytes = readFileSync(join(path, name));
        return name.endsWith('.zst') ? Buffer.from(Bun.zstdDecompressSync(bytes)) : bytes;
      });
    const before = [...filesIn(data), ...filesIn(backup)];
    expect(filesIn(backup).some((bytes) => bytes.includes('last@example.com'))).toBe(true);
    expect(await server.stop()).toBe(0);
    const log = await server.log;
    expect(log).toContain('/sign-in/oidc/mock/callback');
    const places = [...before, ...filesIn(data), Buffer.from(log)];
    expect(secrets.filter((secret) => places.some((bytes) => bytes.includes(secret)))).toEqual([]);
  });
});

test('While accounts are off, their pages say how to turn them on', async () => {
  using directory = temporaryDirectory();
  await using server = await startServer(directory.path);
  for (const path of ['/account', '/sign-in']) {
    const answer = await fetch(`${server.origin}${path}`);
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('--public-url')]);
  }
  expect((await fetch(`${server.origin}/sign-in/email`, { method: 'POST' })).status).toBe(404);
});

test.each<[string[], boolean]>([
  [['--public-url', 'https://data.example.com'], true],
  [['--public-url', 'https://data.example.com', '--trusted-proxies', 'loopback'], false],
  [['--public-url', 'http://127.0.0.1:8080'], false],
])('serve %j mentions that all people share limits: %p', async (args, isMentioned) => {
  using directory = temporaryDirectory();
  const server = await startServer(directory.path, args);
  await server.stop();
  expect((await server.log).includes('name the TLS proxy with --trusted-proxies')).toBe(isMentioned);
});

test('The first admin gets a link without a mail server', async () => {
  using directory = temporaryDirectory();
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const created = await runExecutable([
    ...[
      'account',
      'create',
      'root@example.com',
      '--admin',
      '--link',
      '--public-url',
      url,
      '--json',
      '--data',
      directory.path,
    ],
  ]);
  const { role, link } = JSON.parse(created.stdout) as { role: string; link: string };
  expect([role, created.stderr]).toEqual(['admin', expect.stringContaining('once, within 15 minutes')]);
  using activity = openActivity(directory.path);
  const attempts = () => activity.database.query('SELECT method, used_ms FROM sign_in_attempts').all();
  activity.database.write(() =>
    activity.database
      .query("INSERT INTO sign_in_attempts (attempt_id, method, is_mailed, created_ms) VALUES ('a', 'old', 0, 0)")
      .run(),
  );
  await using server = await startServer(directory.path, ['--port', port, '--public-url', url]);
  // The server has deleted the old one.
  expect(attempts()).toEqual([{ method: 'command', used_ms: null }]);
  const browser = new PlainBrowser(server.origin);
  expect((await browser.open('/sign-in')).text).toContain(`bookreel account link you@example.com --public-url ${url}`);
  expect((await browser.open(link)).text).toContain('root@example.com');
  const token = new URL(link).searchParams.get('token')!;
  expect((await browser.post('/sign-in/link', { token })).status).toBe(303);
  expect((await browser.open('/account')).text).toContain('root@example.com');
  expect((await browser.post('/sign-in/email', { email: 'root@example.com' })).status).toBe(404);
});

test.each<[string[], string]>([
  [['--public-url', 'http://data.example.com'], 'must begin with https://'],
  [['--public-url', 'https://data.example.com/path'], 'an address without a path'],
  [['--public-url', 'data.example.com'], 'an address without a path'],
  [['--sign-up', 'open'], '--sign-up needs --public-url'],
  [['--smtp-url', 'smtp://mail.example.com', '--smtp-sender', 'a@example.com'], '--smtp-url needs --public-url'],
  [['--public-url', 'https://a.example', '--smtp-url', 'smtp://mail.example.com'], 'need each other'],
  [['--smtp-url', 'smtp://user:secret@mail.example.com'], '--smtp-url has a password'],
  [['--smtp-url', 'http://mail.example.com'], 'it must be like smtp://'],
  [['--smtp-url', 'smtp://a%zz@mail.example.com'], 'the user in it is not percent-encoded'],
  [['--smtp-sender', 'Bookreel <a@example.com>'], 'it must be an email address'],
  [['--public-url', 'https://a.example', '--sign-up', 'invited'], '--sign-up invited needs --sign-up-domains'],
  [
    ['--public-url', 'https://a.example', '--sign-up', 'open', '--sign-up-domains', 'b.example'],
    '--sign-up-domains needs',
  ],
  [['--sign-up', 'all'], 'it must be open, invited or closed'],
  [['--sign-up-domains', '@example.com'], 'is not the domain'],
  [['--oidc-providers', 'corp https://login.example.com'], 'is not a provider'],
  [['--oidc-providers', 'email https://login.example.com id /file'], 'is not a name of a provider'],
  [['--oidc-providers', 'corp http://login.example.com id /file'], 'must begin with https://'],
  [
    ['--public-url', 'https://a.example', '--oidc-providers', 'a https://b.example id /f,a https://c.example id /f'],
    'have the same name',
  ],
])('Settings of sign-in that do not fit together create no data. (serve %j)', async (args, reason) => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const refused = await runExecutable(['serve', '--port', '0', '--data', data, ...args]);
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, '', expect.stringContaining(reason)]);
  expect(refused.stderr).not.toContain('secret@');
  expect(readdirSync(directory.path)).toEqual([]);
});

test('A fault of the database is an error that shows nothing of this machine', async () => {
  using directory = temporaryDirectory();
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  await using server = await startServer(directory.path, ['--port', port, '--public-url', url]);
  rmSync(join(directory.path, 'activity.db'));
  const { status, text } = await new PlainBrowser(server.origin).open('/sign-in/link?token=any');
  expect([status, text]).toEqual([503, expect.stringContaining('cannot answer right now')]);
  expect(text).not.toContain('activity.db');
  await server.stop();
  expect(await server.log).toContain("activity.db' or its write-ahead log was deleted");
});
