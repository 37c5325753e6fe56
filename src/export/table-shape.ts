/** How snapshots are laid out in a table, see `TableShape`; `rows` is the table of all records (record/flat-columns.ts). */
export const SHAPES = ['rows', 'books', 'wide', 'levels'] as const;
type ShapeName = (typeof SHAPES)[number];

/** The records that a table may have: one type in each. */
export const TABLE_TYPES = ['snapshot', 'quote', 'price', 'trade'] as const;
export type TableType = (typeof TABLE_TYPES)[number];

/** The formats that have tables. */
const TABLE_FORMATS: readonly string[] = ['parquet', 'arrow'];

/** How prices and sizes of a table of one type are written: as the nearest doubles, or as exact decimals of a fixed scale. */
export const NUMBERS = ['double', 'decimal'] as const;
type Numbers = (typeof NUMBERS)[number];

/** The levels of each side in a wide table, if no depth is given. */
export const WIDE_DEPTH = 10;
/** Maximum depth of a wide table: each level has four columns. */
const WIDE_DEPTH_MAX = 100;

/**
 * A table with the records of one type, and only the columns of the type.
 *
 * Every table has `symbol`, `timeframe`, `slug`, `conditionId`, `outcome`, `timestamp`, `receivedAt` and `id`. Then
 *
 * - snapshot as books: `mirrored`, and `bids` and `asks`, each a list of levels with `price` and `size`, the best first.
 * - snapshot wide: `mirrored`, then `bid_price_1`, `bid_size_1`, …, `ask_price_1`, `ask_size_1`, …, null beyond the last level.
 * - snapshot by levels: `mirrored`, `side`, `level`, `price`, `size`: a row per level, and one without side for an empty book.
 * - quote: `bidPrice`, `bidSize`, `askPrice`, `askSize`. Recorded ones or, where an outcome has none, those of its snapshots.
 * - price: `price`. Midpoints: recorded ones or, where an outcome has none, those of its snapshots.
 * - trade: `price`, `size`, `side`, `feeRateBps`, `transactionHash`.
 */
export interface TableShape {
  readonly type: TableType;
  /** The layout of snapshots; undefined for other types. */
  readonly shape: Exclude<ShapeName, 'rows'> | undefined;
  /** Undefined: doubles. */
  readonly numbers?: 'decimal' | undefined;
}

/** What an export requests of tables; undefined is not stated. */
export interface TableRequest {
  readonly shape?: ShapeName | undefined;
  readonly type?: TableType | undefined;
  readonly depth?: number | undefined;
  readonly numbers?: Numbers | undefined;
}

/** The requested table; undefined for the table of all records. A type alone means snapshots as books. Call it after `tableRefusal`. */
export function tableShapeOf({ shape, type, numbers }: TableRequest): TableShape | undefined {
  if (shape === 'rows' || (shape === undefined && type === undefined)) return undefined;
  const isOfSnapshots = type === undefined || type === 'snapshot';
  return {
    type: type ?? 'snapshot',
    shape: isOfSnapshots ? (shape ?? 'books') : undefined,
    ...(numbers === 'decimal' && { numbers }),
  };
}

/** Returns true if the records are those of the table. */
export function hasRecords(
  table: TableShape,
  { type, kind }: { readonly type: string; readonly kind?: string },
): boolean {
  return table.type === (type !== 'price' ? type : kind === 'trade' ? 'trade' : 'price');
}

/** The parameter that is refused, and why, to follow its name; undefined if the request fits the format. */
export function tableRefusal(
  format: string,
  { shape, type, depth, numbers }: TableRequest,
): readonly ['shape' | 'type' | 'depth' | 'numbers', string] | undefined {
  const given = shape !== undefined ? 'shape' : type !== undefined ? 'type' : numbers !== undefined && 'numbers';
  if (given === false) return undefined;
  if (!TABLE_FORMATS.includes(format))
    return [given, `is for the formats ${TABLE_FORMATS.join(' and ')}, not ${format}`];
  if (numbers !== undefined && tableShapeOf({ shape, type }) === undefined) {
    return ['numbers', 'is for a table of one type: add a shape, but not rows, or a type'];
  }
  if (type !== undefined && shape === 'rows')
    return ['type', 'must not be given with the shape rows, which has all types'];
  if (type !== undefined && type !== 'snapshot' && shape !== undefined) {
    return ['shape', `is for snapshots: a ${type} has one row`];
  }
  return shape === 'wide' && depth !== undefined && depth > WIDE_DEPTH_MAX
    ? ['depth', `must be at most ${WIDE_DEPTH_MAX} with the shape wide`]
    : undefined;
}
