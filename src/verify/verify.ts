import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import {
  type CoinTick,
  judgeByTicks,
  SETTLEMENT_SOURCE,
  type TickVerdict,
  tickContradiction,
  tickDoubt,
  winnerContradiction,
} from '../domain/winner-check.ts';
import { priceCodec } from '../segment/price-segment.ts';
import { ContradictionTally } from '../store/contradiction-tally.ts';
import type { Database } from '../store/database.ts';
import { isDamageError } from '../store/database-errors.ts';
import { ACCOUNTS, type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { Gaps } from '../store/gaps.ts';
import { Markets, type StoredMarket } from '../store/markets.ts';
import { SealedFiles, type SealedMarket } from '../store/sealed-files.ts';
import { type AuditedSeries, SegmentAudit } from '../store/segment-audit.ts';
import { Segments } from '../store/segments.ts';
import { verifyAccounts } from './accounts.ts';
import { BookWalk, sameFingerprint } from './books.ts';
import { checkedDatabase } from './checked-database.ts';
import { IdCheck } from './ids.ts';
import { impossibleFields, isNeverClosed, isPossibleGap } from './market-check.ts';
import {
  type MarketObservations,
  NO_TOTALS,
  ProblemList,
  type ProblemPlace,
  type Verification,
  type VerificationTotals,
} from './report.ts';
import { sealedFault } from './sealed.ts';
import { type Check, COIN_PRICES, checkIds, hasOwnIds, OUTCOME_PRICES, QUOTES, RecordWalk } from './series.ts';

export interface VerifyOptions {
  readonly clock: () => InstantMs;
  /** Verifies only these markets, by conditionId or slug, and nothing else. */
  readonly names?: readonly string[];
  /** Returns true for a sealed market whose file was verified elsewhere: it is not read again. */
  readonly isKnown?: (market: SealedMarket) => boolean;
  /** Called after each market. */
  readonly onMarket?: (market: MarketObservations) => void;
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

/**
 * Reads the databases of a data directory, the recordings market by market, each in one view, and reports problems and
 * observations. Changes nothing. Memory: one segment per series of the current market, one bit per record id, the ids of accounts
 * and keys, and the listed problems.
 *
 * Throws 'not-found' for a name that no market has, and other errors if the archive cannot be accessed. Damage is reported as a
 * problem, even if it prevents opening the file; of a file with a schema other than ours, that is the only problem reported.
 */
export async function verifyDirectory(directory: string, options: VerifyOptions): Promise<Verification> {
  const problems = new ProblemList();
  if (options.names === undefined) await verifyAccounts(directory, problems);
  const isThere = ({ name }: DatabaseFile) => existsSync(join(directory, name));
  // Keys may be created before there are recordings.
  if (!isThere(RECORDINGS) && isThere(ACCOUNTS)) return verificationOf(problems, NO_TOTALS);
  const verification = await checkedDatabase(directory, RECORDINGS, problems, (database) =>
    new Verifier(database, problems, options).run(),
  );
  return verification ?? verificationOf(problems, NO_TOTALS);
}

function verificationOf({ count, damage, listed }: ProblemList, totals: VerificationTotals): Verification {
  return { ok: count === 0, problems: listed, totals: { ...totals, problems: count, damage } };
}

class Verifier {
  readonly #database: Database;
  readonly #options: VerifyOptions;
  readonly #markets: Markets;
  readonly #gaps: Gaps;
  readonly #sealed: SealedFiles;
  /** Keys of sealed markets whose file is not read: it has a fault, or was verified elsewhere. */
  readonly #unread = new Set<number>();
  readonly #segments: Segments;
  readonly #check: Check;
  readonly #startedMs: InstantMs;

  constructor(database: Database, problems: ProblemList, options: VerifyOptions) {
    this.#database = database;
    this.#options = options;
    this.#startedMs = options.clock();
    this.#markets = new Markets(database);
    this.#gaps = new Gaps(database);
    this.#sealed = new SealedFiles(database, database.path);
    this.#segments = new Segments(database, this.#sealed);
    const source = new SegmentAudit(database, this.#sealed);
    const totals = { ...NO_TOTALS };
    this.#check = { source, ids: new IdCheck(source), problems, totals };
  }

  async run(): Promise<Verification> {
    const { names } = this.#options;
    this.#guarded({}, () => void this.#check.ids.nextWindow());
    if (names !== undefined) {
      for (const market of this.#named(names)) await this.#verifyMarket(market);
      return this.#verification();
    }
    this.#guarded({}, () => this.#verifyDatabase());
    for (const market of this.#everyMarket()) await this.#verifyMarket(market);
    this.#guarded({}, () => this.#database.read(() => this.#verifyCoins()));
    await this.#checkFurtherIds();
    return this.#verification();
  }

  /** All markets, up to the first one that cannot be read. */
  *#everyMarket(): Generator<StoredMarket> {
    for (let key = 0; ; ) {
      const market = this.#guarded({}, () => this.#database.read(() => this.#markets.afterKey(key)));
      // If keys do not ascend, the table is damaged.
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
        throw new DomainError(
          'not-found',
          `no market has the conditionId or slug '${name}': a server lists them at /v1/{coin}/markets`,
        );
      }
      for (const market of markets) found.set(market.key, market);
    }
    return [...found.values()];
  }

  #verifyDatabase(): void {
    for (const { what, segmentId } of this.#check.source.databaseFaults()) {
      const kind = what.startsWith('row ') ? 'reference' : 'database';
      this.#check.problems.add(kind, what, { segmentId });
    }
  }

  async #verifyMarket(named: StoredMarket): Promise<void> {
    const place = { slug: String(named.slug), conditionId: String(named.conditionId) };
    this.#guarded(place, () =>
      this.#database.read(() => {
        // Reads the market again, in the same view as its records.
        const market = this.#markets.byKey(named.key);
        // Deleted since it was named.
        if (market === undefined) return;
        const before = this.#check.problems.count;
        this.#checkFields(market, place);
        if (!this.#isReadable(market, place)) return;
        const observed = this.#observe(market, place, before);
        this.#options.onMarket?.(observed);
      }),
    );
    // Lets the output about the market be written before the next one is read.
    await setImmediate();
  }

  /** False for a sealed market whose file has a fault, which is reported, or was verified elsewhere. */
  #isReadable({ key }: StoredMarket, place: ProblemPlace): boolean {
    const sealed = this.#sealed.byKey(key);
    if (sealed === undefined) return true;
    const isKnown = this.#options.isKnown?.(sealed) === true;
    const fault = sealedFault(this.#sealed.placeOf(sealed), sealed, this.#sealed.seriesOf(key), isKnown);
    if (fault !== undefined) this.#check.problems.add('sealed', fault, place);
    if (!isKnown && fault === undefined) return true;
    this.#check.totals.markets += 1;
    this.#unread.add(key);
    return false;
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

  /** `before`: the number of problems before those of this market. */
  #observe(market: StoredMarket, place: ProblemPlace, before: number): MarketObservations {
    const { problems, source, totals } = this.#check;
    totals.markets += 1;
    const gaps = this.#gaps.list(market.key);
    const series = source.seriesOf(market.key);
    const nowMs = this.#options.clock();
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
      problems: problems.count - before,
      outcomes,
      gaps,
      ...counts,
      neverClosed: isNeverClosed(market, this.#options.clock()),
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
    let nextUp = up.nextInstant();
    let nextDown = down.nextInstant();
    const firstMs = { up: nextUp?.timestampMs ?? Infinity, down: nextDown?.timestampMs ?? Infinity };
    const mirrored = books.find(({ outcome, recordedFromMs }) => firstMs[outcome!] < recordedFromMs);
    const place: ProblemPlace = { ...market, outcome: mirrored?.outcome, series: 'book' };
    if (mirrored !== undefined && books.every((one) => one.recordedFromMs === Infinity)) {
      const what = 'the snapshots are marked as mirrored, but the other outcome has no recorded snapshots';
      this.#check.problems.add('mirror', what, place);
    }
    while (nextUp !== undefined || nextDown !== undefined) {
      const order = (nextUp?.timestampMs ?? Infinity) - (nextDown?.timestampMs ?? Infinity);
      const upInstant = order <= 0 ? nextUp : undefined;
      const downInstant = order >= 0 ? nextDown : undefined;
      const atMs = (upInstant ?? downInstant)!.timestampMs;
      if (up.broken || down.broken) {
        // Snapshots of an unreadable segment are not missing mirrors.
      } else if (mirrored !== undefined && books.length > 1 && atMs < mirrored.recordedFromMs) {
        const [original, mirror] = mirrored.outcome === 'down' ? [upInstant, downInstant] : [downInstant, upInstant];
        const missing = (original?.count ?? 0) - (mirror?.count ?? 0);
        if (missing > 0) counts.mirrorMissing += missing;
        else if (missing < 0 || !sameFingerprint(original!.sum, mirror!.sum)) {
          const { segmentId, timestampMs } = mirror!;
          const what = 'a mirrored snapshot is not the mirror of a recorded snapshot';
          this.#check.problems.add('mirror', what, { ...place, segmentId }, timestampMs);
        }
      } else if (upInstant !== undefined && downInstant !== undefined) {
        counts.sharedInstants += 1;
        if (!sameFingerprint(upInstant.last, downInstant.last)) counts.unmirroredInstants += 1;
      }
      if (upInstant !== undefined && atMs >= recorded.up) contradictions.set('up', upInstant.best);
      if (downInstant !== undefined && atMs >= recorded.down) contradictions.set('down', downInstant.best);
      contradictions.endInstant();
      if (order <= 0) nextUp = up.nextInstant();
      if (order >= 0) nextDown = down.nextInstant();
    }
    return { ...counts, contradictions: contradictions.count };
  }

  /** Checks recorded quotes and prices. Books and derived series were checked by BookWalk. */
  #checkRecorded(series: AuditedSeries, market: ProblemPlace): void {
    const place = { ...market, outcome: series.outcome, series: series.kind };
    if (series.kind === 'quote') new RecordWalk(this.#check, series, place, QUOTES).drain();
    else if (series.kind === 'mid' || series.kind === 'trade' || series.kind === 'last-trade') {
      new RecordWalk(this.#check, series, place, OUTCOME_PRICES).drain();
    }
  }

  #verifyCoins(): void {
    for (const series of this.#check.source.coinSeries()) {
      const { symbol, source } = series;
      new RecordWalk(this.#check, series, { series: 'coin-price', symbol, source }, COIN_PRICES).drain();
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

  /** Reads all ids again for each further window of ids. */
  async #checkFurtherIds(): Promise<void> {
    const { ids, source } = this.#check;
    while (!ids.isLast && this.#guarded({}, () => ids.nextWindow()) === true) {
      for (const { key, slug, conditionId } of this.#everyMarket()) {
        if (this.#unread.has(key)) continue;
        const place = { slug, conditionId };
        this.#guarded(place, () => this.#database.read(() => this.#checkIdsOf(source.seriesOf(key), place)));
        await setImmediate();
      }
      this.#guarded({}, () => this.#database.read(() => this.#checkIdsOf(source.coinSeries(), {})));
    }
  }

  #checkIdsOf(series: readonly AuditedSeries[], place: ProblemPlace): void {
    for (const one of series.filter(hasOwnIds)) {
      const { seriesId, kind, outcome, symbol, source } = one;
      for (const segment of this.#check.source.segments(seriesId)) {
        if (segment.fault !== undefined) continue;
        checkIds(this.#check, segment, { ...place, series: kind, outcome, symbol, source });
      }
    }
  }

  /** Runs `work`, which reads the database. If a page is damaged, reports a problem and returns undefined. */
  #guarded<T>(place: ProblemPlace, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!isDamageError(error)) throw error;
      this.#check.problems.add('database', 'a page of the database is damaged and cannot be read', place);
      return undefined;
    }
  }

  #verification(): Verification {
    const { problems, totals } = this.#check;
    return verificationOf(problems, { ...totals, elapsedMs: this.#options.clock() - this.#startedMs });
  }
}
