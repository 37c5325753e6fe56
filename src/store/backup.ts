import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { hasKeys } from './api-keys.ts';
import {
  BACKUP_FILES,
  BACKUP_NAMES,
  type BackedUpFile,
  type BackupContent,
  digestOf,
  readManifest,
  writeManifest,
} from './backup-manifest.ts';
import { compressDatabase } from './compressed-database.ts';
import { refuseShared } from './data-directory.ts';
import { Database } from './database.ts';
import { explained, MissingFile } from './database-errors.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from './database-file.ts';
import { type DiskFloor, NO_FLOOR, refuseSmallDisk } from './disk-floor.ts';
import { sizeAndDigest } from './file-digest.ts';
import { KEY_SECRET_FILE, missingSecret, readSecret, writeSecret } from './key-secret.ts';
import { discard, draftOf, flush, writeNew } from './on-disk.ts';
import { copySealedFiles, type SealedCopies, sealedBytesFor, shareFile } from './sealed-copies.ts';
import { BOOKS, DAY, SEALED_FILE, type SealedMarket } from './sealed-files.ts';

/** The databases are copied this often at most. The second copy is almost always enough: the files that it names are there since the first. */
const COPIES_MAX = 4;
/** No floor. */

export interface CopyOptions {
  /** A backup replaces an existing backup; a restore sets an existing archive aside. */
  readonly force: boolean;
  /**
   * Verifies the copy, a data directory, before it gets its name; throws when it has a fault. `isKnown`: the file of a sealed market was
   * verified in an earlier copy.
   */
  readonly check: (directory: string, isKnown: (market: SealedMarket) => boolean) => Promise<void>;
  /** The free space that the copy leaves on the disk of the archive; left out: none. */
  readonly floor?: DiskFloor;
}

export interface BackUpOptions extends CopyOptions {
  /** The number of copies of files that cannot be linked for which the disk needs room. Default: 1. */
  readonly copies?: number;
  /** An earlier backup: files of sealed markets that it has are shared by hard links. Default: the one that this one replaces. */
  readonly earlier?: string | undefined;
}

export interface Backup extends BackupContent {
  readonly directory: string;
  readonly sealed: SealedCopies;
  /** The bytes that this backup has added to its place, but for the manifest and the key secret: compressed databases, and files that are no links. */
  readonly writtenBytes: number;
}

/** A query for counts that a copy must have too; those in `growing` never decrease. */
interface Count {
  readonly sql: string;
  readonly growing: readonly string[];
}
const COUNTS: Readonly<Record<string, Count>> = {
  [RECORDINGS.name]: {
    growing: ['ids'],
    sql: `SELECT (SELECT COUNT(*) FROM markets) AS markets, (SELECT COUNT(*) FROM gaps) AS gaps,
      (SELECT COALESCE(SUM(last_id - first_id + 1), 0) FROM given_ids) AS ids, COUNT(*) AS segments,
      COALESCE(SUM(records), 0) AS records FROM (SELECT records FROM segments UNION ALL SELECT records FROM sealed_series)`,
  },
  [ACCOUNTS.name]: {
    growing: ['accounts', 'keys', 'grants', 'payments', 'entries'],
    sql: `SELECT (SELECT COUNT(*) FROM accounts) AS accounts, (SELECT COUNT(*) FROM api_keys) AS keys,
      (SELECT COUNT(*) FROM grants) AS grants, (SELECT COUNT(*) FROM payments) AS payments, (SELECT COUNT(*) FROM audit) AS entries`,
  },
  [ACTIVITY.name]: {
    growing: [],
    sql: 'SELECT (SELECT COUNT(*) FROM sessions) AS sessions, (SELECT COUNT(*) FROM usage) AS usage',
  },
};
type Counts = Readonly<Record<string, number>>;

/**
 * Copies the databases of `directory`, each in one state, and the key secret to the new directory `target`, with a manifest. A
 * server and imports may run meanwhile. The copy is written under another name, synced to disk, counted and checked, then compressed
 * and read again, and gets its own name last: a directory of that name is a complete backup.
 *
 * Throws 'conflict' when `target` exists and `force` is not set, or is not a backup, 'invalid-parameter' for a target that contains
 * the data directory or lies in it, 'unavailable' when something cannot be read or written, when the disk has no room, or when the
 * databases are replaced during the copy, and what `check` throws.
 */
export async function backUp(
  directory: string,
  name: string,
  clock: () => InstantMs,
  { force, check, floor = NO_FLOOR, copies = 1, earlier = force && existsSync(name) ? name : undefined }: BackUpOptions,
): Promise<Backup> {
  const target = resolve(name);
  refuseNoArchive(directory);
  refuseTarget(directory, name, force);
  explained(target, () => {
    // Each database is there twice for a moment: as it was copied, and compressed.
    const bytes = 2 * bytesIn(directory) + sealedBytesFor(directory, target, earlier, copies);
    refuseSmallDisk(dirname(target), bytes, directory, floor);
  });
  const draft = draftOf(target);
  try {
    explained(draft, () => mkdirSync(draft, { mode: 0o700 }));
    const { content, sealed } = copyWhole(directory, draft, clock, { earlier });
    await check(draft, (market) => earlier !== undefined && shareFile(draft, earlier, market));
    let writtenBytes = sealed.bytesWritten;
    for (const file of content.files) writtenBytes += await compressDatabase(join(draft, file.name), file);
    explained(target, () => {
      writeManifest(draft, content);
      flush(draft);
      installBackup(draft, directory, name, force);
    });
    return { directory: target, ...content, sealed, writtenBytes };
  } finally {
    discard(draft);
  }
}

/**
 * Writes a backup without a manifest into a new directory `draft` within `directory`, with pages where the databases have them, and links to the
 * files of sealed markets. Throws as `backUp` does.
 */
export async function writeCopy(
  directory: string,
  draft: string,
  clock: () => InstantMs,
  {
    check,
    isKnown,
    floor = NO_FLOOR,
  }: Pick<CopyOptions, 'check' | 'floor'> & { readonly isKnown: (market: SealedMarket) => boolean },
): Promise<BackupContent> {
  refuseNoArchive(directory);
  explained(draft, () => {
    refuseSmallDisk(directory, bytesIn(directory), directory, floor);
    mkdirSync(draft, { mode: 0o700 });
  });
  const { content } = copyWhole(directory, draft, clock, { inPlace: true });
  await check(draft, isKnown);
  return content;
}

function refuseNoArchive(directory: string): void {
  explained(directory, () => refuseShared(directory));
  if (BACKUP_FILES.some(({ name }) => existsSync(join(directory, name)))) return;
  // Says that there is no archive.
  Database.openToRead(join(directory, RECORDINGS.name), RECORDINGS).close();
}

/** One sentence when a data directory has keys and their secret is missing or damaged: then no key is valid. */
export function keySecretFault(directory: string): string | undefined {
  try {
    secretOf(directory, join(directory, KEY_SECRET_FILE));
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && !(error.cause instanceof Error)) return error.message;
    throw error;
  }
}

function refuseTarget(directory: string, name: string, force: boolean): void {
  const target = resolve(name);
  const exists = existsSync(target);
  explained(target, () => {
    const place = exists ? realpathSync(target) : join(realpathSync(dirname(target)), basename(target));
    const data = realpathSync(directory);
    const isInside = isWithin(data, place);
    if (!isInside && !isWithin(place, data)) return;
    const how = isInside ? 'lies in the data directory itself' : 'contains the data directory';
    const sentence = `'${name}' ${how}: name a directory elsewhere, best on another disk`;
    throw new DomainError('invalid-parameter', sentence);
  });
  if (!exists) return;
  if (!force) {
    throw new DomainError('conflict', `'${target}' exists already: name another directory, or replace it with --force`);
  }
  refuseOther(target);
}

/** Throws 'conflict' if a directory is not a backup, or also has other files. */
function refuseOther(target: string): void {
  try {
    readManifest(target);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError('conflict', `'${target}' is not a backup, so it is not replaced: name another directory`);
  }
  const entries = explained(target, () => readdirSync(target, { withFileTypes: true }));
  const other = entries.find((entry) =>
    entry.isFile() ? !BACKUP_NAMES.has(entry.name) : entry.name !== BOOKS || !hasOnlySealed(join(target, BOOKS)),
  );
  if (other === undefined) return;
  throw new DomainError(
    'conflict',
    `'${target}' has '${other.name}', which no backup has, so it is not replaced: name another directory`,
  );
}

/** Returns true if a folder of sealed markets has only files that `seal` names. */
function hasOnlySealed(folder: string): boolean {
  const entriesIn = (path: string) => explained(path, () => readdirSync(path, { withFileTypes: true }));
  return entriesIn(folder).every(
    (day) =>
      day.isDirectory() &&
      DAY.test(day.name) &&
      entriesIn(join(folder, day.name)).every((file) => file.isFile() && SEALED_FILE.test(file.name)),
  );
}

/** Returns true if a directory is a backup and has nothing else. */
export function isBackup(target: string): boolean {
  try {
    refuseOther(target);
    return true;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return false;
  }
}

/** Returns true if a real path is the directory or lies in it. */
function isWithin(directory: string, path: string): boolean {
  const [first] = relative(directory, path).split(sep);
  return first !== '..';
}

/** The identities of the databases of a directory, as text: it changes when one is created, deleted or replaced. */
function identitiesIn(directory: string): string {
  return BACKUP_FILES.map(({ name }) => join(directory, name))
    .map((path) => explained(path, () => statSync(path, { throwIfNoEntry: false })))
    .map((found) => `${found?.dev} ${found?.ino}`)
    .join();
}

/** The most that copies of the databases of a directory can have: the logs are merged into them. */
function bytesIn(directory: string): number {
  const paths = BACKUP_FILES.flatMap(({ name }) => [name, `${name}-wal`]).map((name) => join(directory, name));
  return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/**
 * Copies the databases, the key secret and the files of sealed markets. Markets may be deleted or changed after bookreel.db is copied: then the
 * databases are copied again, and the files that are missing.
 */
function copyWhole(
  directory: string,
  draft: string,
  clock: () => InstantMs,
  { earlier, inPlace }: { readonly earlier?: string | undefined; readonly inPlace?: boolean },
) {
  for (let tries = 1; ; tries += 1) {
    const content = copyArchive(directory, draft, clock, inPlace);
    try {
      return { content, sealed: copySealedFiles(draft, { earlier, directory, links: true }) };
    } catch (error) {
      if (!(error instanceof MissingFile) || tries === COPIES_MAX) throw error;
      for (const name of BACKUP_NAMES) discard(join(draft, name));
    }
  }
}

/** Copies the databases and the key secret of one archive. `inPlace`: with their pages in place, see `Database.copyInto`. */
function copyArchive(directory: string, draft: string, clock: () => InstantMs, inPlace = false): BackupContent {
  const identities = identitiesIn(directory);
  // Closed after the databases, see `copyPages`.
  using open = new DisposableStack();
  using sources = new DisposableStack();
  // Opened before the first copy, because a restore does not replace open databases.
  const databases = BACKUP_FILES.map((file) => ({ file, path: join(directory, file.name) }))
    .filter(({ path }) => existsSync(path))
    .map(({ file, path }) => sources.use(Database.openToRead(path, file)));
  const files: BackedUpFile[] = [];
  let secret: Uint8Array | undefined;
  for (const database of databases) {
    const { file } = database;
    const at = formatInstant(clock());
    const path = join(draft, file.name);
    copyDatabase(database, path, inPlace ? open.adopt(openSync(database.path, 'r'), closeSync) : undefined);
    files.push({ name: file.name, at, ...sizeAndDigest(path) });
    // The secret is older than the first key of the copy.
    if (file === ACCOUNTS) secret = secretOf(draft, join(directory, KEY_SECRET_FILE));
  }
  writeSecret(draft, secret);
  // A restore may have begun before the databases were opened.
  if (identitiesIn(directory) !== identities) {
    throw new DomainError('unavailable', `the databases of '${directory}' were just replaced: run this again`);
  }
  return { files, keySecretSha256: digestOf(secret) };
}

/** Copies one state of a database to a new file, which is on disk when this returns. `source`: see `Database.copyInto`. */
function copyDatabase(database: Database, target: string, source: number | undefined): void {
  const { file } = database;
  explained(target, () => {
    // Created empty, so that only its owner can ever read it.
    writeNew(target, '');
    const version = database.version;
    const before = countsOf(database);
    database.copyInto(target, source);
    const unchanged = database.version === version;
    const after = unchanged ? before : countsOf(database);
    flush(target);
    using copy = Database.openToRead(target, file);
    refuseIncomplete(file, before, countsOf(copy), after, unchanged);
  });
}

function countsOf(database: Database): Counts {
  return database.read(() => database.query<Counts, []>(COUNTS[database.file.name]!.sql).get()!);
}

/** If other processes wrote during the copy, its counts must lie between those before and those after. */
function refuseIncomplete(file: DatabaseFile, before: Counts, copy: Counts, after: Counts, unchanged: boolean): void {
  const names = unchanged ? Object.keys(before) : COUNTS[file.name]!.growing;
  const wrong = names.find((name) => copy[name]! < before[name]! || copy[name]! > after[name]!);
  if (wrong === undefined) return;
  throw new DomainError(
    'unavailable',
    `the copy of ${file.name} has ${copy[wrong]} ${wrong}, but the archive has ${before[wrong]}: run this again`,
  );
}

/** The secret in a file; undefined when it is missing and the data directory has no keys that need it. */
function secretOf(directory: string, path: string): Uint8Array | undefined {
  const secret = readSecret(path);
  if (secret !== undefined) return secret;
  const accounts = join(directory, ACCOUNTS.name);
  if (!existsSync(accounts)) return undefined;
  using database = Database.openToRead(accounts, ACCOUNTS);
  if (!hasKeys(database)) return undefined;
  throw missingSecret(path, 'this archive');
}

/** Throws as `refuseTarget` does: the target may have been created or changed during the copy. */
function installBackup(draft: string, directory: string, name: string, force: boolean): void {
  const target = resolve(name);
  refuseTarget(directory, name, force);
  const replaced = force && existsSync(target) ? `${target}.replaced-${randomBytes(6).toString('hex')}` : undefined;
  if (replaced !== undefined) renameSync(target, replaced);
  try {
    // This never replaces a directory with files.
    renameSync(draft, target);
  } catch (error) {
    if (replaced !== undefined) renameSync(replaced, target);
    throw error;
  }
  flush(dirname(target));
  if (replaced !== undefined) rmSync(replaced, { recursive: true });
}
