import { powerOfTen } from '../domain/decimal.ts';
import { DOUBLES } from './scale.ts';
import { damaged, unsignedBytes, type VarintReader, type VarintWriter } from './varint.ts';

/**
 * What becomes of a level, as books and quotes write it: six bits of the byte that an edit begins with.
 *
 *   0 … 39    the size changes by entry op >> 1 of the segment's table; op odd: by minus that
 *   40 … 47   the size changes by a signed number of whole units: (op & 7) + 8 · the unsigned number that follows
 *   48 … 55   likewise, in units of the size scale
 *   56        the level goes away
 *   57        a level with a price and a size: see below
 *   58        the size is the double that follows, in columns of DOUBLES
 *   59        nothing changes
 *
 * A signed number n is written as 2n, or as -2n - 1 where it is below 0. A whole unit is 10^scale units of the size scale.
 *
 * The table: an unsigned number of entries, at most 20, then per entry an unsigned number v: (v - 1) / 2 whole units where v
 * is odd, v / 2 units where it is even. Most orders at a venue have one of few sizes; a segment names those of its own.
 *
 * A level is an unsigned number: its size in the bits from 2 on, in whole units where bit 1 is set, else in units; bit 0
 * says that the step to its price follows, an unsigned number in books, a signed one in quotes. In columns of DOUBLES the
 * size bits are 0, and the double follows all that.
 */
const TABLE_MAX = 20;
export const WHOLE = 40;
export const FINE = 48;
export const REMOVE = 56;
export const LEVEL = 57;
export const DOUBLE = 58;
export const NOTHING = 59;

/** A segment's entries with their negatives, as the operations below `LISTED_MAX` name them. */
const LISTED_MAX = 2 * TABLE_MAX;
/** The greatest size of a scaled column, see scale.ts. */
const SIZE_MAX = 2 ** 51;

/** How many units of its scale a column's whole unit has. */
export function wholeUnit(scale: number): number {
  return scale === DOUBLES ? 1 : powerOfTen(scale);
}

function codeOf(change: number, whole: number): number {
  return change % whole === 0 ? (change / whole) * 2 + 1 : change * 2;
}

/** A change of size that is written out: its operation, and the number that follows. Used for one after another. */
export class SpelledChange {
  op = 0;
  rest = 0;

  /** `change` and `whole` are in units of the scale. */
  spell(change: number, whole: number): void {
    const magnitude = Math.abs(change);
    const isWhole = magnitude % whole === 0;
    const amount = isWhole ? magnitude / whole : magnitude;
    const number = change < 0 ? 2 * amount - 1 : 2 * amount;
    const rest = Math.floor(number / 8);
    this.op = (isWhole ? WHOLE : FINE) + (number - 8 * rest);
    this.rest = rest;
  }
}

/** The changes that a segment lists in its table, and the operations that mean them. */
export class ListedChanges {
  readonly #ops = new Map<number, number>();
  readonly #codes: readonly number[];

  private constructor(changes: readonly number[], whole: number) {
    this.#codes = changes.map((change) => codeOf(change, whole));
    for (const [i, change] of changes.entries()) {
      this.#ops.set(change, 2 * i);
      this.#ops.set(-change, 2 * i + 1);
    }
  }

  static none(): ListedChanges {
    return new ListedChanges([], 1);
  }

  /** Those of `changes` whose numbers take most bytes where they are written out, and more than in the table. */
  static of(changes: readonly number[], scale: number): ListedChanges {
    const whole = wholeUnit(scale);
    const times = new Map<number, number>();
    for (const change of changes) {
      const magnitude = Math.abs(change);
      times.set(magnitude, (times.get(magnitude) ?? 0) + 1);
    }
    const spelled = new SpelledChange();
    const paying: { change: number; bytes: number }[] = [];
    for (const [change, count] of times) {
      spelled.spell(change, whole);
      const bytes = count * unsignedBytes(spelled.rest);
      if (bytes > unsignedBytes(codeOf(change, whole))) paying.push({ change, bytes });
    }
    paying.sort((a, b) => b.bytes - a.bytes || a.change - b.change);
    return new ListedChanges(
      paying.slice(0, TABLE_MAX).map(({ change }) => change),
      whole,
    );
  }

  opOf(change: number): number | undefined {
    return this.#ops.get(change);
  }

  write(writer: VarintWriter): void {
    writer.unsigned(this.#codes.length);
    for (const code of this.#codes) writer.unsigned(code);
  }
}

/** What the operations of one segment mean, as the decoder takes them: by the operation. */
export class Operations {
  /** The change itself where it is listed, NaN where its entry is missing; 0 from `LISTED_MAX` on. */
  readonly listed = new Float64Array(64);
  /** Units of the size scale that a number which is written out counts; 0 where none is. */
  readonly units = new Float64Array(64);
  /** A whole unit, in units of the size scale. */
  whole = 1;

  /** Reads the table of a segment whose sizes have `scale`. */
  read(reader: VarintReader, scale: number): void {
    const { listed, units } = this;
    const count = reader.unsigned();
    if (count > TABLE_MAX) throw damaged();
    const whole = wholeUnit(scale);
    if (whole !== this.whole || units[FINE] === 0) {
      units.fill(whole, WHOLE, FINE);
      units.fill(1, FINE, REMOVE);
      this.whole = whole;
    }
    for (let i = 0; i < count; i += 1) {
      const code = reader.unsigned();
      const half = Math.floor(code / 2);
      const change = code === 2 * half ? half : half * whole;
      listed[2 * i] = change;
      listed[2 * i + 1] = -change;
    }
    for (let i = 2 * count; i < LISTED_MAX; i += 1) listed[i] = Number.NaN;
  }

  /** The change that an operation below `REMOVE` means; reads the number that belongs to it. */
  change(reader: VarintReader, op: number): number {
    if (op < LISTED_MAX) return this.listed[op]!;
    const number = (op & 7) + 8 * reader.unsigned();
    return (number % 2 === 0 ? number / 2 : -(number + 1) / 2) * this.units[op]!;
  }
}

/** A level's number where no step follows; one more where one does. */
export function levelCode(size: number, whole: number): number {
  return size % whole === 0 ? (size / whole) * 4 + 2 : size * 4;
}

/** The size that a level's number says. */
export function sizeOfLevel(code: number, whole: number): number {
  const size = Math.floor(code / 4);
  return code - 4 * size < 2 ? size : size * whole;
}

/** Refuses what nobody wrote; NaN as well. */
export function checkedSize(size: number): number {
  if (!(size >= 0 && size <= SIZE_MAX)) throw damaged();
  return size;
}
