import { GAPS_LISTED_MAX, type OutcomeCoverage, SilenceWatch } from '../domain/coverage.ts';
import { DomainError } from '../domain/errors.ts';
import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { BookReader } from '../segment/book-segment.ts';
import { Database } from './database.ts';
import { Gaps } from './gaps.ts';
import { Markets, type StoredMarket } from './markets.ts';
import { Segments } from './segments.ts';
import { SeriesCatalog } from './series.ts';
import { SnapshotTally } from './snapshot-tally.ts';

/** What is recorded of a market, as one state of the archive has it. */
export interface MarketCoverage {
  readonly market: StoredMarket;
  /** Up, then down, with snapshots or without. */
  readonly outcomes: readonly OutcomeCoverage[];
  readonly gapCount: number;
  /** The first ones, GAPS_LISTED_MAX at most. */
  readonly gaps: readonly Gap[];
}

/** Markets whose coverage is remembered until they change; each takes about 2 kB beside its gaps. */
const REMEMBERED_MAX = 1000;
/** Gaps that are remembered with them: some 10 MB. */
const REMEMBERED_GAPS_MAX = 100_000;
/** Markets that wait for their turn at the same time; further ones are turned away. */
const WAITING_MAX = 100;
/** Payload that is read before everybody else gets a turn: a few milliseconds of work. */
const TURN_BYTES = 64 * 1024;

/**
 * Counts what the archive holds of a market. That means reading every book of it, so it is done in turns between which
 * others are served, one market at a time, in a view of its own, and remembered until the market changes.
 */
export class Coverages {
  readonly #path: string;
  /** The least lately asked for comes first. */
  readonly #remembered = new Map<string, MarketCoverage>();
  #rememberedGaps = 0;
  readonly #underWay = new Map<string, Promise<MarketCoverage>>();
  #last: Promise<unknown> = Promise.resolve();

  /** `path` names the database file. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Of the market as it is by the time its turn comes; with `asOfMs` of what it had by then. Throws DomainError 'unavailable' when a segment is damaged or too many
   * wait, 'not-found' when the market is gone.
   */
  of(market: StoredMarket, asOfMs: InstantMs = INSTANT_MAX_MS): Promise<MarketCoverage> {
    const { conditionId } = market;
    const held = this.#remembered.get(nameOf(conditionId, asOfMs));
    if (held !== undefined && held.market.revision === market.revision) {
      this.#remember(held, asOfMs);
      return Promise.resolve(held);
    }
    const state = `${nameOf(conditionId, asOfMs)} ${market.revision}`;
    return this.#underWay.get(state) ?? this.#queue(state, conditionId, asOfMs);
  }

  #queue(state: string, conditionId: string, asOfMs: InstantMs): Promise<MarketCoverage> {
    if (this.#underWay.size >= WAITING_MAX) {
      throw new DomainError('unavailable', 'too many markets wait for their coverage: ask again later');
    }
    const turn = this.#last
      .then(() => this.#walk(conditionId, asOfMs))
      .then((coverage) => {
        this.#remember(coverage, asOfMs);
        return coverage;
      })
      .finally(() => this.#underWay.delete(state));
    this.#underWay.set(state, turn);
    // Whoever asked hears of a failure; the next one in the queue starts all the same.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #remember(coverage: MarketCoverage, asOfMs: InstantMs): void {
    const name = nameOf(coverage.market.conditionId, asOfMs);
    this.#forget(name);
    this.#remembered.set(name, coverage);
    this.#rememberedGaps += coverage.gaps.length;
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= REMEMBERED_MAX && this.#rememberedGaps <= REMEMBERED_GAPS_MAX) return;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#rememberedGaps -= this.#remembered.get(name)?.gaps.length ?? 0;
    this.#remembered.delete(name);
  }

  async #walk(conditionId: string, asOfMs: InstantMs): Promise<MarketCoverage> {
    const database = Database.openToRead(this.#path);
    try {
      using _view = database.beginView();
      const market = new Markets(database).findByConditionId(conditionId);
      if (market === undefined) throw new DomainError('not-found', 'this market is not recorded here any more');
      const recorded = new Gaps(database);
      const gapCount = recorded.count(market.key, asOfMs);
      const gaps = recorded.within(market.key, 0, asOfMs, asOfMs).take(GAPS_LISTED_MAX).toArray();
      const outcomes: OutcomeCoverage[] = [];
      for (const outcome of OUTCOMES) outcomes.push(await outcomeCoverage(database, market, outcome, asOfMs));
      return { market, outcomes, gapCount, gaps };
    } finally {
      database.close();
    }
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
  let left = TURN_BYTES;
  const slices = books === undefined ? [] : new Segments(database).slices(books.seriesId, 0, asOfMs);
  const reader = new BookReader();
  for (const { payload, head, to } of slices) {
    reader.open(payload, head);
    while (reader.index + 1 < to && reader.advance()) {
      tally.add(reader);
      silence.hear(head.timestamps[reader.index]!);
    }
    left -= payload.length;
    if (left > 0) continue;
    await new Promise<void>((resolve) => setImmediate(resolve));
    left = TURN_BYTES;
  }
  const { snapshots, firstMs, lastMs, oneSided, empty, crossed, placeholder } = tally;
  const mirrored = books?.mirrored === true;
  return { outcome, mirrored, snapshots, firstMs, lastMs, oneSided, empty, crossed, placeholder, silence };
}
