import type { OrderBook } from '../domain/orderbook.ts';

/** The new size at one price of one side; 0 takes the level away. */
export interface LevelChange {
  readonly isBid: boolean;
  readonly price: number;
  readonly size: number;
}

/**
 * What makes `after` of `before`: each price of a side at most once. Levels that go away come first, so that no state in
 * between is crossed where neither book is; then the others, bids in front of asks, the best one of a side first.
 */
export function changesBetween(before: OrderBook, after: OrderBook): LevelChange[] {
  const gone: LevelChange[] = [];
  const set: LevelChange[] = [];
  compareSides(true, before.bidPrices, before.bidSizes, after.bidPrices, after.bidSizes, gone, set);
  compareSides(false, before.askPrices, before.askSizes, after.askPrices, after.askSizes, gone, set);
  for (const change of set) gone.push(change);
  return gone;
}

function compareSides(
  isBid: boolean,
  pricesBefore: readonly number[],
  sizesBefore: readonly number[],
  pricesAfter: readonly number[],
  sizesAfter: readonly number[],
  gone: LevelChange[],
  set: LevelChange[],
): void {
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
      gone.push({ isBid, price: priceBefore!, size: 0 });
      b += 1;
    } else {
      set.push({ isBid, price: priceAfter, size: sizesAfter[a]! });
      a += 1;
    }
  }
}

/** The book behind the changes; what they leave as it is, is shared with the one before. */
export function changedBook(before: OrderBook, changes: readonly LevelChange[]): OrderBook {
  const bids = new ChangedSide(true, before.bidPrices, before.bidSizes);
  const asks = new ChangedSide(false, before.askPrices, before.askSizes);
  for (const { isBid, price, size } of changes) (isBid ? bids : asks).set(price, size);
  return { bidPrices: bids.prices, bidSizes: bids.sizes, askPrices: asks.prices, askSizes: asks.sizes };
}

/** The index at which `price` stands among prices that descend, or ascend, or would stand. */
export function placeOf(prices: readonly number[], price: number, descending: boolean): number {
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const isBehind = descending ? prices[middle]! > price : prices[middle]! < price;
    if (isBehind) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Copies of a side's columns, made when they are first changed. */
class ChangedSide {
  readonly #isBids: boolean;
  readonly #pricesBefore: readonly number[];
  readonly #sizesBefore: readonly number[];
  #prices: number[] | undefined;
  #sizes: number[] | undefined;

  constructor(isBids: boolean, prices: readonly number[], sizes: readonly number[]) {
    this.#isBids = isBids;
    this.#pricesBefore = prices;
    this.#sizesBefore = sizes;
  }

  get prices(): readonly number[] {
    return this.#prices ?? this.#pricesBefore;
  }

  get sizes(): readonly number[] {
    return this.#sizes ?? this.#sizesBefore;
  }

  set(price: number, size: number): void {
    const at = placeOf(this.prices, price, this.#isBids);
    const isHeld = this.prices[at] === price;
    this.#sizes ??= this.#sizesBefore.slice();
    if (isHeld && size !== 0) {
      this.#sizes[at] = size;
      return;
    }
    this.#prices ??= this.#pricesBefore.slice();
    if (isHeld) {
      this.#prices.splice(at, 1);
      this.#sizes.splice(at, 1);
    } else if (size !== 0) {
      this.#prices.splice(at, 0, price);
      this.#sizes.splice(at, 0, size);
    }
  }
}
