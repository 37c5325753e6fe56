import { writeFileSync } from 'node:fs';
import type { Archive } from '../../src/store/archive.ts';
import { residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { measureRates, type Rate, type Trial } from './http/trial.ts';
import { repeatsSentence } from './http/wrk.ts';
import { type CopiedArchive, type CopiedMarket, copiedArchive } from './large-archive.ts';
import { type Goal, type Section, shown, table, times } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const FEW = { snapshots: 100_000, bytes: 0 };
const MANY = { snapshots: 10_000_000, bytes: 0 };
const GIGABYTE = { snapshots: 10_000_000, bytes: 1024 ** 3 };
/** So many that hardly one is asked for twice: what is answered from memory says nothing of the archive. */
const PATHS = 150_000;
const PAGE = 100;
const ROUNDS = 7;
const SECONDS = 2;
/** One key has at most a million requests a minute. */
const KEYS = 8;
/** Of the times that are asked for. */
const SEED = 20_260_416;
const STARTS = 15;
const COLD_STARTS = 5;
const IDLE_MS = 5000;
/** Writing 3 here makes Linux forget all file content that it keeps in memory. */
const DROP_CACHES = '/proc/sys/vm/drop_caches';
const RATIO_MAX = 1.25;
const START_MS_MAX = 150;
const AT_REST_MB_MAX = 90;
/** Megabytes as memory is mostly given: 2^20 bytes. */
const MB = 1024 ** 2;

/** How long a request takes with few snapshots stored, and with many. */
interface SizeComparison {
  readonly small: Rate;
  readonly large: Rate;
  /** Of the medians of the time a request takes: large to small. */
  readonly ratio: number;
}

export interface LargeFigures {
  readonly few: CopiedArchive;
  readonly many: CopiedArchive;
  readonly gigabyte: CopiedArchive;
  /** By kind of request. */
  readonly requests: ReadonlyMap<string, SizeComparison>;
  /** Milliseconds from starting the executable to its first answer, with the archive of a gigabyte. */
  readonly start: Spread;
  /** The same when nothing of it is in memory; undefined where that cannot be brought about. */
  readonly coldStart: Spread | undefined;
  /** Resident bytes with that archive, some seconds after its first answer. */
  readonly atRest: number;
}

/** The executable over archives of 100 thousand and of 10 million snapshots and of a gigabyte, made of what `source` holds. */
export async function measureLarge(source: Archive, say: (line: string) => void): Promise<LargeFigures> {
  const few = copiedArchive(source, FEW);
  const many = copiedArchive(source, MANY);
  say(`  ${described(few)}; ${described(many)}`);
  const requests = await compareSizes(few, many);
  for (const [name, { ratio }] of requests) say(`  ${name}: ${ratio.toFixed(2)} times the time`);
  const gigabyte = copiedArchive(source, GIGABYTE, many);
  say(`  ${described(gigabyte)}`);
  const [key] = await createKeys(gigabyte, 1);
  const path = nearestPaths(gigabyte.markets, 1)[0]!;
  const start = await measureStarts(gigabyte, key!, path, STARTS);
  const coldStart = await measureColdStarts(gigabyte, key!, path);
  const atRest = await measureAtRest(gigabyte, key!, path);
  return { few, many, gigabyte, requests, start, coldStart, atRest };
}

function described({ snapshots, bytes, madeSeconds }: CopiedArchive): string {
  const made = madeSeconds === undefined ? 'kept from an earlier run' : `made in ${madeSeconds.toFixed(0)} s`;
  return `${snapshots} snapshots, ${(bytes / 1e6).toFixed(0)} MB, ${made}`;
}

async function compareSizes(small: CopiedArchive, large: CopiedArchive): Promise<Map<string, SizeComparison>> {
  using directory = temporaryDirectory();
  await using smallServer = await startServer(small.data);
  await using largeServer = await startServer(large.data);
  const keys = { small: await createKeys(small, KEYS), large: await createKeys(large, KEYS) };
  const compared = new Map<string, SizeComparison>();
  for (const [name, pathsOf] of [
    ['nearest', nearestPaths],
    [`page of ${PAGE}`, pagePaths],
  ] as const) {
    const trials: Trial[] = [
      { name: 'small', origin: smallServer.origin, asks: asksOf(pathsOf(small.markets, PATHS), keys.small) },
      { name: 'large', origin: largeServer.origin, asks: asksOf(pathsOf(large.markets, PATHS), keys.large) },
    ];
    const rates = await measureRates(trials, { rounds: ROUNDS, seconds: SECONDS, directory: directory.path });
    const [few, many] = [rates.get('small')!, rates.get('large')!];
    const ratio = few.requestsPerSecond.median / many.requestsPerSecond.median;
    compared.set(name, { small: few, large: many, ratio });
  }
  return compared;
}

function asksOf(paths: readonly string[], keys: readonly string[]): Trial['asks'] {
  return paths.map((path, index) => ({
    path,
    headers: { authorization: `Bearer ${keys[index % keys.length]}`, 'accept-encoding': 'identity' },
  }));
}

async function createKeys({ data }: CopiedArchive, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let nth = 0; nth < count; nth += 1) keys.push((await issueKey(data)).key);
  return keys;
}

/** Any market, any time between its first and its last snapshot. */
function nearestPaths(markets: readonly CopiedMarket[], count: number): string[] {
  const random = randomsOf(SEED);
  return Array.from({ length: count }, () => {
    const { symbol, conditionId, timestampsMs, shiftMs } = markets[Math.floor(random() * markets.length)]!;
    const firstMs = timestampsMs[0]!;
    const atMs = Math.floor(firstMs + random() * (timestampsMs.at(-1)! - firstMs)) + shiftMs;
    return `/v1/${symbol}/markets/${conditionId}/snapshots/at/${atMs}`;
  });
}

/** Any market, from any of its snapshots on that so many follow. */
function pagePaths(markets: readonly CopiedMarket[], count: number): string[] {
  const random = randomsOf(SEED);
  const large = markets.filter(({ timestampsMs }) => timestampsMs.length >= PAGE);
  return Array.from({ length: count }, () => {
    const { symbol, conditionId, timestampsMs, shiftMs } = large[Math.floor(random() * large.length)]!;
    const fromMs = timestampsMs[Math.floor(random() * (timestampsMs.length - PAGE + 1))]! + shiftMs;
    return `/v1/${symbol}/markets/${conditionId}/snapshots?limit=${PAGE}&from=${fromMs}`;
  });
}

async function measureStarts({ data }: CopiedArchive, key: string, path: string, starts: number): Promise<Spread> {
  const millis: number[] = [];
  for (let nth = -1; nth < starts; nth += 1) {
    const taken = await startToAnswer(data, key, path);
    // The one before the first brings what the executable reads into memory.
    if (nth >= 0) millis.push(taken);
  }
  return spreadOf(millis);
}

async function measureColdStarts({ data }: CopiedArchive, key: string, path: string): Promise<Spread | undefined> {
  const millis: number[] = [];
  for (let nth = 0; nth < COLD_STARTS; nth += 1) {
    if (!forgetFiles()) return undefined;
    millis.push(await startToAnswer(data, key, path));
  }
  return spreadOf(millis);
}

/** False where this process may not. */
function forgetFiles(): boolean {
  try {
    writeFileSync(DROP_CACHES, '3');
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}

async function startToAnswer(data: string, key: string, path: string): Promise<number> {
  const started = performance.now();
  await using server = await startServer(data);
  await requireAnswer(`${server.origin}${path}`, key);
  return performance.now() - started;
}

async function requireAnswer(url: string, key: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (answer.status !== 200) throw new Error(`${answer.status} for ${url}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function measureAtRest({ data }: CopiedArchive, key: string, path: string): Promise<number> {
  await using server = await startServer(data);
  await requireAnswer(`${server.origin}${path}`, key);
  await Bun.sleep(IDLE_MS);
  return residentBytes(server.pid);
}

export function largeSection(figures: LargeFigures): Section {
  const { few, many, gigabyte, requests, start, coldStart, atRest } = figures;
  const both = [...requests.values()].flatMap(({ small, large }) => [small, large]);
  const turns = both.reduce((sum, rate) => sum + rate.turns, 0);
  const repeats = both.reduce((sum, rate) => sum + rate.repeats, 0);
  const rows = [...requests].map(([name, compared]) => [
    name,
    shown(microsOf(compared.small)),
    shown(microsOf(compared.large)),
    times(compared.ratio),
  ]);
  const rates = table(['request', 'µs, few stored', 'µs, many stored', 'many : few'], rows);
  const cold = coldStart === undefined ? 'not measured: dropping caches is not permitted here' : shown(coldStart);
  const one = table(
    ['what', 'measured'],
    [
      ['start to first answer, ms', shown(start)],
      ['start to first answer, nothing in memory, ms', cold],
      ['at rest: resident, MB', (atRest / MB).toFixed(0)],
    ],
  );
  const text = `## A large archive

The corpus again and again under new markets in new windows, through the stores: ${described(few)}; ${described(many)}.
The same executable over both in turn, ${ROUNDS} rounds of ${SECONDS} s; any market, any time, ${PATHS} different questions, identity. A
request's time is a second by the requests in it. ${repeatsSentence(turns, repeats)}

${rates}

Over a third one, ${described(gigabyte)}: the time from starting the executable until the whole answer to "nearest" is there (${STARTS} starts, and
${COLD_STARTS} with nothing of any file in memory, the executable's own 100 MB included), and its memory ${IDLE_MS / 1000} s after that answer.

${one}`;
  return { text, goals: goalsOf(figures) };
}

function goalsOf({ requests, start, atRest }: LargeFigures): Goal[] {
  const ratios = [...requests].map(([name, { ratio }]) => ({
    figure: `${name} with 10 million snapshots stored, to 100 thousand`,
    asked: `≤ ${times(RATIO_MAX)}`,
    measured: times(ratio),
    met: ratio <= RATIO_MAX,
  }));
  const resident = atRest / MB;
  return [
    ...ratios,
    {
      figure: 'start to first answer with 1 GB',
      asked: `< ${START_MS_MAX} ms`,
      measured: `${start.median.toFixed(0)} ms`,
      met: start.median < START_MS_MAX,
    },
    {
      figure: 'memory at rest with 1 GB',
      asked: `< ${AT_REST_MB_MAX} MB`,
      measured: `${resident.toFixed(0)} MB`,
      met: resident < AT_REST_MB_MAX,
    },
  ];
}

function microsOf({ requestsPerSecond: { median, min, max } }: Rate): Spread {
  return { median: 1e6 / median, min: 1e6 / max, max: 1e6 / min };
}
