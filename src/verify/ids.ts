import { firstIndex } from '../domain/first-index.ts';
import type { IdRange } from '../store/ids.ts';

/** The ids that the archive has given to records. */
export interface IdSource {
  /** The ranges that end at `fromId` or later, ascending, at most `countMax` of them. */
  givenRanges(fromId: number, countMax: number): readonly IdRange[];
  isGiven(id: number): boolean;
}

export interface IdLimits {
  /** Ids per window, one bit each. */
  readonly marks: number;
  /** Ranges in memory, 24 bytes each. */
  readonly ranges: number;
}

/** 32 MiB of bits and 24 MiB of ranges. Only archives of recordings with their own ids have many ranges. */
const LIMITS: IdLimits = { marks: 2 ** 28, ranges: 2 ** 20 };

/** Takes the ids of records, one after the other. */
export interface IdMarks {
  /** Marks `id` as used by a record. */
  mark(id: number): 'fine' | 'repeated' | 'not-given';
}

/** Collects ids, to be checked later. */
export class IdRuns implements IdMarks {
  /** The first and last of each run of consecutive ids. */
  readonly #ends: number[] = [];

  mark(id: number): 'fine' {
    const last = this.#ends.length - 1;
    if (this.#ends[last] === id - 1) this.#ends[last] = id;
    else this.#ends.push(id, id);
    return 'fine';
  }

  toArray(): Float64Array {
    return Float64Array.from(this.#ends);
  }
}

/**
 * Finds ids that two records have, and ids that the archive never gave, in bounded memory: a window of the given ids has one bit
 * per id. An archive of up to 268 million records needs one window; a larger one is read once per window.
 */
export class IdCheck implements IdMarks {
  readonly #source: IdSource;
  readonly #limits: IdLimits;
  readonly #firsts: number[] = [];
  readonly #lasts: number[] = [];
  /** For each range, the bit of its first id. */
  readonly #offsets: number[] = [];
  #bits = new Uint8Array(0);
  #fromId = 0;
  /** End of the window, exclusive. */
  #untilId = 0;
  #range = 0;

  constructor(source: IdSource, limits: IdLimits = LIMITS) {
    this.#source = source;
    this.#limits = limits;
  }

  /** Starts the next window; false if there is none. */
  nextWindow(): boolean {
    if (this.#untilId === Number.POSITIVE_INFINITY) return false;
    const fromId = this.#untilId;
    const ranges = this.#source.givenRanges(fromId, this.#limits.ranges + 1);
    let marks = 0;
    let untilId = Number.POSITIVE_INFINITY;
    for (const list of [this.#firsts, this.#lasts, this.#offsets]) list.length = 0;
    for (const [index, { firstId, lastId }] of ranges.entries()) {
      const first = Math.max(firstId, fromId);
      const room = this.#limits.marks - marks;
      if (index === this.#limits.ranges || room === 0) {
        untilId = first;
        break;
      }
      const last = Math.min(lastId, first + room - 1);
      this.#firsts.push(first);
      this.#lasts.push(last);
      this.#offsets.push(marks);
      marks += last - first + 1;
      if (last < lastId) {
        untilId = last + 1;
        break;
      }
    }
    this.#bits = new Uint8Array(Math.ceil(marks / 8));
    this.#fromId = fromId;
    this.#untilId = untilId;
    this.#range = 0;
    return true;
  }

  get isLast(): boolean {
    return this.#untilId === Number.POSITIVE_INFINITY;
  }

  /** Marks `id` as used by a record. Ids outside the window are not checked yet: 'fine'. */
  mark(id: number): 'fine' | 'repeated' | 'not-given' {
    if (id < this.#fromId || id >= this.#untilId) return 'fine';
    const bit = this.#bitOf(id);
    // An import may have given the id after the window was started.
    if (bit === undefined) return this.#source.isGiven(id) ? 'fine' : 'not-given';
    const byte = Math.floor(bit / 8);
    const mask = 1 << (bit % 8);
    if ((this.#bits[byte]! & mask) !== 0) return 'repeated';
    this.#bits[byte]! |= mask;
    return 'fine';
  }

  /** Marks all ids of runs, as `IdRuns` has them, if each may be marked; else none of them, and returns false. */
  markRuns(runs: Float64Array): boolean {
    for (let i = 0; i < runs.length; i += 2) {
      for (let id = runs[i]!; id <= runs[i + 1]!; id += 1) {
        if (this.mark(id) === 'fine') continue;
        this.#unmark(runs.subarray(0, i), runs[i]!, id);
        return false;
      }
    }
    return true;
  }

  /** Takes the marks of `runs` back, and those from `first` to before `end`. */
  #unmark(runs: Float64Array, first: number, end: number): void {
    const unmark = (id: number) => {
      const bit = this.#bitOf(id);
      if (bit !== undefined) this.#bits[Math.floor(bit / 8)]! &= ~(1 << (bit % 8));
    };
    for (let i = 0; i < runs.length; i += 2) for (let id = runs[i]!; id <= runs[i + 1]!; id += 1) unmark(id);
    for (let id = first; id < end; id += 1) unmark(id);
  }

  /** Returns true if the window may have one of these ids. */
  touches(firstId: number, lastId: number): boolean {
    return firstId < this.#untilId && lastId >= this.#fromId;
  }

  /** Undefined for an id that is not in the window, or was not given when it was started. */
  #bitOf(id: number): number | undefined {
    if (id < this.#fromId || id >= this.#untilId) return undefined;
    const range = this.#rangeOf(id);
    return range === undefined ? undefined : this.#offsets[range]! + id - this.#firsts[range]!;
  }

  #rangeOf(id: number): number | undefined {
    // Consecutive records mostly have ids of one range.
    const range = this.#range;
    if (range < this.#firsts.length && id >= this.#firsts[range]! && id <= this.#lasts[range]!) return range;
    const found = firstIndex(this.#firsts.length, (index) => this.#firsts[index]! > id) - 1;
    if (found < 0 || id > this.#lasts[found]!) return undefined;
    this.#range = found;
    return found;
  }
}
