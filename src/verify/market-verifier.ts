import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { type CoinTick, SETTLEMENT_SOURCE } from '../domain/settlement.ts';
import {
  judgeByTicks,
  type TickVerdict,
  tickContradiction,
  tickDoubt,
  winnerContradiction,
} from '../domain/winner-check.ts';
import { priceCodec } from '../segment/price-segment.ts';
import { ContradictionTally } from '../store/contradiction-tally.ts';
import type { Database } from '../store/database.ts';
import { isDamageError, MissingFile } from '../store/database-errors.ts';
import { Gaps } from '../store/gaps.ts';
import { Markets, type StoredMarket } from '../store/markets.ts';
import { SealedFiles, type SealedMarket } from '../store/sealed-files.ts';
import { type AuditedSeries, SegmentAudit } from '../store/segment-audit.ts';
import { Segments } from '../store/segments.ts';
import { BookWalk, type Instant, sameFingerprint } from './books.ts';
import { IdRuns } from './ids.ts';
import { impossibleFields, isNeverClosed, isPossibleGap } from './market-check.ts';
import {
  type MarketObservations,
  NO_TOTALS,
  ProblemList,
  type ProblemPlace,
  type Problems,
  type VerificationTotals,
} from './report.ts';
import { sealedFault } from './sealed.ts';
import { type Check, OUTCOME_PRICES, QUOTES, RecordWalk } from './series.ts';

/** A market to verify. */
export interface MarketTask {
  readonly key: number;
  /** The state in which a sealed market was verified before: then only the size and the seal of its file are read. */
  readonly knownState: string | undefined;
  readonly nowMs: InstantMs;
}

/** What was found in one market, without the ids that it shares with others. */
export interface MarketFindings {
  readonly key: number;
  readonly place: ProblemPlace;
  /** Of a sealed market, see `stateOf`: what was found is true as long as it is the same. */
  readonly state: string | undefined;
  /** Undefined if the market was deleted meanwhile, or the records of its file were not read. */
  readonly observed: MarketObservations | undefined;
  readonly problems: Problems;
  readonly totals: VerificationTotals;
  /** The first and last of each run of consecutive ids of its records. */
  readonly idRuns: Float64Array;
}

/** Verifies markets: in this process, or in another one. Returns the findings in the order of the tasks. */
export interface MarketWorker {
  verify(tasks: readonly MarketTask[]): Promise<readonly MarketFindings[]>;
}

type MirrorCounts = Pick<
  MarketObservations,
  'sharedInstants' | 'unmirroredInstants' | 'contradictions' | 'mirrorMissing'
>;

/** The name of the total that counts each verdict. */
const VERDICT_TOTALS = {
  agree: 'winnersConfirmed',
  contradict: 'winnersContradicted',
  doubt: 'winnersUnjudged',
  uncovered: 'winnersUnjudged',
} as const satisfies Readonly<Record<TickVerdict, keyof VerificationTotals>>;

/** Verifies one market after another, each in one view. Memory: one segment per series of the market, and its ids. */
export class MarketVerifier {
  readonly #database: Database;
  readonly #markets: Markets;
  readonly #gaps: Gaps;
  readonly #sealed: SealedFiles;
  readonly #segments: Segments;
  /** Of the market that is being verified. */
  #check: Check & { readonly ids: IdRuns };

  constructor(database: Database) {
    this.#database = database;
    this.#markets = new Markets(database);
    this.#gaps = new Gaps(database);
    this.#sealed = new SealedFiles(database, database.path);
    this.#segments = new Segments(database, this.#sealed);
    this.#check = newCheck(new SegmentAudit(database, this.#sealed));
  }

  verify(task: MarketTask): MarketFindings {
    let place: ProblemPlace = {};
    let state: string | undefined;
    let observed: MarketObservations | undefined;
    try {
      this.#database.read(() => {
        // The view may be the second one.
        this.#check = newCheck(this.#check.source);
        observed = undefined;
        const market = this.#markets.byKey(task.key);
        if (market === undefined) return;
        place = { slug: String(market.slug), conditionId: String(market.conditionId) };
        state = stateOf(market, this.#sealed.byKey(task.key));
        this.#checkFields(market, place);
        const isKnown = state !== undefined && state === task.knownState;
        if (this.#isReadable(market, place, isKnown)) observed = this.#observe(market, place, task.nowMs);
      });
    } catch (error) {
      if (error instanceof MissingFile) this.#addSealed(error.message, place);
      else if (isDamageError(error)) this.#check.problems.add('database', DAMAGED_PAGE, place);
      else throw error;
    }
    const { problems, totals, ids } = this.#check;
    return { key: task.key, place, state, observed, problems, totals, idRuns: ids.toArray() };
  }

  /** False for a sealed market whose file has a fault, which is reported, or was verified before. */
  #isReadable({ key }: StoredMarket, place: ProblemPlace, isKnown: boolean): boolean {
    const sealed = this.#sealed.byKey(key);
    if (sealed === undefined) return true;
    const fault = sealedFault(this.#sealed.placeOf(sealed), sealed, this.#sealed.seriesOf(key), isKnown);
    if (fault !== undefined) this.#addSealed(fault, place);
    else if (isKnown) this.#check.totals.markets += 1;
    return !isKnown && fault === undefined;
  }

  #addSealed(fault: string, place: ProblemPlace): void {
    this.#check.problems.add('sealed', fault, place);
    this.#check.totals.markets += 1;
  }

  #checkFields(market: StoredMarket, place: ProblemPlace): void {
    const { problems } = this.#check;
    const wrong = impossibleFields(market);
    if (!this.#markets.details.isReadable(market.key)) wrong.push('details');
    if (wrong.length > 0) {
      problems.add('field', `the market has impossible values in ${wrong.join(', ')}`, place);
    }
    if (!this.#gaps.list(market.key).every(isPossibleGap))
      problems.add('field', 'the market has a gap that ends before it begins', place);
  }

  #observe(market: StoredMarket, place: ProblemPlace, nowMs: InstantMs): MarketObservations {
    const { problems, source, totals } = this.#check;
    totals.markets += 1;
    const gaps = this.#gaps.list(market.key);
    const series = source.seriesOf(market.key);
    const books = series.filter(({ kind }) => kind === 'book');
    const fingerprints = books.length > 1;
    const walkOf = (outcome: Outcome) =>
      new BookWalk(this.#check, { market, outcome, series, gaps, place, nowMs, fingerprints });
    const [up, down] = [walkOf('up'), walkOf('down')];
    const counts = this.#compareOutcomes(up, down, books, place);
    const outcomes = [up.observations(), down.observations()];
    for (const { snapshots } of outcomes) totals.snapshots += snapshots;
    for (const one of series) this.#checkRecorded(one, place);
    const winnerDoubt = this.#judgeWinner(market, place);
    return {
      slug: market.slug,
      conditionId: market.conditionId,
      problems: problems.count,
      outcomes,
      gaps,
      ...counts,
      neverClosed: isNeverClosed(market, nowMs),
      winnerDoubt,
    };
  }

  /**
   * Reads the books of both outcomes in step. Compares mirrored snapshots, which come before the recorded ones of their outcome,
   * with the recorded ones of the other outcome.
   */
  #compareOutcomes(up: BookWalk, down: BookWalk, books: readonly AuditedSeries[], market: ProblemPlace): MirrorCounts {
    const counts = { sharedInstants: 0, unmirroredInstants: 0, mirrorMissing: 0 };
    const contradictions = new ContradictionTally();
    const recordedFromMs = (outcome: Outcome) =>
      books.find((one) => one.outcome === outcome)?.recordedFromMs ?? Infinity;
    const recorded = { up: recordedFromMs('up'), down: recordedFromMs('down') };
    const first = { up: up.nextInstant(), down: down.nextInstant() };
    const firstMs = { up: timeOf(first.up), down: timeOf(first.down) };
    const mirrored = books.find(({ outcome, recordedFromMs }) => firstMs[outcome!] < recordedFromMs);
    const place: ProblemPlace = { ...market, outcome: mirrored?.outcome, series: 'book' };
    const isMirroredAt = (atMs: InstantMs) => books.length > 1 && atMs < (mirrored?.recordedFromMs ?? 0);
    if (mirrored !== undefined && books.every((one) => one.recordedFromMs === Infinity)) {
      const what = 'the snapshots are marked as mirrored, but the other outcome has no recorded snapshots';
      this.#check.problems.add('mirror', what, place);
    }
    for (const [atMs, upInstant, downInstant] of pairsFrom(first, up, down)) {
      if (up.broken || down.broken) {
        // Snapshots of an unreadable segment are not missing mirrors.
      } else if (isMirroredAt(atMs)) {
        const isDown = place.outcome === 'down';
        const [original, mirror] = isDown ? [upInstant, downInstant] : [downInstant, upInstant];
        counts.mirrorMissing += this.#missingMirrors(original, mirror, place);
      } else if (upInstant !== undefined && downInstant !== undefined) {
        counts.sharedInstants += 1;
        if (!sameFingerprint(upInstant.last, downInstant.last)) counts.unmirroredInstants += 1;
      }
      if (upInstant !== undefined && atMs >= recorded.up) contradictions.set('up', upInstant.best);
      if (downInstant !== undefined && atMs >= recorded.down) contradictions.set('down', downInstant.best);
      contradictions.endInstant();
    }
    return { ...counts, contradictions: contradictions.count };
  }

  /** The number of snapshots of an instant without a mirror. Reports a mirror that differs, or that has no original. */
  #missingMirrors(original: Instant | undefined, mirror: Instant | undefined, place: ProblemPlace): number {
    const missing = (original?.count ?? 0) - (mirror?.count ?? 0);
    if (missing < 0 || (missing === 0 && !sameFingerprint(original!.sum, mirror!.sum))) {
      const { segmentId, timestampMs } = mirror!;
      const what = 'a mirrored snapshot is not the mirror of a recorded snapshot';
      this.#check.problems.add('mirror', what, { ...place, segmentId }, timestampMs);
    }
    return Math.max(0, missing);
  }

  /** Checks recorded quotes and prices. Books and derived series were checked by BookWalk. */
  #checkRecorded(series: AuditedSeries, market: ProblemPlace): void {
    const place = { ...market, outcome: series.outcome, series: series.kind };
    if (series.kind === 'quote') new RecordWalk(this.#check, series, place, QUOTES).drain();
    else if (series.kind === 'mid' || series.kind === 'trade' || series.kind === 'last-trade') {
      new RecordWalk(this.#check, series, place, OUTCOME_PRICES).drain();
    }
  }

  /** Reports prices that contradict the winner; returns a sentence if they only make it doubtful. */
  #judgeWinner(market: StoredMarket, place: ProblemPlace): string | undefined {
    const contradiction = winnerContradiction(market);
    if (contradiction !== undefined) this.#check.problems.add('winner', contradiction, place);
    if (market.winner === undefined) return undefined;
    const [start, afterStart] = this.#ticksAround(market, market.startMs);
    const [end, afterEnd] = this.#ticksAround(market, market.endMs);
    const ticks = { start, end, afterStart, afterEnd };
    const verdict = judgeByTicks(market, ticks);
    this.#check.totals[VERDICT_TOTALS[verdict]] += 1;
    if (verdict === 'contradict') this.#check.problems.add('winner', tickContradiction(market, ticks), place);
    return verdict === 'doubt' ? tickDoubt(market, ticks) : undefined;
  }

  /** The settlement source's last price as of an instant, and the first one after it. */
  #ticksAround(
    { symbol }: StoredMarket,
    atMs: InstantMs,
  ): readonly [last?: CoinTick | undefined, next?: CoinTick | undefined] {
    const series = this.#check.source
      .coinSeries()
      .find((one) => one.symbol === symbol && one.source === SETTLEMENT_SOURCE);
    if (series === undefined) return [];
    const tick = (timestampMs: number, mode: 'before' | 'after') => {
      const found = this.#segments.nearest(series.seriesId, timestampMs, mode);
      return found === undefined ? undefined : priceCodec.decode(found.payload)[found.index];
    };
    try {
      return [tick(atMs, 'before'), tick(atMs + 1, 'after')];
    } catch (error) {
      // #verifyCoins reports a damaged segment of coin prices.
      if (error instanceof DomainError) return [];
      throw error;
    }
  }
}

/** The instants of two walks in order, those of the same time together. An instant is valid until the next one is taken. */
function* pairsFrom(
  first: { readonly up: Instant | undefined; readonly down: Instant | undefined },
  upWalk: BookWalk,
  downWalk: BookWalk,
): Generator<readonly [atMs: InstantMs, up: Instant | undefined, down: Instant | undefined]> {
  let { up, down } = first;
  while (up !== undefined || down !== undefined) {
    const [upMs, downMs] = [timeOf(up), timeOf(down)];
    yield [Math.min(upMs, downMs), upMs <= downMs ? up : undefined, downMs <= upMs ? down : undefined];
    if (upMs <= downMs) up = upWalk.nextInstant();
    if (downMs <= upMs) down = downWalk.nextInstant();
  }
}

/** Infinity after the last instant of a walk. */
function timeOf(instant: Instant | undefined): number {
  return instant?.timestampMs ?? Infinity;
}

/** A text that changes with a market, its records, and the file of a sealed one; undefined if the market is not sealed. */
export function stateOf({ revision }: StoredMarket, sealed: SealedMarket | undefined): string | undefined {
  return sealed === undefined ? undefined : `${sealed.seal} ${revision}`;
}

export const DAMAGED_PAGE = 'a page of the database is damaged and cannot be read';

function newCheck(source: SegmentAudit): Check & { readonly ids: IdRuns } {
  return { source, ids: new IdRuns(), problems: new ProblemList(), totals: { ...NO_TOTALS } };
}
