import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, realpathSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { hasKeys } from './api-keys.ts';
import { DATABASE_FILE, Database, explained } from './database.ts';
import { KEY_SECRET_FILE, readSecret } from './key-secret.ts';
import { flush, writeNew } from './on-disk.ts';
import { LOCK_FILE, ServeLock } from './serve-lock.ts';

export interface CopyOptions {
  /** A backup takes the place of the file that is there; a restore keeps the archive that is there aside. */
  readonly force: boolean;
  /** Verifies the copy before it gets its name; throws when it is not good. */
  readonly check: (path: string) => Promise<void>;
}

export interface Backup {
  readonly file: string;
  readonly bytes: number;
  /** Where the key secret was written; undefined when the archive has none, and no keys. */
  readonly secretFile: string | undefined;
}

export interface Restored {
  readonly bytes: number;
  /** Where the archive that was there is now. */
  readonly keptAs: string | undefined;
}

/** How much an archive holds. */
interface Counts {
  readonly markets: number;
  readonly gaps: number;
  readonly accounts: number;
  readonly keys: number;
  readonly ids: number;
  readonly segments: number;
  readonly records: number;
}

/** What never becomes less in an archive. */
const GROWING = ['markets', 'gaps', 'accounts', 'keys', 'ids'] as const;
const COUNT = `SELECT (SELECT COUNT(*) FROM markets) AS markets, (SELECT COUNT(*) FROM gaps) AS gaps,
  (SELECT COUNT(*) FROM accounts) AS accounts, (SELECT COUNT(*) FROM api_keys) AS keys,
  (SELECT COALESCE(SUM(last_id - first_id + 1), 0) FROM given_ids) AS ids, COUNT(*) AS segments,
  COALESCE(SUM(records), 0) AS records FROM segments`;

/** Files that SQLite keeps beside a database. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/** Where the key secret of the backup `file` stands: beside it, so that neither alone says anything of a key. */
function secretFileOf(file: string): string {
  return `${file}.${KEY_SECRET_FILE}`;
}

/**
 * Copies the archive of `directory`, as it stands at one moment, to `file`, and its key secret beside it. A server and imports
 * go on meanwhile. The copy is written under another name, brought to disk, counted and checked before it gets its own, which
 * is the last thing that happens: a file of that name is a whole backup.
 *
 * Throws 'conflict' when the file exists and `force` is not set, 'invalid-parameter' for a file inside the data directory,
 * 'unavailable' when something cannot be read or written, and what `check` throws.
 */
export async function backUp(directory: string, file: string, { force, check }: CopyOptions): Promise<Backup> {
  const target = resolve(file);
  const database = Database.openToRead(join(directory, DATABASE_FILE));
  try {
    refuseTarget(directory, file, force);
    const secret = secretOf(database, join(directory, KEY_SECRET_FILE));
    const draft = draftOf(target);
    try {
      const bytes = copyOf(database, draft);
      await check(draft);
      const secretFile = secret === undefined ? undefined : secretFileOf(target);
      installBackup(draft, target, secret);
      return { file: target, bytes, secretFile };
    } finally {
      rmSync(draft, { force: true });
    }
  } finally {
    database.close();
  }
}

/**
 * Makes the backup `file` the archive of `directory`, with its keys. The copy is checked before it is installed, and gets its
 * name last: whenever this is interrupted, the directory holds no archive or a whole one.
 *
 * Throws 'in-use' when a server or another command uses the directory, 'conflict' when it holds an archive and `force` is not
 * set, 'unavailable' when something is missing or cannot be read or written, and what `check` throws.
 */
export async function restore(file: string, directory: string, { force, check }: CopyOptions): Promise<Restored> {
  if (!existsSync(file)) throw new DomainError('unavailable', `there is no backup '${file}': name the file to restore`);
  const backup = Database.openToRead(file);
  try {
    const secret = secretForRestore(backup, file, directory);
    const isNew = !existsSync(directory);
    const lock = ServeLock.take(directory);
    let installed = false;
    try {
      const path = join(directory, DATABASE_FILE);
      if (existsSync(path) && !force) throw holdsArchive(directory);
      const draft = draftOf(path);
      try {
        const bytes = copyOf(backup, draft);
        await check(draft);
        const keptAs = explained(path, () => installArchive(draft, directory, secret));
        installed = true;
        if (isNew) flush(dirname(resolve(directory)));
        return { bytes, keptAs };
      } finally {
        rmSync(draft, { force: true });
      }
    } finally {
      lock.release();
      if (isNew && !installed) removeEmpty(directory);
    }
  } finally {
    backup.close();
  }
}

/** One sentence when the archive has keys and their secret is missing or damaged: then no key is valid. */
export function keySecretFault(database: Database, path: string): string | undefined {
  try {
    secretOf(database, path);
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

/** Writes the database to `draft`, on disk when this returns, and returns its size. */
function copyOf(database: Database, draft: string): number {
  return explained(draft, () => {
    // Empty and for its owner only, before anything is in it.
    writeNew(draft, '');
    const version = database.version;
    const before = countsOf(database);
    database.copyInto(draft);
    const unchanged = database.version === version;
    const after = unchanged ? before : countsOf(database);
    flush(draft);
    const copy = Database.openToRead(draft);
    try {
      refuseIncomplete(before, countsOf(copy), after, unchanged);
    } finally {
      copy.close();
    }
    return statSync(draft).size;
  });
}

function countsOf(database: Database): Counts {
  return database.read(() => database.query<Counts, []>(COUNT).get()!);
}

/** A copy made while others wrote lies between what was there before and after. */
function refuseIncomplete(before: Counts, copy: Counts, after: Counts, unchanged: boolean): void {
  const names = unchanged ? (Object.keys(before) as (keyof Counts)[]) : GROWING;
  const wrong = names.find((name) => copy[name] < before[name] || copy[name] > after[name]);
  if (wrong === undefined) return;
  throw new DomainError(
    'unavailable',
    `the copy has ${copy[wrong]} ${wrong}, and the archive has ${before[wrong]}: it is not kept`,
  );
}

/** Undefined when there is none, which an archive without keys can do without. */
function secretOf(database: Database, path: string): Uint8Array | undefined {
  const secret = readSecret(path);
  if (secret === undefined && hasKeys(database)) {
    throw new DomainError(
      'unavailable',
      `'${path}' is missing, and without it no key of this archive is valid: put it back first`,
    );
  }
  return secret;
}

/** The backup's own secret; else the one that stands where the archive is to be. */
function secretForRestore(backup: Database, file: string, directory: string): Uint8Array | undefined {
  const own = readSecret(secretFileOf(file)) ?? readSecret(join(dirname(file), KEY_SECRET_FILE));
  if (own !== undefined) return own;
  const held = readSecret(join(directory, KEY_SECRET_FILE));
  if (held === undefined && hasKeys(backup)) {
    throw new DomainError(
      'unavailable',
      `'${secretFileOf(file)}' is missing, and without it no key of this backup is valid: put it beside the backup`,
    );
  }
  return held;
}

function installBackup(draft: string, target: string, secret: Uint8Array | undefined): void {
  explained(target, () => {
    const secretFile = secretFileOf(target);
    if (!holdsSecret(secretFile, secret)) {
      // Never an older backup beside the secret of another archive.
      rmSync(target, { force: true });
      rmSync(secretFile, { force: true });
      if (secret !== undefined) writeSecret(secretFile, secret);
    }
    renameSync(draft, target);
    flush(dirname(target));
  });
}

/** Returns where the archive that was there is now. */
function installArchive(draft: string, directory: string, secret: Uint8Array | undefined): string | undefined {
  const path = join(directory, DATABASE_FILE);
  const secretFile = join(directory, KEY_SECRET_FILE);
  const aside = `.before-restore-${freeNumber(directory)}`;
  const hadArchive = existsSync(path);
  if (hadArchive) {
    Database.settle(path);
    renameSync(path, `${path}${aside}`);
  }
  // What a killed process left beside an archive must never meet another one.
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${path}${aside}${companion}`);
  }
  if (!holdsSecret(secretFile, secret)) {
    if (existsSync(secretFile)) renameSync(secretFile, `${secretFile}${aside}`);
    if (secret !== undefined) writeSecret(secretFile, secret);
  }
  flush(directory);
  // A link never takes the place of an archive that somebody began meanwhile.
  linkSync(draft, path);
  rmSync(draft);
  flush(directory);
  return hadArchive ? `${path}${aside}` : undefined;
}

/** The first number under which nothing was kept aside in `directory` yet. */
function freeNumber(directory: string): number {
  const taken = (number: number) =>
    [DATABASE_FILE, ...COMPANIONS.map((companion) => `${DATABASE_FILE}${companion}`), KEY_SECRET_FILE].some((name) =>
      existsSync(join(directory, `${name}.before-restore-${number}`)),
    );
  let number = 1;
  while (taken(number)) number += 1;
  return number;
}

function holdsSecret(path: string, secret: Uint8Array | undefined): boolean {
  if (!existsSync(path)) return secret === undefined;
  try {
    const held = readSecret(path);
    return secret !== undefined && held !== undefined && Buffer.from(held).equals(secret);
  } catch (error) {
    // What is no secret is put aside like another one.
    if (error instanceof DomainError) return false;
    throw error;
  }
}

function writeSecret(path: string, secret: Uint8Array): void {
  const draft = draftOf(path);
  writeNew(draft, `${Buffer.from(secret).toString('hex')}\n`);
  renameSync(draft, path);
}

function holdsArchive(directory: string): DomainError {
  return new DomainError(
    'conflict',
    `'${directory}' holds an archive: name another directory with --data, or put that one aside with --force`,
  );
}

/** Takes away a directory that was made for nothing. */
function removeEmpty(directory: string): void {
  rmSync(join(directory, LOCK_FILE), { force: true });
  try {
    rmdirSync(directory);
  } catch (error) {
    // Somebody put something there meanwhile: then it is theirs.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
