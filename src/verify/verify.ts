import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import {
  type CoinTick,
  judgeByTicks,
  SETTLEMENT_SOURCE,
  type TickVerdict,
  tickContradiction,
  winnerContradiction,
} from '../domain/winner-check.ts';
import { priceCodec } from '../segment/price-segment.ts';
import { keySecretFault } from '../store/backup.ts';
import { Database, saysDamaged } from '../store/database.ts';
import { Gaps } from '../store/gaps.ts';
import { Markets, type StoredMarket } from '../store/markets.ts';
import { type AuditedSeries, SegmentAudit } from '../store/segment-audit.ts';
import { Segments } from '../store/segments.ts';
import { BookWalk, type Instant, sameFingerprint } from './books.ts';
import { IdLedger } from './ids.ts';
import { impossibleFields, isNeverClosed, isPossibleGap } from './market-check.ts';
import {
  type MarketObservations,
  type OutcomeObservations,
  ProblemList,
  type ProblemPlace,
  type Verification,
} from './report.ts';
import { type Audit, COIN_PRICES, checkIds, OUTCOME_PRICES, QUOTES, RecordWalk, soundSegments } from './series.ts';

export interface VerifyOptions {
  readonly clock: () => InstantMs;
  /** Only these markets, by conditionId or slug, and of the rest nothing. */
  readonly names?: readonly string[];
  /** Where the key secret ought to be, when that is to be looked at too. */
  readonly keySecretPath?: string;
  /** Called with each market as soon as it is done. */
  readonly onMarket?: (market: MarketObservations) => void;
}

/** What was compared between the two outcomes of a market. */
interface MirrorCounts {
  sharedInstants: number;
  unmirroredInstants: number;
  mirrorMissing: number;
}

/**
 * Reads all of an archive, a market at a time, each in one view of it, and says what is wrong and what is remarkable. In memory
 * are one segment per series of the market at hand, a bit per record id, and the problems that are listed. Changes nothing.
 *
 * Throws 'not-found' for a name that no market has, and what keeps the archive out of reach. What is damaged is a problem; a
 * file too damaged to be opened, or to be read at all, is one.
 */
export async function verifyFile(path: string, options: VerifyOptions): Promise<Verification> {
  let database: Database | undefined;
  try {
    database = Database.openToRead(path);
    return await new Verifier(database, options).run();
  } catch (error) {
    if (!saysDamaged(error)) throw error;
    return unreadable(error instanceof DomainError ? error.message : `'${path}' is damaged: restore it from a backup`);
  } finally {
    database?.close();
  }
}

function unreadable(what: string): Verification {
  const problems = new ProblemList();
  problems.add({ kind: 'database', what });
  const none = { markets: 0, segments: 0, records: 0, snapshots: 0 };
  const winners = { winnersConfirmed: 0, winnersContradicted: 0, winnersUnjudged: 0 };
  return {
    ok: false,
    problems: problems.listed,
    totals: { ...none, ...winners, problems: 1, damage: 1, elapsedMs: 0 },
  };
}

class Verifier {
  readonly #database: Database;
  readonly #options: VerifyOptions;
  readonly #markets: Markets;
  readonly #gaps: Gaps;
  readonly #segments: Segments;
  readonly #audit: Audit;
  readonly #startedMs: InstantMs;
  readonly #winners: Record<TickVerdict, number> = { agree: 0, contradict: 0, doubt: 0, uncovered: 0 };
  #marketCount = 0;
  #snapshots = 0;

  constructor(database: Database, options: VerifyOptions) {
    this.#database = database;
    this.#options = options;
    this.#startedMs = options.clock();
    this.#markets = new Markets(database);
    this.#gaps = new Gaps(database);
    this.#segments = new Segments(database);
    const source = new SegmentAudit(database);
    const ids = new IdLedger(source);
    this.#audit = { source, ids, problems: new ProblemList(), segments: 0, records: 0 };
  }

  async run(): Promise<Verification> {
    const { names } = this.#options;
    this.#guarded({}, () => void this.#audit.ids.nextWindow());
    if (names !== undefined) {
      for (const market of this.#named(names)) await this.#verifyMarket(market);
      return this.#verification();
    }
    this.#guarded({}, () => this.#verifyDatabase());
    for (const market of this.#everyMarket()) await this.#verifyMarket(market);
    this.#guarded({}, () => this.#database.read(() => this.#verifyCoins()));
    await this.#lookUpFurtherIds();
    return this.#verification();
  }

  /** Up to where the table can be read. */
  *#everyMarket(): Generator<StoredMarket> {
    for (let key = 0; ; ) {
      const market = this.#guarded({}, () => this.#database.read(() => this.#markets.afterKey(key)));
      // Keys that do not ascend are those of a damaged table.
      if (market === undefined || market.key <= key) return;
      key = market.key;
      yield market;
    }
  }

  #named(names: readonly string[]): StoredMarket[] {
    const found = new Map<number, StoredMarket>();
    for (const name of names) {
      const markets = this.#database.read(() => this.#markets.named(name));
      if (markets.length === 0) {
        throw new DomainError('not-found', `no market has the conditionId or slug '${name}'`);
      }
      for (const market of markets) found.set(market.key, market);
    }
    return [...found.values()];
  }

  #verifyDatabase(): void {
    for (const { what, segmentId } of this.#audit.source.databaseFaults()) {
      const kind = what.startsWith('row ') ? 'reference' : 'database';
      this.#audit.problems.add({ kind, segmentId, what });
    }
    const { keySecretPath } = this.#options;
    const fault = keySecretPath === undefined ? undefined : keySecretFault(this.#database, keySecretPath);
    if (fault !== undefined) this.#audit.problems.add({ kind: 'database', what: fault });
  }

  async #verifyMarket(named: StoredMarket): Promise<void> {
    const place = { slug: String(named.slug), conditionId: String(named.conditionId) };
    this.#guarded(place, () =>
      this.#database.read(() => {
        // As it is now: its records are read in the same view.
        const market = this.#markets.afterKey(named.key - 1) ?? named;
        const observed = this.#observe(market, place);
        this.#options.onMarket?.(observed);
      }),
    );
    // What was written about the market goes out before the next one is read.
    await setImmediate();
  }

  #observe(market: StoredMarket, place: ProblemPlace): MarketObservations {
    const before = this.#audit.problems.count;
    this.#marketCount += 1;
    const wrong = impossibleFields(market);
    if (wrong.length > 0) {
      const what = `the market's ${wrong.join(', ')} cannot be what a recording said`;
      this.#audit.problems.add({ ...place, kind: 'field', what });
    }
    const gaps = this.#gaps.list(market.key);
    const unreal = gaps.find((gap) => !isPossibleGap(gap));
    if (unreal !== undefined) {
      this.#audit.problems.add({ ...place, kind: 'field', what: 'the market has a gap that ends before it begins' });
    }
    const series = this.#audit.source.seriesOf(market.key);
    const counts: MirrorCounts = { sharedInstants: 0, unmirroredInstants: 0, mirrorMissing: 0 };
    const outcomes = this.#observeOutcomes(market, series, place, counts);
    for (const one of series) this.#checkRecorded(one, place);
    const winnerDoubt = this.#judgeWinner(market, place);
    return {
      slug: market.slug,
      conditionId: market.conditionId,
      problems: this.#audit.problems.count - before,
      outcomes,
      gaps,
      ...counts,
      neverClosed: isNeverClosed(market, this.#options.clock()),
      winnerDoubt,
    };
  }

  #observeOutcomes(
    market: StoredMarket,
    series: readonly AuditedSeries[],
    place: ProblemPlace,
    counts: MirrorCounts,
  ): OutcomeObservations[] {
    const books = series.filter(({ kind }) => kind === 'book');
    const walks = OUTCOMES.map((outcome) => this.#walkOf(market, outcome, series, place, books.length > 1));
    const [up, down] = walks.map(({ walk }) => walk);
    this.#compareOutcomes(up!, down!, books, place, counts);
    return walks.map(({ walk, quotes, mids }) => {
      const observations = walk.observations();
      quotes.drain();
      mids.drain();
      this.#snapshots += observations.snapshots;
      return observations;
    });
  }

  #walkOf(
    market: StoredMarket,
    outcome: Outcome,
    series: readonly AuditedSeries[],
    about: ProblemPlace,
    fingerprints: boolean,
  ) {
    const { problems } = this.#audit;
    const of = (kind: AuditedSeries['kind']) => series.find((one) => one.outcome === outcome && one.kind === kind);
    const placeOf = (kind: AuditedSeries['kind']) => ({ ...about, outcome, series: kind });
    const book = of('book');
    const place = placeOf('book');
    const quotes = new RecordWalk(this.#audit, of('derived-quote'), placeOf('derived-quote'), QUOTES);
    const mids = new RecordWalk(this.#audit, of('derived-mid'), placeOf('derived-mid'), OUTCOME_PRICES);
    const walk = new BookWalk({
      outcome,
      mirrored: book?.mirrored === true,
      window: { startMs: market.startMs, endMs: market.endMs },
      nowMs: this.#options.clock(),
      segments: book === undefined ? [].values() : soundSegments(this.#audit, book, place),
      quotes,
      mids,
      fingerprints,
      report: (kind, segmentId, atMs, what) =>
        problems.add({ ...place, kind, segmentId, fromMs: atMs, toMs: atMs, what }),
    });
    return { walk, quotes, mids };
  }

  /** Goes through both outcomes side by side; a market of one outcome is gone through as well. */
  #compareOutcomes(
    up: BookWalk,
    down: BookWalk,
    books: readonly AuditedSeries[],
    place: ProblemPlace,
    counts: MirrorCounts,
  ): void {
    const mirrored = books.filter((one) => one.mirrored);
    if (mirrored.length > 0 && mirrored.length === books.length) {
      const what = 'the snapshots are marked as mirrored, and the other outcome has none that were recorded';
      this.#audit.problems.add({ ...place, kind: 'mirror', outcome: mirrored[0]!.outcome, series: 'book', what });
    }
    const mirroredOutcome = books.length > 1 ? mirrored[0]?.outcome : undefined;
    let ofUp = up.nextInstant();
    let ofDown = down.nextInstant();
    while (ofUp !== undefined || ofDown !== undefined) {
      const order = (ofUp?.timestampMs ?? Infinity) - (ofDown?.timestampMs ?? Infinity);
      if (up.broken || down.broken) {
        // What is missing on one side says nothing about the other.
      } else if (mirroredOutcome !== undefined) {
        const [original, mirror] = mirroredOutcome === 'down' ? [ofUp, ofDown] : [ofDown, ofUp];
        const ahead = mirroredOutcome === 'down' ? order : -order;
        this.#holdMirror(
          ahead > 0 ? undefined : original,
          ahead < 0 ? undefined : mirror,
          mirroredOutcome,
          place,
          counts,
        );
      } else if (order === 0) {
        counts.sharedInstants += 1;
        if (!sameFingerprint(ofUp!.last, ofDown!.last)) counts.unmirroredInstants += 1;
      }
      if (order <= 0) ofUp = up.nextInstant();
      if (order >= 0) ofDown = down.nextInstant();
    }
  }

  /** Holds the mirrored snapshots of one instant against the recorded ones. */
  #holdMirror(
    original: Instant | undefined,
    mirror: Instant | undefined,
    outcome: Outcome,
    place: ProblemPlace,
    counts: MirrorCounts,
  ): void {
    const missing = (original?.count ?? 0) - (mirror?.count ?? 0);
    if (missing > 0) {
      counts.mirrorMissing += missing;
      return;
    }
    if (missing === 0 && sameFingerprint(original!.sum, mirror!.sum)) return;
    const { segmentId, timestampMs } = mirror!;
    const what = 'a mirrored snapshot is not the mirror of a recorded one';
    this.#audit.problems.add({
      ...place,
      kind: 'mirror',
      outcome,
      series: 'book',
      segmentId,
      fromMs: timestampMs,
      toMs: timestampMs,
      what,
    });
  }

  /** Quotes, mids and trades that were recorded; books and what is derived from them were read with the books. */
  #checkRecorded(series: AuditedSeries, market: ProblemPlace): void {
    const place = { ...market, outcome: series.outcome, series: series.kind };
    if (series.kind === 'quote') new RecordWalk(this.#audit, series, place, QUOTES).drain();
    else if (series.kind === 'mid' || series.kind === 'trade') {
      new RecordWalk(this.#audit, series, place, OUTCOME_PRICES).drain();
    }
  }

  #verifyCoins(): void {
    for (const series of this.#audit.source.coinSeries()) {
      const { symbol, source } = series;
      new RecordWalk(this.#audit, series, { series: 'coin-price', symbol, source }, COIN_PRICES).drain();
    }
  }

  /** Reports what speaks against the winner, and returns what only casts a doubt on it. */
  #judgeWinner(market: StoredMarket, place: ProblemPlace): string | undefined {
    const contradiction = winnerContradiction(market);
    if (contradiction !== undefined) this.#audit.problems.add({ ...place, kind: 'winner', what: contradiction });
    if (market.winner === undefined) return undefined;
    const ticks = { start: this.#tickAt(market, market.startMs), end: this.#tickAt(market, market.endMs) };
    const verdict = judgeByTicks(market, ticks);
    this.#winners[verdict] += 1;
    if (verdict === 'contradict') {
      this.#audit.problems.add({ ...place, kind: 'winner', what: tickContradiction(market, ticks) });
    }
    return verdict === 'doubt' ? tickContradiction(market, ticks) : undefined;
  }

  /** The settlement source's last price at or before an instant. */
  #tickAt({ symbol }: StoredMarket, atMs: InstantMs): CoinTick | undefined {
    const series = this.#audit.source
      .coinSeries()
      .find((one) => one.symbol === symbol && one.source === SETTLEMENT_SOURCE);
    if (series === undefined) return undefined;
    try {
      return this.#segments.recordBefore(series.seriesId, { timestampMs: atMs + 1, id: 0 }, priceCodec);
    } catch (error) {
      // A damaged segment of coin prices is named with its own series.
      if (error instanceof DomainError) return undefined;
      throw error;
    }
  }

  /** Of an archive with more ids than one window holds, everything that has an id is read again for each further one. */
  async #lookUpFurtherIds(): Promise<void> {
    const { ids, source } = this.#audit;
    while (!ids.isLast && this.#guarded({}, () => ids.nextWindow()) === true) {
      for (const { key, slug, conditionId } of this.#everyMarket()) {
        const place = { slug, conditionId };
        this.#guarded(place, () => this.#database.read(() => this.#lookUpIds(source.seriesOf(key), place)));
        await setImmediate();
      }
      this.#guarded({}, () => this.#database.read(() => this.#lookUpIds(source.coinSeries(), {})));
    }
  }

  #lookUpIds(series: readonly AuditedSeries[], place: ProblemPlace): void {
    for (const { seriesId, kind, outcome, symbol, source } of series) {
      if (kind.startsWith('derived-')) continue;
      for (const segment of this.#audit.source.segments(seriesId)) {
        if (segment.fault !== undefined) continue;
        checkIds(this.#audit, segment, { ...place, series: kind, outcome, symbol, source });
      }
    }
  }

  /** Runs what reads the database; where that is damaged too much to be read on, it says so and goes on with the rest. */
  #guarded<T>(place: ProblemPlace, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!saysDamaged(error)) throw error;
      this.#audit.problems.add({
        ...place,
        kind: 'database',
        what: 'a page of the database cannot be read: it is damaged',
      });
      return undefined;
    }
  }

  #verification(): Verification {
    const { problems, segments, records } = this.#audit;
    const { agree, contradict, doubt, uncovered } = this.#winners;
    return {
      ok: problems.count === 0,
      problems: problems.listed,
      totals: {
        markets: this.#marketCount,
        segments,
        records,
        snapshots: this.#snapshots,
        winnersConfirmed: agree,
        winnersContradicted: contradict,
        winnersUnjudged: doubt + uncovered,
        problems: problems.count,
        damage: problems.damage,
        elapsedMs: this.#options.clock() - this.#startedMs,
      },
    };
  }
}
