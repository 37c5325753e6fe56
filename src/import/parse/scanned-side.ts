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

/** One side of a book in a line of JSON, and the positions in the line where its levels end. */
export class ScannedSide {
  /** Best level first. Never modified, because books share them. */
  prices: readonly number[] = [];
  sizes: readonly number[] = [];
  /** The same in the order of the line; the same arrays if the line has the best level first. */
  #linePrices: readonly number[] = [];
  #lineSizes: readonly number[] = [];
  /** Positions from the start of the line: the first byte of the first level, and the byte after each level. */
  #begin = 0;
  #ends = new Int32Array(INITIAL_LEVELS);
  /** Scratch arrays for changed levels, filled with fractions so that the engine stores doubles, which it copies faster. */
  readonly #newPrices: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
  readonly #newSizes: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
  #newLevels = 0;
  /** The level that was read last. */
  #price = 0;
  #size = 0;

  /**
   * Takes a side from the cursor. `before` is the side of an earlier line, whose bytes are in `text`: a level with the same bytes
   * is not parsed again. False for anything but plain levels of a size above 0 whose prices ascend or descend. `away`: -1 for
   * bids, whose prices descend from the best one, and 1 for asks.
   */
  take(cursor: LineCursor, before: ScannedSide, text: DataView, away: -1 | 1): boolean {
    if (!cursor.take(BRACKET_OPENS)) return false;
    this.#begin = cursor.at - cursor.start;
    const isEmpty = cursor.bytes[cursor.at] === BRACKET_CLOSES;
    const taken = isEmpty ? this.#keep(before, [], [], away) : this.#takeLevels(cursor, before, text, away);
    if (!taken || cursor.bytes[cursor.at] !== BRACKET_CLOSES) return false;
    cursor.at += 1;
    return true;
  }

  /** Reads levels as long as their prices equal those of `before`. Nine sides in ten have equal prices: then no price is copied. */
  #takeLevels(cursor: LineCursor, before: ScannedSide, text: DataView, away: -1 | 1): boolean {
    const prices = before.#linePrices;
    const endsBefore = before.#ends;
    this.#reserve(prices.length);
    const ends = this.#ends;
    let sizes = before.#lineSizes;
    let newSizes: number[] | undefined;
    // Position in `text`: the end of the last level that was compared.
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

  /** Continues with the level that was just taken, whose price differs from `before`. */
  #takeOtherLevels(cursor: LineCursor, before: ScannedSide, text: DataView, away: -1 | 1): boolean {
    const prices = before.#linePrices;
    const endsBefore = before.#ends;
    // The first level of `before` that was not compared yet.
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

  /** The first level at or after index `from` whose price comes after `price` in the order of the line. */
  #firstAfter(from: number, price: number): number {
    const prices = this.#linePrices;
    const direction = prices.length > 1 && prices[1]! < prices[0]! ? -1 : 1;
    let at = from;
    while (at < prices.length && (prices[at]! - price) * direction <= 0) at += 1;
    return at;
  }

  #keepNew(before: ScannedSide, away: -1 | 1): boolean {
    const levels = this.#newLevels;
    const prices = this.#newPrices;
    const direction = levels > 1 && prices[1]! < prices[0]! ? -1 : 1;
    for (let i = 1; i < levels; i += 1) if ((prices[i]! - prices[i - 1]!) * direction <= 0) return false;
    return this.#keep(before, prices.slice(0, levels), this.#newSizes.slice(0, levels), away);
  }

  #keep(before: ScannedSide, linePrices: readonly number[], lineSizes: readonly number[], away: -1 | 1): boolean {
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

  /** Takes a level: a plain price and a plain size above 0, as numbers or in quotes. False for anything else. */
  #takeLevel(cursor: LineCursor): boolean {
    const isOpened =
      cursor.takeAll(PLAIN_PRICE) || (cursor.take(BRACE_OPENS) && cursor.takeAll(PRICE) && cursor.take(COLON));
    if (!isOpened) return false;
    this.#price = takeDecimal(cursor);
    const hasSize = cursor.takeAll(PLAIN_SIZE) || (cursor.take(COMMA) && cursor.takeAll(SIZE) && cursor.take(COLON));
    if (!hasSize) return false;
    this.#size = takeDecimal(cursor);
    cursor.skipSpace();
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
  cursor.skipSpace();
  const isQuoted = cursor.takeQuote();
  const value = cursor.digits();
  return value === NOT_PLAIN || cursor.takeQuote() !== isQuoted ? NOT_PLAIN : value;
}
