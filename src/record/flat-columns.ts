/** whole: 64-bit integer; small: 32-bit integer; decimal: double; instant: UTC in milliseconds; flag: true or false. */
export type FlatType = 'text' | 'whole' | 'small' | 'decimal' | 'instant' | 'flag';

/**
 * The columns of CSV and Parquet: one row per book level, so that a filter gives a whole book, a side, or one price over time.
 *
 * `type` is the record type of bookreel's own format.
 * - snapshot: a row per level, best first (side, level, price, size; level 1 is the best); one row without side if it has no levels.
 * - quote: the same with level 1 only.
 * - price, coinPrice: one row with price. A trade has size, side (buy or sell), feeRateBps and transactionHash if known.
 * - lastTradePrice: one row with price. Its outcome is that of the book that states it; the trade may have been of either outcome.
 * - market: one row. timestamp and endTime are its window. clobTokenIds has the asset ids of up and down with ";" in between, so
 *   that no reader parses 77 digits as a number. A field that no recording stated is null.
 * - gap: one row from timestamp to endTime.
 *
 * receivedAt is the arrival of a snapshot, quote, price or coinPrice; null where no recording states it.
 *
 * id and conditionId connect a level with its snapshot and its market.
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
  { name: 'receivedAt', type: 'instant' },
] as const satisfies readonly { readonly name: string; readonly type: FlatType }[];

/** A row by its columns. Instants are Unix milliseconds; undefined is null. */
export type FlatRow = {
  readonly [C in (typeof FLAT_COLUMNS)[number]['name']]?: string | number | boolean | undefined;
} & {
  readonly type: string;
  readonly timestamp: number;
};
