import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faketimeLibrary } from '../fault/machine.ts';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed, runExecutable } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, writeLightRecording } from '../support/light-recording.ts';
import { messagesIn } from '../support/logged.ts';
import { HAS_REDIS, RedisServer } from '../support/redis.ts';
import { scrapedFrom } from '../support/scraped.ts';

const LIMIT = 300;
const REQUESTS = 1000;
const PAGE = `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots?limit=500`;

interface Server extends AsyncDisposable {
  readonly origin: string;
  readonly child: Child;
  readonly messages: () => ReturnType<typeof messagesIn>;
  /** Requests that this server counted alone. */
  readonly alone: () => Promise<number>;
}

async function serve(
  data: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const settings = ['--data', data, '--port', '0', '--metrics-port', '0', ...args];
  const child = startChild([EXECUTABLE, 'serve', '--json', ...settings], { env });
  const [, origin] = await child.said(/"address": ?"(https?:\/\/[^"]+)"/);
  const messages = () => messagesIn(child.stderr());
  const metrics = () => messages().find(({ message }) => message.startsWith('metrics are at '));
  await until('it names the address of the metrics', () => metrics() !== undefined);
  const alone = async () => {
    const text = await (await fetch(metrics()!.message.slice(15))).text();
    return scrapedFrom(text).sum('bookreel_rate_windows_alone_total');
  };
  return { origin: origin!, child, messages, alone, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

const statusOf = async (url: string, key: string) =>
  await fetch(url, { headers: { authorization: `Bearer ${key}`, connection: 'close' } }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    () => 'cut off' as const,
  );

describe.skipIf(!HAS_REDIS)('servers that count in one Redis', () => {
  const directory = temporaryDirectory();
  const datas = [0, 1, 2].map((nth) => join(directory.path, `data${nth}`));
  let redis: RedisServer;
  let key: string;
  let id: string;

  const serveAll = async (envs: readonly Readonly<Record<string, string>>[] = [{}, {}, {}]) =>
    await Promise.all(envs.map((env, nth) => serve(datas[nth]!, redis.patient, env)));
  const askAll = async (servers: readonly Server[], whenAsked?: () => void) => {
    const asked = Array.from({ length: REQUESTS }, (_, nth) =>
      statusOf(`${servers[nth % servers.length]!.origin}/v1/coins`, key),
    );
    whenAsked?.();
    return await Promise.all(asked);
  };
  /** Serves, asks and checks. Redis has counted every request. */
  const whileServed = async (
    ask: (servers: readonly Server[]) => Promise<() => void | Promise<void>>,
    start: () => Promise<readonly Server[]> = serveAll,
  ) => {
    await using running = new AsyncDisposableStack();
    const servers = (await start()).map((server) => running.use(server));
    const check = await ask(servers);
    // One may have been killed.
    expect(await Promise.all(servers.map((server) => server.alone().catch(() => 0)))).toEqual(servers.map(() => 0));
    await check();
  };

  beforeAll(async () => {
    redis = await RedisServer.start();
    const recording = join(directory.path, 'recording.ndjson');
    writeLightRecording(recording, 1000);
    await printed(['import', recording, '--data', datas[0]!]);
    ({ key, id } = await issueKey(datas[0]!, 'enterprise', LIMIT));
    for (const other of datas.slice(1)) cpSync(datas[0]!, other, { recursive: true });
  });
  beforeEach(() => redis.send('FLUSHALL'));
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('Exactly the limit is allowed of a thousand requests at once, whatever the clocks of the servers say.', async () => {
    const library = faketimeLibrary();
    const envs = ['-1h', '+0', '+1h'].map((FAKETIME) =>
      library === undefined ? {} : { LD_PRELOAD: library, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    );
    await whileServed(
      async (servers) => {
        const statuses = await askAll(servers);
        const headers: number[][] = [];
        for (const { origin } of servers) {
          const answer = await fetch(`${origin}/v1/coins`, { headers: { authorization: `Bearer ${key}` } });
          headers.push(
            ['limit', 'remaining', 'reset'].map((name) => Number(answer.headers.get(`x-ratelimit-${name}`))),
          );
        }
        return async () => {
          expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
          expect(statuses.filter((status) => status === 429)).toHaveLength(REQUESTS - LIMIT);
          const endSeconds = Math.ceil(Number(await redis.send('HGET', `bookreel:key:${id}`, 'end')) / 1000);
          expect(headers).toEqual(Array.from({ length: 3 }, () => [LIMIT, 0, endSeconds]));
        };
      },
      () => serveAll(envs),
    );
  });

  test('A server that is killed meanwhile takes no more with it than the answers under way.', async () => {
    await whileServed(async (servers) => {
      const isCounting = async () => (await redis.used('key')) > 0;
      const killed = () => until('Redis counts', isCounting).then(() => servers[2]!.child.kill('SIGKILL'));
      const [statuses] = await Promise.all([askAll(servers), killed()]);
      await servers[2]!.child.exited;
      const left = servers.slice(0, 2);
      const cutOff = statuses.filter((status) => status === 'cut off').length;
      let allowed = statuses.filter((status) => status === 200).length;
      for (let more = 0; more < LIMIT; more += 1) {
        if ((await statusOf(`${left[more % 2]!.origin}/v1/coins`, key)) === 200) allowed += 1;
      }
      return async () => {
        expect(await redis.used('key')).toBe(LIMIT);
        expect(allowed).toBeLessThanOrEqual(LIMIT);
        expect(allowed).toBeGreaterThanOrEqual(LIMIT - cutOff);
      };
    });
  });

  test('All processes of a server count there; an emptied Redis gives one more window, and lets no revoked key in.', async () => {
    const { id: revokedId, key: revoked } = await issueKey(datas[0]!);
    await printed(['key', 'revoke', revokedId, '--data', datas[0]!]);
    const start = async () => [
      await serve(datas[0]!, [...redis.patient, '--processes', '2']),
      await serve(datas[1]!, redis.patient),
    ];
    await whileServed(async (servers) => {
      const counted: number[] = [];
      for (let round = 0; round < 2; round += 1) {
        const statuses = await askAll(servers);
        counted.push(statuses.filter((status) => status === 200).length);
        await redis.send('FLUSHALL');
      }
      const refused = await statusOf(`${servers[0]!.origin}/v1/coins`, revoked);
      return () => expect([...counted, refused]).toEqual([LIMIT, LIMIT, 401]);
    }, start);
  });

  test('A request that a node sends on to home counts once: for its key, or for the address of the client.', async () => {
    await using storage = await BucketServer.start();
    const secretFile = join(directory.path, 'node-secret');
    writeFileSync(secretFile, 'the-secret-of-all-nodes-of-this-test\n', { mode: 0o600 });
    const shared = [...redis.patient, '--node-secret-file', secretFile];
    const books = ['--books', 's3://books/live'];
    const env = storage.environment;
    await printed(['publish', ...books, '--data', datas[0]!], { env });
    const start = async () => {
      const home = await serve(datas[0]!, shared);
      const data = join(directory.path, `node${home.child.pid}`);
      const node = await serve(data, [...shared, ...books, '--node', '--home', home.origin], env);
      await until('it knows the key', async () => (await statusOf(`${node.origin}/v1/coins`, key)) === 200);
      await redis.send('FLUSHALL');
      return [home, node];
    };
    await whileServed(async ([home, node]) => {
      const paths = [PAGE, '/v1/coins', PAGE, '/v1/btc/prices', '/'];
      const asked: Response[] = [];
      for (const path of paths) {
        const headers = path === '/' ? {} : { authorization: `Bearer ${key}` };
        asked.push(await fetch(`${node!.origin}${path}`, { headers }));
      }
      const used = [await redis.used('key:'), await redis.used('address:')];
      return () => {
        expect(home!.messages().filter(({ level }) => level === 'error')).toEqual([]);
        expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
        const remaining = asked.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
        expect(remaining).toEqual([...[1, 2, 3, 4].map((nth) => LIMIT - nth), 599]);
        expect(used).toEqual([4, 1]);
      };
    }, start);
  });

  test('Addresses and preflights have their limits there; monitoring waits for nothing.', async () => {
    const start = async () => [await serve(datas[0]!, [...redis.patient, '--cors-origins', 'https://a.example'])];
    await whileServed(async ([server]) => {
      const { origin } = server!;
      const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
      const asked = [
        await fetch(`${origin}/v1/coins`, { headers: { authorization: 'Bearer wrong' } }),
        await fetch(`${origin}/`),
        await fetch(`${origin}/nosuch`),
        await fetch(`${origin}/healthz`),
        await fetch(`${origin}/v1/coins`, { method: 'OPTIONS', headers: preflight }),
      ];
      const used = [await redis.used('address:'), await redis.used('address-net:'), await redis.used('preflight:')];
      return () => {
        expect(asked.map(({ status }) => status)).toEqual([401, 200, 404, 200, 204]);
        const remaining = asked.map(({ headers }) => headers.get('x-ratelimit-remaining'));
        expect(remaining).toEqual(['599', '598', '597', '597', '599']);
        expect(used).toEqual([3, 3, 1]);
      };
    }, start);
  });

  test('Answers are those of a server without Redis, byte by byte, from memory and for HEAD too.', async () => {
    await using stack = new AsyncDisposableStack();
    const own = stack.use(await serve(datas[0]!, []));
    const common = stack.use(await serve(datas[1]!, redis.patient));
    const other = (await issueKey(datas[0]!)).key;
    cpSync(datas[0]!, datas[2]!, { recursive: true, force: true });
    const third = stack.use(await serve(datas[2]!, redis.patient));
    expect(common.messages().filter(({ level }) => level !== 'info')).toEqual([]);
    for (const path of [PAGE, '/v1/btc/markets', '/v1/coins', '/openapi.json', '/']) {
      for (const encoding of ['identity', 'gzip', 'zstd']) {
        for (const method of ['GET', 'GET', 'GET', 'HEAD']) {
          const [one, two] = await Promise.all(
            [own, third].map(async ({ origin }) => {
              const headers = { authorization: `Bearer ${other}`, 'accept-encoding': encoding };
              const answer = await fetch(`${origin}${path}`, { method, headers, decompress: false });
              const kept = [...answer.headers].filter(
                ([name]) => !/^(?:date|x-request-id|x-ratelimit-re.*)$/.test(name),
              );
              return [
                answer.status,
                Object.fromEntries(kept),
                Buffer.from(await answer.arrayBuffer()).toString('base64'),
              ];
            }),
          );
          expect(two).toEqual(one!);
        }
      }
    }
  });

  test('A large answer arrives whole at a slow reader, and a client that leaves does no harm.', async () => {
    await using server = await serve(datas[0]!, redis.patient);
    const { port } = new URL(server.origin);
    const ask = async (bytesMax: number) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      let received = 0;
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: Number(port),
        socket: {
          data: (from, bytes) => {
            received += bytes.length;
            if (received >= bytesMax) return from.terminate();
            from.pause();
            setTimeout(() => from.resume(), 2);
          },
          close: () => resolve(),
        },
      });
      const head = `GET ${PAGE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
      socket.write(head);
      await ended;
      return received;
    };
    const answer = await fetch(`${server.origin}${PAGE}`, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
    });
    const { length } = await answer.bytes();
    expect(length).toBeGreaterThan(100_000);
    expect(await ask(Infinity)).toBeGreaterThan(length);
    for (let nth = 0; nth < 20; nth += 1) await ask(20_000);
    expect(await ask(Infinity)).toBeGreaterThan(length);
    expect(server.messages().filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('A server starts without Redis, counts alone, and says so in one line.', async () => {
    await using server = await serve(datas[0]!, ['--windows', 'redis://127.0.0.1:1']);
    for (let nth = 0; nth < LIMIT; nth += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(200);
    expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(429);
    expect(await server.alone()).toBe(LIMIT + 1);
    const warnings = server.messages().filter(({ level }) => level === 'warn');
    expect(warnings.map(({ message }) => message)).toEqual([
      'Redis at 127.0.0.1:1: each server counts limits alone until Redis answers: Connection closed',
    ]);
  });

  test('A password in the address, or one without Redis, is refused; doctor reports a Redis that does not answer.', async () => {
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await runExecutable(['serve', '--data', join(directory.path, 'none'), ...args]);
      return [code, stderr];
    };
    expect(await refused('--windows', 'redis://:secret@a.example')).toEqual([
      2,
      'bookreel: --windows has a password: write that into a file, and name the file with --windows-password-file\n',
    ]);
    expect(await refused('--windows-password-file', redis.passwordFile)).toEqual([
      2,
      'bookreel: --windows-password-file needs --windows: it is the password of that Redis\n',
    ]);
    const windowsOf = async (...args: readonly string[]) => {
      const { stdout } = await runExecutable(['doctor', '--json', '--data', datas[0]!, ...args]);
      return JSON.parse(stdout).checks.find(({ check }: { check: string }) => check === 'windows').findings;
    };
    expect(await windowsOf(...redis.patient)).toEqual([]);
    expect(await windowsOf('--windows', redis.url)).toEqual([
      `Redis at 127.0.0.1:${redis.port}: each server counts limits alone until Redis answers: Connection closed`,
    ]);
  });
});
