import type { InstantMs } from './instant.ts';
import type { Outcome } from './outcome.ts';
import type { TradeSide } from './trade.ts';

/** The requested part of a market. */
export interface HeatMapQuery {
  readonly outcome: Outcome;
  /** The first and the last instant, both inclusive; at most INSTANT_MAX_MS. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** 1 … HEAT_MAP_COLUMNS_MAX. */
  readonly columns: number;
  /** Later snapshots are not shown, nor gaps that end later; undefined for no limit. */
  readonly asOfMs: InstantMs | undefined;
  readonly hasTrades?: boolean | undefined;
}

/** The books of one outcome over time: each column shows the sizes that rested at its end, by price. */
export interface HeatMap {
  /** The lowest price of each row, ascending; a row ends where the next one begins. */
  readonly prices: readonly number[];
  /** Ascending. */
  readonly columns: readonly HeatMapColumn[];
}

export interface HeatMapColumn extends ColumnRange {
  /** True if a recorded gap touches the column. */
  readonly hasGap: boolean;
  /** The book that the column shows; undefined if it is not known at the end of the column. Columns that show the same snapshot share it. */
  readonly book: ColumnBook | undefined;
  /** The recorded trades in it; undefined without any. */
  readonly traded?: TradedColumn | undefined;
}

/** The trades of a column. There is at least one. */
export interface TradedColumn extends SummedTrades {
  /** The same by the side of the taker's order: buy, sell, not recorded. Sides without trades are left out. */
  readonly sides: readonly SideTrades[];
}

interface SideTrades extends SummedTrades {
  /** Undefined: not recorded. */
  readonly side: TradeSide | undefined;
}

interface SummedTrades {
  readonly count: number;
  /** The exact sum, without trades whose size is not recorded. */
  readonly shares: number;
  readonly lowPrice: number;
  readonly highPrice: number;
}

/** The time of a column; both ends are inclusive. */
export interface ColumnRange {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** A snapshot, its levels summed by row. */
export interface ColumnBook {
  readonly id: number;
  readonly timestampMs: InstantMs;
  readonly bidPrice: number | undefined;
  readonly askPrice: number | undefined;
  readonly bids: SideRows;
  readonly asks: SideRows;
}

/** The rows of one side that have levels, best first, and the shares in each. */
export interface SideRows {
  readonly rows: readonly number[];
  readonly sizes: readonly number[];
}

/** Maximum number of columns: about the width of a screen. */
export const HEAT_MAP_COLUMNS_MAX = 1500;
export const HEAT_MAP_COLUMNS_DEFAULT = 300;

/**
 * The columns of a window, in order and without overlap; their lengths are as equal as whole milliseconds allow. Column i of n begins
 * floor(i · length / n) ms after the window. A window of fewer milliseconds has one column for each of them.
 */
export function columnsOf(fromMs: InstantMs, toMs: InstantMs, columns: number): ColumnRange[] {
  const lengthMs = toMs - fromMs + 1;
  const count = Math.min(columns, lengthMs);
  // i · lengthMs would not be exact in windows of thousands of years.
  const [wholeMs, restMs] = [Math.floor(lengthMs / count), lengthMs % count];
  const startOf = (i: number) => fromMs + i * wholeMs + Math.floor((i * restMs) / count);
  return Array.from({ length: count }, (_, i) => ({ fromMs: startOf(i), toMs: startOf(i + 1) - 1 }));
}

/** The lowest price of each row for books whose prices are whole cents: 0, 0.01 … 1. */
export const CENT_ROW_PRICES: readonly number[] = Array.from({ length: 101 }, (_, cent) => cent / 100);
