import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mirrorOf } from '../../src/domain/mirrored-book.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { SETTLEMENT_SOURCE } from '../../src/domain/settlement.ts';
import type { PriceRecord } from '../../src/segment/price-segment.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { ACCOUNTS, ACTIVITY, RECORDINGS } from '../../src/store/database-file.ts';
import { NOW_MS } from '../support/archive.ts';

/** A data directory of many short markets, all recorded and resolved. */
export interface GrowthArchive {
  readonly data: string;
  readonly markets: number;
}

/** The first of the coins. */
export const GROWTH_COIN = 'btc';
const COINS = [GROWTH_COIN, 'eth', 'sol', 'xrp'];
const FIRST_MS = 1_677_628_800_000;
const WINDOW_MS = 300_000;
const SNAPSHOTS = 4;
/** One market in this number has a gap. */
const GAP_EVERY = 7;
const MARKETS_AT_ONCE = 1000;
const START_PRICE = 60_000;

/**
 * An archive of this number of markets of four coins, with books of both outcomes, midpoints, trades, a winner and the settlement prices that
 * confirm it; stored through the stores like an import. It is kept outside the project for the next run: its name has a digest of the schemas and of this file.
 */
export function growthArchive(markets: number): GrowthArchive {
  const digest = createHash('sha256')
    .update(readFileSync(import.meta.path))
    .update([RECORDINGS, ACCOUNTS, ACTIVITY].map(({ schema }) => schema).join())
    .digest('hex')
    .slice(0, 12);
  const data = join(tmpdir(), `bookreel-bench-growth-${RECORDINGS.version}-${digest}-${markets}`);
  if (!existsSync(data)) make(data, markets);
  return { data, markets };
}

function make(data: string, markets: number): void {
  const making = `${data}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  const archive = openArchive(making, NOW_MS, { create: true });
  try {
    for (let from = 0; from < markets; from += MARKETS_AT_ONCE) {
      archive.database.write(() => addMarkets(archive, from, Math.min(markets, from + MARKETS_AT_ONCE)));
    }
    archive.database.checkpoint();
  } finally {
    archive.database.close();
  }
  renameSync(making, data);
}

/** Adds the markets from this number to before the other one. Within a write transaction. */
export function addMarkets({ givenIds, markets, snapshots, prices, gaps }: Archive, from: number, to: number): void {
  givenIds.load();
  const id = () => givenIds.take(undefined);
  const ticks = new Map(COINS.map((coin): [string, PriceRecord[]] => [coin, []]));
  for (let nth = from; nth < to; nth += 1) {
    const statement = statementOf(nth);
    const { market } = markets.put(statement, NOW_MS);
    const { startMs } = market;
    const at = Array.from({ length: SNAPSHOTS }, (_, index) => startMs + (index * WINDOW_MS) / SNAPSHOTS);
    const books = at.map((timestampMs, index) => ({ timestampMs, id: id(), book: bookOf(nth + index) }));
    snapshots.add(market, 'up', books);
    const mirrored = books.map(({ timestampMs, book }) => ({ timestampMs, id: id(), book: mirrorOf(book) }));
    snapshots.addMirrored(market, 'down', mirrored);
    prices.add(market, 'up', 'trade', [{ timestampMs: at[1]!, id: id(), price: 0.5 }]);
    if (nth % GAP_EVERY === 0)
      gaps.add(market.key, { fromMs: at[1]!, toMs: at[2]!, reason: 'the connection was lost' });
    ticks.get(market.symbol)!.push({ timestampMs: startMs, id: id(), price: priceAt(startMs) });
  }
  for (const [coin, records] of ticks) if (records.length > 0) prices.addOfCoin(coin, SETTLEMENT_SOURCE, records);
  givenIds.save();
}

/** The market of this number, from 0 on; every fourth one is of btc. */
export function statementOf(nth: number) {
  const symbol = COINS[nth % COINS.length]!;
  const startMs = FIRST_MS + Math.floor(nth / COINS.length) * WINDOW_MS;
  const endMs = startMs + WINDOW_MS;
  const hash = createHash('sha256').update(`market ${nth}`).digest('hex');
  const [priceStart, priceEnd] = [priceAt(startMs), priceAt(endMs)];
  return {
    conditionId: `0x${hash}`,
    slug: `${symbol}-updown-5m-${startMs / 1000}`,
    symbol,
    timeframe: '5m',
    clobTokenIds: [BigInt(`0x${hash}`).toString(), BigInt(`0x1${hash}`).toString()],
    startMs,
    endMs,
    resolvedMs: endMs + 60_000,
    winner: priceEnd >= priceStart ? 'up' : 'down',
    priceStart,
    priceEnd,
    active: true,
    closed: true,
    volume: 1000 + (nth % 977),
  } as const;
}

/** Goes up and down by whole dollars, and never stays. */
function priceAt(atMs: number): number {
  const windows = atMs / WINDOW_MS;
  return START_PRICE + 10 * (windows % 7) + (windows % 2);
}

function bookOf(nth: number): OrderBook {
  const bid = 0.4 + (nth % 9) / 100;
  const prices = (best: number, step: number) =>
    Array.from({ length: 5 }, (_, level) => Number((best + step * level).toFixed(2)));
  const sizes = Array.from({ length: 5 }, (_, level) => 10 + ((nth * 7 + level * 13) % 500));
  return {
    bidPrices: prices(bid, -0.01),
    bidSizes: sizes,
    askPrices: prices(bid + 0.02, 0.01),
    askSizes: sizes.toReversed(),
  };
}
