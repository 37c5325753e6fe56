import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openInProcess } from '../contract/in-process-target.ts';
import { expectedSnapshots } from '../contract/oracle.ts';
import { BOOKS, RECORDS } from '../contract/recording.ts';
import { AMPLE_RPM, type Target } from '../contract/target.ts';
import { type Behaviour, startUnreliableProxy } from '../examples/unreliable-proxy.ts';
import { apiDocument } from '../support/api-document.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, finished, HAS_EXECUTABLE, printed } from '../support/executable.ts';
import { installWheel, PYTHON, pythonWith } from './python.ts';

setDefaultTimeout(120_000);
const testHere = PYTHON === undefined ? test.skip : test;
if (PYTHON === undefined) console.warn('skipped: no python3 with httpx and pip is installed');

const MARKET = `btc/${BOOKS.slug}`;
const EXPECTED = expectedSnapshots(BOOKS);
const AT_MS = Date.parse(EXPECTED[EXPECTED.length >> 1]!.timestamp);
const CLIENTS = ['Client', 'AsyncClient'] as const;

interface Failure {
  readonly error: string;
  readonly message: string;
  readonly code: string | null;
  readonly status: number | null;
  readonly request_id: string | null;
  readonly issues: readonly object[] | null;
}
type Answers = Readonly<
  Record<string, Readonly<Record<'now' | 'later', unknown> & Record<'slept' | 'sleptLater', number[]>>>
>;

const directory = temporaryDirectory();
let target: Target;
let key: string;
let installed: string;
beforeAll(async () => {
  if (PYTHON === undefined) return;
  installed = await installWheel(directory.path);
  target = await openInProcess(RECORDS);
  ({ key } = await target.makeKey('enterprise', { rpm: AMPLE_RPM }));
});
afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

async function run<T>(scenario: string, given: object, origin = target.origin): Promise<T> {
  const env = {
    PATH: Bun.env.PATH!,
    PYTHONPATH: installed,
    PYTHONDONTWRITEBYTECODE: '1',
    BOOKREEL_URL: origin,
    BOOKREEL_KEY: key,
  };
  const script = join(import.meta.dir, 'python_client.py');
  const { code, stdout, stderr } = await finished([PYTHON!, script, scenario, JSON.stringify(given)], { env });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

async function answerTo<T>(path: string): Promise<T> {
  const answer = await fetch(`${target.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return (await answer.json()) as T;
}

const exported = async (query: string) => {
  const headers = { authorization: `Bearer ${key}` };
  return await (await fetch(`${target.origin}/v1/btc/markets/${BOOKS.slug}/export?${query}`, { headers })).bytes();
};
const digestOf = (bytes: Uint8Array) => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const idsOf = (records: unknown) => (records as { readonly id: string }[]).map(({ id }) => id);

testHere('Every operation of the document is called, and both clients get the same.', async () => {
  const { paths } = await apiDocument();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => {
      const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      return { operationId, method: method.toUpperCase(), path, pattern };
    }),
  );
  const called = new Set<string>();
  await using proxy = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      for (const { operationId, method, pattern } of operations) {
        if (method === request.method && pattern.test(pathname)) called.add(operationId);
      }
      const { method, headers } = request;
      const body = method === 'POST' ? await request.text() : null;
      return await fetch(`${target.origin}${pathname}${search}`, { method, headers, body, decompress: false });
    },
  });
  const texts = operations
    .filter(({ path }) => !path.startsWith('/v1') && !path.includes('{'))
    .map(({ operationId }) => operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const given = { market: MARKET, at: [AT_MS, AT_MS + 1000], directory: directory.path, texts };
  const answers = await run<Answers>('everything', given, proxy.url.origin);
  expect(operations.map(({ operationId }) => operationId).filter((id) => !called.has(id))).toEqual([]);
  for (const [name, { now, later }] of Object.entries(answers)) {
    const [own, other] = [now, later].map((answer) => comparable(answer));
    expect(own, name).toEqual(other!);
  }

  const at = `/v1/btc/markets/${BOOKS.conditionId}/snapshots/at`;
  const nearest = await answerTo<{ data: object[] }>(`${at}/${AT_MS}?outcome=up`);
  expect(idsOf(answers.snapshots!.now)).toEqual(EXPECTED.map(({ id }) => id));
  expect(answers.book!.now).toEqual({ snapshot: nearest.data[0]! });
  expect(answers.books!.now).toHaveLength(3);
  expect((answers.books!.now as unknown[])[2]).toBeNull();
  expect(answers.none!.now).toMatchObject({ error: 'NoBookError' });
  expect(answers.markets!.now).toEqual(
    (await answerTo<{ data: object[] }>('/v1/btc/markets?recorded=true&include=counts')).data,
  );
  expect(answers.upgrade!.now).toMatchObject({ error: 'NotFoundError', status: 404, code: 'not-found' });
  const bytes = await exported('format=ndjson');
  expect(answers.export!.now).toMatchObject(digestOf(bytes));
});

/** Without what differs at each request: its id in errors, and the nonce of a page. */
function comparable(answer: unknown): unknown {
  if (typeof answer === 'string') return answer.replaceAll(/[\w+/]{22}==/g, '');
  if (typeof answer !== 'object' || answer === null || !('request_id' in answer)) return answer;
  const { request_id: id, message, ...rest } = answer as Failure;
  return { ...rest, message: message.replaceAll(String(id), '') };
}

testHere(
  'A 429 is waited for exactly; 502 to 504 get three tries with a random pause; nothing else is sent again, and each code has its class.',
  async () => {
    const { components } = await apiDocument();
    const codes = components.schemas.Problem!.properties!.type!.enum!.map((type) => String(type).split(':').at(-1)!);
    const problem = (status: number, code: string, retryAfter?: string) => () =>
      Response.json(
        {
          type: `urn:bookreel:problem:${code}`,
          title: 'a title',
          status,
          detail: `detail of ${code}`,
          requestId: 'request-1',
          issues: [{ name: 'a' }],
        },
        {
          status,
          headers: {
            'content-type': 'application/problem+json',
            ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
          },
        },
      );
    const ok = () => Response.json({ data: 'an answer' });
    const page = (status: number) => () => new Response('<html>', { status, headers: { 'content-type': 'text/html' } });
    const [limited, unavailable] = [problem(429, 'rate-limited', '7'), problem(503, 'unavailable')];
    const sequences: Readonly<Record<string, readonly (() => Response)[]>> = {
      'GET /limited': [limited, problem(429, 'rate-limited', '3'), limited, limited, limited, ok],
      'GET /twice': [unavailable, page(502), ok],
      'GET /thrice': [unavailable, page(504), unavailable, ok],
      'GET /mixed': [unavailable, limited, unavailable, ok],
      'GET /page': [page(418)],
      'POST /limited': [limited, ok],
      'POST /unavailable': [unavailable, ok],
      'GET /endless': [problem(429, 'rate-limited'), ok],
      ...Object.fromEntries(codes.map((code) => [`GET /code/${code}`, [problem(400, code), ok]])),
    };
    const seen: Record<string, number> = {};
    await using stub = Bun.serve({
      port: 0,
      fetch: (request) => {
        const name = `${request.method} ${new URL(request.url).pathname}`;
        const sequence = sequences[name]!;
        seen[name] = (seen[name] ?? 0) + 1;
        // The second client begins again.
        const nth = (seen[name] - 1) % lengths[name]!;
        return sequence[nth]!();
      },
    });
    const lengths: Record<string, number> = { 'GET /thrice': 3, 'POST /unavailable': 1, 'GET /endless': 1 };
    for (const name of Object.keys(sequences))
      lengths[name] ??= name.startsWith('GET /code') ? 1 : sequences[name]!.length;
    const answers = await run<Answers>(
      'cases',
      Object.keys(sequences).map((name) => name.split(' ')),
      stub.url.origin,
    );

    for (const name of Object.keys(sequences)) {
      const { now, later, slept, sleptLater } = answers[name]!;
      expect(now, name).toEqual(later as object);
      expect(slept.length, name).toBe(sleptLater.length);
      expect(seen[name], name).toBe(2 * lengths[name]!);
    }
    const whole = { data: 'an answer' };
    expect(answers['GET /limited']).toMatchObject({ now: whole, slept: [7, 3, 7, 7, 7], sleptLater: [7, 3, 7, 7, 7] });
    expect(answers['POST /limited']).toMatchObject({ now: whole, slept: [7] });
    expect(answers['GET /twice']!.now).toEqual(whole);
    expect(answers['GET /mixed']).toMatchObject({ now: whole, slept: [expect.any(Number), 7, expect.any(Number)] });
    for (const pause of answers['GET /twice']!.slept) expect(pause).toBeWithin(0, 4.001);
    expect(answers['GET /twice']!.slept).not.toEqual(answers['GET /twice']!.sleptLater);
    expect(answers['GET /thrice']!.now).toMatchObject({ error: 'UnavailableError' });
    expect(answers['POST /unavailable']!.now).toMatchObject({ error: 'UnavailableError' });
    expect(answers['GET /endless']!.now).toMatchObject({ error: 'RateLimitedError' });
    expect(answers['GET /page']!.now).toMatchObject({ error: 'ApiError', code: 'unknown', status: 418 });
    expect(codes.length).toBeGreaterThan(15);
    for (const code of codes) {
      const error = `${code.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`;
      const failure = { error, code, status: 400, request_id: 'request-1', issues: [{ name: 'a' }] };
      expect(answers[`GET /code/${code}`]!.now).toMatchObject(failure);
      expect((answers[`GET /code/${code}`]!.now as Failure).message).toContain(`detail of ${code}`);
    }
  },
);

describe('A connection that is lost', () => {
  const LOST: readonly Behaviour[] = ['pass', 'cut off', 'hang up', 'pass', 'limited', 'unavailable', 'cut off'];

  describe.each(CLIENTS)('with %s', (client) => {
    testHere('in a walk or a stream neither loses nor repeats a record.', async () => {
      for (const [kind, behaviours] of [
        ['snapshots', LOST],
        ['stream', ['cut off', 'cut off', 'hang up', 'cut off', 'limited']],
      ] as const) {
        await using proxy = await startUnreliableProxy(target.origin, behaviours);
        const records = await run<{ id: string; snapshot?: { id: string } | null }[]>(
          'walk',
          { market: MARKET, client, kind },
          proxy.origin,
        );
        const snapshots = kind === 'snapshots' ? records : records.flatMap(({ snapshot }) => snapshot ?? []);
        expect(idsOf(snapshots)).toEqual(EXPECTED.map(({ id }) => id));
        expect(new Set(idsOf(records)).size).toBe(records.length);
        expect(proxy.seen.length).toBeGreaterThan(behaviours.length);
      }
    });

    testHere('in an export continues it, with the same bytes in the end.', async () => {
      for (const [format, behaviours] of [
        ['ndjson', ['cut off', 'hang up', 'cut off']],
        ['segments', ['cut off', 'cut off']],
      ] as const) {
        await using proxy = await startUnreliableProxy(target.origin, behaviours);
        const given = { market: MARKET, directory: directory.path, client, kind: 'export', format };
        const file = await run<object>('walk', given, proxy.origin);
        const bytes = await exported(`format=${format}`);
        expect(file).toMatchObject(digestOf(bytes));
        expect(Buffer.compare(readFileSync(join(directory.path, `${client}.${format}`)), bytes)).toBe(0);
        const continued = proxy.seen.filter(({ target: asked }) => asked.includes('from='));
        expect(continued.length > 0).toBe(format === 'ndjson');
      }
    });
  });

  testHere('at every try of an export leaves what the next call continues, unless the market changed.', async () => {
    const given = { market: MARKET, directory: directory.path, client: 'Client', kind: 'export', format: 'ndjson' };
    const file = join(directory.path, 'Client.ndjson');
    const bytes = await exported('format=ndjson');
    for (const isChanged of [false, true]) {
      rmSync(file, { force: true });
      await using broken = await startUnreliableProxy(target.origin, ['cut off', 'hang up', 'hang up', 'hang up']);
      expect((await run<Failure>('walk', given, broken.origin)).error).toBe('ConnectionLostError');
      expect(existsSync(file)).toBe(false);
      if (isChanged) {
        writeFileSync(`${file}.part.etag`, '"of another state"');
        writeFileSync(`${file}.part`, readFileSync(`${file}.part`, 'utf8').replace('"size":', '"size":1'));
      }
      await using proxy = await startUnreliableProxy(target.origin, []);
      expect(await run<object>('walk', given, proxy.origin)).toMatchObject(digestOf(bytes));
      expect(Buffer.compare(readFileSync(file), bytes)).toBe(0);
      // The rest and the tag; then the whole, if the tag is another.
      expect(proxy.seen.map(({ target: asked }) => asked.includes('from='))).toEqual([
        true,
        false,
        ...(isChanged ? [false] : []),
      ]);
      expect(readdirSync(directory.path).filter((name) => name.includes('.part'))).toEqual([]);
    }
  });

  testHere('at every try is an error, as are segments with a wrong byte.', async () => {
    await using proxy = await startUnreliableProxy(target.origin, ['pass', 'hang up', 'hang up', 'cut off', 'pass']);
    const lost = await run<Failure>('walk', { market: MARKET, client: 'Client', kind: 'snapshots' }, proxy.origin);
    expect(lost.error).toBe('ConnectionLostError');
    expect(proxy.seen).toHaveLength(4);
    let sent = 0;
    await using damaging = Bun.serve({
      port: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const bytes = await (
          await fetch(`${target.origin}${pathname}${search}`, { headers: { authorization: `Bearer ${key}` } })
        ).bytes();
        bytes[bytes.length >> 1]! ^= 1;
        sent += 1;
        return new Response(bytes);
      },
    });
    const given = { market: MARKET, directory: directory.path, client: 'Client', kind: 'export', format: 'segments' };
    expect((await run<Failure>('walk', given, damaging.url.origin)).error).toBe('DamagedError');
    expect(sent).toBe(3);
  });
});

testHere('Frames are made of one Parquet file; without a reader of Parquet, those of pandas of pages.', async () => {
  const pandas = pythonWith('httpx', 'pip', 'pandas') === PYTHON;
  const answer = await run<Record<string, unknown>>('frames', { market: MARKET, pandas, directory: directory.path });
  const sizeOf = async (query: string) => ({ parquet: (await exported(`format=parquet&${query}`)).length });
  const [books, wide] = [
    await sizeOf('type=snapshot&outcome=up&depth=2'),
    await sizeOf('type=snapshot&shape=wide&outcome=up&depth=2'),
  ];
  expect(answer.books).toEqual([books, books]);
  expect(answer.wide).toEqual(wide);
  expect(answer.exact).toEqual([
    await sizeOf('type=snapshot&outcome=up&depth=2&numbers=decimal'),
    (await exported('format=arrow&type=quote&numbers=decimal')).length,
  ]);
  expect(answer.trades).toEqual(await sizeOf('type=trade'));
  const markets = { records: (await answerTo<{ data: object[] }>('/v1/btc/markets?limit=1000')).data.length };
  expect(answer.markets).toEqual([markets, markets]);
  expect(answer.order).toContain('order');
  expect(answer.table).toContain('shape');
  if (!pandas) return;
  const { type, rows } = answer.pandas as { type: string; rows: unknown[][] };
  expect(type).toBe('datetime64[ns, UTC]');
  const { data } = await answerTo<{ data: { id: string; timestamp: string; bids: object[]; asks: object[] }[] }>(
    `/v1/btc/markets/${BOOKS.slug}/snapshots?outcome=up&depth=2&limit=1000`,
  );
  const expected = data.map(({ id, timestamp, bids, asks }) => [id, timestamp.replace('Z', '+00:00'), bids, asks]);
  expect(rows).toEqual(expected);
});

testHere('A key never gets into an error, and every URL fits into the 8 KiB of a proxy.', async () => {
  const lengths: number[] = [];
  await using stub = Bun.serve({
    port: 0,
    fetch: ({ url, headers }) => {
      const { pathname, search, searchParams } = new URL(url);
      if (pathname.endsWith('/coins')) return Response.json({ data: headers.get('authorization') });
      if (pathname.endsWith('/stream')) {
        const events = Bun.gzipSync('id: 1\nevent: snapshot\ndata: {"id":"1"}\n\nid: 2\nevent: end\ndata: 1\n\n');
        return new Response(events, { headers: { 'content-encoding': 'gzip' } });
      }
      lengths.push(`GET ${pathname}${search} HTTP/1.1`.length);
      return Response.json({
        data: searchParams
          .get('ts')!
          .split(',')
          .map(() => ({ data: [] })),
      });
    },
  });
  const { origin } = stub.url;
  const answer = await run<Record<string, unknown>>('faults', { other: origin }, origin);
  expect(answer.line).toBe('Bearer br_secret');
  for (const name of ['inside', 'letter'])
    expect(answer[name]).toBe('the key has characters that no key has: copy it again');
  expect(answer.books).toEqual([1000, 1000]);
  for (const length of lengths) expect(length).toBeLessThan(8192);
  expect(answer.stream).toEqual([{ id: '1', snapshot: { id: '1' }, gap: null }]);
});

testHere('The rest of an export with a later end is left, and the other one made.', async () => {
  const given = { market: MARKET, directory: directory.path, client: 'Client', kind: 'export', format: 'ndjson' };
  const part = join(directory.path, 'Client.ndjson.part');
  writeFileSync(part, '{"type":"snapshot","timestamp":"2100-01-01T00:00:00.000Z"}\n');
  writeFileSync(`${part}.etag`, '"other"');
  await using stub = Bun.serve({
    port: 0,
    fetch: async ({ url, headers }) => {
      const { pathname, search, searchParams } = new URL(url);
      if (searchParams.get('from')?.startsWith('2100')) {
        const type = 'urn:bookreel:problem:invalid-parameter';
        return Response.json({ type, detail: 'from must not be later than to' }, { status: 400 });
      }
      return await fetch(`${target.origin}${pathname}${search}`, { headers, decompress: false });
    },
  });
  expect(await run<object>('walk', given, stub.url.origin)).toMatchObject(digestOf(await exported('format=ndjson')));
});

const testExecutable = HAS_EXECUTABLE ? testHere : test.skip;
testExecutable(
  'A local archive is opened by the executable, replays included, and nothing is left of them.',
  async () => {
    const data = join(directory.path, 'archive');
    await printed(['seed', '--data', data]);
    const market = 'btc/simulated-btc-updown-5m-1767868200';
    const given = { market, at: '2026-01-08T10:31:40Z', data, executable: EXECUTABLE };
    const answer = await run<Record<string, unknown>>('local', given);
    expect(answer.book).toMatchObject({ snapshot: { symbol: 'btc', outcome: 'up' } });
    expect(answer.seen).toEqual(answer.book);
    expect(answer.states).toEqual(['paused', 'running', 'paused']);
    for (const pid of answer.pids as number[]) expect(() => process.kill(pid, 0)).toThrow();
    const keys = JSON.parse(await printed(['key', 'list', '--data', data, '--json'])) as { data?: object[] };
    expect(JSON.stringify(keys)).not.toContain('"revokedAt":null');
    expect(answer.missing).toContain('there is no directory');
    expect(answer.program).toContain('install bookreel');
  },
);

testExecutable(
  'The server of a local archive outlives an interrupt, and ends with a process that is killed.',
  async () => {
    const data = join(directory.path, 'kept');
    await printed(['seed', '--data', data]);
    const env = { PATH: Bun.env.PATH!, PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: '1' };
    const given = JSON.stringify({ data, executable: EXECUTABLE });
    const script = join(import.meta.dir, 'python_client.py');
    const { stdout, stderr } = await finished([PYTHON!, script, 'kept', given], { env });
    expect(stderr).toBe('');
    const { url } = JSON.parse(stdout) as { url: string };
    const isServed = () =>
      fetch(`${url}/healthz`).then(
        () => true,
        () => false,
      );
    while (await isServed()) await Bun.sleep(50);
  },
);
