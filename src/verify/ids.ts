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

/**
 * Finds ids that two records have, and ids that the archive never gave, in bounded memory: a window of the given ids has one bit
 * per id. An archive of up to 268 million records needs one window; a larger one is read once per window.
 */
export class IdCheck {
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
    const range = this.#rangeOf(id);
    // An import may have given the id after the window was started.
    if (range === undefined) return this.#source.isGiven(id) ? 'fine' : 'not-given';
    const bit = this.#offsets[range]! + id - this.#firsts[range]!;
    const byte = Math.floor(bit / 8);
    const mask = 1 << (bit % 8);
    if ((this.#bits[byte]! & mask) !== 0) return 'repeated';
    this.#bits[byte]! |= mask;
    return 'fine';
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
