import { LEVELS_MAX, type OrderBook } from '../domain/orderbook.ts';

/** One asset's book while changes are applied to it: an order book that is edited in place, best level first. */
export class VenueBook implements OrderBook {
  bidPrices: number[] = [];
  bidSizes: number[] = [];
  askPrices: number[] = [];
  askSizes: number[] = [];

  /** Sets the size at a price, 0 takes the level away. Whether that made the book another one. */
  set(isBid: boolean, price: number, size: number): boolean {
    return isBid
      ? setLevel(this.bidPrices, this.bidSizes, -1, price, size)
      : setLevel(this.askPrices, this.askSizes, 1, price, size);
  }

  /** Whether `set` may add a level at `price` to a side, or there is one. */
  hasRoomFor(isBid: boolean, price: number): boolean {
    const prices = isBid ? this.bidPrices : this.askPrices;
    return prices.length < LEVELS_MAX || prices.includes(price);
  }

  replace(book: OrderBook): void {
    this.bidPrices = [...book.bidPrices];
    this.bidSizes = [...book.bidSizes];
    this.askPrices = [...book.askPrices];
    this.askSizes = [...book.askSizes];
  }

  /** The book as it is now, for good. */
  snapshot(): OrderBook {
    return {
      bidPrices: this.bidPrices.slice(),
      bidSizes: this.bidSizes.slice(),
      askPrices: this.askPrices.slice(),
      askSizes: this.askSizes.slice(),
    };
  }
}

/** See `VenueBook.set`; `away`: the direction in which prices leave the best one. */
export function setLevel(prices: number[], sizes: number[], away: -1 | 1, price: number, size: number): boolean {
  const at = placeOf(prices, price, away);
  const isHeld = prices[at] === price;
  if (size === 0) {
    if (!isHeld) return false;
    prices.splice(at, 1);
    sizes.splice(at, 1);
    return true;
  }
  if (isHeld) {
    if (sizes[at] === size) return false;
    sizes[at] = size;
    return true;
  }
  prices.splice(at, 0, price);
  sizes.splice(at, 0, size);
  return true;
}

/** The index at which `price` stands, or would stand, among prices that ascend (1) or descend (-1). */
export function placeOf(prices: readonly number[], price: number, direction: -1 | 1): number {
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((prices[middle]! - price) * direction < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** At how many prices two books differ, both sides together. */
export function differingLevels(a: OrderBook, b: OrderBook): number {
  return (
    differingOnSide(a.bidPrices, a.bidSizes, b.bidPrices, b.bidSizes) +
    differingOnSide(a.askPrices, a.askSizes, b.askPrices, b.askSizes)
  );
}

function differingOnSide(
  prices: readonly number[],
  sizes: readonly number[],
  otherPrices: readonly number[],
  otherSizes: readonly number[],
): number {
  const sizeAt = new Map(prices.map((price, index) => [price, sizes[index]]));
  let differing = 0;
  for (const [index, price] of otherPrices.entries()) {
    if (sizeAt.get(price) !== otherSizes[index]) differing += 1;
    sizeAt.delete(price);
  }
  return differing + sizeAt.size;
}
