import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { type InstantMs, instantText } from './instant.ts';
import { Slug } from './market.ts';
import { AssetId, RecordId } from './numeric-id.ts';
import { type Outcome, OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

/** The requested part of a market. */
export interface HeatMapQuery {
  readonly outcome: Outcome;
  /** Both inclusive; at most INSTANT_MAX_MS. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** 1 … HEAT_MAP_COLUMNS_MAX. */
  readonly columns: number;
  /** No later snapshot is shown, and no gap that ends later; undefined: no limit. */
  readonly asOfMs: InstantMs | undefined;
}

/** The books of one outcome over time: each column shows the sizes that rested at its end, by price. */
export interface HeatMap {
  /** The lowest price of each row, ascending; a row ends where the next one begins. */
  readonly prices: readonly number[];
  /** Ascending. */
  readonly columns: readonly HeatMapColumn[];
}

export interface HeatMapColumn extends ColumnRange {
  /** Whether a recorded gap touches it. */
  readonly hasGap: boolean;
  /** Undefined if the book is not known at the end of the column. Columns that show the same snapshot share it. */
  readonly book: ColumnBook | undefined;
}

/** Both inclusive. */
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

/** A screen is about as wide. */
export const HEAT_MAP_COLUMNS_MAX = 1500;
export const HEAT_MAP_COLUMNS_DEFAULT = 300;

/**
 * The columns of a window: as equally long as whole milliseconds allow, without overlap, in order. Column i of n begins
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

/**
 * The venue's tick is 0.01; it becomes 0.001 in markets whose price went below 0.04 or above 0.96. In thousandths: finer rows
 * are below the first and from the second on.
 */
const FINE = { below: 40, from: 960 };
const CENT = 10;
const ONE = 1000;

/** The lowest prices of the rows for books with cents only: 0, 0.01 … 1. */
export const CENT_ROW_PRICES: readonly number[] = Array.from({ length: ONE / CENT + 1 }, (_, cent) => cent / 100);

const FINE_ROW_STARTS = Array.from({ length: ONE + 1 }, (_, thousandth) => thousandth).filter(
  (thousandth) => thousandth % CENT === 0 || thousandth < FINE.below || thousandth >= FINE.from,
);

/** Those for books with finer prices too: 0.001 apart at both ends, 0.01 apart between 0.04 and 0.96. */
export const FINE_ROW_PRICES: readonly number[] = FINE_ROW_STARTS.map((thousandth) => thousandth / ONE);

/** The row of FINE_ROW_PRICES for each thousandth, 0 … 1000. */
export const FINE_ROW_OF: readonly number[] = Array.from({ length: ONE + 1 }, (_, thousandth) =>
  FINE_ROW_STARTS.findLastIndex((start) => start <= thousandth),
);

/** The row of CENT_ROW_PRICES for a row of fine prices that begins with a whole cent. */
export function centRowOf(fineRow: number): number {
  return FINE_ROW_STARTS[fineRow]! / CENT;
}

const price = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });
const rows = (side: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), {
    description: `The rows with ${side}, best first: indexes of prices.`,
  });
const sizes = (side: string) =>
  Type.Array(Type.Number({ exclusiveMinimum: 0 }), {
    description: `The shares in each of these rows: the exact sum of the ${side} whose prices lie in it. A sum of more than 15 digits is the nearest double.`,
  });

const ColumnResource = Type.Object({
  from: instantText('Start of the column, inclusive.'),
  to: instantText('End of the column, inclusive.'),
  gap: Type.Boolean({ description: 'Whether a recorded gap touches the column.' }),
  id: Type.Union([RecordId, Type.Null()], {
    description:
      'The snapshot that the column shows: the last one at or before its end. null: the book is not known at the end of the column, because it ends before the first snapshot, begins after the last one, or a gap touches the time since the snapshot.',
  }),
  timestamp: Type.Union([instantText('The time of that snapshot.'), Type.Null()], {
    description: 'The time of that snapshot; null when there is none.',
  }),
  bidPrice: price('Its best bid; null when there is none.'),
  askPrice: price('Its best ask; null when there is none.'),
  mid: price('Its midpoint, exact; null when a side is missing.'),
  bidRows: rows('bids'),
  bidSizes: sizes('bids'),
  askRows: rows('asks'),
  askSizes: sizes('asks'),
});
export type ColumnResource = Static<typeof ColumnResource>;

export const HeatMapResource = Type.Object(
  {
    assetId: AssetId,
    conditionId: ConditionId,
    slug: Slug,
    symbol: CoinCode,
    outcome: OutcomeName,
    timeframe: TimeframeName,
    from: instantText('Start of the first column.'),
    to: instantText('End of the last column, inclusive.'),
    prices: Type.Array(Type.Number({ minimum: 0, maximum: 1 }), {
      description:
        'The lowest price of each row, ascending; a row ends where the next one begins. Rows are 0.01 apart. If a shown book has a price with more decimals, they are 0.001 apart below 0.04 and from 0.96 on.',
    }),
    columns: Type.Array(ColumnResource, {
      minItems: 1,
      maxItems: HEAT_MAP_COLUMNS_MAX,
      description: 'Ascending, without overlap; as equally long as whole milliseconds allow.',
    }),
  },
  { $id: 'HeatMap', description: 'The books of one outcome over time: time × price, the resting size as value.' },
);
export type HeatMapResource = Static<typeof HeatMapResource>;
