import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import { mcpController } from '../../src/http/mcp/mcp-route.ts';
import { Cors } from '../../src/http/plugins/cors.ts';
import { readRecording, type SnapshotRecord } from '../fixtures/recording.ts';
import { importPaths, importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { type Agent, overHttp, VERSIONS } from '../support/mcp-client.ts';
import { keptLog } from './edge-service.ts';

const FIXTURE = join(import.meta.dir, '../../fixtures/btc.ndjson.zst');
const recording = readRecording(Bun.zstdDecompressSync(readFileSync(FIXTURE)).toString());
const APP = 'https://app.example';
const HOST = '127.0.0.1';
/** Longer than an answer may be: gaps, levels and names. */
const LONG = { conditionId: `0x${'ab'.repeat(32)}`, slug: 'btc-long-5m', startMs: Date.UTC(2026, 0, 9) };
const ANSWER_BYTES_MAX = 15_000;

const at = (ms: number) => new Date(ms).toISOString();
const MINUTE = 60_000;
const GAPS = 300;
const LONG_RECORDS = [
  {
    type: 'market',
    ...{ conditionId: LONG.conditionId, slug: LONG.slug, symbol: 'btc', timeframe: '24h', outcomes: ['up', 'down'] },
    clobTokenIds: ['9'.repeat(77), '8'.repeat(77)],
    ...{ startTime: at(LONG.startMs), endTime: at(LONG.startMs + 1440 * MINUTE) },
  },
  ...Array.from({ length: GAPS }, (_, i) => ({
    ...{ type: 'gap', conditionId: LONG.conditionId, reason: `"the" recorder was away, time ${i}` },
    ...{ from: at(LONG.startMs + i * MINUTE), to: at(LONG.startMs + i * MINUTE + 9000) },
  })),
  ...Array.from({ length: 60 }, (_, i) => ({
    ...{ type: 'snapshot', conditionId: LONG.conditionId, outcome: i % 2 ? 'up' : 'down' },
    timestamp: at(LONG.startMs + i * MINUTE + 10_001),
    bids: Array.from({ length: 480 }, (_, level) => ({ price: (480 - level) / 1000, size: 1234.567 + level + i })),
    asks: Array.from({ length: 480 }, (_, level) => ({ price: (500 + level) / 1000, size: 7654.321 + level + i })),
  })),
];

const kept = keptLog();
const held = temporaryArchive();
const { archive, registry, activity } = held;
const clock = { wallMs: NOW_MS };
const app = createApp({
  ...{ archive, registry, usage: activity.usage, version: '0.0.0-test', isDraining: () => false },
  clocks: () => ({ monotonicMs: performance.now(), wallMs: clock.wallMs }),
  logError: (line) => {
    throw new Error(line);
  },
  edge: { accessLog: kept.accessLog, cors: new Cors([APP]), allowedHosts: new Set([HOST, 'a.example']) },
  mcp: mcpController,
});
let origin = '';

beforeAll(async () => {
  await importPaths(archive, FIXTURE);
  await importRecords(archive, LONG_RECORDS);
  origin = `http://${HOST}:${app.listen({ hostname: HOST, port: 0, reusePort: false }).server!.port}`;
});
afterAll(async () => {
  await app.stop(true);
  held[Symbol.dispose]();
});

function issue(tier = 'enterprise', more: { readonly requestsPerMinute?: number; readonly asOfMs?: number } = {}) {
  const request = { account: 'test@localhost', name: undefined, tier, requestsPerMinute: 1_000_000, ...more };
  const { apiKey, key } = createKey(registry, NOW_MS, request);
  return { id: apiKey.id, key };
}

const get = (path: string, key: string) => fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
// biome-ignore lint/suspicious/noExplicitAny: documents of many paths
const documentOf = async (answer: Response): Promise<any> => await answer.json();

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
function post(headers: Readonly<Record<string, string>>, body: string | object = PING) {
  return fetch(`${origin}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const resolved = recording.markets.find(({ market }) => market.slug === 'simulated-btc-updown-5m-1767868200')!;
const M = { coin: 'btc', market: resolved.market.slug };
const T = '2026-01-08T10:31:40.000Z';
const SNAPSHOTS = `/v1/btc/markets/${M.market}/snapshots`;

/** The last book of an outcome at or before an instant, by a scan. */
function lastBook(outcome: 'up' | 'down', ts: string, { snapshots } = resolved): SnapshotRecord | undefined {
  const before = snapshots.filter((book) => book.outcome === outcome && Date.parse(book.timestamp) <= Date.parse(ts));
  return before.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp)).at(-1);
}
const levelsOf = (side: SnapshotRecord['bids'] = []) => side.map(({ price, size }) => [price, size]);
const gapped = recording.markets.find(({ series }) => series.some(({ type }) => type === 'gap'))!;
const GAP = gapped.series.flatMap((record) => (record.type === 'gap' ? [record] : []))[0]!;
const trades = resolved.series.flatMap((record) =>
  record.type === 'price' && record.kind === 'trade' ? [record] : [],
);

/** Questions of a person, each with the answer by an agent's calls and the one by a scan of the recordings. */
const QUESTIONS: readonly (readonly [string, (agent: Agent) => Promise<unknown>, () => unknown])[] = [
  [
    'Which coins are there, and how many markets of each?',
    async ({ call }) =>
      (await call('find_markets')).value.coins.map((coin: { symbol: string; markets: number }) => [
        coin.symbol,
        coin.markets,
      ]),
    () => [['btc', recording.markets.length + 1]],
  ],
  [
    'Which 5m markets are on 2026-01-08?',
    async ({ call }) =>
      (await call('find_markets', { coin: 'btc', tf: '5m', date: '2026-01-08', limit: 50 })).value.markets
        .map(({ slug }: { slug: string }) => slug)
        .sort(),
    () =>
      recording.markets
        .filter(({ market }) => market.timeframe === '5m' && market.startTime.startsWith('2026-01-08'))
        .map(({ market }) => market.slug)
        .sort(),
  ],
  [
    'Which outcome won the market, and at which prices of the coin?',
    async ({ call }) => {
      const { winner, priceStart, priceEnd } = (await call('market', M)).value.market;
      return [winner, priceStart, priceEnd];
    },
    () => [resolved.market.winner, resolved.market.priceStart, resolved.market.priceEnd],
  ],
  [
    'What was its book at 10:31:40?',
    async ({ call }) => (await call('book_at', { ...M, ts: T, depth: 1000 })).value.books.up,
    () => {
      const book = lastBook('up', T)!;
      const id = expect.any(String);
      return { id, timestamp: book.timestamp, bids: levelsOf(book.bids), asks: levelsOf(book.asks) };
    },
  ],
  [
    'How many snapshots of each outcome are recorded?',
    async ({ call }) =>
      (await call('coverage', M)).value.coverage.outcomes.map(({ count }: { count: number }) => count),
    () => ['up', 'down'].map((outcome) => resolved.snapshots.filter((book) => book.outcome === outcome).length),
  ],
  [
    'Which market has a gap, and when?',
    async ({ call }) => {
      const [market] = (await call('find_markets', { coin: 'btc', gaps: 'true', search: 'simulated' })).value.markets;
      const { coverage } = (await call('coverage', { coin: 'btc', market: market.conditionId })).value;
      return [market.slug, coverage.gaps];
    },
    () => [gapped.market.slug, [{ from: GAP.from, to: GAP.to, reason: GAP.reason }]],
  ],
  [
    'How did the best prices change during the window?',
    async ({ call }) => {
      const { from, points } = (await call('series', { ...M, points: 25 })).value;
      return points.map(([ms, bid, ask]: [number, number, number]) => [at(Date.parse(from) + ms), bid, ask]);
    },
    () =>
      Array.from({ length: 25 }, (_, i) => {
        const end = at(Date.parse(resolved.market.startTime) + (i === 24 ? 300_000 : (i + 1) * 12_000 - 1));
        const book = lastBook('up', end);
        return [end, book?.bids[0]?.price ?? null, book?.asks[0]?.price ?? null];
      }),
  ],
  [
    'How many trades were there, and at which lowest and highest price?',
    async ({ call }) => {
      const { trades: count, tradeLow, tradeHigh, parts } = (await call('summary', M)).value;
      const sum = parts.reduce((total: number, part: { trades: number }) => total + part.trades, 0);
      return [count, tradeLow, tradeHigh, sum];
    },
    () => {
      const { startTime, endTime } = resolved.market;
      const up = trades.filter(({ outcome }) => outcome === 'up');
      const inside = up.filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime);
      const prices = inside.map(({ price }) => price);
      return [inside.length, Math.min(...prices), Math.max(...prices), inside.length];
    },
  ],
  [
    'By how much did up change from 10:31:40 to 10:33:40?',
    async ({ call }) => {
      const { rows } = (await call('compare_instants', { ...M, ts: [T, '2026-01-08T10:33:40Z'] })).value;
      return rows[1].change;
    },
    () => {
      const [first, last] = [T, '2026-01-08T10:33:40Z'].map((ts) => lastBook('up', ts)!);
      const mid = (book: SnapshotRecord) => book.bids[0]!.price * 1e4 + book.asks[0]!.price * 1e4;
      return Math.round(mid(last!) - mid(first!)) / 2e4;
    },
  ],
  [
    'What was the price of the coin at the end of the window?',
    async ({ call }) => {
      const { from, points } = (await call('series', { ...M, kind: 'coin', points: 10 })).value;
      const [ms, price] = points.simulated.at(-1);
      return [at(Date.parse(from) + ms), price];
    },
    () => {
      const { endTime } = resolved.market;
      const before = recording.coinPrices.filter(({ timestamp }) => timestamp <= endTime);
      const last = before.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp)).at(-1)!;
      return [last.timestamp, last.price];
    },
  ],
  [
    'How do I get all of it as a file?',
    async ({ call }) => {
      const { url } = (await call('export_link', { ...M, format: 'ndjson' })).value;
      const lines = (await (await get(url.replace(origin, ''), KEYS.all.key)).text()).trimEnd().split('\n');
      return lines.filter((line) => line.includes('"type":"snapshot"')).length;
    },
    () => resolved.snapshots.length,
  ],
  [
    'How do I let a bot trade on it?',
    async ({ call }) => (await call('replay_create', { ...M, speed: 10, paused: true })).value.command,
    () => `bookreel replay --market ${M.market} --speed 10 --paused`,
  ],
];

const KEYS = { all: { id: '', key: '' } };
beforeAll(() => {
  KEYS.all = issue();
});

describe.each(VERSIONS)('with the official client of %s', (version, mode) => {
  test('there are nine tools, and eight of them say that they only read', async () => {
    await using agent = await overHttp(origin, KEYS.all.key, mode);
    expect(agent.client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['find_markets', 'market', 'coverage', 'book_at', 'series', 'summary'],
      ...['compare_instants', 'export_link', 'replay_create'],
    ]);
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toHaveLength(1);
    for (const { description, inputSchema } of tools) {
      expect(description).toMatch(/^[A-Z].+\.$/);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const property of Object.values(inputSchema.properties!)) {
        expect(property).toHaveProperty('description');
        // Some providers of models refuse a list of types.
        expect(property).not.toHaveProperty('type', expect.any(Array));
      }
    }
  });

  test.each(QUESTIONS)('An agent answers in at most three calls: %s', async (_, answer, expected) => {
    await using agent = await overHttp(origin, KEYS.all.key, mode);
    expect(await answer(agent)).toEqual(expected() as never);
    expect(agent.calls()).toBeLessThanOrEqual(3);
  });
});

describe('what /v1 refuses, the tools refuse with the same sentence', () => {
  test.each([
    ['without a key', () => ({})],
    ['with an unknown key', () => ({ authorization: `Bearer br_live_${'a'.repeat(39)}` })],
    ['with a malformed header', () => ({ authorization: 'Basic abc' })],
    [
      'with a revoked key',
      () => {
        const { id, key } = issue();
        registry.database.write(() => registry.apiKeys.revoke(id, NOW_MS));
        return { authorization: `Bearer ${key}` };
      },
    ],
  ])('%s', async (_, headersOf) => {
    const headers = headersOf() as Record<string, string>;
    const [refused, expected] = [await post(headers), await fetch(`${origin}/v1/btc/markets`, { headers })];
    expect(refused.status).toBe(401);
    expect(refused.status).toBe(expected.status);
    expect(refused.headers.get('www-authenticate')).toBe(expected.headers.get('www-authenticate'));
    expect((await documentOf(refused)).detail).toBe((await documentOf(expected)).detail);
  });

  test('with a foreign Host', async () => {
    const headers = { authorization: `Bearer ${KEYS.all.key}`, host: 'evil.example' };
    const [refused, expected] = [await post(headers), await fetch(`${origin}/v1/btc/markets`, { headers })];
    expect(refused.status).toBe(400);
    expect(expected.status).toBe(400);
    expect((await documentOf(refused)).detail).toBe((await documentOf(expected)).detail);
    expect((await post({ ...headers, host: 'a.example' })).status).toBe(200);
  });

  test.each([
    ['a coin that the tier lacks', 'free', 'find_markets', { coin: 'eth' }, '/v1/eth/markets', 403],
    ['records that the tier lacks', 'free', 'book_at', { ...M, ts: T }, `${SNAPSHOTS}/at/${T}`, 403],
    ['an export that the tier lacks', 'starter', 'export_link', M, `/v1/btc/markets/${M.market}/export`, 403],
    ['an unknown coin', 'pro', 'find_markets', { coin: 'nosuch' }, '/v1/nosuch/markets', 403],
    ['an unknown market', 'pro', 'market', { ...M, market: 'x' }, '/v1/btc/markets/x', 404],
    ['a bad instant', 'pro', 'book_at', { ...M, ts: 'noon' }, `${SNAPSHOTS}/at?ts=noon`, 400],
    ['a bad outcome', 'pro', 'summary', { ...M, outcome: 'left' }, `${SNAPSHOTS}?outcome=left`, 400],
    ['a bad number', 'pro', 'find_markets', { coin: 'btc', limit: {} }, '/v1/btc/markets?limit=x', 400],
    ['a reversed range', 'pro', 'summary', { ...M, from: 9, to: 8 }, `${SNAPSHOTS}?from=9&to=8`, 400],
  ])('%s', async (_, tier, name, given, path, status) => {
    const { key } = issue(tier);
    await using agent = await overHttp(origin, key);
    const { isError, text } = await agent.call(name, given);
    const expected = await get(path, key);
    expect(expected.status).toBe(status);
    expect({ isError, text }).toEqual({ isError: true, text: (await documentOf(expected)).detail });
  });

  test('above the limit of the key', async () => {
    const { key } = issue('pro', { requestsPerMinute: 2 });
    await using agent = await overHttp(origin, key);
    await agent.client.listTools();
    expect((await agent.call('market', M)).isError).toBe(false);
    expect((await agent.call('market', M)).isError).toBe(false);
    const refused = await agent.call('market', M);
    const { detail } = await documentOf(await get('/v1/coins', key));
    const withoutTime = (text: string) => text.replace(/\d+ s$/, 's');
    expect(refused.isError).toBe(true);
    expect(withoutTime(refused.text)).toBe(withoutTime(detail));
    expect(detail).toContain('limited to 2 per minute');
  });
});

test('Pages of other origins are refused, unless --cors-origins names theirs.', async () => {
  const authorization = `Bearer ${KEYS.all.key}`;
  for (const foreign of ['https://evil.example', origin, 'null', `${APP}.evil.example`]) {
    const refused = await post({ authorization, origin: foreign });
    expect(refused.status).toBe(403);
    expect((await documentOf(refused)).detail).toContain('--cors-origins');
  }
  expect((await post({ authorization, origin: APP })).status).toBe(200);
  const preflight = await fetch(`${origin}/mcp`, {
    method: 'OPTIONS',
    headers: { origin: APP, 'access-control-request-method': 'POST' },
  });
  expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version');
});

test('A key with an instant sees nothing later by the tools, and a later asOf has no effect.', async () => {
  const { key } = issue('pro', { asOfMs: Date.parse(T) });
  await using agent = await overHttp(origin, key);
  for (const asOf of [undefined, '2026-02-01T00:00:00Z']) {
    const { value } = await agent.call('book_at', { ...M, ts: '2026-01-08T10:34:00Z', ...(asOf && { asOf }) });
    expect(value.books.up.timestamp).toBe(lastBook('up', T)!.timestamp);
    const { market } = (await agent.call('market', { ...M, ...(asOf && { asOf }) })).value;
    expect(market).toMatchObject({ winner: null, priceEnd: null });
    const { points } = (await agent.call('series', { ...M, points: 10, ...(asOf && { asOf }) })).value;
    expect(points.at(-1)).toEqual([300_000, null, null, 0]);
    const known = lastBook('up', '2026-01-08T10:31:29.999Z')!;
    expect(points[2].slice(1, 3)).toEqual([known.bids[0]!.price, known.asks[0]!.price]);
  }
});

test('Each request of /v1 counts once for the key, and messages without any count for the address.', async () => {
  const { key, id } = issue('pro');
  await using agent = await overHttp(origin, key);
  await agent.client.listTools();
  expect((await agent.call('nosuch')).isError).toBe(true);
  await agent.call('book_at', { ...M, ts: T });
  await agent.call('market', M);
  const { routes } = (await documentOf(await get(`/v1/account/usage?keyId=${id}`, key))).data;
  const counts = routes.map(({ route, requests }: { route: string; requests: number }) => [route, requests]);
  expect(counts.sort()).toEqual([
    ['/v1/{coin}/markets/{conditionId}', 1],
    ['/v1/{coin}/markets/{conditionId}/coverage', 1],
    ['/v1/{coin}/markets/{conditionId}/snapshots/at', 1],
  ]);
  const call = (name: string, given: object) =>
    post({ authorization: `Bearer ${key}` }, { ...PING, method: 'tools/call', params: { name, arguments: given } });
  const limits = (answer: Response) => ['limit', 'remaining'].map((what) => answer.headers.get(`x-ratelimit-${what}`));
  const [limit, remaining] = limits(await call('market', M));
  expect(limit).toBe('1000000');
  expect(limits(await call('market', M))).toEqual(['1000000', String(Number(remaining) - 1)]);
  expect(limits(await post({ authorization: `Bearer ${key}` }))[0]).toBe('600');
});

test('The log has the message and its requests with the key’s id and the client’s address, and no secret.', async () => {
  const { key, id } = issue('pro');
  await using agent = await overHttp(origin, key);
  const answers = [await agent.call('export_link', M), await agent.call('market', { ...M, market: 'x' })];
  for (const { text } of answers) expect(text).not.toContain(key);
  const lines = (await kept.lines()).filter((line) => line.key === id);
  const shown = lines.map((line) => [line.method, line.path, line.status, line.address]);
  expect(shown).toContainEqual(['POST', '/mcp', 200, HOST]);
  expect(shown).toContainEqual(['HEAD', `/v1/btc/markets/${M.market}/export`, 200, HOST]);
  expect(shown).toContainEqual(['GET', '/v1/btc/markets/x?include=counts', 404, HOST]);
  expect(JSON.stringify(await kept.lines())).not.toContain(key);
});

describe('no answer is longer than 15 kB, and one that leaves something out says so', () => {
  const long = { coin: 'btc', market: LONG.slug };
  const instants = Array.from({ length: 300 }, (_, i) => at(LONG.startMs + i * MINUTE));
  test.each<[string, object, string | undefined]>([
    ['find_markets', { coin: 'btc', limit: 1000 }, undefined],
    ['market', long, undefined],
    ['coverage', long, 'gaps'],
    ['book_at', { ...long, ts: at(LONG.startMs + 300 * MINUTE), depth: 1000 }, 'bids'],
    ['series', { ...long, points: 500 }, 'gapsInRange'],
    ['series', { ...M, kind: 'coin', points: 500 }, undefined],
    ['summary', long, 'gapsInRange'],
    ['compare_instants', { ...long, ts: instants }, 'rows'],
    ['export_link', long, 'gapsInRange'],
    ['replay_create', long, 'gapsInRange'],
  ])('%s', async (name, given, cut) => {
    await using agent = await overHttp(origin, KEYS.all.key);
    const { bytes, isError, value } = await agent.call(name, { ...given });
    expect(isError).toBe(false);
    expect(bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
    expect(Object.keys(value.leftOut ?? {})).toEqual(cut === undefined ? [] : expect.arrayContaining([cut]));
  });

  test('and a coverage that was cut has the first gaps, and the number of the others', async () => {
    await using agent = await overHttp(origin, KEYS.all.key);
    const { coverage, leftOut } = (await agent.call('coverage', long)).value;
    expect(coverage.gapCount).toBe(GAPS);
    expect(coverage.gaps).toHaveLength(GAPS - leftOut.gaps);
    expect(coverage.gaps[0].from).toBe(at(LONG.startMs));
  });
});

test.each([
  ['an argument that is missing', 'market', { coin: 'btc' }, 'market is missing: market takes coin, market, asOf'],
  ['another argument', 'market', { ...M, tf: '5m' }, 'tf is not an argument: market takes coin, market, asOf'],
  [
    'a name that URLs resolve',
    'market',
    { ...M, market: '..' },
    "'..' is no name of a coin or a market: find_markets lists them",
  ],
  ['several instants', 'book_at', { ...M, ts: `${T},${T}` }, 'ts must be one instant: compare_instants takes several'],
  ['too many points', 'series', { ...M, points: 501 }, 'points must be an integer from 2 to 500'],
  ['another kind', 'series', { ...M, kind: 'x' }, 'kind must be book or coin'],
])('%s is an error of the tool that says what to do', async (_, name, given, sentence) => {
  await using agent = await overHttp(origin, KEYS.all.key);
  expect(await agent.call(name, given)).toMatchObject({ isError: true, text: sentence });
});

test.each([
  ['GET', { method: 'GET' } as RequestInit & { type?: string }, 405],
  ['DELETE', { method: 'DELETE' }, 405],
  ['a body that is not JSON', { method: 'POST', body: '{' }, 400],
  ['another type of body', { method: 'POST', body: '{}', type: 'text/plain' }, 415],
  ['a long body', { method: 'POST', body: JSON.stringify({ ...PING, params: { a: 'x'.repeat(70_000) } }) }, 413],
])('%s is refused', async (_, { type = 'application/json', ...init }, status) => {
  const accept = 'application/json, text/event-stream';
  const headers = { authorization: `Bearer ${KEYS.all.key}`, 'content-type': type, accept };
  const answer = await fetch(`${origin}/mcp`, { ...init, headers });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('x-request-id')).toBeString();
});

test.each([
  ['half of a surrogate pair', 'market', { ...M, market: '\ud800' }, 'market'],
  ['an object without a text', 'replay_create', { ...M, speed: { toString: 1 } }, 'speed'],
  ['lists in lists', 'market', `{"coin":"btc","market":"x","asOf":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'asOf'],
])('%s is no defect of the service, and logs nothing', async (_, name, given, unreadable) => {
  // The client of the library encodes these in another way.
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${text}}}`;
  const answer = await (await post({ authorization: `Bearer ${KEYS.all.key}` }, message)).text();
  expect(answer).toContain(`"${unreadable} cannot be read: write it as text, a number, or true or false"`);
});

test('A long argument makes no long answer.', async () => {
  await using agent = await overHttp(origin, KEYS.all.key);
  for (const [name, given] of [
    ['replay_create', { ...M, speed: 'x'.repeat(60_000) }],
    ['market', { ...M, market: '.'.repeat(60_000) }],
  ] as const) {
    const { isError, bytes } = await agent.call(name, given);
    expect(isError).toBe(true);
    expect(bytes).toBeLessThan(300);
  }
});

test('A batch is refused at once: it counts once, and one that cancels its own call does not wait for ever.', async () => {
  const { key, id } = issue('pro');
  const call = { ...PING, method: 'tools/call', params: { name: 'market', arguments: M } };
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: call.id } };
  const answer = await post({ authorization: `Bearer ${key}` }, [call, cancelled]);
  expect(answer.status).toBe(400);
  expect((await documentOf(answer)).detail).toBe('send one message in each request, no batch');
  expect((await documentOf(await get(`/v1/account/usage?keyId=${id}`, key))).data.routes).toEqual([]);
});

test('A client that leaves in the middle of its message is no defect of the service.', async () => {
  const { key, id } = issue();
  const lines = ['POST /mcp HTTP/1.1', `Host: ${HOST}`, `Authorization: Bearer ${key}`, 'Content-Length: 900', '', '{'];
  const socket = await Bun.connect({ hostname: HOST, port: Number(new URL(origin).port), socket: { data() {} } });
  socket.end(lines.join('\r\n'));
  let logged: unknown;
  while (logged === undefined) {
    await Bun.sleep(5);
    logged = (await kept.lines()).find((line) => line.key === id)?.status;
  }
  expect(logged).toBe(400);
});

test('A command that a tool answers with has each value as one word of a shell.', async () => {
  await using agent = await overHttp(origin, KEYS.all.key);
  const from = "1'; touch /tmp/x; echo '$(id)`id`";
  const { command } = (await agent.call('replay_create', { ...M, from, paused: false })).value;
  const words = Bun.spawnSync(['sh', '-c', `printf '%s\\n' ${command}`]).stdout.toString();
  expect(words).toBe(`${['bookreel', 'replay', '--market', M.market, '--from', from].join('\n')}\n`);
});

test('Nothing can be subscribed to: no message keeps its connection open.', async () => {
  await using agent = await overHttp(origin, KEYS.all.key);
  await expect(agent.client.listen({ toolsListChanged: true })).rejects.toThrow();
});
