import type { OrderBook } from '../domain/orderbook.ts';
import { midOf, spreadOf } from '../domain/quote.ts';

/** The best prices of a book in the venue's words: 0 and 1 stand for an empty side. */
export interface BestPrices {
  readonly bid: number;
  readonly ask: number;
}

export function bestPricesOf({ bidPrices: [bid = 0], askPrices: [ask = 1] }: OrderBook): BestPrices {
  return { bid, ask };
}

/** Between the best prices, exact. */
export function midpointOf({ bid, ask }: BestPrices): number {
  return midOf(quoteOf(bid, ask))!;
}

/** ask - bid, exact. */
export function spreadBetween({ bid, ask }: BestPrices): number {
  return spreadOf(quoteOf(bid, ask))!;
}

/** Whether a best price came, went or moved. */
export function isNewTop(before: OrderBook, after: OrderBook): boolean {
  return before.bidPrices[0] !== after.bidPrices[0] || before.askPrices[0] !== after.askPrices[0];
}

function quoteOf(bidPrice: number, askPrice: number) {
  return { bidPrice, askPrice, bidSize: undefined, askSize: undefined };
}
