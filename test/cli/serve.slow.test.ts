import { describe, expect, test } from 'bun:test';
import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { demoSettings } from '../../src/cli/demo.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { EXECUTABLE, issueKey, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot, writeLightRecording } from '../support/light-recording.ts';
import { messagesAfterStart } from '../support/logged.ts';
import { PlainBrowser } from '../web/browser.ts';

const STOPPING = { level: 'info', message: 'stopping: waiting for the requests under way' };
const LISTENING = /serves '.*' on (http:\/\/\S+) /;

/** The status of a page's request for a token, in a browser of this machine without a session. */
async function statusOfToken(origin: string): Promise<number> {
  return (await fetch(`${origin}/view/token`, { method: 'POST', headers: { origin } })).status;
}

function get(origin: string, path: string, key: string): Promise<Response> {
  return fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
}

describe('a second server', () => {
  test('on the same data exits with 4 and names the directory, for every spelling of its path', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    await using server = await startServer(data);
    for (const [spelled, cwd] of [
      [data, directory.path],
      ['data', directory.path],
      ['../data/.', data],
    ] as const) {
      const second = await runExecutable(['serve', '--port', '0', '--data', spelled], { cwd });
      expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 4, stdout: '' });
      expect(second.stderr).toBe(
        `bookreel: '${spelled}' is being served by another bookreel: stop that one, or name another directory with --data\n`,
      );
    }
    // The first server is not affected, and other commands work while it runs.
    expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
    for (const args of [
      ['key', 'create', '--tier', 'free'],
      ['key', 'list'],
      ['tier', 'list'],
    ]) {
      expect((await runCommand([...args, '--data', data])).code).toBe(0);
    }
    expect(await server.stop()).toBe(0);
    await using next = await startServer(data);
    expect((await fetch(`${next.origin}/readyz`)).status).toBe(200);
  });

  test('on the same port with other data exits non-zero and names the port', async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(join(directory.path, 'one'));
    const port = new URL(server.origin).port;
    const other = join(directory.path, 'other');
    const second = await runCommand(['serve', '--port', port, '--data', other]);
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 1, stdout: '' });
    expect(second.stderr).toContain(`cannot listen on 127.0.0.1 port ${port}: another program listens on it`);
    // It has released its data directory.
    await using third = await startServer(other);
    expect((await fetch(`${third.origin}/readyz`)).status).toBe(200);
  });
});

describe('serve', () => {
  test('creates a missing data directory and prints its address', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'a', 'b');
    await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', data]);
    const [, origin] = await server.said(LISTENING);
    expect(server.stdout()).toBe(
      `bookreel ${versionIn(server.stdout())} serves '${data}' on ${origin} (reference: ${origin}/docs)\n`,
    );
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    expect((await fetch(`${origin}/docs`)).status).toBe(200);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(messagesAfterStart(server.stderr())).toEqual([STOPPING]);
  });

  test('--json prints the same as one document', async () => {
    using directory = temporaryDirectory();
    await using server = startChild([EXECUTABLE, 'serve', '--json', '--port', '0', '--data', directory.path]);
    await server.said(/\}\n$/);
    const document = JSON.parse(server.stdout()) as Record<string, unknown>;
    expect(document).toEqual({
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      data: directory.path,
      key: null,
      curl: null,
      link: null,
    });
  });
});

describe('serve --demo', () => {
  const startDemo = async (data: string, ...args: string[]) => {
    const server = startChild([EXECUTABLE, 'serve', '--demo', '--json', '--port', '0', '--data', data, ...args]);
    await server.said(/\}\n$/);
    const { address, key, curl, link } = JSON.parse(server.stdout()) as Record<'address' | 'key' | 'curl', string> & {
      readonly link: string | null;
    };
    return { server, address, key, curl, link };
  };
  const press = async (browser: PlainBrowser, link: string, headers = {}) =>
    await browser.post('/sign-in/link', { token: new URL(link).searchParams.get('token')! }, headers);
  const json = async <T>(...args: string[]) => JSON.parse(await outputOf([...args, '--json'])) as T;

  test('has a new key and a new sign-in link at each start, and the earlier ones are refused; the data stays', async () => {
    using directory = temporaryDirectory();
    const keys: string[] = [];
    const links: string[] = [];
    let first: { data: unknown[] } | undefined;
    for (let start = 0; start < 2; start += 1) {
      // A setting of sign-in does not need --public-url.
      const { server, address, key, curl, link } = await startDemo(directory.path, '--sign-up', 'open');
      await using _ = server;
      expect(await statusOfToken(address)).toBe(200);
      expect(curl).toContain(key);
      for (const old of keys) expect((await get(address, '/v1/btc/markets', old)).status).toBe(401);
      const answer = await get(address, '/v1/btc/markets?limit=1000', key);
      expect(answer.status).toBe(200);
      const document = (await answer.json()) as { data: unknown[] };
      expect(document.data.length).toBeGreaterThan(0);
      first ??= document;
      expect(document).toEqual(first);
      expect(keys).not.toContain(key);
      keys.push(key);

      expect(link).toStartWith(`${address}/sign-in/link?token=`);
      expect(links).not.toContain(link!);
      links.push(link!);
      const browser = new PlainBrowser(address);
      for (let looks = 0; looks < 2; looks += 1) {
        const page = await browser.open(link!);
        expect([page.status, page.text]).toEqual([200, expect.stringContaining('demo@localhost')]);
      }
      expect((await browser.open('/account')).status).toBe(303);
      // The public URL is the address with the port that the system chose: an older browser states only that.
      const foreign = await press(browser, link!, { 'sec-fetch-site': undefined, origin: 'http://127.0.0.1:1' });
      expect(foreign.status).toBe(403);
      expect((await press(browser, link!, { 'sec-fetch-site': undefined })).status).toBe(303);
      const account = await browser.open('/account');
      expect([account.status, account.text]).toEqual([200, expect.stringContaining('demo@localhost')]);
      const again = await press(new PlainBrowser(address), link!);
      expect([again.status, again.text]).toEqual([403, expect.stringContaining('This link was used already')]);
      expect((await press(new PlainBrowser(address), links[0]!)).status).toBe(403);
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
    }
    const shown = await json<{ role: string; keys: object[]; audit: { action: string }[] }>(
      ...['account', 'show', 'demo@localhost', '--data', directory.path],
    );
    expect([shown.role, shown.keys.length]).toEqual(['admin', 1]);
    expect(shown.audit.map(({ action }) => action).reverse()).toEqual([
      ...['account.create', 'key.create', 'account.link', 'session.sign-in'],
      ...['key.rotate', 'account.link', 'session.sign-in'],
    ]);
    expect(await json<object[]>('key', 'list', '--data', directory.path)).toHaveLength(1);
  });

  test.skipIf(Bun.which('curl') === null)(
    'prints a line that works when it is pasted into a shell, names a command for more links, and no warning of a library gets out (needs curl)',
    async () => {
      using directory = temporaryDirectory();
      const data = join(directory.path, "it's a demo");
      const { server, address, key, curl } = await startDemo(data);
      await using _ = server;
      const announced = server.stdout();
      const pasted = startChild(['sh', '-c', `${curl.replace(/^curl/, 'curl -sS')}`]);
      expect(await pasted.exited).toBe(0);
      const { data: markets } = JSON.parse(pasted.stdout()) as { data: { symbol: string }[] };
      expect(markets.map(({ symbol }) => symbol)).toEqual(['btc', 'btc']);
      await pasted[Symbol.asyncDispose]();

      const { linkCommand } = demoSettings({ data }, () => address);
      const path = `${dirname(EXECUTABLE)}:${process.env.PATH}`;
      await using command = startChild(['sh', '-c', linkCommand(address)], { env: { PATH: path } });
      expect(await command.exited).toBe(0);
      const browser = new PlainBrowser(address);
      expect((await press(browser, command.stdout().trim())).status).toBe(303);
      expect((await browser.open('/account')).status).toBe(200);

      const market = '/v1/btc/markets/simulated-btc-updown-5m-1767868200';
      const paths = [
        '/',
        '/docs',
        '/openapi.json',
        '/v1/coins',
        '/v1/btc/markets?limit=0',
        '/v1/none',
        '/v1/btc/prices',
      ];
      const parts = ['', '/snapshots', '/snapshots/at/1767868300000', '/quotes', '/prices', '/coverage', '/export'];
      for (const asked of [...paths, ...parts.map((part) => `${market}${part}`)]) {
        expect(await (await get(address, asked, key)).text()).not.toBe('');
      }
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(server.stdout()).toBe(announced);
      expect(messagesAfterStart(server.stderr())).toEqual([STOPPING]);
    },
  );

  test('has links that begin with --public-url if that is of this machine', async () => {
    using directory = temporaryDirectory();
    const url = 'http://localhost:8443';
    const given = await startDemo(join(directory.path, 'given'), '--public-url', url);
    await using _given = given.server;
    expect(given.link).toStartWith(`${url}/sign-in/link?token=`);
    // Other machines may be at the proxy.
    expect(await statusOfToken(given.address)).toBe(401);
  });

  test('serve --demo makes an admin and a sign-in link only on a loopback host.', async () => {
    using directory = temporaryDirectory();
    const { server, address, link } = await startDemo(directory.path, '--host', '0.0.0.0');
    await using _ = server;
    expect(link).toBeNull();
    expect((await fetch(`${address}/sign-in`)).status).toBe(404);
    expect(await (await fetch(`${address}/view`)).text()).toContain('data-access="key"');
    expect(await statusOfToken(address)).toBe(404);
    const { role } = await json<{ role: string }>('account', 'show', 'demo@localhost', '--data', directory.path);
    expect(role).toBe('user');
  });
});

/** Large answers, partly in socket buffers when the signal comes: they must arrive even after the process has ended. */
const LARGE_PAGES = 6;

describe('stopping', () => {
  test.each([['SIGTERM'], ['SIGINT']] as const)(
    '%s lets the requests under way finish, then exits with 0',
    async (signal) => {
      using directory = temporaryDirectory();
      const recording = join(directory.path, 'wide.ndjson');
      const snapshots = Array.from({ length: 1000 }, (_, index) => lightSnapshot(index, 100));
      writeFileSync(recording, [LIGHT_MARKET, ...snapshots].map((record) => JSON.stringify(record)).join('\n'));
      const data = join(directory.path, 'data');
      await runCommand(['import', recording, '--data', data]);
      const { key } = await issueKey(data);
      await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', data]);
      const [, origin] = await server.said(LISTENING);
      const path = `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots?limit=1000`;
      const whole = await (await get(origin!, path, key)).text();
      const clients = Array.from({ length: LARGE_PAGES }, () => new SlowClient(origin!, path, key));
      await Promise.all(clients.map((client) => client.begun));
      server.kill(signal);
      await stoppedListening(origin!);
      // All answers may already be in socket buffers, and the process may have ended.
      expect([undefined, 0]).toContain(server.code);
      for (const client of clients) expect(await client.rest()).toBe(whole);
      expect(await server.exited).toBe(0);
      expect(messagesAfterStart(server.stderr())).toEqual([STOPPING]);
    },
  );

  test('idle connections do not delay the end', async () => {
    using directory = temporaryDirectory();
    await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', directory.path]);
    const [, origin] = await server.said(LISTENING);
    const { hostname, port } = new URL(origin!);
    const idle = connect(Number(port), hostname);
    await new Promise((resolve) => idle.once('connect', resolve));
    await (await fetch(`${origin}/healthz`)).text();
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    idle.destroy();
  });

  test('it also stops in order if its output is no longer read', async () => {
    using directory = temporaryDirectory();
    const server = Bun.spawn([EXECUTABLE, 'serve', '--json', '--port', '0', '--data', directory.path], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    await server.stderr.cancel();
    const reader = server.stdout.getReader();
    await reader.read();
    await reader.cancel();
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });
});

test('a restarted server counts requests from zero again', async () => {
  using directory = temporaryDirectory();
  const { key } = await issueKey(directory.path, 'free', 1);
  for (let start = 0; start < 2; start += 1) {
    await using server = await startServer(directory.path);
    const statuses = [];
    for (let asked = 0; asked < 2; asked += 1) {
      statuses.push((await get(server.origin, '/v1/billing/tiers', key)).status);
    }
    expect(statuses).toEqual([200, 429]);
    expect(await server.stop()).toBe(0);
  }
});

describe('permissions', () => {
  test.each([
    ['022', []],
    ['000', ['--demo']],
  ])(
    'with umask %s of the shell, serve %j keeps everything in the data directory for the owner alone',
    async (umask, args) => {
      using directory = temporaryDirectory();
      const data = join(directory.path, 'data');
      const script = `umask ${umask}; exec "$@"`;
      const words = ['serve', '--port', '0', '--data', data, ...args];
      await using server = startChild(['sh', '-c', script, 'sh', EXECUTABLE, ...words]);
      const [, origin] = await server.said(LISTENING);
      const create = startChild([
        'sh',
        '-c',
        script,
        'sh',
        EXECUTABLE,
        'key',
        'create',
        '--tier',
        'pro',
        '--data',
        data,
      ]);
      expect(await create.exited).toBe(0);
      await create[Symbol.asyncDispose]();
      const recording = join(directory.path, 'light.ndjson');
      writeLightRecording(recording, 100);
      const importing = startChild(['sh', '-c', script, 'sh', EXECUTABLE, 'import', recording, '--data', data]);
      expect(await importing.exited).toBe(0);
      await importing[Symbol.asyncDispose]();
      await (await fetch(`${origin}/readyz`)).text();
      expect(modesIn(data)).toEqual(ownerOnly(data));
      expect(readdirSync(data)).toEqual(expect.arrayContaining(['bookreel.db', 'bookreel.db-wal', 'key-secret']));
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(modesIn(data)).toEqual(ownerOnly(data));
    },
  );

  test('a data directory that a user created keeps its mode, and only the owner can read its files', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    mkdirSync(data);
    chmodSync(data, 0o755);
    await issueKey(data);
    expect(modesIn(data)).toEqual({ ...ownerOnly(data), '.': '755' });
  });
});

function modesIn(data: string): Record<string, string> {
  const mode = (path: string) => (lstatSync(path).mode & 0o777).toString(8);
  const files = readdirSync(data).map((name) => [name, mode(join(data, name))]);
  return { '.': mode(data), ...Object.fromEntries(files) };
}

function ownerOnly(data: string): Record<string, string> {
  return { '.': '700', ...Object.fromEntries(readdirSync(data).map((name) => [name, '600'])) };
}

function versionIn(line: string): string {
  return line.split(' ')[1] ?? '';
}

/** Waits until `origin` refuses new connections. */
async function stoppedListening(origin: string): Promise<void> {
  const { hostname, port } = new URL(origin);
  for (;;) {
    const refused = await new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.once('connect', () => {
        socket.destroy();
        resolve(false);
      });
      socket.once('error', () => resolve(true));
    });
    if (refused) return;
    await Bun.sleep(5);
  }
}

/** Requests a page, and reads only its beginning until `rest` is called. */
class SlowClient {
  /** Resolves when the answer has begun. */
  readonly begun: Promise<void>;
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];

  constructor(origin: string, path: string, key: string) {
    const { hostname, port } = new URL(origin);
    this.#socket = connect(Number(port), hostname);
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    );
    this.begun = new Promise((resolve, reject) => {
      this.#socket.once('error', reject);
      this.#socket.once('data', (chunk: Buffer) => {
        this.#socket.pause();
        this.#chunks.push(chunk);
        resolve();
      });
    });
  }

  /** Reads to the end, and returns the body. */
  async rest(): Promise<string> {
    const ended = new Promise((resolve, reject) => {
      this.#socket.once('end', resolve);
      this.#socket.once('error', reject);
    });
    this.#socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#socket.resume();
    await ended;
    const answer = Buffer.concat(this.#chunks).toString();
    return answer.slice(answer.indexOf('\r\n\r\n') + 4);
  }
}
