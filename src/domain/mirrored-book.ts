import { decimalPlaces, powerOfTen, toScaled } from './decimal.ts';
import type { OrderBook } from './orderbook.ts';

/** The venue's finest tick is 0.0001: complements of its prices are computed in these units, which is quicker. */
const TICKS = 10_000;

/**
 * The other outcome's book. At the venue both outcomes are one book: an ask for down at 1-p is a bid for up at p, of the same
 * size. Exact: the difference is computed in integers.
 */
export function mirrorOf(book: OrderBook): OrderBook {
  return {
    bidPrices: book.askPrices.map(complement),
    bidSizes: book.askSizes,
    askPrices: book.bidPrices.map(complement),
    askSizes: book.bidSizes,
  };
}

/** 1 - price, exact. */
export function complement(price: number): number {
  const ticks = Math.round(price * TICKS);
  if (ticks / TICKS === price) return (TICKS - ticks) / TICKS;
  const scale = decimalPlaces(price) ?? 0;
  const one = powerOfTen(scale);
  return (one - toScaled(price, scale)) / one;
}
