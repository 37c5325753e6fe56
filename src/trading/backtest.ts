import type { MakeStrategy } from '../client/strategy.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { QueueAssumption } from '../paper/paper-market.ts';
import { TickSizes } from '../replay/tick-sizes.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { Lockstep, StrategyFailure, strategyMarket } from './lockstep.ts';
import { type MarketResult, marketResult, queueTotals } from './market-result.ts';
import type { PaperRules } from './paper-rules.ts';
import { failureSentence, loadStrategy, type RecordedWorld, reasonOf } from './strategy-file.ts';
import type { StrayErrors } from './stray-errors.ts';

/** The inputs that decide the result of a backtest, besides the recordings and the strategy. */
export interface BacktestInput {
  /** Absolute. */
  readonly strategy: string;
  /** The queues' assumption of `rules` is not used: `queues` has all that are compared, and the report is about the first. */
  readonly rules: PaperRules;
  readonly queues: readonly QueueAssumption[];
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** True if results have the histories of filled orders. */
  readonly hasHistory: boolean;
}

/** From the process that runs markets: `index` is the market's place among all. */
export type PartMessage =
  | { readonly kind: 'alive' }
  | { readonly kind: 'market'; readonly index: number; readonly result: MarketResult }
  | { readonly kind: 'failed'; readonly index: number; readonly sentence: string; readonly isUsage: boolean };

/** Consecutive markets, for one process: a strategy that shares state between markets gives the same result with any number of processes. */
export interface Part extends BacktestInput {
  readonly first: number;
  readonly keys: readonly number[];
}

const PARTS = 16;
const PART_MARKETS_MAX = 256;
const ALIVE_MS = 250;
/** A strategy that lets nothing else happen for so long is taken for one that never returns. */
export const STUCK_MS = 30_000;

/** The markets of a backtest in parts, in order. Their number does not depend on how many run at once. */
function partsOf(input: BacktestInput, keys: readonly number[]): Part[] {
  const size = Math.min(PART_MARKETS_MAX, Math.ceil(keys.length / PARTS));
  const parts: Part[] = [];
  for (let first = 0; first < keys.length; first += size)
    parts.push({ ...input, first, keys: keys.slice(first, first + size) });
  return parts;
}

/** Runs a part in this process, and sends what comes of it; `send` settles when a message has left. */
export async function runPart(
  archive: Archive,
  part: Part,
  world: RecordedWorld,
  stray: StrayErrors,
  send: (message: PartMessage) => Promise<void>,
): Promise<void> {
  const ticks = new TickSizes(archive);
  let index = part.first;
  const alive = seldom(() => void send({ kind: 'alive' }));
  try {
    const make = await Promise.race([loadStrategy(part.strategy), stray.raised]);
    for (const key of part.keys) {
      const market = archive.database.read(() => archive.markets.byKey(key));
      if (market === undefined) throw new DomainError('not-found', 'a market was deleted: start again');
      stray.slug = market.slug;
      const result = await Promise.race([runMarket(archive, ticks, market, part, make, world, alive), stray.raised]);
      await stray.settle();
      await send({ kind: 'market', index, result });
      index += 1;
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    await send({ kind: 'failed', index, sentence: error.message, isUsage: error.kind === 'invalid-parameter' });
  }
}

async function runMarket(
  archive: Archive,
  ticks: TickSizes,
  market: StoredMarket,
  { rules, queues, fromMs, toMs, hasHistory }: Part,
  make: MakeStrategy,
  world: RecordedWorld,
  alive: () => void,
): Promise<MarketResult> {
  const run = async (queue: QueueAssumption) => {
    world.begin(market.conditionId);
    world.nowMs = Math.max(fromMs, Math.min(market.startMs, toMs));
    const strategy = await made(make, market);
    const input = { archive, ticks, market, fromMs, toMs, rules: { ...rules, queue } };
    const lockstep = archive.database.read(() => new Lockstep(input, strategy, world));
    const steps = lockstep.steps();
    try {
      // Nothing is awaited: when timers and promises run would depend on the speed of the machine.
      while (archive.database.read(() => steps.next()).done !== true) alive();
    } catch (error) {
      if (!(error instanceof StrategyFailure)) throw error;
      throw new DomainError('conflict', failureSentence(error, market.slug), { cause: error });
    }
    return { queue, lockstep, result: marketResult(lockstep.traded, lockstep.endMs) };
  };
  const first = await run(queues[0]!);
  const compared = [first];
  // Queues count trades only.
  if (first.result.trades > 0) for (const queue of queues.slice(1)) compared.push(await run(queue));
  const totalsOf = (queue: QueueAssumption) =>
    queueTotals((compared.find((each) => each.queue === queue) ?? first).result.totals);
  return {
    ...first.result,
    queues: Object.fromEntries(queues.map((queue) => [queue, totalsOf(queue)])),
    history: hasHistory ? first.lockstep.history() : undefined,
  };
}

async function made(make: MakeStrategy, market: StoredMarket) {
  let strategy: unknown;
  try {
    strategy = await make(strategyMarket(market));
  } catch (error) {
    throw new DomainError('conflict', `the strategy failed before ${market.slug}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  if (typeof strategy === 'object' && strategy !== null) return strategy;
  throw new DomainError(
    'invalid-parameter',
    'the function that a strategy exports must return an object with functions',
  );
}

/** Calls now and then, however often it is called. */
function seldom(call: () => void): () => void {
  let calledAtMs = performance.now();
  return () => {
    if (performance.now() - calledAtMs < ALIVE_MS) return;
    calledAtMs = performance.now();
    call();
  };
}

/** A process that runs one part at a time. */
export interface PartProcess {
  readonly run: (part: Part, onMessage: (message: PartMessage) => void) => Promise<void>;
  readonly kill: () => void;
}

export interface BacktestWork {
  /** Starts a process; `run` settles when the part is done, has failed, or the process has ended. */
  readonly start: () => PartProcess;
  readonly jobs: number;
  readonly stuckMs: number;
  /** Called with the number of markets that are done, of the milliseconds that are recorded in them, and of all markets. */
  readonly onProgress: (markets: number, records: number, all: number) => void;
}

/**
 * Runs the parts on up to `jobs` processes. Results are in the order of `keys`. Throws DomainError for the first market in which the
 * strategy fails, the same one with any number of processes: 'invalid-parameter' if it cannot be used at all, else 'conflict'.
 */
export async function runBacktest(
  input: BacktestInput,
  keys: readonly number[],
  { start, jobs, stuckMs, onProgress }: BacktestWork,
): Promise<readonly MarketResult[]> {
  const parts = partsOf(input, keys);
  const results: MarketResult[] = [];
  let [done, records] = [0, 0];
  const running = new Map<PartProcess, number>();
  let failure: Extract<PartMessage, { kind: 'failed' }> | undefined;
  const fail = (failed: Extract<PartMessage, { kind: 'failed' }>) => {
    if (failure !== undefined && failure.index <= failed.index) return;
    failure = failed;
    // Earlier markets may fail too.
    for (const [process, first] of running) if (first > failed.index) process.kill();
  };
  const worker = async () => {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (failure !== undefined) return;
      const process = start();
      running.set(process, part.first);
      let next = part.first;
      const end = part.first + part.keys.length;
      const stuck = () => {
        const sentence = `the strategy did not return within ${stuckMs / 1000} s in market ${next + 1} of ${keys.length}: look for a loop that never ends`;
        fail({ kind: 'failed', index: next, sentence, isUsage: false });
        process.kill();
      };
      let timer = setTimeout(stuck, stuckMs);
      await process.run(part, (message) => {
        clearTimeout(timer);
        timer = setTimeout(stuck, stuckMs);
        if (message.kind === 'failed') fail(message);
        if (message.kind !== 'market') return;
        results[message.index] = message.result;
        next = message.index + 1;
        done += 1;
        records += message.result.records;
        onProgress(done, records, keys.length);
      });
      clearTimeout(timer);
      process.kill();
      running.delete(process);
      if (next < end) {
        const sentence = `the process that ran market ${next + 1} of ${keys.length} ended: the strategy ended it, or it took too much memory`;
        fail({ kind: 'failed', index: next, sentence, isUsage: false });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, parts.length) }, worker));
  if (failure === undefined) return results;
  const { sentence, isUsage } = failure as Extract<PartMessage, { kind: 'failed' }>;
  throw new DomainError(isUsage ? 'invalid-parameter' : 'conflict', sentence);
}
