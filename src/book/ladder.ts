/**
 * One side of a book while a segment is read: levels in the segment's integers, best one first. Deltas are positions, not
 * prices: the side is edited in place, without a search.
 */
const INITIAL_LEVELS = 128;

export class Ladder {
  /** Price and size of each level by turns: level i stands at 2i and 2i + 1. */
  values = new Float64Array(2 * INITIAL_LEVELS);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  push(price: number, size: number): void {
    this.insert(this.length, price, size);
  }

  /** Puts a level at `position`, moving what stands there and behind. 0 ≤ position ≤ length. */
  insert(position: number, price: number, size: number): void {
    const at = 2 * position;
    const end = 2 * this.length;
    if (end + 2 > this.values.length) this.#grow();
    if (at < end) this.values.copyWithin(at + 2, at, end);
    this.values[at] = price;
    this.values[at + 1] = size;
    this.length += 1;
  }

  /** Takes the level at `position` away. 0 ≤ position < length. */
  remove(position: number): void {
    const behind = 2 * position + 2;
    const end = 2 * this.length;
    if (behind < end) this.values.copyWithin(behind - 2, behind, end);
    this.length -= 1;
  }

  #grow(): void {
    const grown = new Float64Array(2 * this.values.length);
    grown.set(this.values);
    this.values = grown;
  }
}
