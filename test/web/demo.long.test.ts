import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signInAtProvider, startRealProvider } from '../account/real-provider.ts';
import { catchMails, type SmtpCatcher } from '../account/smtp-catcher.ts';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { type RunningServer, startServer } from '../support/executable.ts';
import { PlainBrowser } from './browser.ts';

const DEMO = 'demo@localhost';
const OWNER = 'owner@localhost';
const SECRET = 'secret-of-the-client';
/** Each is what a proxy, a tunnel or a port forwarder adds to the requests of another machine. */
const FORWARDED: readonly Readonly<Record<string, string>>[] = [
  { 'x-forwarded-for': '192.0.2.1' },
  { 'x-forwarded-for': '127.0.0.1' },
  { 'x-forwarded-host': 'books.example' },
  { 'x-forwarded-proto': 'https' },
  { forwarded: 'for=192.0.2.1' },
  { via: '1.1 proxy' },
  { 'x-real-ip': '127.0.0.1' },
  { 'cf-connecting-ip': '192.0.2.1' },
  { host: 'books.example' },
  { host: '192.0.2.1:8080' },
];

/** Named in no header, and with the address of the service as Host. */
const NGINX = (directory: string, port: number, upstream: string) => `
pid ${directory}/nginx.pid; events {}
http {
  access_log off; client_body_temp_path ${directory}; proxy_temp_path ${directory}; fastcgi_temp_path ${directory};
  uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
  server { listen 127.0.0.1:${port}; location / { proxy_pass ${upstream}; } }
}`;

const linkOf = async (data: string, url: string, email = DEMO) => {
  const link = await outputOf(['account', 'link', email, '--public-url', url, '--data', data]);
  return new URL(link.trim()).searchParams.get('token')!;
};

describe('A demo with a mail server and a provider', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const stack = new AsyncDisposableStack();
  let smtp: SmtpCatcher;
  let server: RunningServer;

  beforeAll(async () => {
    const secretFile = join(directory.path, 'secret');
    writeFileSync(secretFile, SECRET, { mode: 0o600 });
    const [port, providerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    smtp = stack.use(await catchMails());
    const provider = stack.use(await startRealProvider(providerPort, SECRET, `${url}/sign-in/oidc/local/callback`));
    server = stack.use(
      await startServer(data, [
        ...['--demo', '--port', String(port), '--public-url', url, '--sign-up', 'open'],
        ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@localhost'],
        ...['--oidc-providers', `local ${provider.issuer} bookreel ${secretFile}`],
      ]),
    );
    await outputOf(['key', 'create', '--tier', 'pro', '--data', data]);
  });
  afterAll(async () => {
    await stack.disposeAsync();
    directory[Symbol.dispose]();
  });

  const newBrowser = () => new PlainBrowser(server.origin);
  const arrive = async (browser: PlainBrowser, email: string) => {
    const away = await browser.open('/sign-in/oidc/local');
    return await browser.open(await signInAtProvider(away.headers.get('location')!, email));
  };
  const sessionsOf = async (email: string) =>
    (JSON.parse(await outputOf(['account', 'sessions', email, '--json', '--data', data])) as object[]).length;

  test("A demo's sign-in link works only in a browser of this machine, through no forwarder, and a refused one stays usable.", async () => {
    const token = await linkOf(data, server.origin);
    for (const headers of FORWARDED) {
      const { status, text } = await newBrowser().post('/sign-in/link', { token }, headers);
      expect([headers, status, text]).toEqual([
        headers,
        403,
        expect.stringContaining('only in a browser on the machine of the service'),
      ]);
    }
    expect(await sessionsOf(DEMO)).toBe(0);
    const local = await newBrowser().post('/sign-in/link', { token });
    expect([local.status, local.headers.get('location')]).toEqual([303, '/account']);
    // Other accounts sign in through proxies too.
    expect((await runCommand(['account', 'create', 'ada@example.com', '--data', data])).code).toBe(0);
    const other = await linkOf(data, server.origin, 'ada@example.com');
    expect((await newBrowser().post('/sign-in/link', { token: other }, FORWARDED[0])).status).toBe(303);
  });

  test('Nobody signs in to demo@localhost and owner@localhost by email: none is sent, and the answer is that of any address.', async () => {
    const count = smtp.mails.length;
    for (const email of [DEMO, OWNER, 'Demo@LOCALHOST', 'OWNER@localhost']) {
      const asked = await newBrowser().post('/sign-in/email', { email });
      expect([email, asked.status, asked.headers.get('location')]).toEqual([email, 303, '/sign-in/code']);
    }
    const person = newBrowser();
    await person.post('/sign-in/email', { email: 'grace@example.com' });
    const { to, link } = await smtp.nth(count);
    expect(to).toEqual(['grace@example.com']);
    expect((await person.post('/sign-in/link', { token: link })).status).toBe(303);
    // Neither does the form that changes an address.
    for (const email of [OWNER, 'Demo@LOCALHOST']) {
      const changed = await person.post('/account/settings/email', { email });
      expect([changed.status, changed.text]).toEqual([
        403,
        expect.stringContaining('The accounts of this program keep their addresses'),
      ]);
    }
    expect(smtp.mails.slice(count).map(({ to: recipients }) => recipients)).toEqual([['grace@example.com']]);
  });

  test('No provider states the address of demo@localhost or owner@localhost, verified or not.', async () => {
    for (const email of [DEMO, OWNER, 'Owner@LOCALHOST']) {
      const before = await sessionsOf(email);
      const browser = newBrowser();
      const { status, text } = await arrive(browser, email);
      expect([email, status, text]).toEqual([email, 403, expect.stringContaining('does not accept')]);
      expect([(await browser.open('/account')).status, await sessionsOf(email)]).toEqual([303, before]);
    }
    expect((await arrive(newBrowser(), 'linus@example.com')).headers.get('location')).toBe('/account');
  });
});

test.each([
  ['a trusted proxy', ['--trusted-proxies', 'loopback', '--public-url', 'http://127.0.0.1:8080']],
  ['a public URL of another host', ['--public-url', 'https://demo.example.com']],
])('A demo with %s prints no sign-in link, gives no token, and refuses links to its account.', async (_, args) => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  await using server = await startServer(data, ['--demo', ...args]);
  const url = args.at(-1)!;
  const browser = new PlainBrowser(server.origin);
  expect((await browser.post('/view/token', {}, { 'content-type': 'application/json' })).status).toBe(401);
  const token = await linkOf(data, url);
  const refused = await browser.post('/sign-in/link', { token });
  // The public URL is the origin of its pages.
  const stated = await browser.post('/sign-in/link', { token }, { origin: url });
  const { host } = new URL(url);
  const named = await browser.post('/sign-in/link', { token }, { origin: url, host });
  expect([refused.status, stated.status, named.status]).toEqual([403, 403, 403]);
});

test.skipIf(Bun.which('nginx') === null)(
  'A demo answers nobody who comes through an nginx with its default headers, whatever they state. (needs nginx)',
  async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    await using server = await startServer(data, ['--demo']);
    const port = await freePort();
    const config = join(directory.path, 'nginx.conf');
    writeFileSync(config, NGINX(directory.path, port, server.origin));
    const nginx = startChild(['nginx', '-c', config, '-e', 'stderr', '-g', 'daemon off;']);
    try {
      const through = `http://127.0.0.1:${port}`;
      await until(
        'nginx listens',
        async () => (await fetch(`${through}/healthz`).catch(() => undefined))?.status === 200,
      );
      const token = await linkOf(data, server.origin);
      const stranger = new PlainBrowser(through);
      const stated = { origin: server.origin };
      const given = await stranger.post('/view/token', {}, stated);
      const entered = await stranger.post('/sign-in/link', { token }, stated);
      expect([given.status, entered.status]).toEqual([401, 403]);
      const local = new PlainBrowser(server.origin);
      const own = await fetch(`${server.origin}/view/token`, { method: 'POST', headers: stated });
      expect([own.status, (await local.post('/sign-in/link', { token })).status]).toEqual([200, 303]);
    } finally {
      // Killed at once, it would leave its workers.
      nginx.kill('SIGTERM');
      await nginx.exited;
      await nginx[Symbol.asyncDispose]();
    }
  },
);
