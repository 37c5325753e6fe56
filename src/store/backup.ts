import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { hasKeys } from './api-keys.ts';
import { refuseShared } from './data-directory.ts';
import { Database, explained } from './database.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from './database-file.ts';
import { KEY_SECRET_FILE, readSecret } from './key-secret.ts';
import { flush, writeNew } from './on-disk.ts';
import { schemaDifference } from './schema-difference.ts';
import { LOCK_FILE, ServeLock } from './serve-lock.ts';

export interface CopyOptions {
  /** A backup replaces an existing backup; a restore sets an existing archive aside. */
  readonly force: boolean;
  /** Verifies the copy, a data directory, before it gets its name; throws when it has a fault. */
  readonly check: (directory: string) => Promise<void>;
}

/** A database file of a backup. */
interface BackedUpFile {
  readonly name: string;
  /** It has everything that was reported as stored before this instant. */
  readonly at: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Backup {
  readonly directory: string;
  readonly files: readonly BackedUpFile[];
  readonly hasSecret: boolean;
}

export interface Restored {
  readonly files: readonly BackedUpFile[];
  /** The new paths of the databases that were there before. */
  readonly keptAs: readonly string[];
}

/**
 * In the order of copying. Activity names keys and accounts, which are never deleted: the later copy of them has those that it
 * names. Recordings are last when they are installed: a directory with bookreel.db has the other files too.
 */
const FILES: readonly DatabaseFile[] = [ACTIVITY, ACCOUNTS, RECORDINGS];

const MANIFEST_FILE = 'manifest.json';
const MANIFEST = { format: 'bookreel-backup', version: 1 } as const;

/** Numbers that a copy is compared with; those in `growing` never decrease. */
interface Count {
  readonly sql: string;
  readonly growing: readonly string[];
}
const COUNTS: Readonly<Record<string, Count>> = {
  [RECORDINGS.name]: {
    growing: ['markets', 'gaps', 'ids'],
    sql: `SELECT (SELECT COUNT(*) FROM markets) AS markets, (SELECT COUNT(*) FROM gaps) AS gaps,
      (SELECT COALESCE(SUM(last_id - first_id + 1), 0) FROM given_ids) AS ids, COUNT(*) AS segments,
      COALESCE(SUM(records), 0) AS records FROM segments`,
  },
  [ACCOUNTS.name]: {
    growing: ['accounts', 'keys', 'grants', 'entries'],
    sql: `SELECT (SELECT COUNT(*) FROM accounts) AS accounts, (SELECT COUNT(*) FROM api_keys) AS keys,
      (SELECT COUNT(*) FROM grants) AS grants, (SELECT COUNT(*) FROM audit) AS entries`,
  },
  [ACTIVITY.name]: {
    growing: [],
    sql: 'SELECT (SELECT COUNT(*) FROM sessions) AS sessions, (SELECT COUNT(*) FROM usage) AS usage',
  },
};
type Counts = Readonly<Record<string, number>>;

/** Files that SQLite keeps next to a database. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/**
 * Copies the databases of `directory`, each in one state, and the key secret to the new directory `target`, with a manifest. A
 * server and imports may run meanwhile. The copy is written under another name, synced to disk, counted and checked, and gets its
 * own name last: a directory of that name is a complete backup.
 *
 * Throws 'conflict' when `target` exists and `force` is not set, or is not a backup, 'invalid-parameter' for a target inside the
 * data directory, 'unavailable' when something cannot be read or written, and what `check` throws.
 */
export async function backUp(
  directory: string,
  name: string,
  clock: () => InstantMs,
  { force, check }: CopyOptions,
): Promise<Backup> {
  const target = resolve(name);
  explained(directory, () => refuseShared(directory));
  const present = FILES.filter((file) => existsSync(join(directory, file.name)));
  // Says that there is no archive.
  if (present.length === 0) Database.openToRead(join(directory, RECORDINGS.name), RECORDINGS).close();
  refuseTarget(directory, name, force);
  const draft = draftOf(target);
  try {
    explained(draft, () => mkdirSync(draft, { mode: 0o700 }));
    const files: BackedUpFile[] = [];
    let hasSecret = false;
    for (const file of present) {
      const at = formatInstant(clock());
      copyDatabase(join(directory, file.name), join(draft, file.name), file);
      files.push({ name: file.name, at, ...(await sizeAndDigest(join(draft, file.name))) });
      // The secret is older than the first key of the copy.
      if (file === ACCOUNTS)
        hasSecret = writeSecret(draft, secretOf(draft, [join(directory, KEY_SECRET_FILE)], 'this archive'));
    }
    await check(draft);
    explained(target, () => {
      writeNew(join(draft, MANIFEST_FILE), `${JSON.stringify({ ...MANIFEST, files }, null, 2)}\n`);
      flush(draft);
      installBackup(draft, target);
    });
    return { directory: target, files, hasSecret };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Makes the backup `source` the archive of `directory`, with its accounts and keys. The copy is compared with the manifest and
 * checked before it is installed. Its recordings get their name last: if this is interrupted, the directory has no bookreel.db or
 * a complete archive.
 *
 * Throws 'in-use' when a server or another command uses the directory, 'conflict' when it holds an archive and `force` is not
 * set, 'unreadable' when the backup differs from its manifest, 'unavailable' when something is missing or cannot be read or
 * written, and what `check` throws.
 */
export async function restore(source: string, directory: string, { force, check }: CopyOptions): Promise<Restored> {
  const files = readManifest(source);
  const isNew = !existsSync(directory);
  const lock = ServeLock.take(directory);
  let installed = false;
  try {
    if (!force && FILES.some(({ name }) => existsSync(join(directory, name)))) {
      throw new DomainError(
        'conflict',
        `'${directory}' holds an archive: name another directory with --data, or set that one aside with --force`,
      );
    }
    const draft = draftOf(join(resolve(directory), 'restore'));
    try {
      explained(draft, () => mkdirSync(draft, { mode: 0o700 }));
      for (const file of files) await copyBackedUp(source, file, draft);
      const secretFiles = [join(source, KEY_SECRET_FILE), join(directory, KEY_SECRET_FILE)];
      const secret = secretOf(draft, secretFiles, 'this backup');
      writeSecret(draft, secret);
      await check(draft);
      const keptAs = explained(directory, () => installArchive(draft, directory, secret));
      installed = true;
      if (isNew) flush(dirname(resolve(directory)));
      return { files, keptAs };
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  } finally {
    lock.release();
    if (isNew && !installed) removeEmpty(directory);
  }
}

/** One sentence when a data directory has keys and their secret is missing or damaged: then no key is valid. */
export function keySecretFault(directory: string): string | undefined {
  try {
    secretOf(directory, [join(directory, KEY_SECRET_FILE)], 'this archive');
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && !(error.cause instanceof Error)) return error.message;
    throw error;
  }
}

function refuseTarget(directory: string, name: string, force: boolean): void {
  const target = resolve(name);
  explained(target, () => {
    if (realpathSync(dirname(target)) === realpathSync(directory)) {
      throw new DomainError(
        'invalid-parameter',
        `'${name}' lies in the data directory itself: name a directory elsewhere, best on another disk`,
      );
    }
  });
  if (!existsSync(target)) return;
  if (!force) {
    throw new DomainError('conflict', `'${target}' exists already: name another directory, or replace it with --force`);
  }
  if (!existsSync(join(target, MANIFEST_FILE)) || realpathSync(target) === realpathSync(directory)) {
    throw new DomainError('conflict', `'${target}' is not a backup, so it is not replaced: name another directory`);
  }
}

function draftOf(target: string): string {
  return `${target}.partial-${randomBytes(6).toString('hex')}`;
}

/** Copies one state of a database to a new file, which is on disk when this returns. */
function copyDatabase(path: string, target: string, file: DatabaseFile): void {
  using database = Database.openToRead(path, file);
  explained(target, () => {
    // Created empty, so that only its owner can ever read it.
    writeNew(target, '');
    const version = database.version;
    const before = countsOf(database);
    database.copyInto(target);
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
    `the copy of ${file.name} has ${copy[wrong]} ${wrong}, and the archive has ${before[wrong]}: it is not kept`,
  );
}

async function sizeAndDigest(path: string): Promise<Pick<BackedUpFile, 'bytes' | 'sha256'>> {
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const chunk of Bun.file(path).stream()) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hasher.digest('hex') };
}

/** The files of a backup. Throws 'unavailable' if there is none, 'unreadable' if its manifest is damaged. */
function readManifest(source: string): BackedUpFile[] {
  const path = join(source, MANIFEST_FILE);
  if (!existsSync(path)) {
    throw new DomainError(
      'unavailable',
      `there is no backup '${source}': name a directory that 'bookreel backup' wrote, with its ${MANIFEST_FILE}`,
    );
  }
  const text = explained(path, () => readFileSync(path, 'utf8'));
  try {
    const found = JSON.parse(text) as (Partial<typeof MANIFEST> & { readonly files?: unknown }) | null;
    const { format, version, files } = found ?? {};
    if (format === MANIFEST.format && version === MANIFEST.version && Array.isArray(files) && files.every(isBackedUp)) {
      const names = files.map(({ name }) => name);
      if (names.length > 0 && new Set(names).size === names.length) return files;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DomainError('unreadable', `'${path}' is damaged, or of another program: restore an earlier backup`);
}

function isBackedUp(value: unknown): value is BackedUpFile {
  if (typeof value !== 'object' || value === null) return false;
  const { name, at, bytes, sha256 } = value as Partial<Record<keyof BackedUpFile, unknown>>;
  return (
    FILES.some((file) => file.name === name) &&
    typeof at === 'string' &&
    Number.isSafeInteger(bytes) &&
    typeof sha256 === 'string'
  );
}

/** Copies a file of a backup, and compares the copy with the manifest and the schema with ours. */
async function copyBackedUp(source: string, file: BackedUpFile, draft: string): Promise<void> {
  const [from, to] = [join(source, file.name), join(draft, file.name)];
  const isThere = existsSync(from);
  if (isThere) {
    explained(from, () => {
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      chmodSync(to, 0o600);
      flush(to);
    });
  }
  const found = isThere ? await sizeAndDigest(to) : undefined;
  if (found?.bytes !== file.bytes || found.sha256 !== file.sha256) {
    const how = found === undefined ? 'is missing' : 'was changed after the backup, or is damaged';
    throw new DomainError('unreadable', `'${from}' ${how}: restore an earlier backup`);
  }
  using database = Database.openToRead(to, FILES.find(({ name }) => name === file.name)!);
  const difference = schemaDifference(database);
  if (difference !== undefined) throw new DomainError('unavailable', difference);
}

/** The first secret of `paths`; undefined when there is none and the data directory has no keys that need it. */
function secretOf(directory: string, paths: readonly string[], what: string): Uint8Array | undefined {
  for (const path of paths) {
    const secret = readSecret(path);
    if (secret !== undefined) return secret;
  }
  const accounts = join(directory, ACCOUNTS.name);
  if (!existsSync(accounts)) return undefined;
  using database = Database.openToRead(accounts, ACCOUNTS);
  if (!hasKeys(database)) return undefined;
  throw new DomainError(
    'unavailable',
    `'${paths[0]}' is missing, and without it no key of ${what} is valid: put it back first`,
  );
}

function installBackup(draft: string, target: string): void {
  const replaced = existsSync(target) ? `${target}.replaced-${randomBytes(6).toString('hex')}` : undefined;
  if (replaced !== undefined) renameSync(target, replaced);
  renameSync(draft, target);
  flush(dirname(target));
  if (replaced !== undefined) rmSync(replaced, { recursive: true });
}

/** Returns the new paths of the databases that were there before. */
function installArchive(draft: string, directory: string, secret: Uint8Array | undefined): string[] {
  const secretFile = join(directory, KEY_SECRET_FILE);
  const aside = `.before-restore-${freeNumber(directory)}`;
  const held = FILES.map(({ name }) => join(directory, name))
    .reverse()
    .filter((path) => existsSync(path));
  for (const path of held) Database.mergeLog(path);
  for (const path of held) renameSync(path, `${path}${aside}`);
  // Files that a killed process left next to a database must never be used with another one.
  for (const { name } of FILES) {
    for (const companion of COMPANIONS) {
      const path = join(directory, name);
      if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${path}${aside}${companion}`);
    }
  }
  if (!holdsSecret(secretFile, secret)) {
    if (existsSync(secretFile)) renameSync(secretFile, `${secretFile}${aside}`);
    writeSecret(directory, secret);
  }
  flush(directory);
  for (const { name } of FILES) {
    // A link never replaces a database that was created meanwhile.
    if (existsSync(join(draft, name))) linkSync(join(draft, name), join(directory, name));
  }
  flush(directory);
  return held.map((path) => `${path}${aside}`);
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

/** Writes a data directory's secret, if there is one. Returns whether there is. */
function writeSecret(directory: string, secret: Uint8Array | undefined): boolean {
  if (secret === undefined) return false;
  const path = join(directory, KEY_SECRET_FILE);
  const draft = draftOf(path);
  writeNew(draft, `${Buffer.from(secret).toString('hex')}\n`);
  renameSync(draft, path);
  return true;
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
