/** The side of the taker's order. */
export const TRADE_SIDES = ['buy', 'sell'] as const;
export type TradeSide = (typeof TRADE_SIDES)[number];

/** A trade's fields besides its price; undefined when the recording does not have them. */
export interface TradeDetails {
  /** Shares, above 0. */
  readonly size: number | undefined;
  readonly side: TradeSide | undefined;
  /** In hundredths of a percent, a whole number. */
  readonly feeRateBps: number | undefined;
  /** `0x` and 64 hex digits, lower case. */
  readonly transactionHash: string | undefined;
}

export const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/;

export function parseTradeSide(text: string): TradeSide | undefined {
  const canonical = text.toLowerCase();
  return TRADE_SIDES.find((side) => side === canonical);
}

/** The details themselves; undefined if none of their fields is known. */
export function tradeDetails(details: TradeDetails): TradeDetails | undefined {
  const { size, side, feeRateBps, transactionHash } = details;
  return (size ?? side ?? feeRateBps ?? transactionHash) === undefined ? undefined : details;
}

/** Returns true if two records may be the same trade: no field is known and different in both. */
export function sameTrade(a: TradeDetails | undefined, b: TradeDetails | undefined): boolean {
  if (a === undefined || b === undefined) return true;
  return (['size', 'side', 'feeRateBps', 'transactionHash'] as const).every(
    (field) => a[field] === undefined || b[field] === undefined || a[field] === b[field],
  );
}
