import type { Change } from '../../venue/book-message-parser.ts';

/** So many are remembered of each asset: 6 kB of memory, several seconds of a busy market. */
const REMEMBERED_MAX = 256;

/** The changes that were applied to a book last: recordings that overlap say them again. */
export class AppliedChanges {
  readonly #timestamps = new Float64Array(REMEMBERED_MAX);
  /** Of an ask negative, so that 0 and -0 differ for `Object.is`. */
  readonly #prices = new Float64Array(REMEMBERED_MAX);
  readonly #sizes = new Float64Array(REMEMBERED_MAX);
  #count = 0;

  add(timestampMs: number, { isBid, price, size }: Change): void {
    const at = this.#count % REMEMBERED_MAX;
    this.#timestamps[at] = timestampMs;
    this.#prices[at] = isBid ? price : -price;
    this.#sizes[at] = size;
    this.#count += 1;
  }

  has(timestampMs: number, { isBid, price, size }: Change): boolean {
    const signed = isBid ? price : -price;
    for (let at = Math.min(this.#count, REMEMBERED_MAX) - 1; at >= 0; at -= 1) {
      if (this.#timestamps[at] === timestampMs && Object.is(this.#prices[at], signed) && this.#sizes[at] === size) {
        return true;
      }
    }
    return false;
  }
}
