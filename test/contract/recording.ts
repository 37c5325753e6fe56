import { randomsOf } from '../support/random-books.ts';

/**
 * The recording that the contract is tested on: small, made of fixed numbers, with every awkward thing in it: levels in
 * any order, ties of time, ids that do not follow time, one-sided books, several sources of one price.
 */
export type TierId = 'free' | 'starter' | 'pro' | 'enterprise';
export type Outcome = 'up' | 'down';

export interface MarketRecord {
  readonly type: 'market';
  readonly conditionId: string;
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: string;
  readonly outcomes: readonly string[];
  readonly clobTokenIds: readonly string[];
  readonly startTime: string;
  readonly endTime: string;
  readonly marketId?: string;
  readonly eventId?: string;
  readonly active?: boolean;
  readonly closed?: boolean;
  readonly winner?: Outcome | null;
  readonly volume?: number | string;
  readonly liquidity?: number | string;
  readonly resolvedAt?: string | null;
  readonly priceStart?: number | null;
  readonly priceEnd?: number | null;
  readonly createdAt?: string;
  readonly updatedAt?: string;
}

/** Decimals as text. */
export interface LevelRecord {
  readonly price: string;
  readonly size: string;
}

interface OutcomeRecord {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly timestamp: number;
  readonly id?: number;
}

export interface SnapshotRecord extends OutcomeRecord {
  readonly type: 'snapshot';
  readonly bids: readonly LevelRecord[];
  readonly asks: readonly LevelRecord[];
}

export interface QuoteRecord extends OutcomeRecord {
  readonly type: 'quote';
  readonly bidPrice: string | null;
  readonly bidSize: string | null;
  readonly askPrice: string | null;
  readonly askSize: string | null;
}

export interface PriceRecord extends OutcomeRecord {
  readonly type: 'price';
  readonly kind: 'mid' | 'trade';
  readonly price: string;
}

export interface CoinPriceRecord {
  readonly type: 'coinPrice';
  readonly symbol: string;
  readonly source: string;
  readonly timestamp: number;
  readonly id: number;
  readonly price: string;
}

export const T0 = Date.UTC(2026, 3, 16, 7, 10);
const MINUTE = 60_000;
const iso = (ms: number) => new Date(ms).toISOString();
/** 0x and 64 digits that begin with `start`. */
const conditionId = (start: string) => `0x${start.padEnd(64, '7')}`;
/** As long as asset ids are: no double holds one. */
const assetId = (n: number) =>
  `${'4821779153620947310958276401928374650192837465019283746501928374650'}${1_000_000_000 + n}`;

let tokens = 0;
function market(
  start: string,
  symbol: string,
  slug: string,
  timeframe: string,
  startMs: number,
  more: Partial<MarketRecord> = {},
): MarketRecord {
  const minutes = { '5m': 5, '15m': 15, '1h': 60, '4h': 240, '24h': 1440 }[timeframe]!;
  tokens += 2;
  return {
    type: 'market',
    conditionId: conditionId(start),
    slug,
    symbol,
    timeframe,
    outcomes: ['up', 'down'],
    clobTokenIds: [assetId(tokens), assetId(tokens + 1)],
    startTime: iso(startMs),
    endTime: iso(startMs + minutes * MINUTE),
    createdAt: iso(startMs - 86_400_123),
    updatedAt: iso(startMs + 1),
    ...more,
  };
}

const resolved = (endMs: number, winner: Outcome): Partial<MarketRecord> => ({
  active: false,
  closed: true,
  winner,
  resolvedAt: iso(endMs + 7123),
  priceStart: 76211.8,
  priceEnd: 76211.81,
  volume: '18250.123456',
  liquidity: 4021.5,
  marketId: '1520394',
  eventId: '340211',
});

/** Resolved, with books only: its quotes and prices are derived. Recorded in capitals, and with down first. */
export const BOOKS = market('ab01', 'btc', 'btc-updown-5m-1776323400', '5m', T0, {
  ...resolved(T0 + 5 * MINUTE, 'up'),
  conditionId: conditionId('AB01').replaceAll('7', 'F'),
  outcomes: ['Down', 'Up'],
});
/** Unresolved. up has recorded books, quotes, midpoints and trades; down has books only. */
export const RECORDED = market('ab02', 'btc', 'BTC-Recorded-5m', '5m', T0);
/** Resolved, and without any record. */
export const EMPTY = market('ab03', 'btc', 'btc-updown-15m-1776323400', '15m', T0, resolved(T0 + 15 * MINUTE, 'down'));
/** Few books, set up for the nearest one. */
export const NEAREST = market('ab04', 'btc', 'btc-nearest', '1h', T0 - 600 * MINUTE);
export const ETH = market('ee01', 'eth', 'updown-shared-slug', '5m', T0, resolved(T0 + 5 * MINUTE, 'down'));
export const SOL = market('5001', 'sol', 'sol-updown-4h', '4h', T0);
/** Only the required fields. */
export const MINIMAL: MarketRecord = (() => {
  const { createdAt: _, updatedAt: __, ...needed } = market('d09e', 'doge', 'doge-updown-24h', '24h', T0);
  return needed;
})();

const FILLERS: readonly MarketRecord[] = [
  market('01', 'btc', 'updown-shared-slug', '5m', T0),
  market('02', 'btc', 'filler-2', '5m', T0 - 5 * MINUTE),
  market('03', 'btc', 'filler-3', '5m', T0 - 10 * MINUTE),
  market('04', 'btc', 'filler-4', '15m', T0 - 15 * MINUTE),
  market('ff', 'btc', 'filler-5', '15m', T0 - 15 * MINUTE),
  market('05', 'btc', 'filler-6', '4h', T0 - 15 * MINUTE),
  market('06', 'btc', 'filler-7', '24h', T0 + 1440 * MINUTE),
];

/** In no particular order. */
export const MARKETS: readonly MarketRecord[] = [
  FILLERS[4]!,
  NEAREST,
  EMPTY,
  ...FILLERS.slice(0, 4),
  BOOKS,
  RECORDED,
  ETH,
  SOL,
  MINIMAL,
  ...FILLERS.slice(5),
];

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}

/** `count` books of each outcome around T0: times repeat within and between outcomes, ids are not in the order of time. */
function books(conditionIdOf: string, seed: number, count: number, firstId: number): SnapshotRecord[] {
  const random = randomsOf(seed);
  const ids = shuffled(
    Array.from({ length: 2 * count }, (_, index) => firstId + 3 * index),
    random,
  );
  const records: SnapshotRecord[] = [];
  let timestamp = T0;
  let mid = 500;
  for (let index = 0; index < count; index += 1) {
    // A third of the instants has several books.
    if (random() > 0.34) timestamp += 1 + Math.floor(random() * 900);
    if (random() > 0.5) mid = Math.min(960, Math.max(40, mid + Math.round((random() - 0.5) * 20)));
    const upFirst = random() > 0.5;
    for (const outcome of upFirst ? (['up', 'down'] as const) : (['down', 'up'] as const)) {
      const shift = random() > 0.7 ? Math.floor(random() * 3) : 0;
      const value = outcome === 'up' ? mid : 1000 - mid;
      const id = ids.pop()!;
      const bids = side(value - 1, -1, random, `${id % 7}.25`);
      const asks = side(value + 1, 1, random, `${id % 5}.5`);
      records.push({
        type: 'snapshot',
        conditionId: conditionIdOf,
        outcome,
        timestamp: timestamp + shift,
        id,
        bids,
        asks,
      });
    }
  }
  return records;
}

/** Levels from `best` thousandths on, in any order; at times none, or one of size 0 that does not count. */
function side(best: number, away: 1 | -1, random: () => number, bestSize: string): LevelRecord[] {
  if (random() > 0.93) return [];
  const levels: LevelRecord[] = [{ price: thousandths(best), size: bestSize.startsWith('0') ? '1.5' : bestSize }];
  const more = Math.floor(random() * 9);
  for (let step = 1; step <= more; step += 1) {
    const price = best + away * step * 2;
    if (price <= 0 || price >= 1000) break;
    const size = random() > 0.95 ? '0' : (Math.ceil(random() * 1e9) / 1e6).toFixed(6);
    levels.push({ price: thousandths(price), size });
  }
  return shuffled(levels, random);
}

function thousandths(n: number): string {
  return (n / 1000).toFixed(3);
}

const book = (
  { conditionId: of }: MarketRecord,
  outcome: Outcome,
  atMs: number,
  id: number,
  bid: string | null,
  ask: string | null,
): SnapshotRecord => ({
  type: 'snapshot',
  conditionId: of,
  outcome,
  timestamp: atMs,
  id,
  bids: bid === null ? [] : [{ price: bid, size: `${id % 100}.5` }],
  asks: ask === null ? [] : [{ price: ask, size: '12' }],
});

/** Tops with a mid and spread that binary fractions miss, one-sided tops, a crossed one, and a mid that returns. */
const EXACT_TOPS: readonly (readonly [bid: string | null, ask: string | null])[] = [
  ['0.1', '0.3'],
  ['0.0001', '0.9999'],
  ['0.29', '0.3'],
  ['0.003', '0.0031'],
  ['0.57', '0.58'],
  [null, '0.58'],
  ['0.57', null],
  [null, null],
  ['0.57', '0.58'],
  ['0.61', '0.6'],
  ['0', '1'],
];

const BOOKS_RECORDS = books(BOOKS.conditionId, 20260416, 210, 10_000);
const RECORDED_BOOKS = books(RECORDED.conditionId, 4, 40, 1000);
const NEAREST_RECORDS: readonly SnapshotRecord[] = [
  // Up: two books at one time, the later recorded one with the lower id; then a gap of an even length.
  book(NEAREST, 'up', T0 + 1000, 502, '0.5', '0.51'),
  book(NEAREST, 'up', T0 + 1000, 501, '0.49', '0.51'),
  book(NEAREST, 'up', T0 + 2000, 503, '0.48', '0.51'),
  book(NEAREST, 'up', T0 + 2000, 505, '0.47', '0.51'),
  book(NEAREST, 'up', T0 + 9001, 9_007_199_254_740_991, '0.46', '0.51'),
  // Down: as far from T0 + 1500 as up, and alone at others.
  book(NEAREST, 'down', T0 + 1000, 510, '0.3', '0.4'),
  book(NEAREST, 'down', T0 + 2500, 511, '0.31', '0.4'),
  book(NEAREST, 'down', T0 + 20_000, 512, '0.32', '0.4'),
];
const SOL_RECORDS = EXACT_TOPS.map(([bid, ask], index) => book(SOL, 'up', T0 + index * 250, 700 + index, bid, ask));
const ETH_RECORDS: readonly SnapshotRecord[] = Array.from({ length: 5 }, (_, index) => {
  const { id: _id, ...unnumbered } = book(ETH, 'down', T0 + index * 1000, 900 + index, '0.4', '0.5');
  return unnumbered;
});

const NUMBERED_SNAPSHOTS = [...BOOKS_RECORDS, ...RECORDED_BOOKS, ...NEAREST_RECORDS, ...SOL_RECORDS];

export const SNAPSHOTS: readonly SnapshotRecord[] = [...NUMBERED_SNAPSHOTS, ...ETH_RECORDS];

export const QUOTES: readonly QuoteRecord[] = Array.from({ length: 30 }, (_, index) => ({
  type: 'quote' as const,
  conditionId: RECORDED.conditionId,
  outcome: 'up' as const,
  timestamp: T0 + Math.floor(index / 2) * 333,
  id: 3000 - index,
  bidPrice: index % 7 === 0 ? null : `0.${301 + index}`,
  // A size that no recording states: the price alone.
  bidSize: index % 7 === 0 || index % 5 === 3 ? null : `${index}.125`,
  askPrice: index % 11 === 0 ? null : `0.${401 + index}`,
  askSize: index % 11 === 0 || index % 6 === 4 ? null : '7',
}));

export const PRICES: readonly PriceRecord[] = [
  ...Array.from({ length: 25 }, (_, index) => ({
    type: 'price' as const,
    conditionId: RECORDED.conditionId,
    outcome: 'up' as const,
    timestamp: T0 + Math.floor(index / 2) * 400,
    id: 4000 + ((index * 7) % 25),
    kind: 'mid' as const,
    price: `0.${201 + index}5`,
  })),
  ...Array.from({ length: 24 }, (_, index) => ({
    type: 'price' as const,
    conditionId: RECORDED.conditionId,
    outcome: index % 3 === 0 ? ('down' as const) : ('up' as const),
    timestamp: T0 + Math.floor(index / 3) * 800,
    id: 4100 - index,
    kind: 'trade' as const,
    price: `0.${500 + index}`,
  })),
];

/** Two sources of btc at the same instants, a third one alone; of xrp nothing but prices. */
export const COIN_PRICES: readonly CoinPriceRecord[] = [
  ...Array.from({ length: 120 }, (_, index) => ({
    type: 'coinPrice' as const,
    symbol: 'btc',
    source: ['chainlink', 'binance', 'coinbase'][index % 3]!,
    timestamp: T0 + Math.floor(index / (index % 3 === 2 ? 5 : 4)) * 1000,
    id: 6000 + ((index * 37) % 120),
    price: `${76_000 + index}.${index % 10}1`,
  })),
  { type: 'coinPrice', symbol: 'xrp', source: 'chainlink', timestamp: T0, id: 6500, price: '2.1' },
];

/** Every record, those of each market after it; otherwise neither by time nor by kind. Those without an id come last. */
export const RECORDS: readonly object[] = [
  ...MARKETS,
  ...shuffled<object>([...NUMBERED_SNAPSHOTS, ...QUOTES, ...PRICES, ...COIN_PRICES], randomsOf(7)).map(spelt),
  ...ETH_RECORDS,
];

/** Decimals are recorded as strings and as numbers, times as milliseconds and as ISO text. */
function spelt(record: object, index: number): object {
  if (index % 2 === 0) return record;
  const text = JSON.stringify(record, (key, value: unknown) =>
    key === 'timestamp' && typeof value === 'number'
      ? iso(value)
      : (key === 'price' || key === 'size') && typeof value === 'string'
        ? Number(value)
        : value,
  );
  return JSON.parse(text) as object;
}
