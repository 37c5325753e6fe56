import { createHash } from 'node:crypto';
import type { BookRecord } from '../../src/book/book-format.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS } from '../support/archive.ts';

const COIN = 'deep';
/** One of the markets of a coin that has this many. */
export const CROWDED_MARKET = { coin: 'crowded', name: 'crowded-1' } as const;
export const CROWDED_MARKETS = 500_000;
/** More than recordings of one market ever say, but nothing keeps them from it. */
export const GAPPY_MARKET = { coin: COIN, name: 'gappy' } as const;
export const GAPS = 100_000;
const START_MS = 1_776_400_000_000;
const WINDOW_MS = 300_000;
const STEP_MS = 100;
/** Where few levels change, every so manieth does. */
const CHANGED_EVERY = 500;

/** A market whose every book is worse than real ones. */
interface DeepMarket {
  readonly slug: string;
  /** Of each side. */
  readonly levels: number;
  /** Prices are multiples of this fraction. */
  readonly ticks: number;
  /** Of each outcome. */
  readonly snapshots: number;
  /** Whether every level gets another size with every snapshot, or every `CHANGED_EVERY`th. */
  readonly allChange: boolean;
}

/** Whole sides at the venue's coarse and fine ticks, and at the product's limit. */
const DEEP_MARKETS: readonly DeepMarket[] = [
  { slug: 'deep-500', levels: 499, ticks: 1000, snapshots: 600, allChange: false },
  { slug: 'deep-500-changing', levels: 499, ticks: 1000, snapshots: 600, allChange: true },
  { slug: 'deep-5000', levels: 4999, ticks: 10_000, snapshots: 200, allChange: false },
  { slug: 'deep-5000-changing', levels: 4999, ticks: 10_000, snapshots: 100, allChange: true },
  { slug: 'deep-10000', levels: 10_000, ticks: 1_000_000, snapshots: 60, allChange: true },
];

/** What is asked about in the archive of the worst cases. */
export interface WorstCase {
  readonly name: string;
  readonly market: { readonly coin: string; readonly name: string };
  /** A time within its snapshots. */
  readonly atMs: number;
}

export const WORST_CASES: readonly WorstCase[] = DEEP_MARKETS.map(({ slug, levels, snapshots, allChange }) => ({
  name: `2 × ${levels} levels${allChange ? ', all of them changing' : ''}`,
  market: { coin: COIN, name: slug },
  atMs: START_MS + (snapshots * STEP_MS) / 2,
}));

/** Fills a new data directory with what costs most to answer. */
export function makeWorstCases(data: string): void {
  const archive = openArchive(data, NOW_MS, { create: true });
  try {
    for (const deep of DEEP_MARKETS) archive.database.write(() => addDeep(archive, deep));
    archive.database.write(() => addGappy(archive));
    archive.database.write(() => addCrowd(archive));
    archive.database.checkpoint();
  } finally {
    archive.database.close();
  }
}

function addDeep(archive: Archive, deep: DeepMarket): void {
  const { givenIds, snapshots } = archive;
  givenIds.load();
  const market = addMarket(archive, deep.slug);
  for (const [shift, outcome] of OUTCOMES.entries()) {
    const records = Array.from({ length: deep.snapshots }, (_, nth) => ({
      timestampMs: START_MS + nth * STEP_MS + shift,
      id: 0,
      book: deepBook(deep, nth),
    }));
    snapshots.add(market, outcome, records, (record: BookRecord) => ({ ...record, id: givenIds.take(undefined) }));
  }
  givenIds.save();
}

function deepBook({ levels, ticks, allChange }: DeepMarket, nth: number): OrderBook {
  const middle = ticks / 2;
  const side = (away: 1 | -1, spread: number) => {
    const prices: number[] = [];
    const sizes: number[] = [];
    for (let level = 0; level < levels; level += 1) {
      prices.push((middle + away * (level + 1)) / ticks);
      const turn = allChange || level % CHANGED_EVERY === nth % CHANGED_EVERY ? nth + 1 : 0;
      sizes.push((100_000 + ((level * 7919 + turn * 104_729 * spread) % 9_999_999)) / 100);
    }
    return { prices, sizes };
  };
  const bids = side(-1, 1);
  const asks = side(1, 3);
  return { bidPrices: bids.prices, bidSizes: bids.sizes, askPrices: asks.prices, askSizes: asks.sizes };
}

function addGappy(archive: Archive): void {
  const market = addMarket(archive, GAPPY_MARKET.name);
  for (let nth = 0; nth < GAPS; nth += 1) {
    const fromMs = START_MS + nth;
    archive.gaps.add(market.key, { fromMs, toMs: fromMs + 1, reason: 'recorder restarted' });
  }
}

function addMarket({ markets }: Archive, slug: string): StoredMarket {
  const digest = createHash('sha256').update(slug).digest('hex');
  const asset = BigInt(`0x${digest}`);
  const statement = {
    conditionId: `0x${digest}`,
    slug,
    symbol: COIN,
    timeframe: '5m',
    clobTokenIds: [String(asset), String(asset + 1n)],
    startMs: START_MS,
    endMs: START_MS + WINDOW_MS,
  } as const;
  return markets.put(statement, NOW_MS).market;
}

/** Markets of one coin in consecutive windows, three of 5m to one of 15m, in one statement: one by one they take a minute. */
function addCrowd({ database }: Archive): void {
  database
    .query<never, [number, string]>(
      `WITH RECURSIVE nth (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM nth WHERE n < ?)
       INSERT INTO markets (condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
         down_asset_id, start_ms, end_ms, created_ms, updated_ms, revision)
       SELECT printf('0x%016x%048x', (n * 2654435761) % 4294967296, n), n, n, 'crowded-' || n, ?,
         iif(n % 4 = 0, '15m', '5m'), printf('1%076d', n * 2), printf('1%076d', n * 2 + 1),
         1500000000000 + n * 60000, 1500000300000 + n * 60000, 1500000000000, 1500000000000, random() & 9007199254740991
       FROM nth`,
    )
    .run(CROWDED_MARKETS, CROWDED_MARKET.coin);
}
