import { Database as Sqlite } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Importer, type ImportOptions } from '../../src/import/importer.ts';
import type { ImportReport } from '../../src/import/report.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { type Activity, openActivity } from '../../src/store/activity.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { sealAll } from './sealed.ts';

/** The current time in tests, unless they set another: 2026-06-01T00:00:00Z. */
export const NOW_MS = 1_780_272_000_000;

/** A directory that exists until `Symbol.dispose`. */
export function temporaryDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'bookreel-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** The recordings, and the tiers and keys, of a temporary data directory; `Symbol.dispose` removes it. */
export interface TemporaryArchive extends Disposable {
  readonly archive: Archive;
  /** Opened when it is first read: most tests need no keys. */
  readonly registry: Registry;
  /** Opened when it is first read. */
  readonly activity: Activity;
  readonly path: string;
}

/** `from`: the recordings of another data directory, of which this one is a copy. */
export function temporaryArchive(from?: string): TemporaryArchive {
  const directory = temporaryDirectory();
  if (from === undefined) beginWith(directory.path, 'bookreel.db');
  else copyFileSync(join(from, 'bookreel.db'), join(directory.path, 'bookreel.db'));
  const archive = openArchive(directory.path, NOW_MS, { create: true });
  let registry: Registry | undefined;
  let activity: Activity | undefined;
  return {
    archive,
    get registry() {
      if (registry === undefined) beginWith(directory.path, 'accounts.db');
      registry ??= openRegistry(directory.path, { create: false });
      return registry;
    },
    get activity() {
      if (activity === undefined) beginWith(directory.path, 'activity.db');
      activity ??= openActivity(directory.path);
      return activity;
    },
    path: directory.path,
    [Symbol.dispose]: () => {
      archive.database.close();
      registry?.database.close();
      activity?.database.close();
      directory[Symbol.dispose]();
    },
  };
}

/** The bytes of databases without rows of their own, by file. */
let empty: ReadonlyMap<string, Uint8Array> | undefined;

/** Writes an empty database of this version, unless there is one: SQLite takes as long to make its tables as to do all else of a short test. */
function beginWith(directory: string, name: string): void {
  const path = join(directory, name);
  empty ??= emptyDatabases();
  if (!existsSync(path)) writeFileSync(path, empty.get(name)!, { mode: 0o600 });
}

function emptyDatabases(): ReadonlyMap<string, Uint8Array> {
  using directory = temporaryDirectory();
  const { path } = directory;
  openArchive(path, NOW_MS, { create: true }).database.close();
  openRegistry(path, { create: false }).database.close();
  openActivity(path).database.close();
  // Each archive gets an id of its own when it is opened.
  using recordings = new Sqlite(join(path, 'bookreel.db'));
  recordings.run('DELETE FROM archive');
  recordings.close();
  return new Map(['bookreel.db', 'accounts.db', 'activity.db'].map((name) => [name, readFileSync(join(path, name))]));
}

export async function importPaths(archive: Archive, ...paths: string[]): Promise<ImportReport> {
  const report = await new Importer(archive, { clock: () => NOW_MS }).run(sourcesOf(paths));
  sealIfAsked(archive);
  return report;
}

/** Imports records as a file in bookreel's own format. */
export async function importRecords(
  archive: Archive,
  records: readonly object[],
  options: Pick<ImportOptions, 'beforeBatch' | 'mirror'> = {},
): Promise<ImportReport> {
  return await importBytes(archive, records.map((record) => `${JSON.stringify(record)}\n`).join(''), options);
}

/** Imports the bytes of a file `records.ndjson` in bookreel's own format. */
export async function importBytes(
  archive: Archive,
  bytes: string | Uint8Array,
  options: Pick<ImportOptions, 'beforeBatch' | 'mirror'> = {},
): Promise<ImportReport> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'records.ndjson');
  writeFileSync(path, bytes);
  const report = await new Importer(archive, { clock: () => NOW_MS, ...options }).run(sourcesOf([path]));
  sealIfAsked(archive);
  return report;
}

/** With SEALED=1 every test of an imported archive runs on sealed markets. */
function sealIfAsked(archive: Archive): void {
  if (process.env.SEALED === '1') sealAll(archive);
}
