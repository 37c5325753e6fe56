import type { InstantMs } from '../domain/instant.ts';
import { LISTED_AHEAD_MS_MAX } from '../domain/market-as-of.ts';
import { DAYS_MAX, type RecordedDay } from '../domain/recorded-day.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Database } from './database.ts';
import type { ListPosition } from './markets.ts';
import type { SnapshotTotals } from './snapshot-totals.ts';

/** The markets that are counted. */
export interface DaysQuery {
  readonly symbol: string;
  /** Undefined for all timeframes. */
  readonly timeframe: Timeframe | undefined;
  /** The earliest and the latest start of a window, both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** Nothing later is counted; undefined: no limit. */
  readonly asOfMs: InstantMs | undefined;
}

interface DayRow extends ListPosition {
  readonly key: number;
  readonly isListed: number;
  readonly isRecorded: number;
  /** 1 if all of its snapshots are counted, else 0. */
  readonly isWhole: number;
  readonly snapshots: number;
  readonly hasGap: number;
}

/** ?2 and ?3: position; ?4: earliest start; ?5: known until; ?6: number of markets; ?7: timeframe. */
const COLUMNS = `market_key AS key, start_ms AS startMs, condition_id AS conditionId,
  start_ms <= ?5 OR created_ms <= ?5 AS isListed, IFNULL(first_snapshot_ms, 9e999) <= ?5 AS isRecorded,
  IFNULL(last_snapshot_ms, 9e999) <= ?5 AS isWhole, snapshot_count AS snapshots,
  EXISTS (
    SELECT 1 FROM gaps
    WHERE gaps.market_key = markets.market_key AND from_ms <= end_ms AND to_ms >= start_ms AND to_ms <= ?5
  ) AS hasGap`;
const LATEST_FIRST = `(start_ms, condition_id) < (?2, ?3) AND start_ms >= ?4
  ORDER BY start_ms DESC, condition_id DESC LIMIT ?6`;
export const COUNT_DAYS = `SELECT ${COLUMNS} FROM markets WHERE symbol = ?1 AND ${LATEST_FIRST}`;
export const COUNT_DAYS_OF_TIMEFRAME = `SELECT ${COLUMNS} FROM markets INDEXED BY markets_by_coin_and_timeframe
  WHERE symbol = ?1 AND timeframe = ?7 AND ${LATEST_FIRST}`;

type Bounds = [string, startMs: number, conditionId: string, sinceMs: number, knownToMs: number, count: number];

const DAY_MS = 86_400_000;
/** The number of markets that are counted in one step, a few milliseconds. */
const MARKETS_AT_ONCE = 1000;
/** The number of markets in one step when their segments before an instant are counted. */
const COUNTED_AT_ONCE = 50;

/** Counts the recorded markets and snapshots of a coin by day. */
export class RecordedDays {
  readonly #totals: SnapshotTotals;
  readonly #all;
  readonly #ofTimeframe;

  constructor(database: Database, totals: SnapshotTotals) {
    this.#totals = totals;
    this.#all = database.query<DayRow, Bounds>(COUNT_DAYS);
    this.#ofTimeframe = database.query<DayRow, [...Bounds, timeframe: Timeframe]>(COUNT_DAYS_OF_TIMEFRAME);
  }

  /**
   * The days with markets, ascending: the latest DAYS_MAX of them. In steps of a few milliseconds, each of which may be in a view of its
   * own: call each within `Database.readShared`. Markets count that were listed by `asOfMs`, as in lists.
   */
  *steps({ symbol, timeframe, fromMs, toMs, asOfMs }: DaysQuery): Generator<void, readonly RecordedDay[]> {
    const knownToMs = asOfMs ?? Number.MAX_SAFE_INTEGER;
    const days = new DayCounts();
    let next: ListPosition | undefined = {
      startMs: Math.min(toMs + 1, knownToMs + LISTED_AHEAD_MS_MAX),
      conditionId: '',
    };
    while (next !== undefined) {
      const bounds: Bounds = [symbol, next.startMs, next.conditionId, fromMs, knownToMs, MARKETS_AT_ONCE];
      const rows: DayRow[] =
        timeframe === undefined ? this.#all.all(...bounds) : this.#ofTimeframe.all(...bounds, timeframe);
      next = rows.length < MARKETS_AT_ONCE ? undefined : rows.at(-1);
      if (!rows.every((row) => days.add(row))) next = undefined;
      if (next !== undefined) yield;
    }
    for (const [index, { day, key }] of days.open.entries()) {
      if (index % COUNTED_AT_ONCE === 0) yield;
      day.snapshots += this.#totals.until(key, knownToMs).count;
    }
    return days.latestFirst.reverse();
  }
}

class DayCounts {
  readonly latestFirst: RecordedDay[] = [];
  /** Markets that also have later snapshots, whose snapshots are counted one market at a time. */
  readonly open: { readonly day: RecordedDay; readonly key: number }[] = [];

  /** Counts a market, which is not later than those before it. Returns false if it is of one day too many. */
  add(row: DayRow): boolean {
    if (row.isListed === 0) return true;
    const startMs = row.startMs - (row.startMs % DAY_MS);
    let day = this.latestFirst.at(-1);
    if (day?.startMs !== startMs) {
      if (this.latestFirst.length === DAYS_MAX) return false;
      day = { startMs, markets: 0, recordedMarkets: 0, marketsWithGaps: 0, snapshots: 0 };
      this.latestFirst.push(day);
    }
    day.markets += 1;
    day.recordedMarkets += row.isRecorded;
    day.marketsWithGaps += row.hasGap;
    if (row.isWhole === 1) day.snapshots += row.snapshots;
    else if (row.isRecorded === 1) this.open.push({ day, key: row.key });
    return true;
  }
}
