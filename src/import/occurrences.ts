import type { Position } from '../domain/page.ts';

/** A record of one time, with the number of times that equal ones were stated, and the numbers of the later ones by their ids. */
interface Stated {
  readonly record: Position;
  count: number;
  later?: Map<number, number>;
}

/** The different records of one series at the time that its source stated last. */
interface LastTime {
  readonly timestampMs: number;
  readonly stated: Stated[];
  latest: Position;
}

/** Maximum number of series. The ones that were added first are dropped: a source states the records of one time together. */
const SERIES_MAX = 16_384;

/**
 * Numbers the equal records that a source states at one time of a series. X, Y, X are the first X, the first Y and the second X, so that
 * the series ends on X; a record that repeats the one before it, or the id of an equal one, has the same number.
 */
export class Occurrences {
  readonly #series = new Map<string, LastTime>();

  /** The number of a record, from 1. `isDistinct`: a record that equals the one before it gets a new number. */
  next<R extends Position>(series: string, record: R, same: (a: R, b: R) => boolean, isDistinct: boolean): number {
    const last = this.#series.get(series);
    if (last === undefined || last.timestampMs !== record.timestampMs) {
      this.#set(series, { timestampMs: record.timestampMs, stated: [{ record, count: 1 }], latest: record });
      return 1;
    }
    // All records of a series have the same type.
    const isSame = (other: Position) => same(other as R, record);
    const known = last.stated.find((one) => isSame(one.record));
    // Files that overlap state the records of their common time with the same ids.
    const number = known === undefined || record.id === 0 ? undefined : numberOf(known, record.id);
    if (number !== undefined) return number;
    const isRepeat = !isDistinct && isSame(last.latest);
    last.latest = record;
    if (known === undefined) {
      last.stated.push({ record, count: 1 });
      return 1;
    }
    if (!isRepeat) known.count += 1;
    if (record.id !== 0) {
      known.later ??= new Map();
      known.later.set(record.id, known.count);
    }
    return known.count;
  }

  #set(series: string, last: LastTime): void {
    this.#series.delete(series);
    this.#series.set(series, last);
    if (this.#series.size > SERIES_MAX) this.#series.delete(this.#series.keys().next().value!);
  }
}

function numberOf({ record, later }: Stated, id: number): number | undefined {
  return record.id === id ? 1 : later?.get(id);
}
