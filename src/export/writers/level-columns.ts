import type { EditLog } from '../../segment/book-format.ts';
import type { ReadSide } from './export-writer.ts';
import type { ColumnValues } from './table-encoder.ts';

const INITIAL_LEVELS = 4096;
/** Numbers whose codes are found again: with twice as many a file is 1 % smaller, and writing takes longer. */
const CACHED_BITS = 13;
const CACHED = 2 ** CACHED_BITS;
/** The factor of multiplicative hashing: 2^32 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4). */
const GOLDEN = 0x9e3779b1;

/** A side that was added before: where its levels begin, and the edits that lead from them to those of the next one. */
export interface SideBefore {
  readonly at: number;
  readonly edits: EditLog;
}

/**
 * The levels of one side of many books, in two columns: prices and sizes. A column has a list of numbers, and the code of every level is an
 * index in it: the codes of levels that do not change are copied from the book before.
 */
export class LevelColumns {
  readonly #prices = new CodedNumbers();
  readonly #sizes = new CodedNumbers();
  #counts: number[] = [];
  #length = 0;

  /** Adds a side, in units of the scales with these divisors, which are those of `before`. Returns where its levels begin. */
  add({ values, length }: ReadSide, [ofPrice, ofSize]: readonly [number, number], before?: SideBefore): number {
    const start = this.#length;
    const end = start + length;
    const [prices, sizes] = [this.#prices, this.#sizes];
    const [priceCodes, sizeCodes] = [prices.codesUntil(end, ofPrice), sizes.codesUntil(end, ofSize)];
    let to = start;
    if (before !== undefined) {
      const { skips, consumes, produces, length: edits } = before.edits;
      let from = before.at;
      // After the last edit all other levels are kept.
      for (let edit = 0; edit <= edits; edit += 1) {
        for (let kept = edit < edits ? skips[edit]! : end - to; kept > 0; kept -= 1, from += 1, to += 1) {
          priceCodes[to] = priceCodes[from]!;
          sizeCodes[to] = sizeCodes[from]!;
        }
        if (edit < edits && produces[edit] === 1) {
          const value = 2 * (to - start);
          priceCodes[to] = consumes[edit] === 1 ? priceCodes[from]! : prices.codeOf(values[value]!);
          sizeCodes[to] = sizes.codeOf(values[value + 1]!);
          to += 1;
        }
        from += consumes[edit]!;
      }
    }
    for (; to < end; to += 1) {
      const value = 2 * (to - start);
      priceCodes[to] = prices.codeOf(values[value]!);
      sizeCodes[to] = sizes.codeOf(values[value + 1]!);
    }
    this.#counts.push(length);
    this.#length = end;
    return start;
  }

  /** The columns of prices and sizes, valid until `clear`. */
  columns(): readonly ColumnValues[] {
    const [length, counts] = [this.#length, this.#counts];
    return [this.#prices, this.#sizes].map(({ values, codes }) => ({
      values,
      codes: codes.subarray(0, length),
      counts,
    }));
  }

  clear(): void {
    this.#counts = [];
    this.#length = 0;
    this.#prices.clear();
    this.#sizes.clear();
  }
}

/** Numbers as codes. A number that was not used lately may get a second code: finding the first one would take several times as long. */
class CodedNumbers {
  /** The number of each code. */
  values: number[] = [];
  codes = new Uint32Array(INITIAL_LEVELS);
  /** The last number with each hash, in units of the scale, and its code. */
  readonly #cached = new Float64Array(CACHED).fill(NaN);
  readonly #cachedCodes = new Uint32Array(CACHED);
  #divisor = 1;

  /** The codes, with room for `length`. The numbers that follow are in units of the scale with this divisor. */
  codesUntil(length: number, divisor: number): Uint32Array {
    if (divisor !== this.#divisor) this.#cached.fill(NaN);
    this.#divisor = divisor;
    if (length <= this.codes.length) return this.codes;
    const grown = new Uint32Array(2 * length);
    grown.set(this.codes);
    this.codes = grown;
    return grown;
  }

  codeOf(units: number): number {
    const at = Math.imul(units, GOLDEN) >>> (32 - CACHED_BITS);
    if (this.#cached[at] !== units) {
      this.#cached[at] = units;
      this.#cachedCodes[at] = this.values.push(units / this.#divisor) - 1;
    }
    return this.#cachedCodes[at]!;
  }

  clear(): void {
    this.values = [];
    this.#cached.fill(NaN);
  }
}
