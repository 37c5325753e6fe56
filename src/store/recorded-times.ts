import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { type RecordedRange, recordedMs, runsOf, SILENCE_MS_MAX } from '../domain/recorded-time.ts';
import type { Queries } from './queries.ts';
import type { Segments } from './segments.ts';

interface WindowRow {
  readonly key: number;
  readonly startMs: InstantMs;
  readonly endMs: InstantMs;
  /** Until the last change of the market. */
  readonly recordedMs: number;
  /** The time of its last book or gap; 0 without any. */
  readonly lastMs: InstantMs;
}

const WINDOW = `SELECT market_key AS key, start_ms AS startMs, end_ms AS endMs, recorded_ms AS recordedMs,
    MAX(IFNULL(last_snapshot_ms, 0), IFNULL((SELECT MAX(to_ms) FROM gaps WHERE gaps.market_key = markets.market_key), 0)) AS lastMs
  FROM markets`;
export const RECORDED_WINDOW = `${WINDOW} WHERE market_key = ?`;
const NEXT_WINDOW = `${WINDOW} WHERE market_key > ? AND first_snapshot_ms IS NOT NULL ORDER BY market_key LIMIT 1`;
export const BOOKS_OF_WINDOW = "SELECT series_id AS seriesId FROM series WHERE market_key = ? AND kind = 'book'";
export const GAPS_OF_WINDOW = `SELECT from_ms AS fromMs, to_ms AS toMs FROM gaps
  WHERE market_key = ?1 AND to_ms >= ?2 AND from_ms <= ?3 AND to_ms <= ?4`;

/** The recorded part of the window of each market, see `recordedMs`. */
export class RecordedTimes {
  readonly #segments: Segments;
  readonly #sql;

  constructor(database: Queries, segments: Segments) {
    this.#segments = segments;
    this.#sql = {
      window: database.query<WindowRow, [number]>(RECORDED_WINDOW),
      nextWindow: database.query<WindowRow, [number]>(NEXT_WINDOW),
      books: database.query<{ seriesId: number }, [number]>(BOOKS_OF_WINDOW),
      gaps: database.query<RecordedRange, [number, number, number, number]>(GAPS_OF_WINDOW),
      set: database.query<never, [number, number]>('UPDATE markets SET recorded_ms = ? WHERE market_key = ?'),
    };
  }

  /** The recorded milliseconds of a market's window; with `asOfMs` of its books until then, and the gaps that had ended. */
  ofMarket(marketKey: number, asOfMs: InstantMs = INSTANT_MAX_MS): number {
    const row = this.#sql.window.get(marketKey)!;
    return row.lastMs <= asOfMs ? row.recordedMs : this.#measure(row, asOfMs);
  }

  /** The same by the books of one outcome. */
  ofOutcome(marketKey: number, series: { readonly seriesId: number }, asOfMs: InstantMs): number {
    return this.#measure(this.#sql.window.get(marketKey)!, asOfMs, [series]);
  }

  /** Measures a market after its books or gaps changed. Within a write transaction. */
  update(marketKey: number): void {
    this.#sql.set.run(this.#measure(this.#sql.window.get(marketKey)!, INSTANT_MAX_MS), marketKey);
  }

  /** Measures all markets: for an archive of a version that did not store this. Within a write transaction. */
  updateAll(): void {
    for (let row = this.#sql.nextWindow.get(-1); row !== null; row = this.#sql.nextWindow.get(row.key)) {
      this.#sql.set.run(this.#measure(row, INSTANT_MAX_MS), row.key);
    }
  }

  /** Reads a row of each segment; the times of the books in it only where it is long enough for a silence. */
  #measure({ key, startMs, endMs }: WindowRow, asOfMs: InstantMs, books = this.#sql.books.all(key)): number {
    const untilMs = Math.min(asOfMs, endMs + SILENCE_MS_MAX);
    const runs = books.flatMap(({ seriesId }) =>
      this.#segments.ranges(seriesId, startMs - SILENCE_MS_MAX, untilMs).flatMap(({ firstMs, lastMs }) => {
        if (lastMs - firstMs <= SILENCE_MS_MAX && lastMs <= asOfMs) return { fromMs: firstMs, toMs: lastMs };
        const slices = this.#segments.slices(seriesId, firstMs, Math.min(lastMs, asOfMs));
        return [...slices].flatMap(({ head, from, to }) => runsOf(head.timestamps.subarray(from, to)));
      }),
    );
    return recordedMs({ fromMs: startMs, toMs: endMs }, runs, this.#sql.gaps.all(key, startMs, endMs, asOfMs));
  }
}
