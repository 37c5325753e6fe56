import { LEVELS_MAX, type OrderBook } from '../domain/orderbook.ts';
import type { LevelChange } from './level-change.ts';

/** One asset's book, edited by changes. Its snapshots share the arrays that no change between them affects. */
export class EditableBook implements OrderBook {
  bidPrices: number[] = [];
  bidSizes: number[] = [];
  askPrices: number[] = [];
  askSizes: number[] = [];
  /** The last snapshot. An array that the book shares with it is copied before a change. */
  #shared: OrderBook | undefined;
  #bidChanges = 0;
  #askChanges = 0;

  /** A copy of a book. */
  static of(book: OrderBook): EditableBook {
    const copy = new EditableBook();
    copy.replace(book);
    return copy;
  }

  /** A number that differs after each change of the bids. */
  get bidChanges(): number {
    return this.#bidChanges;
  }

  /** A number that differs after each change of the asks. */
  get askChanges(): number {
    return this.#askChanges;
  }

  /** Sets the size at a price, 0 removes the level. Returns true if the book changed. */
  set(isBid: boolean, price: number, size: number): boolean {
    const prices = isBid ? this.bidPrices : this.askPrices;
    const sizes = isBid ? this.bidSizes : this.askSizes;
    const at = indexOfPrice(prices, price, isBid ? -1 : 1);
    const exists = prices[at] === price;
    if (exists ? sizes[at] === size : size === 0) return false;
    const isResized = exists && size !== 0;
    this.#unshare(isBid, !isResized);
    if (isBid) this.#bidChanges += 1;
    else this.#askChanges += 1;
    // The arrays may be copies now.
    const ownSizes = isBid ? this.bidSizes : this.askSizes;
    if (isResized) {
      ownSizes[at] = size;
      return true;
    }
    const ownPrices = isBid ? this.bidPrices : this.askPrices;
    if (size === 0) {
      ownPrices.splice(at, 1);
      ownSizes.splice(at, 1);
    } else {
      ownPrices.splice(at, 0, price);
      ownSizes.splice(at, 0, size);
    }
    return true;
  }

  /** Copies the sizes of a side, and its prices if they change too, if a snapshot has them. */
  #unshare(isBid: boolean, withPrices: boolean): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    if (isBid) {
      if (this.bidSizes === shared.bidSizes) this.bidSizes = this.bidSizes.slice();
      if (withPrices && this.bidPrices === shared.bidPrices) this.bidPrices = this.bidPrices.slice();
    } else {
      if (this.askSizes === shared.askSizes) this.askSizes = this.askSizes.slice();
      if (withPrices && this.askPrices === shared.askPrices) this.askPrices = this.askPrices.slice();
    }
  }

  /** The size at a price; 0 without a level. */
  sizeAt(isBid: boolean, price: number): number {
    const [prices, sizes] = isBid ? [this.bidPrices, this.bidSizes] : [this.askPrices, this.askSizes];
    const at = indexOfPrice(prices, price, isBid ? -1 : 1);
    return prices[at] === price ? sizes[at]! : 0;
  }

  apply(changes: readonly LevelChange[]): void {
    for (const { isBid, price, size } of changes) this.set(isBid, price, size);
  }

  /** Returns true if the side has a level at `price`, or fewer than LEVELS_MAX levels. */
  hasRoomFor(isBid: boolean, price: number): boolean {
    const prices = isBid ? this.bidPrices : this.askPrices;
    return prices.length < LEVELS_MAX || prices.includes(price);
  }

  replace(book: OrderBook): void {
    this.#bidChanges += 1;
    this.#askChanges += 1;
    Object.assign(this, copyOf(book));
  }

  /** The book as it is now, which later changes do not affect. */
  snapshot(): OrderBook {
    const { bidPrices, bidSizes, askPrices, askSizes } = this;
    this.#shared = { bidPrices, bidSizes, askPrices, askSizes };
    return this.#shared;
  }
}

function copyOf({ bidPrices, bidSizes, askPrices, askSizes }: OrderBook): OrderBook {
  return {
    bidPrices: bidPrices.slice(),
    bidSizes: bidSizes.slice(),
    askPrices: askPrices.slice(),
    askSizes: askSizes.slice(),
  };
}

/** The index of `price` among prices that ascend (1) or descend (-1); the index at which to insert it if it is not there. */
export function indexOfPrice(prices: readonly number[], price: number, direction: -1 | 1): number {
  // Once for each change of a book: `firstIndex` takes twice as long.
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((prices[middle]! - price) * direction < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
