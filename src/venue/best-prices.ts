import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { midOf, spreadOf } from '../domain/quote.ts';

/** The best prices of a book as the venue writes them: 0 without bids, 1 without asks. */
export interface BestPrices {
  readonly bid: number;
  readonly ask: number;
}

export function bestPricesOf({ bidPrices: [bid = 0], askPrices: [ask = 1] }: OrderBook): BestPrices {
  return { bid, ask };
}

/** (bid + ask) / 2, exact. */
export function midpointOf({ bid, ask }: BestPrices): number {
  return midOf({ bidPrice: bid, askPrice: ask })!;
}

/** ask - bid, exact. */
export function spreadBetween({ bid, ask }: BestPrices): number {
  return spreadOf({ bidPrice: bid, askPrice: ask })!;
}

/** The spread in decimal digits; negative if the book is crossed. */
export function spreadText(best: BestPrices): string {
  const spread = spreadBetween(best);
  return spread < 0 ? `-${decimalText(-spread)}` : decimalText(spread);
}

/** Returns true if a best price changed; sizes do not count. */
export function isNewTop(before: BestPrices, after: OrderBook): boolean {
  const { bid, ask } = bestPricesOf(after);
  return before.bid !== bid || before.ask !== ask;
}
