import { type LineCursor, NOT_PLAIN } from './line-cursor.ts';

const COMMA = 44;
const COLON = 58;
const BRACE_OPENS = 123;
const BRACE_CLOSES = 125;
const encoder = new TextEncoder();
const PRICE = encoder.encode('"price"');
const SIZE = encoder.encode('"size"');
const PLAIN_PRICE = encoder.encode('{"price":');
const PLAIN_SIZE = encoder.encode(',"size":');
const BRACKET_OPENS = 91;
const BRACKET_CLOSES = 93;
const INITIAL_LEVELS = 64;

/** One side of a book as a line wrote it, and where among the line's bytes each level ends. */
export class WrittenSide {
  /** Best level first, as a book has them. Never changed once they are made: books share what stays the same. */
  prices: readonly number[] = [];
  sizes: readonly number[] = [];
  /** The same in the line's order: the same arrays where that is best first. */
  #linePrices: readonly number[] = [];
  #lineSizes: readonly number[] = [];
  /** Counted from the start of the line: where the first level begins, and what follows each one's closing brace. */
  #begin = 0;
  #ends = new Int32Array(INITIAL_LEVELS);
  /** Scratch arrays for changed levels. Fractions make the engine keep doubles, which it copies faster. */
  readonly #newPrices: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
  readonly #newSizes: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
  #newLevels = 0;
  /** Of the level that was read last. */
  #price = 0;
  #size = 0;

  /**
   * Takes a side from the cursor, with `before` as the same side of the line before it, of which `text` has the bytes: a level
   * written with the same bytes is not read again. False when there is something that only the slow way can judge: what is no
   * plain level, a size of 0, prices that neither ascend nor descend. `away`: the direction in which prices leave the best one,
   * -1 for bids and 1 for asks.
   */
  take(cursor: LineCursor, before: WrittenSide, text: DataView, away: -1 | 1): boolean {
    if (!cursor.take(BRACKET_OPENS)) return false;
    this.#begin = cursor.at - cursor.start;
    const isEmpty = cursor.bytes[cursor.at] === BRACKET_CLOSES;
    const taken = isEmpty ? this.#keep(before, [], [], away) : this.#takeLevels(cursor, before, text, away);
    if (!taken || cursor.bytes[cursor.at] !== BRACKET_CLOSES) return false;
    cursor.at += 1;
    return true;
  }

  /** Nine sides out of ten differ from the one before in some sizes: as long as prices stay in their places, none is copied. */
  #takeLevels(cursor: LineCursor, before: WrittenSide, text: DataView, away: -1 | 1): boolean {
    const prices = before.#linePrices;
    const endsBefore = before.#ends;
    this.#reserve(prices.length);
    const ends = this.#ends;
    let sizes = before.#lineSizes;
    let newSizes: number[] | undefined;
    // How far `text` was gone through: to the end of a level, at first to where the first one begins.
    let from = before.#begin;
    for (let i = 0; ; i += 1) {
      const shift = cursor.at - from;
      for (; i < prices.length && cursor.has(text, from, endsBefore[i]!, shift); i += 1) {
        from = endsBefore[i]!;
        ends[i] = from + shift - cursor.start;
      }
      cursor.at = from + shift;
      if (i > 0 && !cursor.take(COMMA)) {
        const isWhole = i === prices.length;
        return this.#keep(before, isWhole ? prices : prices.slice(0, i), isWhole ? sizes : sizes.slice(0, i), away);
      }
      if (!this.#takeLevel(cursor)) return false;
      if (i === prices.length || this.#price !== prices[i]) {
        this.#copy(prices, sizes, i);
        return this.#takeOtherLevels(cursor, before, text, away);
      }
      newSizes ??= sizes.slice();
      newSizes[i] = this.#size;
      sizes = newSizes;
      from = endsBefore[i]!;
      ends[i] = cursor.at - cursor.start;
    }
  }

  /** Goes on with the level that was just taken, from where prices came or went, or are in no order. */
  #takeOtherLevels(cursor: LineCursor, before: WrittenSide, text: DataView, away: -1 | 1): boolean {
    const prices = before.#linePrices;
    const endsBefore = before.#ends;
    // The first level of `before` that was not passed yet.
    let old = this.#newLevels;
    do {
      this.#add(this.#price, this.#size, cursor.at - cursor.start);
      old = before.#firstAfter(old, this.#price);
      if (old > 0) {
        const shift = cursor.at - endsBefore[old - 1]!;
        for (; old < prices.length && cursor.has(text, endsBefore[old - 1]!, endsBefore[old]!, shift); old += 1) {
          this.#add(prices[old]!, before.#lineSizes[old]!, endsBefore[old]! + shift - cursor.start);
        }
        cursor.at = endsBefore[old - 1]! + shift;
      }
      if (!cursor.take(COMMA)) return this.#keepNew(before, away);
    } while (this.#takeLevel(cursor));
    return false;
  }

  #copy(prices: readonly number[], sizes: readonly number[], levels: number): void {
    this.#newLevels = levels;
    for (let i = 0; i < levels; i += 1) {
      this.#newPrices[i] = prices[i]!;
      this.#newSizes[i] = sizes[i]!;
    }
  }

  #add(price: number, size: number, end: number): void {
    const at = this.#newLevels;
    this.#reserve(at + 1);
    this.#newPrices[at] = price;
    this.#newSizes[at] = size;
    this.#ends[at] = end;
    this.#newLevels = at + 1;
  }

  /** The first level from `from` on that comes after `price`, in the direction of this side. */
  #firstAfter(from: number, price: number): number {
    const prices = this.#linePrices;
    const direction = prices.length > 1 && prices[1]! < prices[0]! ? -1 : 1;
    let at = from;
    while (at < prices.length && (prices[at]! - price) * direction <= 0) at += 1;
    return at;
  }

  #keepNew(before: WrittenSide, away: -1 | 1): boolean {
    const levels = this.#newLevels;
    const prices = this.#newPrices;
    const direction = levels > 1 && prices[1]! < prices[0]! ? -1 : 1;
    for (let i = 1; i < levels; i += 1) if ((prices[i]! - prices[i - 1]!) * direction <= 0) return false;
    return this.#keep(before, prices.slice(0, levels), this.#newSizes.slice(0, levels), away);
  }

  #keep(before: WrittenSide, linePrices: readonly number[], lineSizes: readonly number[], away: -1 | 1): boolean {
    this.#linePrices = linePrices;
    this.#lineSizes = lineSizes;
    if (linePrices.length < 2 || (linePrices[1]! - linePrices[0]!) * away > 0) {
      this.prices = linePrices;
      this.sizes = lineSizes;
    } else {
      this.prices = linePrices === before.#linePrices ? before.prices : linePrices.toReversed();
      this.sizes = lineSizes === before.#lineSizes ? before.sizes : lineSizes.toReversed();
    }
    return true;
  }

  /** Takes a level of a plain price and a plain size, as numbers or in quotes; false where there is none. */
  #takeLevel(cursor: LineCursor): boolean {
    const isOpened =
      cursor.takeAll(PLAIN_PRICE) || (cursor.take(BRACE_OPENS) && cursor.takeAll(PRICE) && cursor.take(COLON));
    if (!isOpened) return false;
    this.#price = takeDecimal(cursor);
    const goesOn = cursor.takeAll(PLAIN_SIZE) || (cursor.take(COMMA) && cursor.takeAll(SIZE) && cursor.take(COLON));
    if (!goesOn) return false;
    this.#size = takeDecimal(cursor);
    cursor.space();
    if (cursor.bytes[cursor.at] !== BRACE_CLOSES) return false;
    cursor.at += 1;
    return this.#price >= 0 && this.#price <= 1 && this.#size > 0;
  }

  #reserve(levels: number): void {
    if (levels <= this.#ends.length) return;
    const ends = new Int32Array(Math.max(levels, 2 * this.#ends.length));
    ends.set(this.#ends);
    this.#ends = ends;
    while (this.#newPrices.length < ends.length) {
      this.#newPrices.push(0.5);
      this.#newSizes.push(0.5);
    }
  }
}

function takeDecimal(cursor: LineCursor): number {
  cursor.space();
  const isQuoted = cursor.takeQuote();
  const value = cursor.digits();
  return value === NOT_PLAIN || cursor.takeQuote() !== isQuoted ? NOT_PLAIN : value;
}
