import { join } from 'node:path';
import { temporaryDirectory } from '../../support/archive.ts';
import { circumstances } from '../../support/circumstances.ts';
import { printed } from '../../support/executable.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { stolenShare, ticks } from '../http/stolen.ts';
import { AGAIN_MAX, clientOf, fullSpeed, paperReplay, type Round, replayOf, STOLEN_MAX } from './full-speed.ts';

/**
 * Measures the speed and timing of a replay: `make pace`. The executable replays real recordings over sockets to clients in other
 * processes. Writes RESULTS.md next to this file.
 */
const RESULTS = join(import.meta.dir, 'RESULTS.md');
const ROUNDS = 5;
const GOAL_DELTAS_PER_SECOND = 200_000;
const GOAL_P99_MS = 20;
const ORDERS = 1000;
/** The most processor time that orders may cost, as a part of that of the replay. */
const GOAL_ORDERS_SHARE = 0.1;

async function main(): Promise<number> {
  const books = realRecording('books-5m-parquet');
  const capture = realRecording('ws-capture-5m');
  if (books === undefined || capture === undefined) {
    console.error('this measurement needs the real recordings, which are missing');
    return 1;
  }
  using directory = temporaryDirectory();
  const archives = { books: join(directory.path, 'books'), capture: join(directory.path, 'capture') };
  await printed(['import', books, '--data', archives.books]);
  await printed(['import', capture, '--data', archives.capture]);
  const ofBooks = await rounds(archives.books);
  const beside = await rounds(archives.books, 1);
  const ofCapture = await rounds(archives.capture);
  const ofOrders = {
    none: await rounds(archives.books, 0, paperReplay(archives.books, 0, 0)),
    oneMarket: await rounds(archives.books, 0, paperReplay(archives.books, ORDERS, 1)),
    everyMarket: await rounds(archives.books, 0, paperReplay(archives.books, ORDERS, Infinity)),
  };
  const paced = await pacedOffsets(archives.capture);
  const text = await resultsText({ ofBooks, beside, ofCapture, ofOrders, paced });
  await Bun.write(RESULTS, text);
  console.log(text);
  return 0;
}

async function rounds(archive: string, slowClients = 0, program?: string[]): Promise<Round[]> {
  const all: Round[] = [];
  while (all.length < ROUNDS) all.push(await fullSpeed(archive, { slowClients, ...(program && { program }) }));
  return all;
}

/** The delay of every change at speed 1 relative to the median delay, in ms, ascending. */
async function pacedOffsets(
  archive: string,
): Promise<{ readonly offsets: readonly number[]; readonly stolen: number }> {
  await using replay = await replayOf(archive, '1');
  await using client = clientOf('paced-client.ts', replay);
  await client.said(/subscribed/);
  const before = ticks();
  await replay.steer('resume');
  const [line] = await client.said(/^\[.*\]$/m);
  const stolen = stolenShare(before, ticks());
  const came = JSON.parse(line) as number[];
  const middle = median(came);
  return { offsets: came.map((offset) => offset - middle).sort((a, b) => a - b), stolen };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

/** The `p` quantile of the distances from the median. */
function distanceAt(offsets: readonly number[], p: number): number {
  const distances = offsets.map(Math.abs).sort((a, b) => a - b);
  return distances[Math.min(distances.length - 1, Math.ceil(distances.length * p) - 1)]!;
}

interface Measured {
  readonly ofBooks: readonly Round[];
  readonly beside: readonly Round[];
  readonly ofCapture: readonly Round[];
  readonly ofOrders: Readonly<Record<'none' | 'oneMarket' | 'everyMarket', readonly Round[]>>;
  readonly paced: Awaited<ReturnType<typeof pacedOffsets>>;
}

async function resultsText({ ofBooks, beside, ofCapture, ofOrders, paced }: Measured): Promise<string> {
  const p99 = distanceAt(paced.offsets, 0.99);
  const met = (holds: boolean) => (holds ? 'met' : '**not met**');
  const rate = median(ofBooks.map(perSecond));
  const cost = (rounds: readonly Round[]) => median(rounds.map(cpuOf)) / median(ofOrders.none.map(cpuOf)) - 1;
  const ordersRow = (where: string, rounds: readonly Round[]) =>
    `| ${grouped(ORDERS)} open orders in ${where} cost at most ${GOAL_ORDERS_SHARE * 100} % of the processor time of a replay | ${(cost(rounds) * 100).toFixed(0)} % | ${met(cost(rounds) <= GOAL_ORDERS_SHARE)} |`;
  return `# Replay

${await circumstances('`make pace` (`bun test/bench/replay/run.ts`)')}
- the executable and its client run on one machine; rounds in which the machine's host took more than ${STOLEN_MAX * 100} % of the time are repeated, at most ${AGAIN_MAX} of them

| required | measured | |
| --- | --- | --- |
| at full speed at least ${grouped(GOAL_DELTAS_PER_SECOND)} delta frames a second to one client | ${grouped(rate)} (books) | ${met(rate >= GOAL_DELTAS_PER_SECOND)} |
| at speed 1 within ${GOAL_P99_MS} ms of the recorded spacing at p99 | ${p99.toFixed(1)} ms | ${met(p99 <= GOAL_P99_MS)} |
${ordersRow('one market', ofOrders.oneMarket)}
${ordersRow('each of the 16 markets', ofOrders.everyMarket)}

Each delta is a \`price_change\` with the venue's hash of the book after it. Medians of ${ROUNDS} rounds, with the lowest and the highest value. The processor time is that of the replay without its client.

| full speed | delta frames/s | frames per second of processor time | MiB/s | frames a round |
| --- | ---: | ---: | ---: | ---: |
| full books of 16 markets, mostly of one outcome (12 levels change per book) | ${ratesText(ofBooks)} | ${processorText(ofBooks)} | ${mibText(ofBooks)} | ${grouped(ofBooks[0]!.deltas)} |
| the same, with another client that reads nothing | ${ratesText(beside)} | ${processorText(beside)} | ${mibText(beside)} | ${grouped(beside[0]!.deltas)} |
| a capture of 2 markets, both outcomes (1.1 levels change, so each frame has its own two hashes; it ends before the program is warm) | ${ratesText(ofCapture)} | ${processorText(ofCapture)} | ${mibText(ofCapture)} | ${grouped(ofCapture[0]!.deltas)} |

| speed 1: distance from the recorded spacing, ms | p50 | p90 | p99 | most | changes |
| --- | ---: | ---: | ---: | ---: | ---: |
| the capture, ${paced.offsets.length} changes; the host took ${(paced.stolen * 100).toFixed(1)} % | ${[0.5, 0.9, 0.99, 1].map((p) => distanceAt(paced.offsets, p).toFixed(2)).join(' | ')} | ${grouped(paced.offsets.length)} |
`;
}

function perSecond({ deltas, seconds }: Round): number {
  return deltas / seconds;
}

function cpuOf({ cpuSeconds }: Round): number {
  return cpuSeconds;
}

function ratesText(rounds: readonly Round[]): string {
  const rates = rounds.map(perSecond);
  return `${grouped(median(rates))} (${grouped(Math.min(...rates))} … ${grouped(Math.max(...rates))})`;
}

function processorText(rounds: readonly Round[]): string {
  return grouped(median(rounds.map(({ deltas, cpuSeconds }) => deltas / cpuSeconds)));
}

function mibText(rounds: readonly Round[]): string {
  return median(rounds.map(({ bytes, seconds }) => bytes / seconds / 2 ** 20)).toFixed(0);
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

process.exitCode = await main();
