import { decimalText } from '../domain/decimal.ts';
import { writeText } from '../segment/decimal-text.ts';
import { levelText } from './book-hash.ts';
import { indexOfPrice } from './editable-book.ts';

/**
 * Writes the levels of one side of a book as the venue does: compact JSON without the brackets, the best one last. They are
 * edited in place, level by level, within the bytes of the whole book, which `BookWriter` owns.
 */
export class SideWriter {
  readonly #isBids: boolean;
  /** Bids ascend, asks descend. */
  readonly #prices: number[] = [];
  /** Bytes of each level, its comma not counted. */
  readonly #lengths: number[] = [];
  /** Bytes of them all, with the commas in between. */
  length = 0;

  constructor(isBids: boolean) {
    this.#isBids = isBids;
  }

  /** The text of a side whose best level comes first; the caller replaces the side before by it. */
  reset(prices: readonly number[], sizes: readonly number[]): string {
    this.#prices.length = 0;
    this.#lengths.length = 0;
    const texts: string[] = [];
    for (let i = prices.length - 1; i >= 0; i -= 1) {
      const text = levelText(decimalText(prices[i]!), decimalText(sizes[i]!));
      texts.push(text);
      this.#prices.push(prices[i]!);
      this.#lengths.push(text.length);
    }
    const joined = texts.join(',');
    this.length = joined.length;
    return joined;
  }

  /**
   * Gives the level at `price` (`priceText` in digits) its new size, '0' removes it. `bytes` has the side at `start`, and room;
   * everything after it up to `end` is moved. Returns by how many bytes.
   */
  set(price: number, priceText: string, size: string, bytes: Uint8Array, start: number, end: number): number {
    const at = indexOfPrice(this.#prices, price, this.#isBids ? 1 : -1);
    const isHeld = this.#prices[at] === price;
    const isLast = at === this.#prices.length - Number(isHeld);
    const isOnly = isLast && at === 0;
    const before = isHeld ? this.#lengths[at]! : 0;
    const position = start + (isLast && !isHeld ? this.length : this.#offset(at));
    if (size === '0') {
      if (!isHeld) return 0;
      this.#prices.splice(at, 1);
      this.#lengths.splice(at, 1);
      // With the comma after it, or the last level with the one before.
      const comma = isOnly ? 0 : 1;
      return this.#write(bytes, isLast ? position - comma : position, before + comma, '', end);
    }
    const text = levelText(priceText, size);
    if (isHeld) {
      this.#lengths[at] = text.length;
      return this.#write(bytes, position, before, text, end);
    }
    this.#prices.splice(at, 0, price);
    this.#lengths.splice(at, 0, text.length);
    // A level after all others has its comma in front.
    return this.#write(bytes, position, 0, isOnly ? text : isLast ? `,${text}` : `${text},`, end);
  }

  /** Replaces `gone` bytes by `text`. */
  #write(bytes: Uint8Array, position: number, gone: number, text: string, end: number): number {
    const moved = text.length - gone;
    if (moved !== 0) bytes.copyWithin(position + text.length, position + gone, end);
    writeText(bytes, position, text);
    this.length += moved;
    return moved;
  }

  /** Where the level at index `at` begins, counted from the nearer end: most changes are at the best levels. */
  #offset(at: number): number {
    const lengths = this.#lengths;
    const { length: count } = lengths;
    let offset: number;
    if (2 * at < count) {
      offset = at;
      for (let i = 0; i < at; i += 1) offset += lengths[i]!;
      return offset;
    }
    offset = this.length - (count - at - 1);
    for (let i = count - 1; i >= at; i -= 1) offset -= lengths[i]!;
    return offset;
  }
}
