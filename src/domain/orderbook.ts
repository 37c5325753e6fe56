/**
 * Both sides of one outcome's book as parallel arrays, best level first: bids descend, asks ascend, no price twice.
 * Prices lie in 0…1, sizes are above 0; both are exact decimals (see decimal.ts).
 */
export interface OrderBook {
  readonly bidPrices: readonly number[];
  readonly bidSizes: readonly number[];
  readonly askPrices: readonly number[];
  readonly askSizes: readonly number[];
}

/**
 * Maximum number of levels of one side of a book: at the venue's finest tick, 0.0001, there are this many prices from 0 to 1. A limit is needed because
 * the server does nothing else while it writes a book.
 */
export const LEVELS_MAX = 10_001;

export function sameBook(a: OrderBook, b: OrderBook): boolean {
  return (
    sameNumbers(a.bidPrices, b.bidPrices) &&
    sameNumbers(a.askPrices, b.askPrices) &&
    sameNumbers(a.bidSizes, b.bidSizes) &&
    sameNumbers(a.askSizes, b.askSizes)
  );
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  // Books that follow each other share the arrays that did not change.
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
