import { existsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from '../store/database.ts';
import { isDamageError } from '../store/database-errors.ts';
import { ACCOUNTS, type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { Markets } from '../store/markets.ts';
import { SealedFiles, type SealedMarket } from '../store/sealed-files.ts';
import { type AuditedSeries, SegmentAudit } from '../store/segment-audit.ts';
import { verifyAccounts } from './accounts.ts';
import { checkedDatabase } from './checked-database.ts';
import { IdCheck } from './ids.ts';
import {
  DAMAGED_PAGE,
  type MarketFindings,
  type MarketTask,
  MarketVerifier,
  type MarketWorker,
  stateOf,
} from './market-verifier.ts';
import type { VerifyProgress } from './progress.ts';
import {
  type MarketObservations,
  NO_TOTALS,
  ProblemList,
  type ProblemPlace,
  type Verification,
  type VerificationTotals,
} from './report.ts';
import { type Check, COIN_PRICES, checkIds, hasOwnIds, RecordWalk } from './series.ts';

/** Starts a process that verifies markets of a data directory. */
type StartWorker = (directory: string) => MarketWorker & Disposable;

export interface VerifyOptions {
  readonly clock: () => InstantMs;
  /** Verifies only these markets, by conditionId or slug, and nothing else. */
  readonly names?: readonly string[] | undefined;
  /** Returns true for a sealed market whose file was verified elsewhere: it is not read again. */
  readonly isKnown?: (market: SealedMarket) => boolean;
  /** What an interrupted run has verified, and where this one keeps what it does. */
  readonly progress?: VerifyProgress | undefined;
  /** Left out, all is verified in this process. */
  readonly startWorker?: StartWorker;
  /** The number of processes; undefined: one for each core if the archive is large. */
  readonly jobs?: number | undefined;
  /** Called after each market, in the order in which they were stored. */
  readonly onMarket?: (market: MarketObservations) => void;
  /** Called with the number of markets that this run has verified, and has to. */
  readonly onProgress?: (done: number, all: number) => void;
}

/** A smaller archive takes longer with other processes, which have to start and to compile their code. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** Messages that each process has ahead: the next ones are there when it is done, and few findings wait for their turn. */
const AHEAD = 4;
/** Markets of a message: a message takes as long as a small market, and a run that is interrupted loses those of a few messages. */
const [AT_ONCE_BYTES, AT_ONCE_MAX] = [256 * 1024, 64];

/**
 * Reads the databases of a data directory, the recordings market by market, each in one view, and reports problems and
 * observations. Changes nothing. Memory: in each process one segment per series of the current market and its ids; one bit per record
 * id, the ids of accounts and keys, and the listed problems.
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
    new Verifier(directory, database, problems, options).run(),
  );
  return verification ?? verificationOf(problems, NO_TOTALS);
}

function verificationOf({ count, damage, listed }: ProblemList, totals: VerificationTotals): Verification {
  return { ok: count === 0, problems: listed, totals: { ...totals, problems: count, damage } };
}

class Verifier {
  readonly #directory: string;
  readonly #database: Database;
  readonly #options: VerifyOptions;
  readonly #markets: Markets;
  readonly #countMarkets;
  readonly #sealed: SealedFiles;
  readonly #check: Check & { readonly ids: IdCheck };
  readonly #startedMs: InstantMs;
  /** The markets with the lowest and the highest id of their records, if one window of ids does not have all. */
  readonly #spans: { readonly key: number; readonly place: ProblemPlace; readonly idRuns: Float64Array }[] = [];

  constructor(directory: string, database: Database, problems: ProblemList, options: VerifyOptions) {
    this.#directory = directory;
    this.#database = database;
    this.#options = options;
    this.#startedMs = options.clock();
    this.#markets = new Markets(database);
    this.#countMarkets = database.query<{ markets: number }, []>('SELECT COUNT(*) AS markets FROM markets');
    this.#sealed = new SealedFiles(database, database.path);
    const source = new SegmentAudit(database, this.#sealed);
    this.#check = { source, ids: new IdCheck(source), problems, totals: { ...NO_TOTALS } };
  }

  async run(): Promise<Verification> {
    const { names, progress } = this.#options;
    this.#guarded({}, () => void this.#check.ids.nextWindow());
    if (names !== undefined) {
      const keys = this.#named(names);
      await this.#verifyMarkets(keys, keys.size);
      return this.#verification();
    }
    this.#guarded({}, () => this.#verifyDatabase());
    const count = this.#guarded({}, () => this.#database.read(() => this.#countMarkets.get()!.markets)) ?? 0;
    await this.#verifyMarkets(this.#everyMarket(), count, progress);
    this.#guarded({}, () => this.#database.read(() => this.#verifyCoins()));
    await this.#checkFurtherIds();
    progress?.finish();
    return this.#verification();
  }

  /** The keys of all markets, up to the first one that cannot be read. */
  *#everyMarket(): Generator<number> {
    for (let key = 0; ; ) {
      const market = this.#guarded({}, () => this.#database.read(() => this.#markets.afterKey(key)));
      // If keys do not ascend, the table is damaged.
      if (market === undefined || market.key <= key) return;
      key = market.key;
      yield key;
    }
  }

  #named(names: readonly string[]): Set<number> {
    const found = new Set<number>();
    for (const name of names) {
      const markets = this.#database.read(() => this.#markets.named(name));
      if (markets.length === 0) {
        throw new DomainError(
          'not-found',
          `no market has the conditionId or slug '${name}': a server lists them at /v1/{coin}/markets`,
        );
      }
      for (const { key } of markets) found.add(key);
    }
    return found;
  }

  #verifyDatabase(): void {
    for (const { what, segmentId } of this.#check.source.databaseFaults()) {
      const kind = what.startsWith('row ') ? 'reference' : 'database';
      this.#check.problems.add(kind, what, { segmentId });
    }
  }

  async #verifyMarkets(keys: Iterable<number>, count: number, progress?: VerifyProgress): Promise<void> {
    using workers = new DisposableStack();
    const all = count - (progress?.earlier.markets ?? 0);
    let done = 0;
    const started = this.#workers(workers);
    const atOnce = started.length === 1 ? 1 : Math.ceil(AT_ONCE_BYTES / (this.#bytes() / Math.max(1, count)));
    for await (const { task, found } of this.#inOrder(
      this.#tasks(keys, progress),
      started,
      Math.min(atOnce, AT_ONCE_MAX),
    )) {
      const { key, state, problems } = found;
      const isKnown = state !== undefined && state === task.knownState;
      const earlier = isKnown ? progress?.find(key, state) : undefined;
      this.#take(earlier === undefined || problems.count > 0 ? found : { ...found, ...earlier });
      if (earlier !== undefined) continue;
      progress?.add(found, task.nowMs);
      done += 1;
      // Others may be stored meanwhile.
      this.#options.onProgress?.(done, Math.max(all, done));
    }
  }

  /** The findings of each task, in the order of the tasks, which are given to workers `atOnce` at a time. */
  async *#inOrder(tasks: Iterable<MarketTask>, workers: readonly MarketWorker[], atOnce: number) {
    const pending: { readonly given: readonly MarketTask[]; readonly found: Promise<readonly MarketFindings[]> }[] = [];
    let given: MarketTask[] = [];
    let next = 0;
    const give = () => {
      const found = workers[next % workers.length]!.verify(given);
      next += 1;
      // It is awaited in its turn, which an earlier failure ends.
      found.catch(() => undefined);
      pending.push({ given, found });
      given = [];
    };
    const settled = async function* () {
      const { given, found } = pending.shift()!;
      for (const [index, each] of (await found).entries()) yield { task: given[index]!, found: each };
    };
    for (const task of tasks) {
      given.push(task);
      if (given.length === atOnce) give();
      if (pending.length >= workers.length * AHEAD) yield* settled();
    }
    if (given.length > 0) give();
    while (pending.length > 0) yield* settled();
  }

  *#tasks(keys: Iterable<number>, progress: VerifyProgress | undefined): Generator<MarketTask> {
    const { isKnown, clock } = this.#options;
    for (const key of keys) {
      const knownState = this.#guarded({}, () =>
        this.#database.read(() => {
          const sealed = this.#sealed.byKey(key);
          if (sealed === undefined) return undefined;
          const market = this.#markets.byKey(key);
          const state = market && stateOf(market, sealed);
          if (state === undefined) return undefined;
          return isKnown?.(sealed) === true || progress?.find(key, state) !== undefined ? state : undefined;
        }),
      );
      yield { key, knownState, nowMs: clock() };
    }
  }

  /** Processes, or this one. */
  #workers(started: DisposableStack): readonly MarketWorker[] {
    const { startWorker, jobs = this.#bytes() > LARGE_BYTES ? availableParallelism() : 1 } = this.#options;
    if (startWorker !== undefined && jobs > 1) {
      return Array.from({ length: jobs }, () => started.use(startWorker(this.#directory)));
    }
    const verifier = new MarketVerifier(this.#database);
    const verify = async (tasks: readonly MarketTask[]) => {
      // Lets the output about the market before be written.
      await setImmediate();
      return tasks.map((task) => verifier.verify(task));
    };
    return [{ verify }];
  }

  /** The bytes of the database and of all sealed markets. */
  #bytes(): number {
    const sealed = this.#guarded({}, () => this.#database.read(() => this.#sealed.totals().bytes)) ?? 0;
    return sealed + statSync(this.#database.path).size;
  }

  /** Adds what was found in a market, and checks that no other record has its ids. */
  #take({ key, place, observed, problems: found, totals, idRuns }: MarketFindings): void {
    const { problems, ids } = this.#check;
    const before = problems.count;
    problems.addAll(found);
    for (const name of Object.keys(totals) as (keyof VerificationTotals)[]) this.#check.totals[name] += totals[name];
    if (!ids.isLast && idRuns.length > 0) this.#spans.push({ key, place, idRuns: spanOf(idRuns) });
    // Rare: the segments are read again to name them.
    if (!ids.markRuns(idRuns)) this.#checkIdsOfMarket(key, place);
    if (observed !== undefined) this.#options.onMarket?.({ ...observed, problems: problems.count - before });
  }

  #checkIdsOfMarket(key: number, place: ProblemPlace): void {
    const { source } = this.#check;
    this.#guarded(place, () => this.#database.read(() => this.#checkIdsOf(source.seriesOf(key), place)));
  }

  #verifyCoins(): void {
    for (const series of this.#check.source.coinSeries()) {
      const { symbol, source } = series;
      new RecordWalk(this.#check, series, { series: 'coin-price', symbol, source }, COIN_PRICES).drain();
    }
  }

  /** Reads the ids of each further window in the markets that have some. */
  async #checkFurtherIds(): Promise<void> {
    const { ids, source } = this.#check;
    while (!ids.isLast && this.#guarded({}, () => ids.nextWindow()) === true) {
      for (const { key, place, idRuns } of this.#spans) {
        if (!ids.touches(idRuns[0]!, idRuns[1]!)) continue;
        this.#checkIdsOfMarket(key, place);
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
      this.#check.problems.add('database', DAMAGED_PAGE, place);
      return undefined;
    }
  }

  #verification(): Verification {
    const { problems, totals } = this.#check;
    return verificationOf(problems, { ...totals, elapsedMs: this.#options.clock() - this.#startedMs });
  }
}

/** The lowest and the highest id of runs. */
function spanOf(idRuns: Float64Array): Float64Array {
  let [first, last] = [Infinity, 0];
  for (const id of idRuns) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return Float64Array.of(first, last);
}
