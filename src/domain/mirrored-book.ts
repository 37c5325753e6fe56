import { decimalPlaces, powerOfTen, toScaled } from './decimal.ts';
import type { OrderBook } from './orderbook.ts';

/**
 * The other outcome's book: up and down are one book at the venue, `up.bids[p] = down.asks[1-p]`, sizes alike. Exact: the
 * difference is taken in integers.
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
  const scale = decimalPlaces(price) ?? 0;
  const one = powerOfTen(scale);
  return (one - toScaled(price, scale)) / one;
}
