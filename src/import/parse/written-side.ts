import { type LineCursor, NOT_PLAIN } from './line-cursor.ts';

const COMMA = 44;
const COLON = 58;
const BRACKET_OPENS = 91;
const BRACKET_CLOSES = 93;
const BRACE_OPENS = 123;
const BRACE_CLOSES = 125;
const INITIAL_LEVELS = 64;
const encoder = new TextEncoder();
const PRICE = encoder.encode('"price"');
const SIZE = encoder.encode('"size"');
const PLAIN_PRICE = encoder.encode('{"price":');
const PLAIN_SIZE = encoder.encode(',"size":');

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
  /**
   * Where levels are put together when there are others than before. Filled with fractions: an engine keeps arrays of doubles
   * otherwise than such of integers, and copies them faster.
   */
  readonly #newPrices: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
  readonly #newSizes: number[] = new Array<number>(INITIAL_LEVELS).fill(0.5);
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
    if (cursor.bytes[cursor.at] === BRACKET_CLOSES) this.#settle(before, [], [], away);
    else if (!this.#takeLevels(cursor, before, text, away)) return false;
    if (cursor.bytes[cursor.at] !== BRACKET_CLOSES) return false;
    cursor.at += 1;
    return true;
  }

  /** Nine sides out of ten differ from the one before in some sizes: as long as prices stay in their places, none is copied. */
  #takeLevels(cursor: LineCursor, before: WrittenSide, text: DataView, away: -1 | 1): boolean {
    const oldPrices = before.#linePrices;
    const oldSizes = before.#lineSizes;
    const oldEnds = before.#ends;
    const newPrices = this.#newPrices;
    const newSizes = this.#newSizes;
    let sizes: number[] | undefined;
    // Once prices came or went, levels are put together in the scratch arrays.
    let isOther = false;
    let levels = 0;
    // Where `before` stands: at its first level that was not passed yet.
    let old = 0;
    for (;;) {
      const ends = this.#reserved(levels + oldPrices.length - old + 1);
      // In front of its first level stands no comma: that one is only like another first level.
      if (old > 0 || levels === 0) {
        let from = old === 0 ? before.#begin : oldEnds[old - 1]!;
        const shift = cursor.at - from;
        const moved = shift - cursor.start;
        for (; old < oldPrices.length && cursor.has(text, from, oldEnds[old]!, shift); old += 1) {
          from = oldEnds[old]!;
          ends[levels] = from + moved;
          if (isOther) {
            newPrices[levels] = oldPrices[old]!;
            newSizes[levels] = oldSizes[old]!;
          }
          levels += 1;
        }
        cursor.at = from + shift;
      }
      if (levels > 0 && !cursor.take(COMMA)) break;
      if (!this.#takeLevel(cursor)) return false;
      if (!isOther && this.#price === oldPrices[old]) {
        sizes ??= oldSizes.slice();
        sizes[old] = this.#size;
        old += 1;
      } else {
        if (!isOther) this.#copy(oldPrices, sizes ?? oldSizes, levels);
        isOther = true;
        newPrices[levels] = this.#price;
        newSizes[levels] = this.#size;
        old = before.#firstAfter(old, this.#price);
      }
      ends[levels] = cursor.at - cursor.start;
      levels += 1;
    }
    if (isOther) {
      if (!isInOrder(newPrices, levels)) return false;
      this.#settle(before, newPrices.slice(0, levels), newSizes.slice(0, levels), away);
      return true;
    }
    const same = <T>(values: readonly T[]) => (levels === oldPrices.length ? values : values.slice(0, levels));
    this.#settle(before, same(oldPrices), same(sizes ?? oldSizes), away);
    return true;
  }

  #copy(prices: readonly number[], sizes: readonly number[], levels: number): void {
    for (let i = 0; i < levels; i += 1) {
      this.#newPrices[i] = prices[i]!;
      this.#newSizes[i] = sizes[i]!;
    }
  }

  /** Takes a level of a plain price and a plain size, as numbers or in quotes; false where none stands. */
  #takeLevel(cursor: LineCursor): boolean {
    // Nearly every writer leaves out the spaces.
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

  /** The first level from `from` on that stands behind `price`, in the direction of this side. */
  #firstAfter(from: number, price: number): number {
    const prices = this.#linePrices;
    const direction = directionOf(prices);
    let at = from;
    while (at < prices.length && (prices[at]! - price) * direction <= 0) at += 1;
    return at;
  }

  #settle(before: WrittenSide, linePrices: readonly number[], lineSizes: readonly number[], away: -1 | 1): void {
    this.#linePrices = linePrices;
    this.#lineSizes = lineSizes;
    if (linePrices.length < 2 || directionOf(linePrices) === away) {
      this.prices = linePrices;
      this.sizes = lineSizes;
    } else {
      this.prices = linePrices === before.#linePrices ? before.prices : linePrices.toReversed();
      this.sizes = lineSizes === before.#lineSizes ? before.sizes : lineSizes.toReversed();
    }
  }

  /** The ends of levels, with room for so many. */
  #reserved(levels: number): Int32Array {
    if (levels > this.#ends.length) {
      const ends = new Int32Array(Math.max(levels, 2 * this.#ends.length));
      ends.set(this.#ends);
      this.#ends = ends;
    }
    return this.#ends;
  }
}

function takeDecimal(cursor: LineCursor): number {
  cursor.space();
  const isQuoted = cursor.takeQuote();
  const value = cursor.digits();
  return value === NOT_PLAIN || cursor.takeQuote() !== isQuoted ? NOT_PLAIN : value;
}

function directionOf(prices: readonly number[]): -1 | 1 {
  return prices.length > 1 && prices[1]! < prices[0]! ? -1 : 1;
}

function isInOrder(prices: readonly number[], levels: number): boolean {
  const direction = directionOf(prices);
  for (let i = 1; i < levels; i += 1) if ((prices[i]! - prices[i - 1]!) * direction <= 0) return false;
  return true;
}
