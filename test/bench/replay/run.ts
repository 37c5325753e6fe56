import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { temporaryDirectory } from '../../support/archive.ts';
import { type Child, startChild } from '../../support/child.ts';
import { circumstances } from '../../support/circumstances.ts';
import { EXECUTABLE, printed } from '../../support/executable.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { stolenShare, ticks } from '../http/stolen.ts';

/**
 * How fast a replay is told, and how evenly: `make pace`. The executable replays real recordings to clients in processes of
 * their own, over sockets. Writes RESULTS.md beside this file.
 */
const RESULTS = join(import.meta.dir, 'RESULTS.md');
const ROUNDS = 5;
/** A round during which the host took more than this is taken again, so many times in all at most. */
const STOLEN_MAX = 0.05;
const AGAIN_MAX = 10;
const GOAL_DELTAS_PER_SECOND = 200_000;
const GOAL_P99_MS = 20;
const HOST = '127.0.0.1';

interface Counted {
  readonly frames: number;
  readonly deltas: number;
  readonly bytes: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

interface Round {
  readonly deltas: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly stolen: number;
}

interface Replay extends AsyncDisposable {
  readonly port: string;
  readonly assetIds: readonly string[];
  steer(...args: readonly string[]): Promise<string>;
}

async function main(): Promise<number> {
  const books = realRecording('books-5m-parquet');
  const capture = realRecording('ws-capture-5m');
  if (books === undefined || capture === undefined) {
    console.error('the real recordings that this measures with are not here');
    return 1;
  }
  using directory = temporaryDirectory();
  const archives = { books: join(directory.path, 'books'), capture: join(directory.path, 'capture') };
  await printed(['import', books, '--data', archives.books]);
  await printed(['import', capture, '--data', archives.capture]);
  const ofBooks = await fullSpeed(archives.books);
  const beside = await fullSpeed(archives.books, { slowClients: 1 });
  const ofCapture = await fullSpeed(archives.capture);
  const paced = await pacedOffsets(archives.capture);
  const text = await resultsText({ ofBooks, beside, ofCapture, paced });
  await Bun.write(RESULTS, text);
  console.log(text);
  return 0;
}

async function replayOf(archive: string, ...args: readonly string[]): Promise<Replay> {
  const child = startChild([
    ...[EXECUTABLE, 'replay', '--data', archive, '--port', '0', '--paused', '--gaps', 'ignore'],
    ...args,
  ]);
  const [, port] = await child.said(/ws:\/\/127\.0\.0\.1:(\d+)\/ws\/market/);
  using database = new Database(join(archive, 'bookreel.db'), { readonly: true });
  const markets = database
    .query<{ up: string; down: string }, []>('SELECT up_asset_id AS up, down_asset_id AS down FROM markets')
    .all();
  return {
    port: port!,
    assetIds: markets.flatMap(({ up, down }) => [up, down]).filter((id) => id !== '0'),
    steer: (...steering) => printed(['replay', ...steering, '--url', `http://${HOST}:${port}`]),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

function clientOf(program: string, { port, assetIds }: Replay): Child {
  return startChild([process.execPath, join(import.meta.dir, program), port, ...assetIds]);
}

/** Everything from beginning to end, to one client that reads; beside it others that are stopped and read nothing. */
async function fullSpeed(archive: string, { slowClients = 0 } = {}): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let tried = 0; rounds.length < ROUNDS; tried += 1) {
    await using replay = await replayOf(archive, '--speed', 'max');
    await using stack = new AsyncDisposableStack();
    for (let i = 0; i < slowClients; i += 1) {
      const slow = stack.use(clientOf('counting-client.ts', replay));
      await slow.said(/subscribed/);
      slow.kill('SIGSTOP');
    }
    const client = stack.use(clientOf('counting-client.ts', replay));
    await client.said(/subscribed/);
    const before = ticks();
    await replay.steer('resume');
    const counted = await settled(client);
    const stolen = stolenShare(before, ticks());
    if (stolen > STOLEN_MAX && tried < AGAIN_MAX) continue;
    const { deltas, bytes, firstMs, lastMs } = counted;
    rounds.push({ deltas, bytes, seconds: (lastMs - firstMs) / 1000, stolen });
  }
  return rounds;
}

/** What a client has counted when that no longer grows. */
async function settled(client: Child): Promise<Counted> {
  const last = () =>
    JSON.parse(client.stdout().trimEnd().split('\n').at(-1)!.replace('subscribed', 'null')) as Counted | null;
  let seen = last();
  for (;;) {
    await Bun.sleep(1000);
    const now = last();
    if (now !== null && now.deltas > 0 && now.deltas === seen?.deltas) return now;
    seen = now;
  }
}

/** Of every change at speed 1: by how much it came later, or earlier, than the median of them all, in ms, ascending. */
async function pacedOffsets(
  archive: string,
): Promise<{ readonly offsets: readonly number[]; readonly stolen: number }> {
  await using replay = await replayOf(archive, '--speed', '1');
  using database = new Database(join(archive, 'bookreel.db'), { readonly: true });
  const { first_ms: firstMs } = database
    .query<{ first_ms: number }, []>('SELECT MIN(first_ms) AS first_ms FROM segments')
    .get()!;
  await replay.steer('seek', String(firstMs - 1));
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

/** The share `p` of the distances from the median is at most this. */
function distanceAt(offsets: readonly number[], p: number): number {
  const distances = offsets.map(Math.abs).sort((a, b) => a - b);
  return distances[Math.min(distances.length - 1, Math.ceil(distances.length * p) - 1)]!;
}

interface Measured {
  readonly ofBooks: readonly Round[];
  readonly beside: readonly Round[];
  readonly ofCapture: readonly Round[];
  readonly paced: Awaited<ReturnType<typeof pacedOffsets>>;
}

async function resultsText({ ofBooks, beside, ofCapture, paced }: Measured): Promise<string> {
  const p99 = distanceAt(paced.offsets, 0.99);
  const met = (holds: boolean) => (holds ? 'met' : '**not met**');
  const rate = median(ofBooks.map(perSecond));
  return `# Replay

${await circumstances('`make pace` (`bun test/bench/replay/run.ts`)')}
- the executable and its client side by side; rounds of which the machine's host took more than ${STOLEN_MAX * 100} % were taken again, ${AGAIN_MAX} at most

| asked | seen | |
| --- | --- | --- |
| at full speed at least ${grouped(GOAL_DELTAS_PER_SECOND)} delta frames a second to one client | ${grouped(rate)} (books) | ${met(rate >= GOAL_DELTAS_PER_SECOND)} |
| at speed 1 within ${GOAL_P99_MS} ms of the recorded spacing at p99 | ${p99.toFixed(1)} ms | ${met(p99 <= GOAL_P99_MS)} |

Each delta is a \`price_change\` with the venue's hash of the book behind it. Medians of ${ROUNDS} rounds, and the least and the most.

| full speed | delta frames/s | MiB/s | frames a round |
| --- | ---: | ---: | ---: |
| full books of 16 markets, of most one outcome (12 levels change from one to the next) | ${ratesText(ofBooks)} | ${mibText(ofBooks)} | ${grouped(ofBooks[0]!.deltas)} |
| the same, beside a client that reads nothing | ${ratesText(beside)} | ${mibText(beside)} | ${grouped(beside[0]!.deltas)} |
| a capture of 2 markets, both outcomes (1.1 levels change, so each frame has two hashes of its own; it is over before the program is warm) | ${ratesText(ofCapture)} | ${mibText(ofCapture)} | ${grouped(ofCapture[0]!.deltas)} |

| speed 1: distance from the recorded spacing, ms | p50 | p90 | p99 | most | changes |
| --- | ---: | ---: | ---: | ---: | ---: |
| the capture, ${paced.offsets.length} changes; the host took ${(paced.stolen * 100).toFixed(1)} % | ${[0.5, 0.9, 0.99, 1].map((p) => distanceAt(paced.offsets, p).toFixed(2)).join(' | ')} | ${grouped(paced.offsets.length)} |
`;
}

function perSecond({ deltas, seconds }: Round): number {
  return deltas / seconds;
}

function ratesText(rounds: readonly Round[]): string {
  const rates = rounds.map(perSecond);
  return `${grouped(median(rates))} (${grouped(Math.min(...rates))} … ${grouped(Math.max(...rates))})`;
}

function mibText(rounds: readonly Round[]): string {
  return median(rounds.map(({ bytes, seconds }) => bytes / seconds / 2 ** 20)).toFixed(0);
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

process.exitCode = await main();
