/** text; whole: 64 bits, small: 32 bits; decimal: double; instant: UTC in milliseconds; flag: true or false. */
export type FlatType = 'text' | 'whole' | 'small' | 'decimal' | 'instant' | 'flag';

/**
 * The one flat schema of CSV and Parquet: a row per book level, best one first, so that every row is plain values and a
 * whole book, a side, or one price over time is a filter away.
 *
 * `type` says what a row is of, as in the own format. A snapshot has a row per level (side, level, price, size; level 1 is
 * the best), and one without side where it has no levels. A quote is the same with level 1 only. A price or coinPrice is
 * one row with price; a trade has size, side (buy or sell), feeRateBps and transactionHash as far as they are known. A market is one row: timestamp and endTime are its window, clobTokenIds the asset ids of up and down
 * with ";" in between (so that nothing takes 77 digits for a number), and what nobody stated is null. A gap is one row from
 * timestamp to endTime. id, timestamp and conditionId lead from a level back to its snapshot and its market.
 */
export const FLAT_COLUMNS = [
  { name: 'type', type: 'text' },
  { name: 'symbol', type: 'text' },
  { name: 'conditionId', type: 'text' },
  { name: 'outcome', type: 'text' },
  { name: 'timestamp', type: 'instant' },
  { name: 'id', type: 'whole' },
  { name: 'side', type: 'text' },
  { name: 'level', type: 'small' },
  { name: 'price', type: 'decimal' },
  { name: 'size', type: 'decimal' },
  { name: 'kind', type: 'text' },
  { name: 'source', type: 'text' },
  { name: 'mirrored', type: 'flag' },
  { name: 'endTime', type: 'instant' },
  { name: 'reason', type: 'text' },
  { name: 'slug', type: 'text' },
  { name: 'timeframe', type: 'text' },
  { name: 'clobTokenIds', type: 'text' },
  { name: 'marketId', type: 'text' },
  { name: 'eventId', type: 'text' },
  { name: 'active', type: 'flag' },
  { name: 'closed', type: 'flag' },
  { name: 'winner', type: 'text' },
  { name: 'volume', type: 'decimal' },
  { name: 'liquidity', type: 'decimal' },
  { name: 'resolvedAt', type: 'instant' },
  { name: 'priceStart', type: 'decimal' },
  { name: 'priceEnd', type: 'decimal' },
  { name: 'createdAt', type: 'instant' },
  { name: 'updatedAt', type: 'instant' },
  { name: 'feeRateBps', type: 'whole' },
  { name: 'transactionHash', type: 'text' },
] as const satisfies readonly { readonly name: string; readonly type: FlatType }[];

/** A row by its columns; instants in Unix milliseconds, what is undefined is null. */
export type FlatRow = {
  readonly [C in (typeof FLAT_COLUMNS)[number]['name']]?: string | number | boolean | undefined;
} & {
  readonly type: string;
  readonly timestamp: number;
};
