import { CONTRADICTING_LISTED_MAX, GAPS_LISTED_MAX, type OutcomeCoverage, SilenceTracker } from '../domain/coverage.ts';
import { DomainError } from '../domain/errors.ts';
import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { Turns } from '../domain/turns.ts';
import { BookReader } from '../segment/book-decoder.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import { type ArchiveView, openArchiveView } from './archive.ts';
import { type ContradictingInstant, ContradictingInstants } from './contradicting-instants.ts';
import { type BestUnits, ContradictionTally, readBest } from './contradiction-tally.ts';
import type { StoredMarket } from './markets.ts';
import { SnapshotTally } from './snapshot-tally.ts';
import { StatementWalk } from './statement-walk.ts';
import { WidestSpread } from './widest-spread.ts';

/** An instant at which recordings contradict, see ContradictingInstants. */
interface OutcomeInstant extends ContradictingInstant {
  readonly outcome: Outcome;
}

/** The recorded part of a market, in one state of the archive. */
export interface MarketCoverage {
  readonly market: StoredMarket;
  /** The recorded milliseconds of its window, see RecordedTimes. */
  readonly recordedMs: number;
  /** Up, then down; an outcome without snapshots is included. */
  readonly outcomes: readonly OutcomeCoverage[];
  /** See ContradictionTally. */
  readonly contradictions: number;
  readonly contradictingCount: number;
  /** The first ones, up before down, CONTRADICTING_LISTED_MAX at most. */
  readonly contradicting: readonly OutcomeInstant[];
  readonly gapCount: number;
  /** The first ones, GAPS_LISTED_MAX at most. */
  readonly gaps: readonly Gap[];
  /** The later of the market's last snapshot and the end of its last gap, even if it is after `asOfMs`; 0 without any. */
  readonly lastMs: InstantMs;
}

/** Markets whose coverage is cached until they change; each takes about 2 kB without its gaps, and up to 10 kB more with instants that contradict. */
const CACHED_MAX = 1000;
/** Gaps that are cached with them: about 10 MB. */
const CACHED_GAPS_MAX = 100_000;
/** The bytes of payload that one step reads, before other requests are served: a few milliseconds of work. */
const STEP_BYTES = 64 * 1024;

/** A request for a coverage that is not answered yet. */
interface Pending {
  readonly conditionId: string;
  readonly asOfMs: InstantMs;
  readonly answer: PromiseWithResolvers<MarketCoverage>;
}

/**
 * Counts the recorded snapshots and gaps of a market. This reads every book, so it is done in steps, between which other
 * requests are served, one request at a time, in a view of its own. Keys take turns with their requests. The result is cached
 * until the market changes, and is the same for every `asOfMs` from the last record on.
 */
export class Coverages {
  readonly #path: string;
  readonly #nextTurn: () => Promise<void>;
  /** Least recently used first. */
  readonly #cached = new Map<string, MarketCoverage>();
  #cachedGaps = 0;
  readonly #requests = new Map<string, Pending>();
  /** The names of requests, by key. */
  readonly #waiting = new Turns<string>();
  #isAnswering = false;

  /** `nextTurn` resolves when a step may begin. */
  constructor(path: string, nextTurn: () => Promise<void>) {
    this.#path = path;
    this.#nextTurn = nextTurn;
  }

  /**
   * Coverage of the market as it is when it is read; with `asOfMs` of its records until then. Rejects with DomainError
   * 'unavailable' when a segment is damaged, 'not-found' when the market is gone.
   */
  of(market: StoredMarket, asOfMs: InstantMs = INSTANT_MAX_MS, keyId?: string): Promise<MarketCoverage> {
    const { conditionId } = market;
    const cached = this.#find(market, asOfMs);
    if (cached !== undefined) return Promise.resolve(cached);
    const name = `${nameOf(conditionId, asOfMs)} ${market.revision}`;
    const request: Pending = this.#requests.get(name) ?? { conditionId, asOfMs, answer: Promise.withResolvers() };
    this.#requests.set(name, request);
    // If several keys make the same request, it is answered in the first turn of any of them.
    this.#waiting.add(name, keyId);
    void this.#answerAll();
    return request.answer.promise;
  }

  /**
   * `of` without a turn, for a market that is read as quickly as a page: in the tick of its request. Bun closes a connection whose
   * next request comes before the answer to this one.
   */
  atOnce(market: StoredMarket, asOfMs: InstantMs = INSTANT_MAX_MS): Promise<MarketCoverage> {
    const cached = this.#find(market, asOfMs);
    return cached === undefined ? this.#walk({ conditionId: market.conditionId, asOfMs }) : Promise.resolve(cached);
  }

  async #answerAll(): Promise<void> {
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    while (!this.#waiting.isEmpty) {
      await this.#nextTurn();
      const name = this.#waiting.take()!;
      const request = this.#requests.get(name);
      // Answered already, in another key's turn.
      if (request === undefined) continue;
      await this.#walk(request).then(request.answer.resolve, request.answer.reject);
      this.#requests.delete(name);
    }
    this.#isAnswering = false;
  }

  /** The cached coverage of this revision of the market. */
  #find(market: StoredMarket, asOfMs: InstantMs): MarketCoverage | undefined {
    for (const knownMs of [INSTANT_MAX_MS, asOfMs]) {
      const cached = this.#cached.get(nameOf(market.conditionId, knownMs));
      if (cached?.market.revision !== market.revision || (knownMs !== asOfMs && cached.lastMs > asOfMs)) continue;
      this.#cache(cached, knownMs);
      return cached;
    }
    return undefined;
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

  async #walk({ conditionId, asOfMs }: Pick<Pending, 'conditionId' | 'asOfMs'>): Promise<MarketCoverage> {
    using view = openArchiveView(this.#path);
    const market = view.markets.findByConditionId(conditionId);
    if (market === undefined) throw new DomainError('not-found', 'this market is not recorded here any more');
    const cached = this.#find(market, asOfMs);
    if (cached !== undefined) return cached;
    const lastMs = Math.max(view.snapshotTotals.lastMs(market.key), view.gaps.lastMs(market.key));
    const recordedMs = view.recordedTimes.ofMarket(market.key, asOfMs);
    const gapCount = view.gaps.count(market.key, asOfMs);
    const gaps = view.gaps.within(market.key, 0, asOfMs, asOfMs).take(GAPS_LISTED_MAX).toArray();
    const walks = OUTCOMES.map((outcome) => new OutcomeWalk(view, market, outcome, asOfMs));
    const contradictions = await this.#read(walks);
    const outcomes = walks.map((walk) => walk.coverage);
    const found = walks.flatMap((walk) => walk.contradicting);
    const contradicting = found.sort((a, b) => a.timestampMs - b.timestampMs).slice(0, CONTRADICTING_LISTED_MAX);
    const contradictingCount = walks.reduce((sum, walk) => sum + walk.contradictingCount, 0);
    const contradictory = { contradictions, contradictingCount, contradicting };
    const coverage = { market, recordedMs, outcomes, ...contradictory, gapCount, gaps, lastMs };
    this.#cache(coverage, asOfMs >= lastMs ? INSTANT_MAX_MS : asOfMs);
    return coverage;
  }

  /** Reads the books of both outcomes in step; returns the number of contradictions. */
  async #read(walks: readonly OutcomeWalk[]): Promise<number> {
    const contradictions = new ContradictionTally();
    let left = STEP_BYTES;
    for (;;) {
      const atMs = Math.min(...walks.map(({ nextMs }) => nextMs));
      if (atMs === Infinity) return contradictions.count;
      for (const walk of walks) while (walk.nextMs === atMs) left -= walk.take(contradictions);
      contradictions.endInstant();
      if (left > 0) continue;
      await this.#nextTurn();
      left = STEP_BYTES;
    }
  }
}

/** Counts the snapshots of one outcome, one by one. */
class OutcomeWalk {
  readonly #outcome: Outcome;
  readonly #recordedFromMs: InstantMs;
  readonly #slices: Iterator<SegmentSlice>;
  readonly #reader = new BookReader();
  readonly #tally = new SnapshotTally();
  readonly #silence: SilenceTracker;
  readonly #best: BestUnits = { bid: Number.NaN, ask: Number.NaN };
  readonly #spread: WidestSpread;
  readonly #recordedMs: number;
  readonly #instants: ContradictingInstants;
  #to = 0;
  /** The time of the next snapshot, Infinity after the last one. */
  nextMs = Infinity;

  constructor(view: ArchiveView, market: StoredMarket, outcome: Outcome, asOfMs: InstantMs) {
    const { series, segments, recordedTimes } = view;
    const books = series.books(market.key, outcome);
    this.#outcome = outcome;
    this.#recordedFromMs = books?.recordedFromMs ?? Infinity;
    this.#silence = new SilenceTracker(market.startMs, market.endMs);
    this.#spread = new WidestSpread(market.startMs, market.endMs);
    this.#recordedMs = books === undefined ? 0 : recordedTimes.ofOutcome(market.key, books, asOfMs);
    const statements = new StatementWalk(segments, series.find(market.key, outcome, 'statement'));
    this.#instants = new ContradictingInstants((timestampMs) => statements.isMerged(timestampMs));
    const slices = books === undefined ? [] : segments.slices(books.seriesId, 0, asOfMs);
    this.#slices = slices[Symbol.iterator]();
    this.#enter();
  }

  /** Counts the next snapshot; returns the bytes of payload that were read to find the one after it. */
  take(contradictions: ContradictionTally): number {
    const reader = this.#reader;
    const timestampMs = this.nextMs;
    reader.advance();
    this.#tally.add(reader);
    this.#silence.add(timestampMs);
    readBest(reader, this.#best);
    this.#spread.add(timestampMs, this.#best);
    if (timestampMs >= this.#recordedFromMs) {
      contradictions.set(this.#outcome, this.#best);
      this.#instants.add(reader);
    }
    if (reader.index + 1 >= this.#to) return this.#enter();
    this.nextMs = reader.head.timestamps[reader.index + 1]!;
    return 0;
  }

  get coverage(): OutcomeCoverage {
    const { firstMs } = this.#tally;
    const mirrored = firstMs !== undefined && firstMs < this.#recordedFromMs;
    const [recordedMs, widestSpread] = [this.#recordedMs, this.#spread.widest];
    return { outcome: this.#outcome, mirrored, ...this.#tally, recordedMs, widestSpread, silence: this.#silence };
  }

  get contradictingCount(): number {
    return this.#instants.count;
  }

  get contradicting(): OutcomeInstant[] {
    return this.#instants.listed.map((instant) => ({ ...instant, outcome: this.#outcome }));
  }

  /** Goes to the next segment; returns its bytes. */
  #enter(): number {
    const { done, value } = this.#slices.next();
    this.nextMs = Infinity;
    if (done === true) return 0;
    const { payload, head, to } = value;
    this.#reader.open(payload, head);
    this.#to = to;
    this.nextMs = head.timestamps[0]!;
    return payload.length;
  }
}

function nameOf(conditionId: string, asOfMs: InstantMs): string {
  return `${conditionId} ${asOfMs}`;
}
