import type { OrderBook } from '../domain/orderbook.ts';

/** The new size at one price of one side; 0 removes the level. */
export interface LevelChange {
  readonly isBid: boolean;
  readonly price: number;
  readonly size: number;
}

/**
 * The changes from `before` to `after`, each price of a side at most once. Removed levels come first, so that no state in
 * between is crossed unless one of the two books is; then the others, bids before asks, the best level of a side first.
 */
export function changesBetween(before: OrderBook, after: OrderBook): LevelChange[] {
  const removed: LevelChange[] = [];
  const set: LevelChange[] = [];
  compareSides(true, before.bidPrices, before.bidSizes, after.bidPrices, after.bidSizes, removed, set);
  compareSides(false, before.askPrices, before.askSizes, after.askPrices, after.askSizes, removed, set);
  return removed.concat(set);
}

function compareSides(
  isBid: boolean,
  pricesBefore: readonly number[],
  sizesBefore: readonly number[],
  pricesAfter: readonly number[],
  sizesAfter: readonly number[],
  removed: LevelChange[],
  set: LevelChange[],
): void {
  // Books that follow each other share the arrays that did not change.
  if (pricesBefore === pricesAfter && sizesBefore === sizesAfter) return;
  let b = 0;
  let a = 0;
  while (b < pricesBefore.length || a < pricesAfter.length) {
    const priceBefore = pricesBefore[b];
    const priceAfter = pricesAfter[a];
    if (priceBefore === priceAfter) {
      if (sizesBefore[b] !== sizesAfter[a]) set.push({ isBid, price: priceAfter!, size: sizesAfter[a]! });
      b += 1;
      a += 1;
    } else if (priceAfter === undefined || (priceBefore !== undefined && priceBefore > priceAfter === isBid)) {
      removed.push({ isBid, price: priceBefore!, size: 0 });
      b += 1;
    } else {
      set.push({ isBid, price: priceAfter, size: sizesAfter[a]! });
      a += 1;
    }
  }
}
