import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync, realpathSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { hasKeys } from './api-keys.ts';
import { refuseShared } from './data-directory.ts';
import { Database, explained } from './database.ts';
import { ACCOUNTS, RECORDINGS } from './database-file.ts';
import { KEY_SECRET_FILE, readSecret } from './key-secret.ts';
import { flush, writeNew } from './on-disk.ts';
import { schemaDifference } from './schema-difference.ts';
import { LOCK_FILE, ServeLock } from './serve-lock.ts';

export interface CopyOptions {
  /** A backup replaces an existing file; a restore sets an existing archive aside. */
  readonly force: boolean;
  /** Verifies the copy before it gets its name; throws when it has a fault. */
  readonly check: (path: string) => Promise<void>;
}

export interface Backup {
  readonly file: string;
  readonly bytes: number;
  /** The path of the key secret; undefined when the archive has neither a secret nor keys. */
  readonly secretFile: string | undefined;
}

export interface Restored {
  readonly bytes: number;
  /** The new path of the archive that was there before. */
  readonly keptAs: string | undefined;
}

/** These numbers never decrease in an archive. */
const GROWING = ['markets', 'gaps', 'ids'] as const;
type Counts = Readonly<Record<(typeof GROWING)[number] | 'segments' | 'records', number>>;
const COUNT = `SELECT (SELECT COUNT(*) FROM markets) AS markets, (SELECT COUNT(*) FROM gaps) AS gaps,
  (SELECT COALESCE(SUM(last_id - first_id + 1), 0) FROM given_ids) AS ids, COUNT(*) AS segments,
  COALESCE(SUM(records), 0) AS records FROM segments`;

/** Files that SQLite keeps next to a database. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/** The file of a backup's key secret: next to it, so that neither file alone is enough to check a key. */
function secretFileOf(file: string): string {
  return `${file}.${KEY_SECRET_FILE}`;
}

/**
 * Copies one state of the archive of `directory` to `file`, and its key secret next to it. A server and imports may
 * run meanwhile. The copy is written under another name, synced to disk, counted and checked, and gets its own name last: a
 * file of that name is a complete backup.
 *
 * Throws 'conflict' when the file exists and `force` is not set, 'invalid-parameter' for a file inside the data directory,
 * 'unavailable' when something cannot be read or written, and what `check` throws.
 */
export async function backUp(directory: string, file: string, { force, check }: CopyOptions): Promise<Backup> {
  const target = resolve(file);
  explained(directory, () => refuseShared(directory));
  using database = Database.openToRead(join(directory, RECORDINGS.name), RECORDINGS);
  refuseTarget(directory, file, force);
  const secret = secretOf(directory, [join(directory, KEY_SECRET_FILE)], 'this archive is valid: put it back first');
  return await withCopy(database, target, check, (draft, bytes) => {
    installBackup(draft, target, secret);
    return { file: target, bytes, secretFile: secret === undefined ? undefined : secretFileOf(target) };
  });
}

/**
 * Makes the backup `file` the archive of `directory`, with its keys. The copy is checked before it is installed, and gets its
 * name last: if this is interrupted, the directory has no archive or a complete one.
 *
 * Throws 'in-use' when a server or another command uses the directory, 'conflict' when it holds an archive and `force` is not
 * set, 'unavailable' when something is missing or cannot be read or written, and what `check` throws.
 */
export async function restore(file: string, directory: string, { force, check }: CopyOptions): Promise<Restored> {
  if (!existsSync(file)) throw new DomainError('unavailable', `there is no backup '${file}': name the file to restore`);
  using backup = Database.openToRead(file, RECORDINGS);
  const difference = schemaDifference(backup);
  if (difference !== undefined) throw new DomainError('unavailable', difference);
  // The backup's own secret; else the one of the directory.
  const secretFiles = [secretFileOf(file), join(dirname(file), KEY_SECRET_FILE), join(directory, KEY_SECRET_FILE)];
  const secret = secretOf(directory, secretFiles, 'this backup is valid: put it next to the backup');
  const isNew = !existsSync(directory);
  const lock = ServeLock.take(directory);
  let installed = false;
  try {
    const path = join(directory, RECORDINGS.name);
    if (existsSync(path) && !force) {
      throw new DomainError(
        'conflict',
        `'${directory}' holds an archive: name another directory with --data, or set that one aside with --force`,
      );
    }
    return await withCopy(backup, path, check, (draft, bytes) => {
      const keptAs = explained(path, () => installArchive(draft, directory, secret));
      installed = true;
      if (isNew) flush(dirname(resolve(directory)));
      return { bytes, keptAs };
    });
  } finally {
    lock.release();
    if (isNew && !installed) removeEmpty(directory);
  }
}

/** One sentence when the archive has keys and their secret is missing or damaged: then no key is valid. */
export function keySecretFault(path: string): string | undefined {
  try {
    secretOf(dirname(path), [path], 'this archive is valid: put it back first');
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && !(error.cause instanceof Error)) return error.message;
    throw error;
  }
}

function refuseTarget(directory: string, file: string, force: boolean): void {
  const target = resolve(file);
  explained(target, () => {
    if (realpathSync(dirname(target)) === realpathSync(directory)) {
      throw new DomainError(
        'invalid-parameter',
        `'${file}' lies in the data directory itself: name a file elsewhere, best on another disk`,
      );
    }
  });
  for (const path of [target, secretFileOf(target)]) {
    if (!existsSync(path)) continue;
    if (statSync(path).isDirectory()) {
      throw new DomainError('conflict', `'${path}' is a directory: name a file`);
    }
    if (!force) {
      throw new DomainError('conflict', `'${path}' exists already: name another file, or replace it with --force`);
    }
  }
}

function draftOf(target: string): string {
  return `${target}.partial-${randomBytes(6).toString('hex')}`;
}

/** Copies the database under another name than `target`, and calls `install` with a copy that `check` found good. */
async function withCopy<T>(
  database: Database,
  target: string,
  check: CopyOptions['check'],
  install: (draft: string, bytes: number) => T,
): Promise<T> {
  const draft = draftOf(target);
  try {
    const bytes = copyOf(database, draft);
    await check(draft);
    return install(draft, bytes);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Writes the database to `draft`, on disk when this returns, and returns its size. */
function copyOf(database: Database, draft: string): number {
  return explained(draft, () => {
    // Created empty, so that only its owner can ever read it.
    writeNew(draft, '');
    const version = database.version;
    const before = countsOf(database);
    database.copyInto(draft);
    const unchanged = database.version === version;
    const after = unchanged ? before : countsOf(database);
    flush(draft);
    using copy = Database.openToRead(draft, RECORDINGS);
    refuseIncomplete(before, countsOf(copy), after, unchanged);
    return statSync(draft).size;
  });
}

function countsOf(database: Database): Counts {
  return database.read(() => database.query<Counts, []>(COUNT).get()!);
}

/** If other processes wrote during the copy, its counts must lie between those before and those after. */
function refuseIncomplete(before: Counts, copy: Counts, after: Counts, unchanged: boolean): void {
  const names = unchanged ? (Object.keys(before) as (keyof Counts)[]) : GROWING;
  const wrong = names.find((name) => copy[name] < before[name] || copy[name] > after[name]);
  if (wrong === undefined) return;
  throw new DomainError(
    'unavailable',
    `the copy has ${copy[wrong]} ${wrong}, and the archive has ${before[wrong]}: it is not kept`,
  );
}

/** The first secret of `paths`; undefined when there is none and the archive has no keys that need it. */
function secretOf(directory: string, paths: readonly string[], consequence: string): Uint8Array | undefined {
  for (const path of paths) {
    const secret = readSecret(path);
    if (secret !== undefined) return secret;
  }
  const accounts = join(directory, ACCOUNTS.name);
  if (!existsSync(accounts)) return undefined;
  using database = Database.openToRead(accounts, ACCOUNTS);
  if (!hasKeys(database)) return undefined;
  throw new DomainError('unavailable', `'${paths[0]}' is missing, and without it no key of ${consequence}`);
}

function installBackup(draft: string, target: string, secret: Uint8Array | undefined): void {
  explained(target, () => {
    const secretFile = secretFileOf(target);
    if (!holdsSecret(secretFile, secret)) {
      // An older backup must never be next to the secret of another archive.
      rmSync(target, { force: true });
      rmSync(secretFile, { force: true });
      if (secret !== undefined) writeSecret(secretFile, secret);
    }
    renameSync(draft, target);
    flush(dirname(target));
  });
}

/** Returns the new path of the archive that was there before. */
function installArchive(draft: string, directory: string, secret: Uint8Array | undefined): string | undefined {
  const path = join(directory, RECORDINGS.name);
  const secretFile = join(directory, KEY_SECRET_FILE);
  const aside = `.before-restore-${freeNumber(directory)}`;
  const hadArchive = existsSync(path);
  if (hadArchive) {
    Database.mergeLog(path);
    renameSync(path, `${path}${aside}`);
  }
  // Files that a killed process left next to an archive must never be used with another archive.
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${path}${aside}${companion}`);
  }
  if (!holdsSecret(secretFile, secret)) {
    if (existsSync(secretFile)) renameSync(secretFile, `${secretFile}${aside}`);
    if (secret !== undefined) writeSecret(secretFile, secret);
  }
  flush(directory);
  // A link never replaces an archive that was created meanwhile.
  linkSync(draft, path);
  rmSync(draft);
  flush(directory);
  return hadArchive ? `${path}${aside}` : undefined;
}

/** One more than the highest number of a file that was set aside in `directory`. */
function freeNumber(directory: string): number {
  const numbers = readdirSync(directory).map((name) => Number(/\.before-restore-(\d+)/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers) + 1;
}

function holdsSecret(path: string, secret: Uint8Array | undefined): boolean {
  if (!existsSync(path)) return secret === undefined;
  try {
    const held = readSecret(path);
    return secret !== undefined && held !== undefined && Buffer.from(held).equals(secret);
  } catch (error) {
    // A damaged secret is set aside like any other.
    if (error instanceof DomainError) return false;
    throw error;
  }
}

function writeSecret(path: string, secret: Uint8Array): void {
  const draft = draftOf(path);
  writeNew(draft, `${Buffer.from(secret).toString('hex')}\n`);
  renameSync(draft, path);
}

/** Removes a directory that was created and then not needed. */
function removeEmpty(directory: string): void {
  rmSync(join(directory, LOCK_FILE), { force: true });
  try {
    rmdirSync(directory);
  } catch (error) {
    // It is not empty any more: it stays.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
