import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { Database } from './database.ts';
import type { Segments } from './segments.ts';
import type { SeriesCatalog } from './series.ts';

interface TotalRow {
  readonly count: number;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

export const MARKET_TOTAL = `SELECT snapshot_count AS count, first_snapshot_ms AS firstMs, last_snapshot_ms AS lastMs
  FROM markets WHERE market_key = ?`;
/** The ends are those of the first and the last segment of each outcome. */
export const UPDATE_TOTAL = `UPDATE markets SET snapshot_count = snapshot_count + ?2,
  first_snapshot_ms = (SELECT MIN((
      SELECT first_ms FROM segments WHERE segments.series_id = series.series_id ORDER BY last_ms, last_id LIMIT 1
    )) FROM series WHERE market_key = ?1 AND kind = 'book'),
  last_snapshot_ms = (SELECT MAX((
      SELECT MAX(last_ms) FROM segments WHERE segments.series_id = series.series_id
    )) FROM series WHERE market_key = ?1 AND kind = 'book')
  WHERE market_key = ?1`;

/** How many order book snapshots are stored of each market, recorded and mirrored, and when the first and the last one is. */
export class SnapshotTotals {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;
  readonly #market;
  readonly #update;

  constructor(database: Database, segments: Segments, series: SeriesCatalog) {
    this.#segments = segments;
    this.#series = series;
    this.#market = database.query<TotalRow, [number]>(MARKET_TOTAL);
    this.#update = database.query<never, [number, number]>(UPDATE_TOTAL);
  }

  /** Notes that a market has `change` snapshots more, or fewer where it is negative. Within the transaction that stored them. */
  update(marketKey: number, change: number): void {
    this.#update.run(marketKey, change);
  }

  /** How many snapshots of a market are stored; with `asOfMs` how many of them are not later. */
  count(marketKey: number, asOfMs: InstantMs = Number.MAX_SAFE_INTEGER): number {
    const { count, firstMs, lastMs } = this.#market.get(marketKey)!;
    if (firstMs === null || lastMs === null || firstMs > asOfMs) return 0;
    if (lastMs <= asOfMs) return count;
    const books = OUTCOMES.flatMap((outcome) => this.#series.find(marketKey, outcome, 'book') ?? []);
    return books.reduce((sum, seriesId) => sum + this.#segments.count(seriesId, asOfMs), 0);
  }
}
