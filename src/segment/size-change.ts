import { divisorOf } from './scale.ts';
import { damaged, unsignedBytes, type VarintReader, type VarintWriter } from './varint.ts';

/**
 * The operation of an edit of a level, in books and quotes: six bits of the byte that the edit begins with.
 *
 *   0 … 39    the size changes by entry op >> 1 of the segment's table; op odd: by minus that
 *   40 … 47   the size changes by a signed number of whole units: (op & 7) + 8 · the unsigned number that follows
 *   48 … 55   likewise, in units of the size scale
 *   56        the level is removed
 *   57        a level with a price and a size: see below
 *   58        the size is the double that follows, in columns of DOUBLES
 *   59        nothing changes
 *
 * A signed number n is written as 2n, or as -2n - 1 when it is negative. A whole unit is 10^scale units of the size scale.
 *
 * The table: an unsigned number of entries, at most 20, then for each entry an unsigned number v: (v - 1) / 2 whole units when
 * v is odd, v / 2 units when it is even. Most orders at a venue have one of a few sizes; a segment's table has its own.
 *
 * A level is an unsigned number. The bits from 2 on are its size, in whole units when bit 1 is set, else in units. When bit 0
 * is set, the step to its price follows: unsigned in books, signed in quotes. In columns of DOUBLES the size bits are 0, and
 * the size follows as a double at the end.
 */
const TABLE_MAX = 20;
export const WHOLE = 40;
export const FINE = 48;
export const REMOVE = 56;
export const LEVEL = 57;
export const DOUBLE = 58;
export const NOTHING = 59;

/** Operations below this are the table's entries and their negatives. */
const TABLE_OPS = 2 * TABLE_MAX;
/** The greatest size of a scaled column, see scale.ts. */
const SIZE_MAX = 2 ** 51;

function codeOf(change: number, whole: number): number {
  return change % whole === 0 ? (change / whole) * 2 + 1 : change * 2;
}

/** A change of size that is not in the table: its operation, and the number that follows it. Reused for each change. */
export class InlineChange {
  op = 0;
  rest = 0;

  /** `change` and `whole` are in units of the scale. */
  set(change: number, whole: number): void {
    const magnitude = Math.abs(change);
    const isWhole = magnitude % whole === 0;
    const amount = isWhole ? magnitude / whole : magnitude;
    const number = change < 0 ? 2 * amount - 1 : 2 * amount;
    const rest = Math.floor(number / 8);
    this.op = (isWhole ? WHOLE : FINE) + (number - 8 * rest);
    this.rest = rest;
  }
}

/** The changes in a segment's table, and their operations. */
export class ChangeTable {
  readonly #ops = new Map<number, number>();
  readonly #codes: readonly number[];

  private constructor(changes: readonly number[], whole: number) {
    this.#codes = changes.map((change) => codeOf(change, whole));
    for (const [i, change] of changes.entries()) {
      this.#ops.set(change, 2 * i);
      this.#ops.set(-change, 2 * i + 1);
    }
  }

  static none(): ChangeTable {
    return new ChangeTable([], 1);
  }

  /** The `changes` that take more bytes inline than in a table: at most TABLE_MAX, those with the most bytes inline. */
  static of(changes: readonly number[], scale: number): ChangeTable {
    const whole = divisorOf(scale);
    const times = new Map<number, number>();
    for (const change of changes) {
      const magnitude = Math.abs(change);
      times.set(magnitude, (times.get(magnitude) ?? 0) + 1);
    }
    const inline = new InlineChange();
    const paying: { change: number; bytes: number }[] = [];
    for (const [change, count] of times) {
      inline.set(change, whole);
      const bytes = count * unsignedBytes(inline.rest);
      if (bytes > unsignedBytes(codeOf(change, whole))) paying.push({ change, bytes });
    }
    paying.sort((a, b) => b.bytes - a.bytes || a.change - b.change);
    const chosen = paying.slice(0, TABLE_MAX).map(({ change }) => change);
    return new ChangeTable(chosen, whole);
  }

  opOf(change: number): number | undefined {
    return this.#ops.get(change);
  }

  write(writer: VarintWriter): void {
    writer.unsigned(this.#codes.length);
    for (const code of this.#codes) writer.unsigned(code);
  }
}

/** The operations of one segment for the decoder, indexed by operation. */
export class Operations {
  /** The change of a table entry, NaN when the entry is missing; 0 from `TABLE_OPS` on. */
  readonly tableChanges = new Float64Array(64);
  /** The factor of the inline number, in units of the size scale; 0 for operations without one. */
  readonly units = new Float64Array(64);
  /** A whole unit, in units of the size scale. */
  whole = 1;

  /** Reads the table of a segment whose sizes have `scale`. */
  read(reader: VarintReader, scale: number): void {
    const { tableChanges, units } = this;
    const count = reader.unsigned();
    if (count > TABLE_MAX) throw damaged();
    const whole = divisorOf(scale);
    if (whole !== this.whole || units[FINE] === 0) {
      units.fill(whole, WHOLE, FINE);
      units.fill(1, FINE, REMOVE);
      this.whole = whole;
    }
    for (let i = 0; i < count; i += 1) {
      const code = reader.unsigned();
      const half = Math.floor(code / 2);
      const change = code === 2 * half ? half : half * whole;
      tableChanges[2 * i] = change;
      tableChanges[2 * i + 1] = -change;
    }
    for (let i = 2 * count; i < TABLE_OPS; i += 1) tableChanges[i] = Number.NaN;
  }

  /** The change of an operation below `REMOVE`; reads its inline number. */
  change(reader: VarintReader, op: number): number {
    if (op < TABLE_OPS) return this.tableChanges[op]!;
    const number = (op & 7) + 8 * reader.unsigned();
    return (number % 2 === 0 ? number / 2 : -(number + 1) / 2) * this.units[op]!;
  }
}

/** The number that a level without a step is written as; with a step it is one more. */
export function levelCode(size: number, whole: number): number {
  return size % whole === 0 ? (size / whole) * 4 + 2 : size * 4;
}

/** The size in a level's number. */
export function sizeOfLevel(code: number, whole: number): number {
  const size = Math.floor(code / 4);
  return code - 4 * size < 2 ? size : size * whole;
}

/** Returns a size; throws if no encoder writes it, or if it is NaN. */
export function checkedSize(size: number): number {
  if (!(size >= 0 && size <= SIZE_MAX)) throw damaged();
  return size;
}
