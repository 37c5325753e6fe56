import { join } from 'node:path';
import bothSides from '../../../fixtures/strategies/both-sides.ts';
import type { Strategy } from '../../../src/client/strategy.ts';
import { INSTANT_MAX_MS } from '../../../src/domain/instant.ts';
import { TickSizes } from '../../../src/replay/tick-sizes.ts';
import { type Archive, openArchive } from '../../../src/store/archive.ts';
import { Lockstep } from '../../../src/trading/lockstep.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { circumstances } from '../../support/circumstances.ts';
import { EXECUTABLE, printed } from '../../support/executable.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { type Spread, spreadOf } from '../rounds.ts';

/** Measures backtests of real recordings: `make backtest-pace`. Writes RESULTS.md next to this file. */
const RESULTS = join(import.meta.dir, 'RESULTS.md');
const STRATEGY = join(import.meta.dir, '../../../fixtures/strategies/both-sides.ts');
const ROUNDS = 7;
const GOAL_PER_SECOND = 100_000;
/** The 5m markets of a coin in 30 days. */
const MONTH_MARKETS = 30 * 288;
/** The maximum number of markets of a process, see `partsOf`. */
const PART_MARKETS = 256;

interface Round {
  readonly markets: number;
  readonly records: number;
  /** The books, trades and prices that the strategy is called with. */
  readonly calls: number;
  readonly cpuSeconds: number;
}

async function main(): Promise<number> {
  const books = realRecording('books-5m-parquet');
  if (books === undefined) {
    console.error('this measurement needs the real recordings, which are missing');
    return 1;
  }
  using directory = temporaryDirectory();
  const data = join(directory.path, 'books');
  await printed(['import', books, '--data', data]);
  const archive = openArchive(data, Date.now(), { create: false, readOnly: true });
  const idle = rounds(archive, () => ({}));
  const quoting = rounds(archive, bothSides);
  archive.database.close();
  const command = ['backtest', STRATEGY, '--queue', 'behind', '--json', '--data', data];
  const first = await timed(command);
  const second = await timed(command);
  const text = await resultsText(idle, quoting, first.seconds, first.stdout === second.stdout);
  await Bun.write(RESULTS, text);
  console.log(text);
  return 0;
}

/** Processor time, so that other load on the machine counts little. The first round warms up. */
function rounds(archive: Archive, make: () => Strategy): Round[] {
  const all: Round[] = [];
  while (all.length <= ROUNDS) all.push(archive.database.read(() => round(archive, make)));
  return all.slice(1);
}

function round(archive: Archive, make: () => Strategy): Round {
  const ticks = new TickSizes(archive);
  const rules = {
    cash: 1e9,
    latencyMs: 40,
    takerDelayMs: 250,
    queue: 'behind',
    fees: 'venue',
  } as const;
  const before = process.cpuUsage();
  let [markets, records, calls] = [0, 0, 0];
  let market = archive.markets.after('btc', { startMs: 0, conditionId: '' });
  for (; market !== undefined; market = archive.markets.after('btc', market)) {
    const strategy = make();
    const counted: Strategy = {
      ...strategy,
      onBook(context, outcome) {
        calls += 1;
        strategy.onBook?.(context, outcome);
      },
    };
    const input = { archive, ticks, market, fromMs: 0, toMs: INSTANT_MAX_MS, rules };
    const lockstep = new Lockstep(input, counted, { nowMs: 0 });
    for (const _ of lockstep.steps());
    markets += 1;
    records += lockstep.traded.tally.records;
  }
  const { user, system } = process.cpuUsage(before);
  return { markets, records, calls, cpuSeconds: (user + system) / 1e6 };
}

async function timed(command: readonly string[]): Promise<{ readonly seconds: number; readonly stdout: string }> {
  const process = Bun.spawn([EXECUTABLE, ...command], { stdout: 'pipe', stderr: 'inherit' });
  const stdout = await new Response(process.stdout).text();
  await process.exited;
  const { cpuTime } = process.resourceUsage()!;
  return { stdout, seconds: Number(cpuTime.total) / 1e6 };
}

async function resultsText(
  idle: readonly Round[],
  quoting: readonly Round[],
  seconds: number,
  isEqual: boolean,
): Promise<string> {
  const [{ markets, records, calls }] = quoting as [Round];
  const perSecond = (list: readonly Round[], of: (round: Round) => number) =>
    spreadOf(list.map((each) => of(each) / each.cpuSeconds));
  const rate = perSecond(quoting, (each) => each.calls);
  const monthMillions = (MONTH_MARKETS * calls) / markets / 1e6;
  const secondsPerMillion = 1e6 / rate.median;
  // With 16 markets each market has a process.
  const startSeconds = Math.max(0, seconds - calls / rate.median) / markets;
  const processes = Math.ceil(MONTH_MARKETS / PART_MARKETS);
  const monthSeconds = monthMillions * secondsPerMillion + processes * startSeconds;
  return `# Backtests

${await circumstances('`make backtest-pace` (`bun test/bench/backtest/run.ts`)')}
- ${markets} real markets with ${grouped(records)} recorded milliseconds; each is an event for up and one for down: ${grouped(calls)} events
- seconds are processor time

| required | measured | |
| --- | --- | --- |
| at least ${grouped(GOAL_PER_SECOND)} events a second on a core in lockstep, quoting both sides | ${spreadText(rate)} | ${rate.median >= GOAL_PER_SECOND ? 'met' : '**not met**'} |
| the same report twice | ${isEqual ? 'the same bytes' : 'other bytes'} | ${isEqual ? 'met' : '**not met**'} |

| one core, in a warm process | events/s | recorded milliseconds/s |
| --- | ---: | ---: |
| a strategy that does nothing | ${spreadText(perSecond(idle, (each) => each.calls))} | ${spreadText(perSecond(idle, (each) => each.records))} |
| quoting both sides, ${Math.round(calls / markets)} events a market | ${spreadText(rate)} | ${spreadText(perSecond(quoting, (each) => each.records))} |

A million events take ${secondsPerMillion.toFixed(1)} s, and a process takes ${startSeconds.toFixed(2)} s to start and to warm up. So a month of 5m markets of one coin
(${grouped(MONTH_MARKETS)} markets in ${processes} processes, ${monthMillions.toFixed(0)} million events at this rate) takes ${(monthSeconds / 60).toFixed(1)} min of one core for each compared
assumption about queues, divided by the number of cores.
`;
}

function spreadText({ median, min, max }: Spread): string {
  return `${grouped(median)} (${grouped(min)} … ${grouped(max)})`;
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

process.exitCode = await main();
