import { UNIT_MS } from '../domain/duration.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import type { Archive } from './archive.ts';
import { BRIEF_STEP, Deletion, type DeletionTotals } from './deletion.ts';
import { failureOf, isOver, type OpenMarket, Sealing } from './sealing.ts';

const DAY_MS = UNIT_MS.d!;
/** The time from the start of a round to the start of the next one. */
const ROUND_MS = 10 * UNIT_MS.m!;
/** A turn takes no longer, except for the step under way: a market, a folder, or a transaction of a deletion. */
const TURN_MS = 200;
/** Markets that are over whose revision is remembered until the next round. More are sealed in later rounds. */
const SEEN_MAX = 10_000;
/** Reads one index, once a day, or in each round while nothing is deleted for the clock. */
export const NEWEST_BOOK = `SELECT MAX(last_snapshot_ms) AS lastMs FROM markets INDEXED BY recorded_markets_by_coin
  WHERE first_snapshot_ms IS NOT NULL`;

export interface UpkeepOptions {
  /** Markets that ended this long ago are sealed; undefined: none are. */
  readonly sealMs: number | undefined;
  /** Markets are deleted with the day (UTC) that ended this long ago, also by the time of the newest book; undefined: none are. */
  readonly keepMs: number | undefined;
  readonly clock: () => InstantMs;
  /** A clock that is never set, in milliseconds: it bounds a turn. */
  readonly monotonicMs: () => number;
  /** Returns false while the disk has no room for files. */
  readonly hasRoom: () => boolean;
  /** Called after a round that deleted something. */
  readonly onDeleted: (totals: DeletionTotals, beforeMs: InstantMs) => void;
  readonly warn: (line: string) => void;
  /** Default: 200. */
  readonly turnMs?: number;
}

/**
 * Keeps an archive in order while something else records into it: seals markets that are over and have not changed for a round, and
 * deletes those that are too old. It works in turns, and forgets where it was when the process ends: the next one finds the rest.
 */
export class Upkeep implements Disposable {
  readonly #archive: Archive;
  readonly #options: UpkeepOptions;
  readonly #sealing: Sealing;
  readonly #newest;
  #steps: Generator<void> | undefined;
  #nextMs: InstantMs = 0;
  /** The day of the last round that looked at all of the archive. */
  #dayMs: InstantMs = -1;
  /** Markets that began before this day are deleted. */
  #deletedMs: InstantMs = -1;
  /** All markets up to this key are sealed, or have no records. */
  #sealedUntil = -1;
  /** The revisions of markets that were over in the round before. */
  #seen: ReadonlyMap<number, number> = new Map();
  /** Warnings of the day, so that each comes once. */
  readonly #warned = new Set<string>();

  constructor(archive: Archive, options: UpkeepOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#sealing = new Sealing(archive);
    this.#newest = archive.database.query<{ lastMs: InstantMs | null }, []>(NEWEST_BOOK);
  }

  /** Goes on with the round that is under way, or begins one when it is time. Errors of the disk and of others who write are warnings. */
  turn(): void {
    const { clock, monotonicMs, warn, turnMs = TURN_MS } = this.#options;
    if (this.#steps === undefined) {
      const waitMs = this.#nextMs - clock();
      // More than a round: the clock was set back.
      if (waitMs > 0 && waitMs <= ROUND_MS) return;
      this.#nextMs = clock() + ROUND_MS;
      this.#steps = this.#round();
    }
    const startMs = monotonicMs();
    try {
      do {
        if (this.#steps.next().done !== true) continue;
        this.#steps = undefined;
        return;
      } while (monotonicMs() - startMs < turnMs);
    } catch (error) {
      this.#steps = undefined;
      if (!(error instanceof DomainError)) throw error;
      warn(error.message);
    }
  }

  [Symbol.dispose](): void {
    this.#steps?.return(undefined);
  }

  *#round(): Generator<void> {
    const { sealMs, keepMs, clock, hasRoom } = this.#options;
    const nowMs = clock();
    const dayMs = dayOf(nowMs);
    if (dayMs !== this.#dayMs) {
      this.#warned.clear();
      this.#sealedUntil = -1;
      this.#dayMs = dayMs;
      for (const _ of this.#sealing.sweep(nowMs)) yield;
    }
    if (keepMs !== undefined) yield* this.#deleteOld(nowMs, keepMs);
    if (sealMs !== undefined && hasRoom()) yield* this.#seal(nowMs - sealMs, nowMs);
  }

  /** Deletes by the earlier one of the clock and the time that the venue stated last: a clock that is ahead would delete days to keep. */
  *#deleteOld(nowMs: InstantMs, keepMs: number): Generator<void> {
    if (dayOf(nowMs - keepMs) <= this.#deletedMs) return;
    const lastMs = this.#archive.database.read(() => this.#newest.get()!.lastMs);
    if (lastMs === null) return;
    if (nowMs - lastMs > DAY_MS) {
      const [now, last] = [nowMs, lastMs].map((ms) => formatInstant(ms).slice(0, 10));
      this.#warnOnce(
        `the clock says ${now}, but the newest book is of ${last}: nothing is deleted until they are less than a day apart`,
      );
      return;
    }
    const beforeMs = dayOf(Math.min(nowMs, lastMs) - keepMs);
    if (beforeMs <= this.#deletedMs) return;
    yield* this.#delete(beforeMs);
    this.#deletedMs = beforeMs;
  }

  *#delete(beforeMs: InstantMs): Generator<void> {
    const filter = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs };
    let done: DeletionTotals | undefined;
    try {
      for (done of new Deletion(this.#archive, filter).run(BRIEF_STEP)) yield;
    } finally {
      if (done !== undefined && done.markets + done.coinPrices > 0) this.#options.onDeleted(done, beforeMs);
    }
  }

  *#seal(beforeMs: InstantMs, nowMs: InstantMs): Generator<void> {
    const before = this.#seen;
    const seen = new Map<number, number>();
    let firstOpen: number | undefined;
    for (const markets of this.#sealing.open(this.#sealedUntil)) {
      for (const market of markets) {
        const { key, revision } = market;
        const isDue = isOver(market, beforeMs, nowMs);
        if (isDue && before.get(key) === revision) {
          const isSealed = this.#isSealed(market);
          yield;
          if (isSealed) continue;
        }
        firstOpen ??= key;
        if (isDue && seen.size < SEEN_MAX) seen.set(key, revision);
      }
      yield;
    }
    if (firstOpen !== undefined) this.#sealedUntil = firstOpen - 1;
    this.#seen = seen;
  }

  /** Seals a market. False: it changed meanwhile, or is damaged. */
  #isSealed(market: OpenMarket): boolean {
    try {
      return this.#sealing.seal(market) !== undefined;
    } catch (error) {
      this.#warnOnce(`not sealed: ${failureOf(market, error)}`);
      return false;
    }
  }

  #warnOnce(line: string): void {
    if (!this.#warned.has(line)) this.#options.warn(line);
    this.#warned.add(line);
  }
}

/** The beginning of the day (UTC) of an instant. */
function dayOf(instantMs: InstantMs): InstantMs {
  return instantMs - (instantMs % DAY_MS);
}
