import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
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

/** The statements of a backup's manifest. */
interface BackupContent {
  readonly files: readonly BackedUpFile[];
  /** SHA-256 of the key secret; null: the backup has none. The secret is random, so nobody can compute it from this. */
  readonly keySecretSha256: string | null;
}

export interface Backup extends BackupContent {
  readonly directory: string;
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
/** All that a backup may have. */
const BACKUP_NAMES: ReadonlySet<string> = new Set([...FILES.map(({ name }) => name), KEY_SECRET_FILE, MANIFEST_FILE]);
const CHUNK_BYTES = 1 << 20;

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
 * Throws 'conflict' when `target` exists and `force` is not set, or is not a backup, 'invalid-parameter' for a target that contains
 * the data directory or lies in it, 'unavailable' when something cannot be read or written, or when the databases are replaced
 * during the copy, and what `check` throws.
 */
export async function backUp(
  directory: string,
  name: string,
  clock: () => InstantMs,
  { force, check }: CopyOptions,
): Promise<Backup> {
  const target = resolve(name);
  explained(directory, () => refuseShared(directory));
  if (!FILES.some(({ name: file }) => existsSync(join(directory, file)))) {
    // Says that there is no archive.
    Database.openToRead(join(directory, RECORDINGS.name), RECORDINGS).close();
  }
  refuseTarget(directory, name, force);
  const draft = draftOf(target);
  try {
    explained(draft, () => mkdirSync(draft, { mode: 0o700 }));
    const content = copyArchive(directory, draft, clock);
    await check(draft);
    explained(target, () => {
      writeNew(join(draft, MANIFEST_FILE), `${JSON.stringify({ ...MANIFEST, ...content }, null, 2)}\n`);
      flush(draft);
      installBackup(draft, directory, name, force);
    });
    return { directory: target, ...content };
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
  const { files, keySecretSha256 } = readManifest(source);
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
      for (const file of files) copyBackedUp(source, file, draft);
      const secret = backedUpSecret(source, directory, keySecretSha256);
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
    if (isWithin(data, place)) {
      throw new DomainError(
        'invalid-parameter',
        `'${name}' lies in the data directory itself: name a directory elsewhere, best on another disk`,
      );
    }
    if (isWithin(place, data)) {
      throw new DomainError(
        'invalid-parameter',
        `'${name}' contains the data directory: name a directory elsewhere, best on another disk`,
      );
    }
  });
  if (!exists) return;
  if (!force) {
    throw new DomainError('conflict', `'${target}' exists already: name another directory, or replace it with --force`);
  }
  refuseOther(target);
}

/** Throws 'conflict' if a directory is not a backup, or has other files too. */
function refuseOther(target: string): void {
  try {
    readManifest(target);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError('conflict', `'${target}' is not a backup, so it is not replaced: name another directory`);
  }
  const entries = explained(target, () => readdirSync(target, { withFileTypes: true }));
  const other = entries.find((entry) => !entry.isFile() || !BACKUP_NAMES.has(entry.name));
  if (other === undefined) return;
  throw new DomainError(
    'conflict',
    `'${target}' has '${other.name}', which no backup has, so it is not replaced: name another directory`,
  );
}

/** Whether a real path is a directory or lies in it. */
function isWithin(directory: string, path: string): boolean {
  const [first] = relative(directory, path).split(sep);
  return first !== '..';
}

/** The identities of the databases of a directory, as text: it changes when one is created, deleted or replaced. */
function identitiesIn(directory: string): string {
  return FILES.map(({ name }) => join(directory, name))
    .map((path) => explained(path, () => statSync(path, { throwIfNoEntry: false })))
    .map((found) => `${found?.dev} ${found?.ino}`)
    .join();
}

function draftOf(target: string): string {
  return `${target}.partial-${randomBytes(6).toString('hex')}`;
}

/** Copies the databases and the key secret of one archive. */
function copyArchive(directory: string, draft: string, clock: () => InstantMs): BackupContent {
  const identities = identitiesIn(directory);
  using sources = new DisposableStack();
  // Opened before the first copy: while they are open, a restore does not replace them.
  const databases = FILES.map((file) => ({ file, path: join(directory, file.name) }))
    .filter(({ path }) => existsSync(path))
    .map(({ file, path }) => sources.use(Database.openToRead(path, file)));
  const files: BackedUpFile[] = [];
  let secret: Uint8Array | undefined;
  for (const database of databases) {
    const { file } = database;
    const at = formatInstant(clock());
    const path = join(draft, file.name);
    copyDatabase(database, path);
    files.push({ name: file.name, at, ...sizeAndDigest(path) });
    // The secret is older than the first key of the copy.
    if (file === ACCOUNTS) secret = secretOf(draft, join(directory, KEY_SECRET_FILE));
  }
  writeSecret(draft, secret);
  // A restore may have begun before the databases were opened.
  if (identitiesIn(directory) !== identities) {
    throw new DomainError('unavailable', `the databases of '${directory}' were replaced meanwhile: run this again`);
  }
  return { files, keySecretSha256: digestOf(secret) };
}

/** Copies one state of a database to a new file, which is on disk when this returns. */
function copyDatabase(database: Database, target: string): void {
  const { file } = database;
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

function sizeAndDigest(path: string): Pick<BackedUpFile, 'bytes' | 'sha256'> {
  return explained(path, () => {
    const hash = createHash('sha256');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const file = openSync(path, 'r');
    try {
      for (let bytes = 0; ; ) {
        const read = readSync(file, chunk);
        if (read === 0) return { bytes, sha256: hash.digest('hex') };
        hash.update(chunk.subarray(0, read));
        bytes += read;
      }
    } finally {
      closeSync(file);
    }
  });
}

/** Throws 'unavailable' if there is no backup, 'unreadable' if its manifest is damaged. */
function readManifest(source: string): BackupContent {
  const path = join(source, MANIFEST_FILE);
  if (!existsSync(path)) {
    throw new DomainError(
      'unavailable',
      `there is no backup '${source}': name a directory that 'bookreel backup' wrote, with its ${MANIFEST_FILE}`,
    );
  }
  const text = explained(path, () => readFileSync(path, 'utf8'));
  try {
    const found = JSON.parse(text) as Partial<Record<keyof (typeof MANIFEST & BackupContent), unknown>> | null;
    const { format, version, files, keySecretSha256 } = found ?? {};
    const isOurs = format === MANIFEST.format && version === MANIFEST.version;
    const saysSecret = typeof keySecretSha256 === 'string' || keySecretSha256 === null;
    if (isOurs && saysSecret && Array.isArray(files) && files.every(isBackedUp)) {
      const names = files.map(({ name }) => name);
      if (names.length > 0 && new Set(names).size === names.length) return { files, keySecretSha256 };
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
function copyBackedUp(source: string, file: BackedUpFile, draft: string): void {
  const [from, to] = [join(source, file.name), join(draft, file.name)];
  const isThere = existsSync(from);
  if (isThere) {
    explained(from, () => accessSync(from, constants.R_OK));
    explained(to, () => {
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      chmodSync(to, 0o600);
      flush(to);
    });
  }
  const found = isThere ? sizeAndDigest(to) : undefined;
  if (found?.bytes !== file.bytes || found.sha256 !== file.sha256) {
    const how = found === undefined ? 'is missing' : 'was changed after the backup, or is damaged';
    throw new DomainError('unreadable', `'${from}' ${how}: restore an earlier backup`);
  }
  using database = Database.openToRead(to, FILES.find(({ name }) => name === file.name)!);
  const difference = schemaDifference(database);
  if (difference !== undefined) throw new DomainError('unavailable', difference);
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

/**
 * The secret of a backup, from its own file, or else from the data directory if that has the same one. Throws 'unreadable' for
 * another secret in the backup, 'unavailable' without the right one.
 */
function backedUpSecret(source: string, directory: string, sha256: string | null): Uint8Array | undefined {
  if (sha256 === null) return undefined;
  const path = join(source, KEY_SECRET_FILE);
  const own = readSecret(path);
  if (own !== undefined && digestOf(own) !== sha256) {
    throw new DomainError('unreadable', `'${path}' was changed after the backup: restore an earlier backup`);
  }
  const secret = own ?? readSecret(join(directory, KEY_SECRET_FILE));
  if (secret === undefined || digestOf(secret) !== sha256) throw missingSecret(path, 'this backup');
  return secret;
}

function missingSecret(path: string, what: string): DomainError {
  return new DomainError(
    'unavailable',
    `'${path}' is missing, and without it no key of ${what} is valid: put it back first`,
  );
}

function digestOf(secret: Uint8Array | undefined): string | null {
  return secret === undefined ? null : createHash('sha256').update(secret).digest('hex');
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
  for (const file of FILES) {
    if (!existsSync(join(draft, file.name))) continue;
    // After a loss of power a directory with bookreel.db has the others too.
    if (file === RECORDINGS) flush(directory);
    // A link never replaces a database that was created meanwhile.
    linkSync(join(draft, file.name), join(directory, file.name));
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

/** Writes a data directory's secret, if there is one. */
function writeSecret(directory: string, secret: Uint8Array | undefined): void {
  if (secret === undefined) return;
  const path = join(directory, KEY_SECRET_FILE);
  const draft = draftOf(path);
  explained(path, () => {
    writeNew(draft, `${Buffer.from(secret).toString('hex')}\n`);
    renameSync(draft, path);
  });
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
