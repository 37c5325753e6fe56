import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Importer } from '../../src/import/importer.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { openArchive } from '../../src/store/archive.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Stored, storedIn } from '../support/stored.ts';

/** The states and the result of an import that is not killed. */
export interface WholeImport {
  /** Path of the recording, a file or a directory. */
  readonly recording: string;
  /** Source items stored at each end of a batch, by the highest id then; 0 at the start. */
  readonly edges: ReadonlyMap<number, number>;
  /** Records that have an id, as lines of an export. */
  readonly records: ReadonlyMap<number, string>;
  /** Source items of the recording. */
  readonly items: number;
  /** Duration of the executable's import. */
  readonly durationMs: number;
}

export interface KillTally {
  /** Killed imports. */
  kills: number;
  /** Of these, the imports that had stored a part. */
  interrupted: number;
  /** Archives that another import completed after their kills. */
  completed: number;
  /** Records that had to be stored after a kill, sum of all kills. */
  records: number;
  readonly restartsMs: number[];
}

export interface KillPlan {
  readonly whole: WholeImport;
  readonly kills: number;
  readonly seed: number;
  /** Number of kills between two starts of a server. */
  readonly restartEvery: number;
}

/** After this number of kills an import may complete. */
const KILLS_PER_ARCHIVE_MAX = 8;
/** Kills come within the import's own duration, multiplied by this. */
const KILL_WITHIN = 1.2;
const READ = /(\d+) records read/g;
const STORED = /(\d+) stored/g;
const NO_TABLES = /no such table|unable to open database file/;

export function noKills(): KillTally {
  return { kills: 0, interrupted: 0, completed: 0, records: 0, restartsMs: [] };
}

/** Imports a recording without a kill: in this process, to see every batch, and with the executable, to measure its duration. */
export async function wholeImport(recording: string): Promise<WholeImport> {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const edges = new Map([[0, 0]]);
  const archive = openArchive(data, NOW_MS, { create: true });
  let items = 0;
  try {
    const given = archive.database.query<{ last: number | null }, []>('SELECT MAX(last_id) AS last FROM given_ids');
    const onProgress = ({ stored }: { stored: number }) => void edges.set(given.get()?.last ?? 0, stored);
    const report = await new Importer(archive, { clock: () => NOW_MS, onProgress }).run(sourcesOf([recording]));
    edges.set(given.get()?.last ?? 0, report.total.stored);
    items = report.total.read;
  } finally {
    archive.database.close();
  }
  const startedMs = performance.now();
  const timed = await runExecutable(['import', recording, '--data', join(directory.path, 'timed')]);
  const durationMs = performance.now() - startedMs;
  assert.equal(timed.code, 0, timed.stderr);
  const records = await exported(data);
  assert.equal(records.size, Math.max(...edges.keys()));
  return { recording, edges, records, items, durationMs };
}

/**
 * Kills imports at random moments until an archive is complete, and checks it after each kill. Throws if a record is missing, a
 * batch is incomplete, or the archive is damaged.
 */
export async function killImports(plan: KillPlan, tally: KillTally): Promise<void> {
  const random = randomsOf(plan.seed);
  while (tally.kills < plan.kills) {
    using directory = temporaryDirectory();
    await killOnTheWay(plan, tally, join(directory.path, 'data'), random);
  }
}

async function killOnTheWay(plan: KillPlan, tally: KillTally, data: string, random: () => number): Promise<void> {
  const { whole } = plan;
  const all = Math.max(...whole.edges.keys());
  let kept = 0;
  for (let kills = 0; kept < all && kills < KILLS_PER_ARCHIVE_MAX && tally.kills < plan.kills; kills += 1) {
    const due = tally.kills % 2 === 0 ? afterTime(random(), whole) : afterItems(random(), whole);
    const { killed, reported } = await killImport(whole.recording, data, due);
    const before = kept;
    kept = await checked(data, whole, before);
    const stored = whole.edges.get(kept)! - whole.edges.get(before)!;
    assert.ok(kept >= before && stored >= reported, `${reported} were reported as stored, ${stored} are`);
    if (!killed) break;
    tally.kills += 1;
    tally.records += kept;
    if (kept > 0 && kept < all) tally.interrupted += 1;
    if (tally.kills % plan.restartEvery === 0) await restart(data, tally);
  }
  const last = await runExecutable(['import', whole.recording, '--data', data, '--json']);
  assert.equal(last.code, 0, last.stderr);
  assert.equal(await checked(data, whole, 0), all);
  tally.completed += 1;
}

interface KilledImport {
  /** False if it ended before the kill. */
  readonly killed: boolean;
  /** The highest number of stored records in a progress line. */
  readonly reported: number;
}

/** Whether to kill now, by the import's running time and the progress it printed. */
type Due = (elapsedMs: number, read: number) => boolean;

function afterTime(share: number, { durationMs }: WholeImport): Due {
  return (elapsedMs) => elapsedMs >= share * KILL_WITHIN * durationMs;
}

/** After a share of the input, at whatever speed a loaded machine reads it. */
function afterItems(share: number, { items }: WholeImport): Due {
  return (_, read) => read >= share * items;
}

/** Runs an import on a terminal, where it prints its progress every 100 ms, and kills it. */
async function killImport(recording: string, data: string, due: Due): Promise<KilledImport> {
  let screen = '';
  const decoder = new TextDecoder();
  const terminal = {
    cols: 200,
    rows: 20,
    data: (_: unknown, bytes: Uint8Array) => {
      screen += decoder.decode(bytes, { stream: true });
    },
  };
  const child = Bun.spawn([EXECUTABLE, 'import', recording, '--data', data], { terminal });
  const startedMs = performance.now();
  const mostOf = (word: RegExp) => Math.max(0, ...[...screen.matchAll(word)].map((match) => Number(match[1])));
  while (child.exitCode === null && !due(performance.now() - startedMs, mostOf(READ))) await Bun.sleep(1);
  child.kill('SIGKILL');
  await child.exited;
  // Its last output may still be in the terminal's buffer.
  await Bun.sleep(20);
  child.terminal?.close();
  return { killed: child.signalCode === 'SIGKILL', reported: mostOf(STORED) };
}

/**
 * Checks the archive after a kill: it is sound, its batches are complete, and its records are correct. Records are not compared
 * if the archive has no more than `before`. Returns the highest id.
 */
async function checked(data: string, { edges, records }: WholeImport, before: number): Promise<number> {
  const stored = storedOrNone(data);
  if (stored === undefined) return 0;
  assert.equal(stored.integrity, 'ok');
  const last = stored.givenIds.at(-1)?.last ?? 0;
  assert.deepEqual(stored.givenIds, last === 0 ? [] : [{ first: 1, last }]);
  assert.ok(edges.has(last), `${last} records are stored, but no batch ends there`);
  const verified = await runExecutable(['verify', '--data', data]);
  assert.equal(verified.code, 0, `${verified.stdout}${verified.stderr}`);
  if (last === before) return last;
  const found = await exported(data);
  assert.equal(found.size, last);
  for (const [id, record] of found) assert.equal(record, records.get(id));
  return last;
}

/** Undefined if the kill came before the tables were created. */
function storedOrNone(data: string): Stored | undefined {
  if (!existsSync(join(data, 'bookreel.db'))) return undefined;
  try {
    return storedIn(data);
  } catch (error) {
    if (error instanceof Error && NO_TABLES.test(error.message)) return undefined;
    throw error;
  }
}

/** The records of an archive by id, each as a line of an export. */
async function exported(data: string): Promise<Map<number, string>> {
  const { code, stdout, stderr } = await runExecutable(['export', '--data', data]);
  assert.equal(code, 0, stderr);
  const records = new Map<number, string>();
  for (const line of stdout.split('\n')) {
    const id = /^\{"type":"[a-zA-Z]+","id":"(\d+)"/.exec(line)?.[1];
    // Markets and gaps have no id.
    if (id !== undefined) records.set(Number(id), String(Bun.hash(line)));
  }
  return records;
}

/** Starts a server on the archive after a kill. Returns the time until /readyz answers 200. */
async function restart(data: string, tally: KillTally): Promise<void> {
  const startedMs = performance.now();
  await using server = await startServer(data);
  while (!(await fetch(`${server.origin}/readyz`)).ok) await Bun.sleep(1);
  tally.restartsMs.push(performance.now() - startedMs);
  await server.stop();
}
