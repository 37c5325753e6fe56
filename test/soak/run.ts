import { join } from 'node:path';
import { stolenShare, ticks } from '../bench/http/stolen.ts';
import { gatherRealRecordings, HAS_REAL_RECORDINGS } from '../crash/real-recording.ts';
import { cpuSeconds, filesMax, residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed, runExecutable } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, writeLightRecording } from '../support/light-recording.ts';
import { childrenOf } from '../support/processes.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Attack, noAttacks, underAttack } from './attack.ts';
import { type Fault, Load } from './load.ts';
import { type Minute, minuteOf, verdictOf } from './minute.ts';
import { marketsOf, mixOf, type SeenMarket } from './mix.ts';
import { type Circumstances, resultsText } from './results.ts';

/**
 * The long run: `make soak MINUTES=20`. Loads the executable with typical requests, in every second period also with attackers,
 * and measures memory, latencies and errors. Writes RESULTS.md next to this file. The exit code is 1 if memory grows, an answer is
 * wrong, latencies rise, or the attackers delay other clients too much. SOAK_MINUTES may be a fraction; SOAK_SEED selects another
 * sequence of requests. With SOAK_PROCESSES the server has so many, and the file is PROCESSES.md.
 */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 20);
const SEED = Number(process.env.SOAK_SEED ?? 20_260_416);
const PROCESSES = Number(process.env.SOAK_PROCESSES ?? 1);
const MINUTE_MS = 60_000;
/** Minimum number of periods, so that both kinds of them have thirds in a run of a few minutes too. */
const PERIODS_MIN = 18;
const PERIOD_MS = Math.min(MINUTE_MS, (MINUTES * MINUTE_MS) / PERIODS_MIN);
/** Periods before the measured ones: half of them with attackers, whose first work takes memory that later work uses again. */
const WARM_UP_PERIODS = 4;
/** Time for the service to get used to the beginning or the end of an attack, before a period. */
const CHANGE_MS = Math.min(5000, PERIOD_MS * 0.2);
const FULL_SPEED_MS = Math.min(30_000, MINUTES * MINUTE_MS * 0.1);
const WORKERS = 16;
/**
 * Both kinds of periods have the same load: a part of the requests that the service answers during an attack without waiting. The
 * attackers always have work for the service, so one processor is busy. With a load that needs the other one too, the latencies
 * would show that processors are scarce, not which turns the service gives to its clients.
 */
const SHARE_OF_FULL_SPEED = 0.3;
const CUSTOMERS = 16;
const ATTACK = {
  resettingKeys: 4,
  unreadExports: 64,
  coverageQuestions: 1000,
  idleConnections: 2000,
  slowConnections: 300,
} as const;
/** Connections of the attackers and of the load, and the server's own files. */
const FILES_MIN = 5000;
const PARQUET_FILES = 30;
/** Snapshots per import during the load, and before it. */
const IMPORTED_SNAPSHOTS = 2000;
const SAMPLE_MS = 1000;
const LIMITED_RPM = 60;

/** An archive and its server. */
interface Serving {
  readonly data: string;
  readonly directory: string;
  readonly origin: string;
  readonly server: Child;
}

async function main(): Promise<number> {
  if (!(MINUTES > 0)) throw new Error('SOAK_MINUTES must be a number of minutes, 20 or 0.5');
  if (filesMax() < FILES_MIN) throw new Error(`the attackers open many connections: raise ulimit -n to ${FILES_MIN}`);
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  await fill(data, directory.path);
  const customers = await newKeys(data, CUSTOMERS);
  const limited = await issueKey(data, 'enterprise', LIMITED_RPM);
  const rotating = await issueKey(data);
  const unknown = (await issueKey(join(directory.path, 'elsewhere'))).key;
  await using server = startChild([
    ...[EXECUTABLE, 'serve', '--port', '0', '--data', data],
    ...['--processes', String(PROCESSES)],
  ]);
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  const serving = { data, directory: directory.path, origin: origin!, server };
  const random = randomsOf(SEED);
  const markets = await marketsOf(origin!, customers[0]!);
  const load = new Load(origin!, mixOf(markets, { ample: customers, limited: limited.key, unknown }, random));
  const attack = await attackOn(serving, markets);
  const counts = noAttacks();
  const fullSpeed = await underAttack(attack, counts, () => load.fullSpeed(WORKERS, FULL_SPEED_MS));
  const perSecond = fullSpeed * SHARE_OF_FULL_SPEED;
  console.error(`${fullSpeed.toFixed(0)} requests/s at full speed, ${perSecond.toFixed(0)} from now on`);
  let ended = false;
  const pacing = load.paced(perSecond, random, () => ended);
  const events: string[] = [];
  const otherWork = importAndRotate(serving, load, rotating, events, () => ended);
  const faults: Fault[] = [];
  const minutes: Minute[] = [];
  const periods = Math.round((MINUTES * MINUTE_MS) / PERIOD_MS);
  for (let period = -WARM_UP_PERIODS; period < periods; period += 1) {
    const isAttacked = period % 2 !== 0;
    const watched = () => watch(serving, load, events, faults, isAttacked);
    const minute = await (isAttacked ? underAttack(attack, counts, watched) : watched());
    if (period >= 0) minutes.push(minute);
    console.error(JSON.stringify(minute));
  }
  ended = true;
  await Promise.all([pacing, otherWork]);
  faults.push(...load.take().faults, ...counts.wrong.map((what) => ({ kind: 'attackers', path: '', what })));
  server.kill('SIGTERM');
  const exitCode = await server.exited;
  const circumstances: Circumstances = {
    minutes: MINUTES,
    processes: PROCESSES,
    fullSpeed,
    perSecond,
    seed: SEED,
    recording: HAS_REAL_RECORDINGS
      ? 'real books and a capture of frames, and simulated recordings'
      : 'simulated recordings',
    attack,
    counts,
    exitCode,
  };
  const verdict = verdictOf(minutes);
  const text = await resultsText(circumstances, minutes, verdict, faults);
  await Bun.write(join(import.meta.dir, PROCESSES === 1 ? 'RESULTS.md' : 'PROCESSES.md'), text);
  console.log(text);
  return faults.length === 0 &&
    verdict.isClean &&
    verdict.isBounded &&
    verdict.isFlat &&
    verdict.isFair &&
    exitCode === 0
    ? 0
    : 1;
}

/** Keys with all rights and no limit that matters. */
async function newKeys(data: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  while (keys.length < count) keys.push((await issueKey(data)).key);
  return keys;
}

/** The attackers ask for the largest market. */
async function attackOn({ data, origin }: Serving, markets: readonly SeenMarket[]): Promise<Attack> {
  const { resettingKeys, ...sizes } = ATTACK;
  const [unread, coverage, slow, ...reset] = (await newKeys(data, 3 + resettingKeys)) as [string, string, string];
  const market = markets.reduce((one, other) => (other.snapshots > one.snapshots ? other : one));
  return { origin, market, keys: { reset, unread, coverage, slow }, ...sizes };
}

/** Counts for one period, after a time for the change. */
async function watch(
  { server }: Serving,
  load: Load,
  events: string[],
  faults: Fault[],
  isAttacked: boolean,
): Promise<Minute> {
  await Bun.sleep(CHANGE_MS);
  faults.push(...load.take().faults);
  const startedMs = performance.now();
  const ofAll = (read: (pid: number) => number) =>
    [server.pid, ...childrenOf(server.pid)].reduce((sum, pid) => sum + read(pid), 0);
  const before = { ticks: ticks(), cpu: ofAll(cpuSeconds) };
  const rssBytes: number[] = [];
  while (performance.now() - startedMs < PERIOD_MS) {
    await Bun.sleep(Math.min(SAMPLE_MS, PERIOD_MS));
    rssBytes.push(ofAll(residentBytes));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const tally = load.take();
  faults.push(...tally.faults);
  return minuteOf(tally, {
    seconds,
    rssBytes,
    cpuShare: (ofAll(cpuSeconds) - before.cpu) / seconds,
    stolenShare: stolenShare(before.ticks, ticks()),
    otherWork: events.splice(0),
    isAttacked,
  });
}

/** Imports all available recordings into an archive. */
async function fill(data: string, directory: string): Promise<void> {
  await printed(['seed', '--data', data]);
  if (HAS_REAL_RECORDINGS) {
    const recording = join(directory, 'recording');
    gatherRealRecordings(recording, PARQUET_FILES);
    // Exit code 1: records were rejected, which happens with real recordings.
    const { code, stderr } = await runExecutable(['import', recording, '--data', data]);
    if (code !== 0 && code !== 1) throw new Error(stderr);
  }
  await importMore(data, directory, 0);
}

async function importMore(data: string, directory: string, round: number): Promise<void> {
  const recording = join(directory, 'more.ndjson');
  writeLightRecording(recording, IMPORTED_SNAPSHOTS, round * IMPORTED_SNAPSHOTS);
  await printed(['import', recording, '--data', data]);
}

/** Rotates a key and imports a file, each once per period, and checks that the service uses both at once. */
async function importAndRotate(
  { data, directory }: Serving,
  load: Load,
  rotating: { id: string; key: string },
  events: string[],
  ended: () => boolean,
): Promise<void> {
  let { key } = rotating;
  const tiers = (presented: string, statuses: readonly number[]) => ({
    kind: 'a key that is rotated',
    path: '/v1/billing/tiers',
    headers: { authorization: `Bearer ${presented}` },
    statuses,
    fixed: false,
  });
  for (let round = 1; !ended(); round += 1) {
    await importMore(data, directory, round);
    const lastMs = LIGHT_START_MS + ((round + 1) * IMPORTED_SNAPSHOTS - 1) * 10;
    await load.ask({
      kind: 'what was just imported',
      path: `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots?from=${lastMs}&to=${lastMs}`,
      headers: { authorization: `Bearer ${key}` },
      statuses: [200],
      fixed: false,
    });
    events.push('import');
    await load.ask(tiers(key, [200]));
    const rotated = JSON.parse(await printed(['key', 'rotate', rotating.id, '--json', '--data', data])) as {
      key: string;
    };
    // Its address may have reached the limit.
    await load.ask(tiers(key, [401, 429]));
    key = rotated.key;
    await load.ask(tiers(key, [200]));
    events.push('rotation');
    for (let waitedMs = 0; waitedMs < PERIOD_MS && !ended(); waitedMs += SAMPLE_MS) await Bun.sleep(SAMPLE_MS);
  }
}

process.exit(await main());
