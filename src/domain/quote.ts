import { decimalPlaces, powerOfTen, toScaled } from './decimal.ts';
import type { OrderBook } from './orderbook.ts';

/** Top of one outcome's book. The price of a side without levels is undefined, and its size too; a size alone is undefined if unknown. */
export interface Quote {
  readonly bidPrice: number | undefined;
  readonly bidSize: number | undefined;
  readonly askPrice: number | undefined;
  readonly askSize: number | undefined;
}

export function topOfBook(book: OrderBook): Quote {
  return {
    bidPrice: book.bidPrices[0],
    bidSize: book.bidSizes[0],
    askPrice: book.askPrices[0],
    askSize: book.askSizes[0],
  };
}

export function sameQuote(a: Quote, b: Quote): boolean {
  return a.bidPrice === b.bidPrice && a.bidSize === b.bidSize && a.askPrice === b.askPrice && a.askSize === b.askSize;
}

/** (bid + ask) / 2 without rounding, or undefined when a side is missing. Computed in integers with one more decimal. */
export function midOf(quote: Pick<Quote, 'bidPrice' | 'askPrice'>): number | undefined {
  if (quote.bidPrice === undefined || quote.askPrice === undefined) return undefined;
  const scale = commonScale(quote.bidPrice, quote.askPrice);
  return ((toScaled(quote.bidPrice, scale) + toScaled(quote.askPrice, scale)) * 5) / powerOfTen(scale + 1);
}

/** ask - bid without rounding, or undefined when a side is missing. */
export function spreadOf(quote: Pick<Quote, 'bidPrice' | 'askPrice'>): number | undefined {
  if (quote.bidPrice === undefined || quote.askPrice === undefined) return undefined;
  const scale = commonScale(quote.bidPrice, quote.askPrice);
  return (toScaled(quote.askPrice, scale) - toScaled(quote.bidPrice, scale)) / powerOfTen(scale);
}

function commonScale(a: number, b: number): number {
  return Math.max(decimalPlaces(a) ?? 0, decimalPlaces(b) ?? 0);
}
