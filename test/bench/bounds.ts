import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { runExecutable, startServer } from '../support/executable.ts';
import { CROWDED_MARKETS, GAPS, makeWorstCases, WORST_CASES } from './bounds-archive.ts';
import {
  type AskedMarket,
  type Blocking,
  measureBlocking,
  type Question,
  questionsAboutMarket,
  questionsAboutWorstCases,
} from './bounds-blocking.ts';
import { startProbe } from './bounds-probe.ts';
import {
  type Crowd,
  costOfReader,
  type Growth,
  measureCrowd,
  measureSlowReaders,
  SETTLE_MS,
  type SlowReaders,
  WARM_UP_PAGES,
} from './bounds-readers.ts';
import type { Corpus } from './corpus.ts';
import { figure, type Goal, type Section, shown, table } from './report.ts';

const BLOCKING_MS_MAX = 50;
const CORPUS_BOOKS = 'books of the corpus';
const MB = 1024 ** 2;
const REQUESTS_PER_MINUTE = '1000000';
const PAGE = 1000;
/** More clients, then more pages: neither may cost memory that grows with it. */
const CROWDS: readonly Crowd[] = [
  { clients: 8, pages: 500 },
  { clients: 8, pages: 5000 },
  { clients: 64, pages: 2000 },
  { clients: 256, pages: 2000 },
];
const READERS = 64;

export interface BoundsFigures {
  readonly blocking: readonly Blocking[];
  readonly crowds: readonly { readonly crowd: Crowd; readonly growth: Growth }[];
  /** By what they ask for. */
  readonly slow: ReadonlyMap<string, SlowReaders>;
}

/** What one request, and many clients, can cost at the most. */
export async function measureBounds(corpus: Corpus, say: (line: string) => void): Promise<BoundsFigures> {
  using directory = temporaryDirectory();
  const worst = join(directory.path, 'worst');
  makeWorstCases(worst);
  const { path } = corpus.place;
  const [{ market, timestampsMs }] = corpus.large as [Corpus['large'][number]];
  const asked = { coin: market.symbol, name: market.conditionId };
  const atMs = timestampsMs[Math.floor(timestampsMs.length / 2)]!;
  const blocking = [
    ...(await blockingOf(path, questionsAboutMarket(CORPUS_BOOKS, asked, atMs), say)),
    ...(await blockingOf(worst, questionsAboutWorstCases(), say)),
  ];
  const key = await createKey(path);
  const pages = pagePaths(corpus);
  const crowds: BoundsFigures['crowds'][number][] = [];
  for (const crowd of CROWDS) {
    const growth = await measureCrowd({ data: path, key, paths: pages }, crowd);
    say(`  ${crowd.clients} clients, ${crowd.pages} pages: ${growthText(growth)}`);
    crowds.push({ crowd, growth });
  }
  const slow = await slowReadersOf(path, key, worst, asked);
  for (const [name, readers] of slow) say(`  slow readers, ${name}: ${growthText(readers.growth)}`);
  return { blocking, crowds, slow };
}

async function blockingOf(
  data: string,
  questions: readonly Question[],
  say: (line: string) => void,
): Promise<Blocking[]> {
  const key = await createKey(data);
  await using server = await startServer(data);
  await using probe = await startProbe(server.origin);
  return await measureBlocking(data, questions, { origin: server.origin, key, probe }, say);
}

async function slowReadersOf(
  data: string,
  key: string,
  worst: string,
  market: AskedMarket,
): Promise<Map<string, SlowReaders>> {
  const worstKey = await createKey(worst);
  const deep = WORST_CASES.find(({ name }) => name.includes('4999'))!.market;
  const ofCorpus = (path: string, headers: Record<string, string> = {}) =>
    measureSlowReaders({ data, key, paths: [`/v1/${market.coin}/markets/${market.name}/${path}`], headers }, READERS);
  const ofWorst = (path: string) =>
    measureSlowReaders(
      { data: worst, key: worstKey, paths: [`/v1/${deep.coin}/markets/${deep.name}/${path}`] },
      READERS,
    );
  return new Map([
    [`page of ${PAGE}, ${CORPUS_BOOKS}`, await ofCorpus(`snapshots?limit=${PAGE}`)],
    [`page of ${PAGE}, 2 × 4999 levels`, await ofWorst(`snapshots?limit=${PAGE}`)],
    ['export as ndjson', await ofCorpus('export?format=ndjson')],
    ['export as ndjson, zstd', await ofCorpus('export?format=ndjson', { 'accept-encoding': 'zstd' })],
    ['export as ndjson, 2 × 4999 levels', await ofWorst('export?format=ndjson')],
  ]);
}

async function createKey(data: string): Promise<string> {
  const args = ['key', 'create', '--data', data, '--tier', 'enterprise', '--rpm', REQUESTS_PER_MINUTE];
  const { code, stdout, stderr } = await runExecutable(args);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Pages of the corpus, one behind the other. */
function pagePaths({ large }: Corpus): string[] {
  return large.flatMap(({ market, timestampsMs }) =>
    Array.from({ length: Math.floor(timestampsMs.length / PAGE) }, (_, page) => {
      const fromMs = timestampsMs[page * PAGE]!;
      return `/v1/${market.symbol}/markets/${market.conditionId}/snapshots?limit=${PAGE}&from=${fromMs}`;
    }),
  );
}

export function boundsSection({ blocking, crowds, slow }: BoundsFigures): Section {
  const blocked = blocking.map(({ name, form, bytes, inProcess, overHttp }) => [
    name,
    form,
    figure(bytes / 1e6),
    shown(inProcess),
    figure(overHttp),
  ]);
  const ofCrowds = crowds.map(({ crowd, growth }) => [
    `${crowd.clients} clients, ${crowd.pages} pages`,
    ...[growth.before, growth.peak, growth.after].map(inMegabytes),
  ]);
  const ofReaders = [...slow].map(([name, readers]) => [
    name,
    ...[readers.growth.before, readers.growth.peak, readers.growth.after].map(inMegabytes),
    ((costOfReader(readers) / MB) * 1000).toFixed(0),
  ]);
  const text = `## Bounds

### How long one request keeps others waiting

The longest stretch of one answer in which the event loop serves nothing else: in this process, and as a second connection of the
executable sees it, which asks for \`/healthz\` every millisecond (less what it waits when nothing else is asked). Of every kind of
request the worst of its forms: ascending and descending, JSON and msgpack, identity, gzip and zstd; of an export its formats. The
archive changes before each one, so that nothing is answered from memory. An answer is read to its end, of an export 16 MB.

Besides the corpus, books such as no venue has: whole sides at ticks of 0.001 and 0.0001, and at the limit of 10,000 levels; a coin with
${CROWDED_MARKETS} markets; a market with ${GAPS} gaps.

${table(['request', 'worst form', 'MB', 'ms in process', 'ms over HTTP'], blocked)}

### Memory under many clients

Resident memory of a fresh executable, warmed up with ${WARM_UP_PAGES} pages of ${PAGE}: before, the most, and ${SETTLE_MS / 1000} s after all pages were read.

${table(['crowd', 'MB before', 'MB at most', 'MB after'], ofCrowds)}

### Memory for slow readers

${READERS} clients that ask for one answer each and then take a piece of it four times a second. What they hold is what a
fresh executable has more than before they came, while they are still there.

${table(['answer', 'MB before', 'MB at most', 'MB with them', 'kB a reader'], ofReaders)}`;
  return { text, goals: goalsOf(blocking) };
}

function goalsOf(blocking: readonly Blocking[]): Goal[] {
  const ofCorpus = blocking.filter(({ name }) => name.endsWith(CORPUS_BOOKS));
  return [
    longestGoal(`the longest that a request about ${CORPUS_BOOKS} keeps others waiting`, ofCorpus),
    longestGoal('the longest that any request keeps others waiting', blocking),
  ];
}

function longestGoal(figureName: string, blocking: readonly Blocking[]): Goal {
  const worst = blocking.reduce((a, b) => (a.overHttp >= b.overHttp ? a : b));
  return {
    figure: figureName,
    asked: `≤ ${BLOCKING_MS_MAX} ms`,
    measured: `${figure(worst.overHttp)} ms (${worst.name})`,
    met: worst.overHttp <= BLOCKING_MS_MAX,
  };
}

function inMegabytes(bytes: number): string {
  return (bytes / MB).toFixed(0);
}

function growthText({ before, peak, after }: Growth): string {
  return `${inMegabytes(before)} → ${inMegabytes(peak)} → ${inMegabytes(after)} MB`;
}
