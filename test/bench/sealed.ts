import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, issueKey, printed, startServer } from '../support/executable.ts';
import { growthArchive, statementOf } from './growth-archive.ts';
import { measureRates, type Trial } from './http/trial.ts';
import { figure, type Goal, type Section, shown, table, times } from './report.ts';
import { percentile, type Spread, spreadOf } from './rounds.ts';
import { addSealed, sealedArchive } from './sealed-archive.ts';

const [FEW, MANY] = [3000, Number(process.env.BENCH_SEALED_MARKETS ?? 300_000)];
/** Copies take a time in proportion to the markets. */
const COPIED = Math.min(MANY, 30_000);
const STARTS = 15;
const TOUCHES = 1000;
const REST_MS = 5000;
/** Fewer than a server keeps open. */
const WARM = 32;
const PATHS = 100_000;
const [ROUNDS, SECONDS] = [9, 2];
const NEW_SHARE = 0.01;
/** A market of 5m takes so much on average: 1.4 GB a day for the 2,016 of seven coins. */
const RECORDED_BYTES = 700_000;
const MB = 1024 ** 2;
const START_RATIO_MAX = 1.2;
const MEMORY_MB_MAX = 50;
const TOUCH_MS_MAX = 3;
const WARM_RATIO_MAX = 1.05;
const COPIED_SHARE_MAX = 0.011;

interface Touched {
  readonly median: number;
  readonly p99: number;
}

interface Served {
  /** Milliseconds until the first answer. */
  readonly start: Spread;
  /** Bytes after the first answer, and after that of `TOUCHES` other markets. */
  readonly atRest: number;
  readonly touchedMemory: number;
  /** Milliseconds of a request for a market that was not asked for before, and of one for it again. */
  readonly touched: Touched;
  readonly again: Touched;
}

interface Copied {
  readonly command: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly megabytes: number;
  readonly newFiles: number;
  /** The bytes of files of sealed markets, and of compressed databases. */
  readonly fileBytes: number;
  readonly databaseBytes: number;
}

export interface SealedFigures {
  readonly few: Served;
  readonly many: Served;
  /** Requests for markets that are open in bookreel.db, and for the same ones sealed, as microseconds of one. */
  readonly warm: { readonly open: Spread; readonly sealed: Spread };
  readonly copies: readonly Copied[];
  /** Of the copied markets, before the new ones. */
  readonly bytes: { readonly files: number; readonly database: number };
  readonly sealSeconds: number;
}

/** Measures archives of 3,000 and of 300,000 sealed markets, and 3,000 markets before and after they are sealed. */
export async function measureSealed(say: (line: string) => void): Promise<SealedFigures> {
  using directory = temporaryDirectory();
  const [fewData, manyData] = [sealedArchive(FEW), sealedArchive(MANY)];
  say(`  ${FEW} and ${MANY} sealed markets`);
  const [few, many] = await measureServers(fewData, manyData);
  say(`  starts ${shown(few.start)} and ${shown(many.start)} ms, first touch ${figure(many.touched.median)} ms`);
  const { warm, sealSeconds } = await measureWarm(directory.path);
  say(`  nearest ${shown(warm.open)} µs open, ${shown(warm.sealed)} µs sealed`);
  const { copies, bytes } = await measureCopies(sealedArchive(COPIED), say);
  return { few, many, warm, copies, bytes, sealSeconds };
}

/** The starts alternate. */
async function measureServers(few: string, many: string): Promise<readonly [few: Served, many: Served]> {
  const all = [few, many];
  const starts = all.map((): number[] => []);
  for (let nth = -1; nth < STARTS; nth += 1) {
    for (const [index, data] of all.entries()) {
      const startMs = performance.now();
      await using server = await startServer(data);
      await fetch(`${server.origin}/readyz`);
      // The first one fills the page cache.
      if (nth >= 0) starts[index]!.push(performance.now() - startMs);
    }
  }
  const [ofFew, ofMany] = starts.map(spreadOf) as [Spread, Spread];
  return [await measureTouches(few, ofFew), await measureTouches(many, ofMany)];
}

async function measureTouches(data: string, start: Spread): Promise<Served> {
  const { key } = await issueKey(data);
  await using server = await startServer(data);
  const markets = Number(JSON.parse(await printed(['status', '--json', '--data', data])).sealed.markets);
  const ask = async (nth: number, ms: number) => {
    const path = nearestPath(nth, ms);
    const startNs = Bun.nanoseconds();
    const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
    return (Bun.nanoseconds() - startNs) / 1e6;
  };
  // Connections, statements and compiled code are there before.
  for (let nth = 0; nth < 200; nth += 1) await ask(0, nth);
  await Bun.sleep(REST_MS);
  const atRest = residentBytes(server.pid);
  const [touched, again]: [number[], number[]] = [[], []];
  for (let nth = 1; nth <= TOUCHES; nth += 1) {
    const market = (nth * 7919) % markets;
    touched.push(await ask(market, nth));
    again.push(await ask(market, nth + 1000));
  }
  await Bun.sleep(REST_MS);
  return {
    start,
    atRest,
    touchedMemory: residentBytes(server.pid),
    touched: touchedOf(touched),
    again: touchedOf(again),
  };
}

function touchedOf(values: readonly number[]): Touched {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

function nearestPath(nth: number, ms: number): string {
  const { symbol, conditionId, startMs } = statementOf(nth);
  return `/v1/${symbol}/markets/${conditionId}/snapshots/at/${startMs + ms}`;
}

/** Two servers with the same records, one before `bookreel seal` and one after it, in turns. */
async function measureWarm(directory: string) {
  const open = growthArchive(FEW).data;
  const sealed = join(directory, 'sealed');
  cpSync(open, sealed, { recursive: true });
  const startMs = performance.now();
  await printed(['seal', '--data', sealed]);
  const sealSeconds = (performance.now() - startMs) / 1000;
  await using stack = new AsyncDisposableStack();
  const trials: Trial[] = [];
  for (const [name, data] of Object.entries({ open, sealed })) {
    const { key } = await issueKey(data);
    const server = stack.use(await startServer(data));
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
    const asks = Array.from({ length: PATHS }, (_, nth) => ({ path: nearestPath(nth % WARM, nth), headers }));
    trials.push({ name, origin: server.origin, asks });
  }
  const rates = await measureRates(trials, { rounds: ROUNDS, seconds: SECONDS, directory });
  const micros = (name: string): Spread => {
    const { median, min, max } = rates.get(name)!.requestsPerSecond;
    return { median: 1e6 / median, min: 1e6 / max, max: 1e6 / min };
  };
  return { warm: { open: micros('open'), sealed: micros('sealed') }, sealSeconds };
}

/** A backup, one of the next day with 1 % more markets, and a restore. On the disk of the archive: files are linked. */
async function measureCopies(archive: string, say: (line: string) => void) {
  const place = `${join(tmpdir(), 'bookreel-bench-copies')}-${process.pid}`;
  try {
    mkdirSync(place);
    const data = join(place, 'data');
    // The files are shared by links: they are never changed.
    await shell('cp', '-al', archive, data);
    for (const name of readdirSync(data).filter((each) => each !== 'books')) rmSync(join(data, name));
    cpSync(join(archive, 'bookreel.db'), join(data, 'bookreel.db'));
    const kept = join(place, 'kept');
    const backUp = ['backup', kept, '--keep', '2', '--data', data];
    const copies = [await copied('first backup', backUp, say)];
    const { sealed } = JSON.parse(await printed(['status', '--json', '--data', data]));
    const bytes = { files: sealed.bytes as number, database: statSync(join(data, 'bookreel.db')).size };
    addSealed(data, COPIED, Math.round(COPIED * (1 + NEW_SHARE)));
    copies.push(await copied('backup of the next day', backUp, say));
    const [, last] = readdirSync(kept).sort();
    copies.push(await copied('restore', ['restore', join(kept, last!), '--data', join(place, 'restored')], say));
    return { copies, bytes };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function copied(command: string, args: readonly string[], say: (line: string) => void): Promise<Copied> {
  const startMs = performance.now();
  const child = Bun.spawn([EXECUTABLE, ...args, '--json'], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const { sealed, writtenBytes = sealed.bytesWritten } = JSON.parse(await new Response(child.stdout).text());
  if ((await child.exited) !== 0) throw new Error(`${command} failed`);
  const { cpuTime, maxRSS } = child.resourceUsage()!;
  const found = {
    ...{ command, seconds: (performance.now() - startMs) / 1000, cpuSeconds: Number(cpuTime.total) / 1e6 },
    ...{ megabytes: maxRSS / MB, newFiles: sealed.newFiles, fileBytes: sealed.bytesWritten },
    databaseBytes: writtenBytes - sealed.bytesWritten,
  };
  say(`  ${command}: ${figure(found.seconds)} s, ${figure(found.cpuSeconds)} s of CPU`);
  return found;
}

async function shell(...command: readonly string[]): Promise<void> {
  if ((await Bun.spawn([...command]).exited) !== 0) throw new Error(`${command.join(' ')} failed`);
}

export function sealedSection(figures: SealedFigures): Section {
  const { few, many, warm, copies, bytes, sealSeconds } = figures;
  const startRatio = many.start.median / few.start.median;
  const memory = [many.atRest - few.atRest, many.touchedMemory - few.touchedMemory].map((each) => each / MB);
  const warmRatio = warm.sealed.median / warm.open.median;
  const perMarket = bytes.database / COPIED;
  const compressed = copies[1]!.databaseBytes / COPIED;
  const share = NEW_SHARE + compressed / RECORDED_BYTES;
  const ms = ({ median, p99 }: Touched) => `${figure(median)} (99 %: ${figure(p99)})`;
  const servers = table(
    ['what', `${FEW} sealed`, `${MANY} sealed`],
    [
      ['start to first answer, ms', shown(few.start), shown(many.start)],
      ['resident after the first answer, MB', figure(few.atRest / MB), figure(many.atRest / MB)],
      [`resident after ${TOUCHES} other markets, MB`, figure(few.touchedMemory / MB), figure(many.touchedMemory / MB)],
      ['first request for a market, ms', ms(few.touched), ms(many.touched)],
      ['next request for it, ms', ms(few.again), ms(many.again)],
    ],
  );
  const copyTable = table(
    ['command', 's', 's of CPU', 'MB of memory', 'new files', 'bytes of compressed databases'],
    copies.map(({ command, seconds, cpuSeconds, megabytes, newFiles, databaseBytes }) => [
      ...[command, figure(seconds), figure(cpuSeconds), figure(megabytes), String(newFiles), String(databaseBytes)],
    ]),
  );
  const goals: Goal[] = [
    goal(`start with ${MANY} sealed markets, as one with ${FEW}`, startRatio, START_RATIO_MAX, times),
    goal(`memory with ${MANY} sealed markets more than with ${FEW}, MB`, Math.max(...memory), MEMORY_MB_MAX, figure),
    goal('first request for a sealed market, ms', many.touched.median, TOUCH_MS_MAX, figure),
    goal('warm nearest, sealed as not sealed', warmRatio, WARM_RATIO_MAX, times),
    goal(
      `a day with 1 % new markets of ${RECORDED_BYTES / 1000} kB: share of the bytes that a backup copies`,
      share,
      COPIED_SHARE_MAX,
      (value) => `${(100 * value).toFixed(2)} %`,
    ),
  ];
  return {
    text: `## Sealed markets

Archives of sealed markets, each with 8 small books, derived quotes, midpoints and a trade, in files of ${figure(bytes.files / COPIED / 1000)} kB; by
\`bun test/bench/run.ts sealed\`. bookreel.db has ${figure(perMarket)} bytes for each. Sealing ${FEW} of them took ${figure(sealSeconds)} s.

${servers}

Warm "nearest" of ${WARM} markets, no answer from a cache, with two servers of the same records in turns: ${shown(warm.open)} µs
not sealed, ${shown(warm.sealed)} µs sealed (${times(warmRatio)}).

Copies of an archive of ${COPIED} markets (${figure(bytes.files / 1e9)} GB of files) on its disk, where files are linked; the next day has
1 % more markets. Both backups are restored and verified, as with \`backup --keep\`. In the second one bookreel.db has
${figure(compressed)} bytes for each market.

${copyTable}`,
    goals,
  };
}

function goal(name: string, value: number, most: number, text: (value: number) => string): Goal {
  return { figure: name, required: `≤ ${text(most)}`, measured: text(value), met: value <= most };
}
