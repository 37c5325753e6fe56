import type { Change } from '../../venue/book-message-parser.ts';

/** Number of changes kept per asset: 6 kB of memory, several seconds of a busy market. */
const CHANGES_MAX = 256;

/** The latest changes of a book, to recognise their repeats in overlapping recordings. */
export class AppliedChanges {
  readonly #timestamps = new Float64Array(CHANGES_MAX);
  /** Negative for asks. `Object.is` tells 0 and -0 apart. */
  readonly #prices = new Float64Array(CHANGES_MAX);
  readonly #sizes = new Float64Array(CHANGES_MAX);
  #count = 0;

  add(timestampMs: number, { isBid, price, size }: Change): void {
    const at = this.#count % CHANGES_MAX;
    this.#timestamps[at] = timestampMs;
    this.#prices[at] = isBid ? price : -price;
    this.#sizes[at] = size;
    this.#count += 1;
  }

  has(timestampMs: number, { isBid, price, size }: Change): boolean {
    const signed = isBid ? price : -price;
    for (let at = Math.min(this.#count, CHANGES_MAX) - 1; at >= 0; at -= 1) {
      if (this.#timestamps[at] === timestampMs && Object.is(this.#prices[at], signed) && this.#sizes[at] === size) {
        return true;
      }
    }
    return false;
  }
}
