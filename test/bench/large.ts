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
/** Enough that few are repeated, because a cached answer does not measure the archive. */
const PATHS = 150_000;
const PAGE = 100;
const ROUNDS = 7;
const SECONDS = 2;
/** The maximum of one key is a million requests a minute. */
const KEYS = 8;
/** Seed of the requested times. */
const SEED = 20_260_416;
const STARTS = 15;
const COLD_STARTS = 5;
const IDLE_MS = 5000;
/** Writing 3 to this file makes Linux drop its page cache. */
const DROP_CACHES = '/proc/sys/vm/drop_caches';
const RATIO_MAX = 1.25;
const START_MS_MAX = 150;
const AT_REST_MB_MAX = 90;
/** 2^20 bytes, the usual unit of memory. */
const MB = 1024 ** 2;

/** The time of a request with few stored snapshots, and with many. */
interface SizeComparison {
  readonly small: Rate;
  readonly large: Rate;
  /** The median with many, divided by that with few. */
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
  /** The same with an empty page cache; undefined if this process may not empty it. */
  readonly coldStart: Spread | undefined;
  /** Resident bytes with that archive, a few seconds after the first answer. */
  readonly atRest: number;
}

/** Measures the executable with archives of 100 thousand snapshots, of 10 million, and of a gigabyte, made of copies of `source`. */
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
  const made = madeSeconds === undefined ? 'from an earlier run' : `created in ${madeSeconds.toFixed(0)} s`;
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

/** Any market, from any snapshot that is followed by enough others for a whole page. */
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
    // The start before the first one fills the page cache.
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

/** Returns false if this process may not do so. */
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
  const cold = coldStart === undefined ? 'not measured: this process may not empty the page cache' : shown(coldStart);
  const one = table(
    ['figure', 'measured'],
    [
      ['start to first answer, ms', shown(start)],
      ['start to first answer, empty page cache, ms', cold],
      ['at rest: resident, MB', (atRest / MB).toFixed(0)],
    ],
  );
  const text = `## A large archive

Copies of the corpus as new markets in new windows, stored through the stores: ${described(few)}; ${described(many)}.
The same executable with both alternately, ${ROUNDS} rounds of ${SECONDS} s; any market, any time, ${PATHS} different URLs, identity. A
request's time is one second divided by the requests in it. ${repeatsSentence(turns, repeats)}

${rates}

With a third one, ${described(gigabyte)}: the time from the start of the executable to the end of the first answer to "nearest" (${STARTS} starts,
and ${COLD_STARTS} with an empty page cache, also without the executable's own 100 MB), and its memory ${IDLE_MS / 1000} s after that answer.

${one}`;
  return { text, goals: goalsOf(figures) };
}

function goalsOf({ requests, start, atRest }: LargeFigures): Goal[] {
  const ratios = [...requests].map(([name, { ratio }]) => ({
    figure: `${name} with 10 million snapshots stored, to 100 thousand`,
    required: `≤ ${times(RATIO_MAX)}`,
    measured: times(ratio),
    met: ratio <= RATIO_MAX,
  }));
  const resident = atRest / MB;
  return [
    ...ratios,
    {
      figure: 'start to first answer with 1 GB',
      required: `< ${START_MS_MAX} ms`,
      measured: `${start.median.toFixed(0)} ms`,
      met: start.median < START_MS_MAX,
    },
    {
      figure: 'memory at rest with 1 GB',
      required: `< ${AT_REST_MB_MAX} MB`,
      measured: `${resident.toFixed(0)} MB`,
      met: resident < AT_REST_MB_MAX,
    },
  ];
}

function microsOf({ requestsPerSecond: { median, min, max } }: Rate): Spread {
  return { median: 1e6 / median, min: 1e6 / max, max: 1e6 / min };
}
