import type { InstantMs } from '../domain/instant.ts';
import { LISTED_AHEAD_MS_MAX } from '../domain/market-as-of.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { RecordedCoin } from '../domain/recorded-coin.ts';
import { TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import type { Database } from './database.ts';
import type { Segments } from './segments.ts';
import type { SeriesCatalog } from './series.ts';

interface TotalRow {
  readonly count: number | null;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

export const MARKET_TOTAL = `SELECT snapshot_count AS count, first_snapshot_ms AS firstMs, last_snapshot_ms AS lastMs
  FROM markets WHERE market_key = ?`;
/** The first and the last time are those of the first and the last segment of each outcome. */
export const UPDATE_TOTAL = `UPDATE markets SET snapshot_count = snapshot_count + ?2,
  first_snapshot_ms = (SELECT MIN((
      SELECT first_ms FROM segments WHERE segments.series_id = series.series_id ORDER BY last_ms, last_id LIMIT 1
    )) FROM series WHERE market_key = ?1 AND kind = 'book'),
  last_snapshot_ms = (SELECT MAX((
      SELECT MAX(last_ms) FROM segments WHERE segments.series_id = series.series_id
    )) FROM series WHERE market_key = ?1 AND kind = 'book')
  WHERE market_key = ?1`;

/** ?1: coin; ?2: known until; ?3: windows that begin then or later were not listed by ?2. */
export const COUNT_LISTED = `SELECT (
    SELECT COUNT(*) FROM markets WHERE symbol = ?1 AND start_ms <= ?2
  ) + (
    SELECT COUNT(*) FROM markets WHERE symbol = ?1 AND start_ms > ?2 AND start_ms < ?3 AND created_ms <= ?2
  ) AS markets`;
/** ?1 to ?3 as above; ?4: timeframe. The first market in the index is almost always listed. */
export const KNOWS_TIMEFRAME = `SELECT 1 AS known FROM markets INDEXED BY markets_by_coin_and_timeframe
  WHERE symbol = ?1 AND timeframe = ?4 AND start_ms < ?3 AND (start_ms <= ?2 OR created_ms <= ?2) LIMIT 1`;
/** The recorded markets that were listed by ?2. Reads the index alone, except for windows that begin after ?2. */
const LISTED_RECORDED = `FROM markets INDEXED BY recorded_markets_by_coin
  WHERE symbol = ?1 AND start_ms < ?3 AND (start_ms <= ?2 OR created_ms <= ?2) AND first_snapshot_ms <= ?2`;
export const COIN_TOTAL = `SELECT COUNT(*) AS recordedMarkets, SUM(snapshot_count) AS count, MIN(first_snapshot_ms) AS firstMs,
  MAX(last_snapshot_ms) AS lastMs ${LISTED_RECORDED} AND last_snapshot_ms <= ?2`;
export const OPEN_MARKETS = `SELECT market_key AS key, first_snapshot_ms AS firstMs ${LISTED_RECORDED} AND last_snapshot_ms > ?2`;

/** The number of order book snapshots of each market, recorded and mirrored, and the times of the first and the last one. */
export class SnapshotTotals {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;
  readonly #market;
  readonly #update;
  readonly #listed;
  readonly #knowsTimeframe;
  readonly #ofCoin;
  readonly #open;

  constructor(database: Database, segments: Segments, series: SeriesCatalog) {
    this.#segments = segments;
    this.#series = series;
    this.#market = database.query<TotalRow, [number]>(MARKET_TOTAL);
    type Listed = [symbol: string, asOfMs: InstantMs, beforeMs: InstantMs];
    this.#listed = database.query<{ markets: number }, Listed>(COUNT_LISTED);
    this.#knowsTimeframe = database.query<{ known: number }, [...Listed, Timeframe]>(KNOWS_TIMEFRAME);
    this.#ofCoin = database.query<TotalRow & { readonly recordedMarkets: number }, Listed>(COIN_TOTAL);
    this.#open = database.query<{ key: number; firstMs: InstantMs }, Listed>(OPEN_MARKETS);
    this.#update = database.query<never, [number, number]>(UPDATE_TOTAL);
  }

  /** Adds `change`, which may be negative, to the number of a market's snapshots. Within the transaction that changed them. */
  update(marketKey: number, change: number): void {
    this.#update.run(marketKey, change);
  }

  /** The number of a market's snapshots; with `asOfMs` of those that are not later. */
  count(marketKey: number, asOfMs: InstantMs = Number.MAX_SAFE_INTEGER): number {
    const { count, firstMs, lastMs } = this.#market.get(marketKey)!;
    if (firstMs === null || lastMs === null || firstMs > asOfMs) return 0;
    if (lastMs <= asOfMs) return count ?? 0;
    return this.until(marketKey, asOfMs).count;
  }

  /** The time of the market's last snapshot; 0 without snapshots. */
  lastMs(marketKey: number): InstantMs {
    return this.#market.get(marketKey)?.lastMs ?? 0;
  }

  /** The number of a market's snapshots until `asOfMs`, and the time of the last one (0 without any), from its segments. */
  until(marketKey: number, asOfMs: InstantMs): { readonly count: number; readonly lastMs: InstantMs } {
    const books = OUTCOMES.flatMap((outcome) => this.#series.find(marketKey, outcome, 'book') ?? []);
    const found = books.map((seriesId) => this.#segments.until(seriesId, asOfMs));
    return {
      count: found.reduce((sum, { count }) => sum + count, 0),
      lastMs: Math.max(0, ...found.map(({ lastMs }) => lastMs)),
    };
  }

  /**
   * The totals of a coin; with `asOfMs` of the markets that were listed by then (see `Markets.list`) and their snapshots until
   * then. Markets that also have later snapshots are in `open`: `snapshots` and `lastMs` leave them out, `until` counts them.
   */
  ofCoin(
    symbol: string,
    asOfMs: InstantMs = Number.MAX_SAFE_INTEGER,
  ): { readonly coin: RecordedCoin; readonly open: readonly number[] } {
    const listed = [symbol, asOfMs, asOfMs + LISTED_AHEAD_MS_MAX] as const;
    const { markets } = this.#listed.get(...listed)!;
    const { count, firstMs, lastMs, recordedMarkets } = this.#ofCoin.get(...listed)!;
    const open = asOfMs < Number.MAX_SAFE_INTEGER ? this.#open.all(...listed) : [];
    const firstOpenMs = open.reduce((first, row) => Math.min(first, row.firstMs), firstMs ?? Infinity);
    return {
      coin: {
        symbol,
        timeframes: TIMEFRAMES.filter((timeframe) => this.#knowsTimeframe.get(...listed, timeframe) !== null),
        markets,
        recordedMarkets: recordedMarkets + open.length,
        snapshots: count ?? 0,
        firstMs: firstOpenMs === Infinity ? undefined : firstOpenMs,
        lastMs: lastMs ?? undefined,
      },
      open: open.map(({ key }) => key),
    };
  }
}
