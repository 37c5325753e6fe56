import { writeText } from '../../book/decimal-text.ts';
import { decimalText } from '../../domain/decimal.ts';
import { placeOf } from '../../recording/venue/venue-book.ts';
import { levelText } from '../../recording/venue/venue-hash.ts';

/**
 * The levels of one side of a book in the venue's words, as bytes: compact JSON without the brackets, the best one last. They
 * are edited in place, level by level, within the bytes of the whole book, which `VenueBook` owns.
 */
export class VenueSide {
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

  /** The levels of a side whose best one comes first, as text; what was there is to be replaced by it. */
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
   * Gives the level at `price` (`priceText` in digits) its new size, '0' takes it away. `bytes` has the side at `start`, and room; what stands behind it up
   * to `end` is moved. Returns by how many bytes.
   */
  set(price: number, priceText: string, size: string, bytes: Uint8Array, start: number, end: number): number {
    const at = placeOf(this.#prices, price, this.#isBids ? 1 : -1);
    const isHeld = this.#prices[at] === price;
    if (size === '0') return isHeld ? this.#remove(at, bytes, start, end) : 0;
    const text = levelText(priceText, size);
    return isHeld ? this.#replace(at, text, bytes, start, end) : this.#insert(at, price, text, bytes, start, end);
  }

  #replace(at: number, text: string, bytes: Uint8Array, start: number, end: number): number {
    const position = start + this.#offset(at);
    const before = this.#lengths[at]!;
    const moved = text.length - before;
    if (moved !== 0) bytes.copyWithin(position + text.length, position + before, end);
    writeText(bytes, position, text);
    this.#lengths[at] = text.length;
    this.length += moved;
    return moved;
  }

  #insert(at: number, price: number, text: string, bytes: Uint8Array, start: number, end: number): number {
    const isOnly = this.#prices.length === 0;
    const isLast = at === this.#prices.length;
    const moved = text.length + (isOnly ? 0 : 1);
    // A level behind all others has its comma in front.
    const position = start + (isLast ? this.length : this.#offset(at));
    bytes.copyWithin(position + moved, position, end);
    if (isOnly) writeText(bytes, position, text);
    else if (isLast) bytes[writeText(bytes, position + 1, text) - moved] = COMMA;
    else bytes[writeText(bytes, position, text)] = COMMA;
    this.#prices.splice(at, 0, price);
    this.#lengths.splice(at, 0, text.length);
    this.length += moved;
    return moved;
  }

  #remove(at: number, bytes: Uint8Array, start: number, end: number): number {
    const isOnly = this.#prices.length === 1;
    const isLast = at === this.#prices.length - 1;
    const position = start + this.#offset(at);
    const gone = this.#lengths[at]! + (isOnly ? 0 : 1);
    // With the comma behind it, or the last level with the one in front.
    const from = isLast && !isOnly ? position - 1 : position;
    bytes.copyWithin(from, from + gone, end);
    this.#prices.splice(at, 1);
    this.#lengths.splice(at, 1);
    this.length -= gone;
    return -gone;
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

const COMMA = 44;
