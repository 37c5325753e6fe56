import { expect } from 'bun:test';
import fc from 'fast-check';
import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import type { ImportOptions } from '../../src/import/importer.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleCoinPrice,
  sampleGap,
  sampleLastTradePrice,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';

/** The archives are equal up to here, and differ after it. */
export const KNOWN_MS = START_MS + 60_000;
const LATE_MARKET = `0x${'cd34'.repeat(16)}`;
const iso = (ms: number) => new Date(ms).toISOString();
const created = { createdAt: iso(START_MS - 86_400_000), updatedAt: iso(START_MS - 1) };

const book = (index: number) => ({
  bids: Array.from({ length: 1 + (index % 5) }, (_, level) => ({
    price: (50 - level) / 100,
    size: 1 + ((index * 7) % 90),
  })),
  asks: Array.from({ length: index % 4 }, (_, level) => ({ price: (52 + level) / 100, size: 2 + ((index * 3) % 70) })),
});

export const KNOWN: readonly object[] = [
  sampleMarket(created),
  ...Array.from({ length: 300 }, (_, index) =>
    sampleSnapshot({ outcome: index % 3 === 0 ? 'down' : 'up', timestamp: START_MS + index * 200, ...book(index) }),
  ),
  ...Array.from({ length: 40 }, (_, index) =>
    samplePrice({ timestamp: START_MS + index * 1500, price: (40 + (index % 20)) / 100 }),
  ),
  ...Array.from({ length: 30 }, (_, index) =>
    sampleLastTradePrice({ timestamp: START_MS + index * 1700, price: (30 + (index % 9)) / 100 }),
  ),
  ...Array.from({ length: 50 }, (_, index) =>
    sampleCoinPrice({ timestamp: START_MS + index * 1000, price: 76_000 + index }),
  ),
  sampleGap({ from: iso(START_MS + 10_000), to: iso(START_MS + 10_500) }),
  sampleGap({ from: iso(START_MS + 55_000), to: iso(KNOWN_MS + 90_000), reason: 'it ends later' }),
];

/** Later records: some of every kind, different each time. */
export const later = (seed: number): readonly object[] => [
  sampleMarket({
    ...created,
    ...{
      winner: seed % 2 === 0 ? 'up' : 'down',
      closed: true,
      active: false,
      resolvedAt: iso(KNOWN_MS + 240_000 + seed),
    },
    ...{ marketId: String(700 + seed), eventId: String(800 + seed), details: { question: `Later ${seed}?` } },
    ...{ priceEnd: 76_000 + seed, volume: 1000 + seed, liquidity: 5 + seed, updatedAt: iso(KNOWN_MS + 300_000 + seed) },
  }),
  ...Array.from({ length: 200 + seed }, (_, index) =>
    sampleSnapshot({
      outcome: index % 2 === 0 ? 'down' : 'up',
      timestamp: KNOWN_MS + 1 + index * 50,
      ...book(index + seed),
    }),
  ),
  ...(['up', 'down'] as const).map((outcome) =>
    sampleQuote({ outcome, timestamp: KNOWN_MS + 5 + seed, bidSize: seed + 1 }),
  ),
  samplePrice({ kind: 'mid', timestamp: KNOWN_MS + 7 + seed, price: 0.25 }),
  samplePrice({ outcome: 'down', timestamp: KNOWN_MS + 8, price: 0.75 }),
  sampleLastTradePrice({ timestamp: KNOWN_MS + 3 + seed, price: 0.9 }),
  sampleLastTradePrice({ outcome: 'down', timestamp: KNOWN_MS + 4, price: (10 + seed) / 100 }),
  sampleCoinPrice({ timestamp: KNOWN_MS + 9, price: 1 + seed }),
  sampleCoinPrice({ timestamp: KNOWN_MS + 10, source: `source-${seed}`, price: 2 }),
  sampleCoinPrice({ symbol: 'eth', timestamp: KNOWN_MS + 10, price: 2 + seed }),
  sampleGap({ from: iso(START_MS + 40_000), to: iso(KNOWN_MS + 1 + seed), reason: 'it begins before' }),
  sampleGap({ from: iso(KNOWN_MS + 1), to: iso(KNOWN_MS + 20_000 + seed) }),
  sampleMarket({
    ...{ conditionId: LATE_MARKET, slug: `late-${seed}`, clobTokenIds: [`${seed}1`, `${seed}2`] },
    ...{ startTime: iso(KNOWN_MS + 600_000), endTime: iso(KNOWN_MS + 900_000) },
    ...{ createdAt: iso(KNOWN_MS + 1 + seed), updatedAt: iso(KNOWN_MS + 1 + seed) },
  }),
];

export const MARKET_PATH = `/v1/btc/markets/${CONDITION_ID}`;
export const anyInstant = fc.integer({ min: START_MS - 90_000_000, max: KNOWN_MS + 100_000 });
export const nearInstant = fc.integer({ min: START_MS - 1000, max: KNOWN_MS + 30_000 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const order = maybe(fc.constantFrom('asc', 'desc'));
const limit = maybe(fc.integer({ min: 1, max: 1000 }));
const outcome = maybe(fc.constantFrom('up', 'down'));
const interval = maybe(fc.constantFrom('100ms', '1s', '1m', '1d'));
const depth = maybe(fc.integer({ min: 1, max: 4 }));
const mode = maybe(fc.constantFrom('nearest', 'before', 'after'));
const maxDistance = maybe(fc.integer({ min: 0, max: 20_000 }));
const flag = maybe(fc.constantFrom('true', 'false'));
const search = maybe(fc.constantFrom('late', 'updown', '0x', LATE_MARKET, CONDITION_ID));
const include = maybe(fc.constant('counts'));
const window = { from: maybe(nearInstant), to: maybe(nearInstant) };
const series = { ...window, order, limit, interval };

/** Every route of /v1 about markets, with any parameters. */
export const QUESTIONS: readonly (readonly [
  path: fc.Arbitrary<string>,
  query: Record<string, fc.Arbitrary<unknown>>,
])[] = [
  [
    fc.constantFrom('/v1/btc/markets', '/v1/eth/markets'),
    { limit, skip: maybe(fc.integer({ min: 0, max: 3 })), search, recorded: flag, closed: flag, ...window, include },
  ],
  [fc.constantFrom(MARKET_PATH, `/v1/btc/markets/${LATE_MARKET}`, '/v1/btc/markets/late-1'), { include }],
  [fc.constant('/v1/coins'), {}],
  [fc.constantFrom('/v1/btc/days', '/v1/eth/days'), { tf: maybe(fc.constant('5m')), ...window }],
  [
    fc.constant('/v1/btc/midpoints'),
    {
      markets: fc.constantFrom(CONDITION_ID, `${LATE_MARKET},${CONDITION_ID}`, `late-1,late-2,${LATE_MARKET}`),
      points: maybe(fc.integer({ min: 1, max: 100 })),
      outcome,
    },
  ],
  [fc.constant(`${MARKET_PATH}/snapshots`), { ...series, outcome, depth }],
  [nearInstant.map((ms) => `${MARKET_PATH}/snapshots/at/${ms}`), { outcome, mode, maxDistance, depth }],
  [
    fc.constant(`${MARKET_PATH}/snapshots/at`),
    { ts: fc.array(nearInstant, { minLength: 1, maxLength: 8 }).map(String), outcome, mode, maxDistance, depth },
  ],
  [fc.constant(`${MARKET_PATH}/stream`), { ...window, outcome, depth, speed: fc.constant('max') }],
  [fc.constant(`${MARKET_PATH}/coverage`), {}],
  [fc.constant(`${MARKET_PATH}/heatmap`), { ...window, outcome, columns: maybe(fc.integer({ min: 1, max: 90 })) }],
  [fc.constant(`${MARKET_PATH}/prices`), { ...series, outcome }],
  [fc.constant(`${MARKET_PATH}/quotes`), { ...series, outcome }],
  [fc.constantFrom('/v1/btc/prices', '/v1/eth/prices'), series],
  [
    fc.constant(`${MARKET_PATH}/export`),
    { format: maybe(fc.constantFrom('ndjson', 'msgpack', 'csv', 'parquet', 'arrow', 'segments')), ...window },
  ],
];

/** One of them, as a path with its query. */
export const anyQuestion = fc
  .constantFrom(...QUESTIONS)
  .chain(([path, query]) => fc.record({ path, query: fc.record(query) }))
  .map(({ path, query }) => {
    const asked = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)]));
    return { path, url: `${path}?${search}` };
  });

/** One answer, without the headers that differ between requests. */
interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** One character per byte. */
  readonly body: string;
}

interface Asking {
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Sends a request with a key whose limit is this instant. */
  readonly keyAsOfMs?: number | undefined;
}

/** A service with a separate archive. */
export interface TimedService extends Disposable {
  ask(path: string, asking?: Asking): Promise<Answer>;
  /** Limits all later answers to this instant; undefined: no limit. */
  holdTo(latestMs: number | undefined): void;
  /** Number of times that the service read its limit. */
  readonly looks: number;
}

/** A service over all of that, one import for each part. */
export function serviceWith(...parts: (readonly object[])[]): Promise<TimedService> {
  return serviceOver(parts, {});
}

/** The same, with --mirror. */
export function mirroredServiceWith(...parts: (readonly object[])[]): Promise<TimedService> {
  return serviceOver(parts, { mirror: true });
}

async function serviceOver(
  parts: readonly (readonly object[])[],
  options: Pick<ImportOptions, 'mirror'>,
): Promise<TimedService> {
  const held = temporaryArchive();
  for (const records of parts) {
    const { total } = await importRecords(held.archive, records, options);
    expect(total.rejected).toBe(0);
  }
  let heldToMs: number | undefined;
  let looks = 0;
  const app = createApp({
    archive: held.archive,
    registry: held.registry,
    version: '1',
    clocks: () => ({ monotonicMs: performance.now(), wallMs: NOW_MS }),
    isDraining: () => false,
    logError: (line: string) => expect(line).toBe(''),
    latestInstant: () => {
      looks += 1;
      return heldToMs;
    },
  });
  const keys = new Map<number | undefined, string>();
  const keyAsOf = (asOfMs: number | undefined) => {
    const request = {
      account: 'a@example.com',
      name: undefined,
      tier: 'enterprise',
      requestsPerMinute: 1_000_000,
      asOfMs,
    };
    const key = keys.get(asOfMs) ?? createKey(held.registry, NOW_MS, request).key;
    keys.set(asOfMs, key);
    return key;
  };
  return {
    async ask(path, { accept = 'application/json', headers = {}, method = 'GET', keyAsOfMs } = {}) {
      const sent = { authorization: `Bearer ${keyAsOf(keyAsOfMs)}`, accept, ...headers };
      const answer = await app.handle(new Request(`http://localhost${path}`, { headers: sent, method }));
      const body = Buffer.from(await answer.arrayBuffer()).toString('latin1');
      return {
        status: answer.status,
        headers: [...answer.headers].filter(([name]) => !/^x-(?:request-id|ratelimit)/.test(name)),
        body: body.replace(/"requestId":"[^"]*"/, ''),
      };
    },
    holdTo: (latestMs) => {
      heldToMs = latestMs;
    },
    get looks() {
      return looks;
    },
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}
