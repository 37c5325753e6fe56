import { decimalText } from '../domain/decimal.ts';
import { writeText } from '../segment/decimal-text.ts';
import { AFTER_SIZE, BEFORE_PRICE, BEFORE_SIZE, levelText } from './book-hash.ts';
import { indexOfPrice } from './editable-book.ts';

/**
 * Writes the levels of one side of a book as the venue does: compact JSON without the brackets, the best level last. Levels are
 * edited in place in the bytes of the whole book, which `BookWriter` owns.
 */
export class SideWriter {
  readonly #isBids: boolean;
  /** Bids ascend, asks descend. */
  readonly #prices: number[] = [];
  /** Bytes of each level, without its comma. */
  readonly #lengths: number[] = [];
  /** Bytes of all levels, with the commas between them. */
  length = 0;

  constructor(isBids: boolean) {
    this.#isBids = isBids;
  }

  /** Takes a side with its best level first, and returns its text; the caller writes it. */
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
   * Sets the level at `price` (in digits: `priceText`) to a size; '0' removes it. `bytes` has the side at `start`, and room for
   * one more level. Moves the bytes after the level, up to `end`, and returns the distance in bytes.
   */
  set(price: number, priceText: string, size: string, bytes: Uint8Array, start: number, end: number): number {
    const at = indexOfPrice(this.#prices, price, this.#isBids ? 1 : -1);
    const exists = this.#prices[at] === price;
    const isLast = at === this.#prices.length - Number(exists);
    const isOnly = isLast && at === 0;
    const before = exists ? this.#lengths[at]! : 0;
    const position = start + (isLast && !exists ? this.length : this.#offset(at));
    if (size === '0') {
      if (!exists) return 0;
      this.#prices.splice(at, 1);
      this.#lengths.splice(at, 1);
      // Removes the comma after the level too; for the last level the comma before it.
      const comma = isOnly ? 0 : 1;
      return this.#write(bytes, isLast ? position - comma : position, before + comma, '', end);
    }
    if (exists) {
      const sizeAt = BEFORE_PRICE.length + priceText.length + BEFORE_SIZE.length;
      const sizeBefore = before - sizeAt - AFTER_SIZE.length;
      this.#lengths[at] = before + size.length - sizeBefore;
      return this.#write(bytes, position + sizeAt, sizeBefore, size, end);
    }
    const text = levelText(priceText, size);
    this.#prices.splice(at, 0, price);
    this.#lengths.splice(at, 0, text.length);
    // A new last level has its comma before it.
    return this.#write(bytes, position, 0, isOnly ? text : isLast ? `,${text}` : `${text},`, end);
  }

  /** Replaces `removed` bytes with `text`; returns the distance by which the bytes after them moved. */
  #write(bytes: Uint8Array, position: number, removed: number, text: string, end: number): number {
    const moved = text.length - removed;
    if (moved !== 0) bytes.copyWithin(position + text.length, position + removed, end);
    writeText(bytes, position, text);
    this.length += moved;
    return moved;
  }

  /** Offset of the level at index `at`, counted from the nearer end: most changes are at the best levels. */
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
