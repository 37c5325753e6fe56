/**
 * One side of a book while a segment is read: prices and sizes as the segment's integers, best level first.
 * Deltas are positions, not prices: the side is edited in place, without a search.
 */
const INITIAL_LEVELS = 128;

export class Ladder {
  prices = new Float64Array(INITIAL_LEVELS);
  sizes = new Float64Array(INITIAL_LEVELS);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  push(price: number, size: number): void {
    this.#reserve(this.length + 1);
    this.prices[this.length] = price;
    this.sizes[this.length] = size;
    this.length += 1;
  }

  /** Puts a level at `position`, moving what stands there and behind. 0 ≤ position ≤ length. */
  insert(position: number, price: number, size: number): void {
    this.#reserve(this.length + 1);
    this.prices.copyWithin(position + 1, position, this.length);
    this.sizes.copyWithin(position + 1, position, this.length);
    this.prices[position] = price;
    this.sizes[position] = size;
    this.length += 1;
  }

  /** Takes the level at `position` away. 0 ≤ position < length. */
  remove(position: number): void {
    this.prices.copyWithin(position, position + 1, this.length);
    this.sizes.copyWithin(position, position + 1, this.length);
    this.length -= 1;
  }

  #reserve(levels: number): void {
    if (levels <= this.prices.length) return;
    const prices = new Float64Array(this.prices.length * 2);
    const sizes = new Float64Array(this.prices.length * 2);
    prices.set(this.prices);
    sizes.set(this.sizes);
    this.prices = prices;
    this.sizes = sizes;
  }
}
