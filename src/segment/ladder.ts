import { powerOfTen } from '../domain/decimal.ts';

const INITIAL_LEVELS = 128;
/** Up to this many numbers, a loop is faster than `copyWithin`. */
const MOVED_BY_LOOP_MAX = 48;

/**
 * One side of a book while a segment is read: levels in the segment's integers, best first. Edits have positions, not prices:
 * they are applied in place, without a search.
 */
export class Ladder {
  /** Price and size of each level: level i is at 2i and 2i + 1. */
  values = new Float64Array(2 * INITIAL_LEVELS);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Makes room for `levels` levels in total. */
  reserve(levels: number): void {
    if (2 * levels > this.values.length) this.#grow(4 * levels);
  }

  /** Inserts a level at `position`, 0 ≤ position ≤ length. */
  insert(position: number, price: number, size: number): void {
    const at = 2 * position;
    const end = 2 * this.length;
    if (end + 2 > this.values.length) this.#grow(2 * end);
    const { values } = this;
    if (end - at > MOVED_BY_LOOP_MAX) values.copyWithin(at + 2, at, end);
    else for (let i = end - 1; i >= at; i -= 1) values[i + 2] = values[i]!;
    values[at] = price;
    values[at + 1] = size;
    this.length += 1;
  }

  /** Removes the level at `position`. 0 ≤ position < length. */
  remove(position: number): void {
    const { values } = this;
    const after = 2 * position + 2;
    const end = 2 * this.length;
    if (end - after > MOVED_BY_LOOP_MAX) values.copyWithin(after - 2, after, end);
    else for (let i = after; i < end; i += 1) values[i - 2] = values[i]!;
    this.length -= 1;
  }

  #grow(numbers: number): void {
    const grown = new Float64Array(numbers);
    grown.set(this.values);
    this.values = grown;
  }
}

/** The price one tick outside the range, where the step to a side's best price starts; in units of 10^-scale. */
export function outsidePrice(scale: number, away: -1 | 1): number {
  return away === 1 ? -1 : powerOfTen(scale) + 1;
}
