import { type Static, Type } from 'typebox';
import { decimalPlaces, powerOfTen, toScaled } from './decimal.ts';
import type { OrderBook } from './orderbook.ts';
import { OUTCOME_FIELDS } from './orderbook.ts';

/** Top of one outcome's book; price and size are undefined together, for a side without levels. */
export interface Quote {
  readonly bidPrice: number | undefined;
  readonly bidSize: number | undefined;
  readonly askPrice: number | undefined;
  readonly askSize: number | undefined;
}

const price = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });
const size = (description: string) => Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], { description });

export const QuoteResource = Type.Object(
  {
    ...OUTCOME_FIELDS,
    bidPrice: price('Best bid; null when there is none.'),
    bidSize: size('Shares at the best bid; null when there is none.'),
    askPrice: price('Best ask; null when there is none.'),
    askSize: size('Shares at the best ask; null when there is none.'),
    mid: price('Midpoint of a two-sided book, exact; null when a side is missing.'),
    spread: Type.Union([Type.Number({ minimum: -1, maximum: 1 }), Type.Null()], {
      description: 'askPrice - bidPrice, exact (negative when the book is crossed); null when a side is missing.',
    }),
  },
  { $id: 'Quote', description: 'Top of one outcome’s book, one record per change.' },
);
export type QuoteResource = Static<typeof QuoteResource>;

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
