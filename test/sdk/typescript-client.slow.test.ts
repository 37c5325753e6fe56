import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@bookreel/client';
import { createKey } from '../../src/account/account-keys.ts';
import { openInProcess } from '../contract/in-process-target.ts';
import { expectedSnapshots } from '../contract/oracle.ts';
import { BOOKS, RECORDS } from '../contract/recording.ts';
import type { Target } from '../contract/target.ts';
import { AMPLE_RPM } from '../contract/target.ts';
import { type Behaviour, startUnreliableProxy } from '../examples/unreliable-proxy.ts';
import { startReplaying } from '../http/replay/replaying.ts';
import { startService } from '../http/service.ts';
import { answersOf, apiDocument } from '../support/api-document.ts';
import { importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { finished } from '../support/executable.ts';

const { Client } = sdk;
const CLASSES = new Map(Object.entries(sdk) as [string, typeof sdk.BookreelError][]);
const MARKET = `btc/${BOOKS.slug}`;
const SOURCES = join(import.meta.dir, '../../src/sdk/typescript');
const EXPECTED = expectedSnapshots(BOOKS);
let target: Target;
let key: string;
beforeAll(async () => {
  target = await openInProcess(RECORDS);
  ({ key } = await target.makeKey('enterprise', { rpm: AMPLE_RPM }));
});
afterAll(() => target[Symbol.asyncDispose]());
/** Its waits are over at once. */
const clientAt = (baseUrl = target.origin) => new Client({ key, baseUrl, wait: async () => {} });
const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);

test('An error has the class of its code, the message, the request and the refused parameters.', async () => {
  const codes = new Set<string>();
  for (const { status, content } of answersOf(await apiDocument())) {
    for (const { value } of Object.values(content['application/problem+json']?.examples ?? {})) {
      const problem = value as { type: string; detail: string; requestId: string; issues?: object[] };
      const fetch = async () => new Response(JSON.stringify(problem), { status });
      const error = await new Client({ baseUrl: target.origin, fetch, wait: async () => {} })
        .get('/v1/coins')
        .catch((thrown) => thrown);
      const code = problem.type.split(':').at(-1)!;
      codes.add(code);
      const name = `${code.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`;
      expect(error).toBeInstanceOf(CLASSES.get(name)!);
      const { requestId, issues = [] } = problem;
      expect({ ...error }).toMatchObject({ name, code, status, requestId, issues });
      expect(error.message).toContain(problem.detail);
    }
  }
  expect(codes.size).toBeGreaterThan(9);
  const { components } = await apiDocument();
  for (const type of components.schemas.Problem!.properties!.type!.enum!) {
    const fetch = async () => Response.json({ type }, { status: 400 });
    const error = await new Client({ baseUrl: target.origin, fetch }).get('/v1/coins').catch((thrown) => thrown);
    expect(error.constructor, String(type)).not.toBe(sdk.BookreelError);
  }
});

test('A path without its coin is refused before it is asked for, also in JavaScript without types.', async () => {
  const markets = clientAt().markets('btc' as never);
  expect(markets.next()).rejects.toThrow('coin is missing: /v1/{coin}/markets needs it');
});

describe('A connection that is lost', () => {
  const LOST: readonly Behaviour[] = ['cut off', 'pass', 'hang up', 'unavailable', 'pass', 'cut off'];

  test('in a walk neither loses nor repeats a record, wherever it is lost', async () => {
    for (let at = 0; at < 7; at += 1) {
      const behaviours = [...Array.from({ length: at }, () => 'pass' as const), ...LOST];
      await using proxy = await startUnreliableProxy(target.origin, behaviours);
      const records = await Array.fromAsync(clientAt(proxy.origin).snapshots(MARKET, { limit: 70 }));
      expect(idsOf(records)).toEqual(idsOf(EXPECTED));
    }
  });

  test('in a stream continues after the last event, any number of times while events arrive', async () => {
    const lastIds: (string | null)[] = [];
    const fetch = async (url: string, init: RequestInit) => {
      lastIds.push(new Headers(init.headers).get('last-event-id'));
      const answer = await globalThis.fetch(url, init);
      if (lastIds.length > 8) return answer;
      const whole = await answer.bytes();
      const part = whole.subarray(0, lastIds.length * 3000);
      return new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(part);
            setTimeout(() => controller.error(new Error('lost')), 0);
          },
        }),
      );
    };
    const client = new Client({ key, baseUrl: target.origin, fetch, wait: async () => {} });
    const events = await Array.fromAsync(client.stream(MARKET, { from: 0, speed: 'max' }));
    const snapshots = events.flatMap((event) => (event.event === 'snapshot' ? [event.data] : []));
    expect(idsOf(snapshots)).toEqual(idsOf(EXPECTED));
    expect(new Set(lastIds).size).toBe(9);
    const rest = clientAt().stream(MARKET, { from: 0, speed: 'max', lastEventId: events[99]!.id });
    expect(await Array.fromAsync(rest)).toEqual(events.slice(100));
  });

  test.each(['ndjson', 'csv', 'parquet', 'segments'] as const)(
    'in an export as %s gives the same bytes',
    async (format) => {
      using directory = temporaryDirectory();
      const [whole, resumed] = ['whole', 'resumed'].map((name) => join(directory.path, name)) as [string, string];
      await using proxy = await startUnreliableProxy(target.origin, ['cut off', 'cut off']);
      const bytes = await clientAt().export(MARKET, whole, { format });
      expect(await clientAt(proxy.origin).export(MARKET, resumed, { format })).toBe(bytes);
      expect(readFileSync(resumed).equals(readFileSync(whole))).toBe(true);
      const parts: Uint8Array[] = [];
      const stream = new WritableStream<Uint8Array>({ write: (part) => void parts.push(part) });
      expect(await clientAt().export(MARKET, stream, { format })).toBe(bytes);
      expect(Buffer.concat(parts).equals(readFileSync(whole))).toBe(true);
    },
  );

  test.skipIf(Bun.which('node') === null).each(['ndjson', 'csv', 'parquet', 'segments'] as const)(
    'in an export as %s gives the same bytes in Node, whose fetch() takes any end after `Connection: close` for the end of the body (needs node)',
    async (format) => {
      using directory = temporaryDirectory();
      const [whole, resumed] = ['whole', 'resumed'].map((name) => join(directory.path, name)) as [string, string];
      const built = await Bun.build({
        entrypoints: [join(SOURCES, 'index.ts')],
        outdir: directory.path,
        target: 'node',
      });
      const program = `import { Client } from ${JSON.stringify(built.outputs[0]!.path)};
        const [, , key, baseUrl, market, file, format] = process.argv;
        await new Client({ key, baseUrl, wait: async () => {} }).export(market, file, { format });`;
      await Bun.write(join(directory.path, 'program.mjs'), program);
      await using proxy = await startUnreliableProxy(target.origin, ['cut off', 'cut off']);
      await clientAt().export(MARKET, whole, { format });
      const command = ['node', join(directory.path, 'program.mjs'), key, proxy.origin, MARKET, resumed, format];
      expect(await finished(command, { env: { PATH: process.env.PATH! } })).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
      expect(proxy.seen).toHaveLength(3);
      expect(readFileSync(resumed).equals(readFileSync(whole))).toBe(true);
    },
  );

  test('three times in a row is an error, and so is an address without a server', async () => {
    await using proxy = await startUnreliableProxy(
      target.origin,
      Array.from({ length: 9 }, () => 'hang up' as const),
    );
    await expect(clientAt(proxy.origin).market(MARKET)).rejects.toBeInstanceOf(sdk.ConnectionError);
    expect(proxy.seen).toHaveLength(3);
    const error = await clientAt('http://127.0.0.1:1')
      .market(MARKET)
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'connection', status: 0 });
    expect(error.message).toContain('http://127.0.0.1:1');
  });
});

test('An export whose market changes after a lost connection is an error, and no file is left.', async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'market');
  const block = 2 ** 16;
  let asked = 0;
  const fetch = async () => {
    asked += 1;
    const bytes = new Uint8Array(3 * block).fill(asked);
    let sent = 0;
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (asked === 1 && sent === 2) controller.error(new Error('lost'));
          else if (sent === 3) controller.close();
          else controller.enqueue(bytes.subarray(sent * block, (sent + 1) * block));
          sent += 1;
        },
      }),
    );
  };
  const client = new Client({ baseUrl: target.origin, fetch, wait: async () => {} });
  await expect(client.export(MARKET, file)).rejects.toBeInstanceOf(sdk.ConflictError);
  expect(asked).toBe(2);
  expect([file, `${file}.part`].filter(existsSync)).toEqual([]);
});

test('A damaged or shortened export of segments is an error, and no file is left.', async () => {
  using directory = temporaryDirectory();
  const [whole, damaged] = ['whole', 'damaged'].map((name) => join(directory.path, name)) as [string, string];
  await clientAt().export(MARKET, whole, { format: 'segments' });
  const bytes = readFileSync(whole);
  for (const broken of [bytes.with(bytes.length >> 1, bytes[bytes.length >> 1]! ^ 1), bytes.subarray(0, -40)]) {
    const client = new Client({ baseUrl: target.origin, fetch: async () => new Response(Uint8Array.from(broken)) });
    await expect(client.export(MARKET, damaged, { format: 'segments' })).rejects.toThrow('this recording is');
    expect([damaged, `${damaged}.part`].filter(existsSync)).toEqual([]);
  }
});

test('At 10 requests a minute a walk waits for exactly Retry-After each time, and not otherwise.', async () => {
  await using service = startService();
  await importRecords(service.archive, RECORDS);
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 10 };
  const limited = createKey(service.registry, NOW_MS, request);
  const [statuses, stated]: [number[], number[]] = [[], []];
  const fetch = async (url: string, init: RequestInit) => {
    const answer = await globalThis.fetch(url, init);
    statuses.push(answer.status);
    if (answer.status === 429) stated.push(Number(answer.headers.get('retry-after')) * 1000);
    service.passTime(100);
    return answer;
  };
  const waits: number[] = [];
  const wait = async (ms: number) => {
    waits.push(ms);
    service.passTime(ms);
  };
  const client = new Client({ key: limited.key, baseUrl: service.origin, fetch, wait });
  const records = await Array.fromAsync(client.snapshots(MARKET, { limit: 20 }));
  expect(idsOf(records)).toEqual(idsOf(EXPECTED));
  const pages = Math.ceil(EXPECTED.length / 20);
  expect(pages).toBeGreaterThan(20);
  expect(statuses).toEqual(
    Array.from({ length: pages }, (_, i) => (i > 0 && i % 10 === 0 ? [429, 200] : [200])).flat(),
  );
  expect(waits).toEqual(stated);
});

test('Segments have the snapshots of the pages.', async () => {
  const [paged, stored] = await Promise.all([
    Array.fromAsync(clientAt().snapshots(MARKET)),
    Array.fromAsync(clientAt().segmentSnapshots(MARKET)),
  ]);
  expect<unknown>(stored).toEqual(paged);
  expect(stored.length).toBe(EXPECTED.length);
});

test('Books at more instants than fit into a request are found for each, in their order.', async () => {
  const instants = EXPECTED.flatMap(({ timestamp }) => [new Date(timestamp), Date.parse(timestamp) + 1, timestamp]);
  const books = await clientAt().bookAt(MARKET, instants, { mode: 'before', outcome: 'up' });
  expect(books).toHaveLength(instants.length);
  expect(instants.length).toBeGreaterThan(1000);
  for (const i of [0, 1, 500, instants.length - 1]) {
    const one = await clientAt().bookAt(MARKET, instants[i]!, { mode: 'before', outcome: 'up' });
    expect(books[i]!.data).toEqual([...one]);
  }
});

test('An abort ends a request and a wait with its reason, and sends nothing more.', async () => {
  const reason = new Error('enough');
  const controller = new AbortController();
  let asked = 0;
  const fetch = async () => {
    asked += 1;
    setTimeout(() => controller.abort(reason), 1);
    return new Response('{}', { status: 429, headers: { 'retry-after': '1000' } });
  };
  const client = new Client({ baseUrl: target.origin, fetch });
  await expect(client.get('/v1/coins', { signal: controller.signal })).rejects.toBe(reason);
  await expect(client.get('/v1/coins', { signal: controller.signal })).rejects.toBe(reason);
  expect(asked).toBe(1);
});

test('A payment is sent once, and a market without a coin is refused before a request.', async () => {
  let asked = 0;
  const fetch = async () => {
    asked += 1;
    throw new Error('lost');
  };
  const client = new Client({ baseUrl: target.origin, fetch });
  const path = '/v1/billing/x402/upgrade/{tierId}';
  await expect(client.send('post', path, { tierId: 'pro' })).rejects.toBeInstanceOf(sdk.ConnectionError);
  expect(asked).toBe(1);
  await expect(client.market('0x12')).rejects.toThrow("write 'btc/0x12'");
  expect(asked).toBe(1);
});

test('A replay is read as of its clock, is steered, and stops at the end of its scope.', async () => {
  await using replaying = await startReplaying((archive) => importRecords(archive, RECORDS));
  const client = new Client({ key: undefined, baseUrl: replaying.origin });
  let id: string;
  {
    await using replay = await client.replay({ coins: ['btc'], paused: true });
    ({ id } = replay);
    const middle = EXPECTED[EXPECTED.length >> 1]!.timestamp;
    expect((await replay.change({ now: middle })).now).toBe(middle);
    expect((await replay.state()).state).toBe('paused');
    const seen = await Array.fromAsync(replay.client.snapshots(MARKET));
    expect(idsOf(seen)).toEqual(idsOf(EXPECTED.filter(({ timestamp }) => timestamp <= middle)));
    expect(replay.baseUrl).toBe(`${replaying.origin}/replays/${id}`);
  }
  await expect(client.get('/v1/replays/{replay}', { replay: id })).rejects.toBeInstanceOf(sdk.NotFoundError);
});

test('A key that is no header is refused without being shown; the environment is read only for what is not given.', async () => {
  const fetch = async (_: string, init: RequestInit) =>
    Response.json({ data: new Headers(init.headers).get('authorization') });
  const { data } = await new Client({ key: 'br_secret\n', baseUrl: target.origin, fetch }).get('/v1/coins');
  expect<unknown>(data).toBe('Bearer br_secret');
  for (const wrong of ['br_se\ncret', 'br_secret–']) {
    expect(() => new Client({ key: wrong, baseUrl: target.origin })).toThrow('the key has characters that no key has');
  }
  const { env } = process;
  try {
    // Deno refuses a program that was not given leave to read all variables.
    const ownKeys = () => {
      throw new Error('not permitted');
    };
    process.env = new Proxy({ BOOKREEL_KEY: '', BOOKREEL_URL: '' }, { ownKeys }) as typeof process.env;
    const urls: string[] = [];
    const seen = async (url: string, { headers }: RequestInit) => {
      urls.push(url);
      return Response.json({ data: new Headers(headers).get('authorization') });
    };
    const { data: none } = await new Client({ fetch: seen }).get('/v1/coins');
    expect<unknown>(none).toBeNull();
    expect(urls).toEqual(['http://127.0.0.1:8080/v1/coins']);
  } finally {
    process.env = env;
  }
});

test('Instants in a list are sent as they are written, so an impossible date is refused and not another one.', async () => {
  const asked = clientAt().bookAt(MARKET, ['2026-02-30T00:00:00Z']);
  await expect(asked).rejects.toBeInstanceOf(sdk.InvalidParameterError);
});

test('Instants are divided so that every URL fits into the 8 KiB of a proxy.', async () => {
  const lengths: number[] = [];
  const fetch = async (url: string) => {
    lengths.push(url.length);
    const data = new URL(url).searchParams
      .get('ts')!
      .split(',')
      .map((ts) => ({ ts }));
    return Response.json({ data });
  };
  const client = new Client({ baseUrl: target.origin, fetch });
  const numbers = Array.from({ length: 1000 }, (_, i) => 1_767_868_300_500 + i);
  const texts = numbers.map((ms) => new Date(ms).toISOString().replace('Z', '+00:00'));
  for (const instants of [numbers, texts]) {
    const found = await client.bookAt(`btc/0x${'a'.repeat(64)}`, instants);
    expect<unknown>(found).toEqual(instants.map((ts) => ({ ts: String(ts) })));
  }
  expect(Math.max(...lengths)).toBeLessThan(8000);
});
