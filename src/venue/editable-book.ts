import { LEVELS_MAX, type OrderBook } from '../domain/orderbook.ts';
import type { LevelChange } from './level-change.ts';

/** One asset's book, edited in place by changes. */
export class EditableBook implements OrderBook {
  bidPrices: number[] = [];
  bidSizes: number[] = [];
  askPrices: number[] = [];
  askSizes: number[] = [];
  #bidChanges = 0;
  #askChanges = 0;

  /** A copy of a book. */
  static of(book: OrderBook): EditableBook {
    const copy = new EditableBook();
    copy.replace(book);
    return copy;
  }

  /** A number that is another one after each change of the bids. */
  get bidChanges(): number {
    return this.#bidChanges;
  }

  /** The same of the asks. */
  get askChanges(): number {
    return this.#askChanges;
  }

  /** Sets the size at a price, 0 removes the level. Returns whether the book changed. */
  set(isBid: boolean, price: number, size: number): boolean {
    if (isBid) this.#bidChanges += 1;
    else this.#askChanges += 1;
    return isBid
      ? setLevel(this.bidPrices, this.bidSizes, -1, price, size)
      : setLevel(this.askPrices, this.askSizes, 1, price, size);
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

  /** Whether the side has a level at `price` or room for one. */
  hasRoomFor(isBid: boolean, price: number): boolean {
    const prices = isBid ? this.bidPrices : this.askPrices;
    return prices.length < LEVELS_MAX || prices.includes(price);
  }

  replace(book: OrderBook): void {
    this.#bidChanges += 1;
    this.#askChanges += 1;
    Object.assign(this, copyOf(book));
  }

  /** A copy of the book, which later changes do not affect. */
  snapshot(): OrderBook {
    return copyOf(this);
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

/** Sets a level of one side, like `EditableBook.set`. `away`: -1 for bids, whose prices descend from the best one, 1 for asks. */
function setLevel(prices: number[], sizes: number[], away: -1 | 1, price: number, size: number): boolean {
  const at = indexOfPrice(prices, price, away);
  const exists = prices[at] === price;
  if (size === 0) {
    if (!exists) return false;
    prices.splice(at, 1);
    sizes.splice(at, 1);
    return true;
  }
  if (exists) {
    if (sizes[at] === size) return false;
    sizes[at] = size;
    return true;
  }
  prices.splice(at, 0, price);
  sizes.splice(at, 0, size);
  return true;
}

/** The index of `price` among prices that ascend (1) or descend (-1); the index at which to insert it if it is not there. */
export function indexOfPrice(prices: readonly number[], price: number, direction: -1 | 1): number {
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((prices[middle]! - price) * direction < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
