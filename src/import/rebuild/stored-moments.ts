import type { TimeRange } from '../../domain/coverage.ts';
import { type Gap, isRebuiltGap } from '../../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import type { OrderBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { BookRecord } from '../../segment/book-format.ts';
import type { StatedLevel, Statement } from '../../segment/statement-segment.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { RebuildStart } from './book-rebuild.ts';
import { levelsBetween } from './stated-levels.ts';

/** Books of recordings with hashes are known at nearly every change. */
const SHORTLY_MS = 1000;
/** A known book is searched within the first distance, then within the next one, until one is found. */
const DISTANCES_MS = [SHORTLY_MS, 16_000, 256_000, INSTANT_MAX_MS];

/** Everything that the archive has about an outcome's book at one time. */
export interface StoredMoment {
  readonly timestampMs: InstantMs;
  /** The snapshots of this time, in their order. */
  readonly snapshots: readonly BookRecord[];
  /** True if the snapshots are from a recording without changes: changes of other recordings were not applied to them. */
  readonly isForeign: boolean;
  readonly levels: readonly StatedLevel[];
  /** The book of this time; undefined if it is not known. */
  readonly anchor: OrderBook | undefined;
  readonly isProved: boolean;
  readonly isFull: boolean;
}

/** A time at which the archive knows the book of an outcome. */
export interface KnownTime {
  readonly timestampMs: InstantMs;
  /** True for a whole book of an outcome of which no change is known. */
  readonly isAlone: boolean;
}

/** Reads the books and statements that the archive has of one outcome. */
export class StoredMoments {
  readonly #archive: Archive;
  readonly #market: StoredMarket;
  readonly #outcome: Outcome;

  constructor(archive: Archive, market: StoredMarket, outcome: Outcome) {
    this.#archive = archive;
    this.#market = market;
    this.#outcome = outcome;
  }

  /** Returns true if a book is known at most SHORTLY_MS before a time. */
  isKnownShortlyBefore(timestampMs: InstantMs): boolean {
    return this.#known(Math.max(0, timestampMs - SHORTLY_MS), timestampMs).length > 0;
  }

  /** Returns true if a gap that a rebuild found ends at a time or later. */
  hasGapAt(timestampMs: InstantMs): boolean {
    const within = this.#archive.gaps.within(this.#market.key, timestampMs, INSTANT_MAX_MS);
    return within.some((gap) => isRebuiltGap(gap, this.#outcome));
  }

  /** The last known book at or before a time that does not end a gap and is in none; undefined without one. */
  knownBefore(timestampMs: InstantMs): KnownTime | undefined {
    for (const distance of DISTANCES_MS) {
      const known = this.#known(Math.max(0, timestampMs - distance), timestampMs);
      const gaps = this.#gapsNear(known);
      const found = known.findLast(
        (one) => !gaps.some((gap) => gap.fromMs < one.timestampMs && one.timestampMs <= gap.toMs),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The first known book at or after a time that is not in a gap; undefined without one. */
  knownAfter(timestampMs: InstantMs): KnownTime | undefined {
    for (const distance of DISTANCES_MS) {
      const known = this.#known(timestampMs, Math.min(INSTANT_MAX_MS, timestampMs + distance));
      const gaps = this.#gapsNear(known);
      const found = known.find(
        (one) => !gaps.some((gap) => gap.fromMs < one.timestampMs && one.timestampMs < gap.toMs),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The book of a known time, and the time since which it is known. */
  startAt(timestampMs: InstantMs): RebuildStart {
    const { book } = this.#records(timestampMs, timestampMs).at(-1)!;
    return { book, confirmedMs: timestampMs, isHashed: this.isProvedAt(timestampMs) };
  }

  /** Returns true if a hash proves the book of a known time. */
  isProvedAt(timestampMs: InstantMs): boolean {
    const [statement] = this.#statements(timestampMs, timestampMs);
    return statement?.isProved ?? true;
  }

  /** The gaps that a rebuild found between two times, both inclusive. */
  gaps(fromMs: InstantMs, toMs: InstantMs): Gap[] {
    const within = [...this.#archive.gaps.within(this.#market.key, fromMs, toMs)];
    return within.filter((gap) => gap.fromMs >= fromMs && isRebuiltGap(gap, this.#outcome));
  }

  /** The times within a gap in which no change is missing, as hashes prove; ascending. */
  covered({ fromMs, toMs }: TimeRange): TimeRange[] {
    if (!this.#archive.statements.exist(this.#market, this.#outcome)) return [];
    const start = this.knownBefore(fromMs) ?? this.knownAfter(fromMs);
    const end = this.knownAfter(toMs) ?? this.knownBefore(toMs);
    if (start === undefined || end === undefined || start.isAlone || end.isAlone) return [];
    const covered: TimeRange[] = [];
    let untilMs = Math.max(fromMs, start.timestampMs);
    const [atEnd] = this.between(toMs - 1, toMs, undefined);
    // See `BookRebuild`: the recorder has stated the gap up to this book.
    const isBare = atEnd?.isFull === true && atEnd.levels.length === 0;
    const endMs = Math.min(toMs, isBare ? (this.knownBefore(toMs - 1)?.timestampMs ?? 0) : end.timestampMs);
    for (const gap of this.gaps(start.timestampMs, endMs)) {
      if (untilMs < gap.fromMs) covered.push({ fromMs: untilMs, toMs: Math.min(gap.fromMs, endMs) });
      untilMs = Math.max(untilMs, gap.toMs);
    }
    if (untilMs < endMs) covered.push({ fromMs: untilMs, toMs: endMs });
    return covered;
  }

  /** The moments after one time until another one (inclusive), in order. `start`: the book of the first time. */
  between(afterMs: InstantMs, toMs: InstantMs, start: OrderBook | undefined): StoredMoment[] {
    const records = Map.groupBy(this.#records(afterMs + 1, toMs), ({ timestampMs }) => timestampMs);
    const statements = new Map(this.#statements(afterMs + 1, toMs).map((one) => [one.timestampMs, one]));
    const times = [...new Set([...records.keys(), ...statements.keys()])].sort((a, b) => a - b);
    let latest = start;
    return times.map((timestampMs) => {
      const snapshots = records.get(timestampMs) ?? [];
      const statement = statements.get(timestampMs);
      const before = latest;
      const own = statement?.isForeign === true ? undefined : snapshots.at(-1)?.book;
      if (own !== undefined) latest = own;
      const levels = statement?.levels ?? (own === undefined || before === undefined ? [] : levelsBetween(before, own));
      const { isProved, isFull } = statement ?? { isProved: own !== undefined, isFull: false };
      const anchor = isProved || isFull ? latest : undefined;
      return { timestampMs, snapshots, isForeign: statement?.isForeign === true, levels, anchor, isProved, isFull };
    });
  }

  /** The times at which a snapshot is a known book, in order. */
  #known(fromMs: InstantMs, toMs: InstantMs): KnownTime[] {
    const statements = new Map(this.#statements(fromMs, toMs).map((one) => [one.timestampMs, one]));
    const times = this.#archive.snapshots.timesBetween(this.#market, this.#outcome, fromMs, toMs);
    return [...new Set(times)].flatMap((timestampMs) => {
      const statement = statements.get(timestampMs);
      if (statement === undefined) return [{ timestampMs, isAlone: false }];
      const { isForeign, isProved, isFull, isAlone } = statement;
      return isForeign || !(isProved || isFull) ? [] : [{ timestampMs, isAlone }];
    });
  }

  #gapsNear(known: readonly KnownTime[]): readonly Gap[] {
    const [first, last] = [known[0], known.at(-1)];
    if (first === undefined || last === undefined) return [];
    const within = [...this.#archive.gaps.within(this.#market.key, first.timestampMs, last.timestampMs)];
    return within.filter((gap) => isRebuiltGap(gap, this.#outcome));
  }

  #records(fromMs: InstantMs, toMs: InstantMs): BookRecord[] {
    return this.#archive.snapshots.recordsBetween(this.#market, this.#outcome, fromMs, toMs);
  }

  #statements(fromMs: InstantMs, toMs: InstantMs): Statement[] {
    return this.#archive.statements.between(this.#market, this.#outcome, fromMs, toMs);
  }
}
