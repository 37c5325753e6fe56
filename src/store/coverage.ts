import { GAPS_LISTED_MAX, type OutcomeCoverage, SilenceWatch } from '../domain/coverage.ts';
import { DomainError } from '../domain/errors.ts';
import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { BookReader } from '../segment/book-decoder.ts';
import { Database } from './database.ts';
import { Gaps } from './gaps.ts';
import { Markets, type StoredMarket } from './markets.ts';
import { Segments } from './segments.ts';
import { SeriesCatalog } from './series.ts';
import { SnapshotTally } from './snapshot-tally.ts';

/** How much of a market is recorded, in one state of the archive. */
export interface MarketCoverage {
  readonly market: StoredMarket;
  /** Up, then down; an outcome without snapshots is included. */
  readonly outcomes: readonly OutcomeCoverage[];
  readonly gapCount: number;
  /** The first ones, GAPS_LISTED_MAX at most. */
  readonly gaps: readonly Gap[];
}

/** Markets whose coverage is cached until they change; each takes about 2 kB without its gaps. */
const CACHED_MAX = 1000;
/** Gaps that are cached with them: about 10 MB. */
const CACHED_GAPS_MAX = 100_000;
/** Maximum number of waiting markets; further ones are refused. */
const WAITING_MAX = 100;
/** Bytes of payload to read before other requests are served: a few milliseconds of work. */
const STEP_BYTES = 64 * 1024;

/**
 * Counts the recorded snapshots and gaps of a market. This reads every book, so it is done in steps, between which other
 * requests are served, one market at a time, in a view of its own. The result is cached until the market changes.
 */
export class Coverages {
  readonly #path: string;
  /** Least recently used first. */
  readonly #cached = new Map<string, MarketCoverage>();
  #cachedGaps = 0;
  readonly #underWay = new Map<string, Promise<MarketCoverage>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Coverage of the market as it is when it is read; with `asOfMs` of its records until then. Throws DomainError
   * 'unavailable' when a segment is damaged or too many markets wait, 'not-found' when the market is gone.
   */
  of(market: StoredMarket, asOfMs: InstantMs = INSTANT_MAX_MS): Promise<MarketCoverage> {
    const { conditionId } = market;
    const cached = this.#cached.get(nameOf(conditionId, asOfMs));
    if (cached?.market.revision === market.revision) {
      this.#cache(cached, asOfMs);
      return Promise.resolve(cached);
    }
    const state = `${nameOf(conditionId, asOfMs)} ${market.revision}`;
    return this.#underWay.get(state) ?? this.#queue(state, conditionId, asOfMs);
  }

  #queue(state: string, conditionId: string, asOfMs: InstantMs): Promise<MarketCoverage> {
    if (this.#underWay.size >= WAITING_MAX) {
      throw new DomainError('unavailable', 'too many markets wait for their coverage: ask again later');
    }
    const walk = this.#last
      .then(() => this.#walk(conditionId, asOfMs))
      .then((coverage) => {
        this.#cache(coverage, asOfMs);
        return coverage;
      })
      .finally(() => this.#underWay.delete(state));
    this.#underWay.set(state, walk);
    // The caller gets the error; the next market in the queue starts anyway.
    this.#last = walk.catch(() => undefined);
    return walk;
  }

  #cache(coverage: MarketCoverage, asOfMs: InstantMs): void {
    const name = nameOf(coverage.market.conditionId, asOfMs);
    this.#forget(name);
    this.#cached.set(name, coverage);
    this.#cachedGaps += coverage.gaps.length;
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= CACHED_MAX && this.#cachedGaps <= CACHED_GAPS_MAX) return;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#cachedGaps -= this.#cached.get(name)?.gaps.length ?? 0;
    this.#cached.delete(name);
  }

  async #walk(conditionId: string, asOfMs: InstantMs): Promise<MarketCoverage> {
    using database = Database.openToRead(this.#path);
    using _view = database.beginView();
    const market = new Markets(database).findByConditionId(conditionId);
    if (market === undefined) throw new DomainError('not-found', 'this market is not recorded here any more');
    const recorded = new Gaps(database);
    const gapCount = recorded.count(market.key, asOfMs);
    const gaps = recorded.within(market.key, 0, asOfMs, asOfMs).take(GAPS_LISTED_MAX).toArray();
    const outcomes: OutcomeCoverage[] = [];
    for (const outcome of OUTCOMES) outcomes.push(await outcomeCoverage(database, market, outcome, asOfMs));
    return { market, outcomes, gapCount, gaps };
  }
}

function nameOf(conditionId: string, asOfMs: InstantMs): string {
  return `${conditionId} ${asOfMs}`;
}

async function outcomeCoverage(
  database: Database,
  market: StoredMarket,
  outcome: Outcome,
  asOfMs: InstantMs,
): Promise<OutcomeCoverage> {
  const books = new SeriesCatalog(database).books(market.key, outcome);
  const tally = new SnapshotTally();
  const silence = new SilenceWatch(market.startMs, market.endMs);
  let left = STEP_BYTES;
  const slices = books === undefined ? [] : new Segments(database).slices(books.seriesId, 0, asOfMs);
  const reader = new BookReader();
  for (const { payload, head, to } of slices) {
    reader.open(payload, head);
    while (reader.index + 1 < to && reader.advance()) {
      tally.add(reader);
      silence.add(head.timestamps[reader.index]!);
    }
    left -= payload.length;
    if (left > 0) continue;
    await new Promise<void>((resolve) => setImmediate(resolve));
    left = STEP_BYTES;
  }
  const mirrored = books !== undefined && tally.firstMs !== undefined && tally.firstMs < books.recordedFromMs;
  return { outcome, mirrored, ...tally, silence };
}
