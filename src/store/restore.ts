import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { identifyAnew } from './archive.ts';
import type { CopyOptions } from './backup.ts';
import { BACKUP_FILES, type BackedUpFile, type BackupContent, digestOf, readManifest } from './backup-manifest.ts';
import { markOf } from './catalog-follower.ts';
import { COMPRESSED, changedFile, expandDatabase } from './compressed-database.ts';
import { Database } from './database.ts';
import { explained } from './database-errors.ts';
import { RECORDINGS } from './database-file.ts';
import { NO_FLOOR, refuseSmallDisk } from './disk-floor.ts';
import { sizeAndDigest } from './file-digest.ts';
import { KEY_SECRET_FILE, missingSecret, readSecret, writeSecret } from './key-secret.ts';
import { discard, draftOf, flush, removeIfEmpty } from './on-disk.ts';
import { schemaDifference } from './schema-difference.ts';
import { copySealedFiles, type SealedCopies, shareFile } from './sealed-copies.ts';
import { BOOKS } from './sealed-files.ts';
import { LOCK_FILE, ServeLock } from './serve-lock.ts';

export interface Restored {
  readonly files: readonly BackedUpFile[];
  readonly sealed: SealedCopies;
  /** The new paths of the databases that were there before. */
  readonly keptAs: readonly string[];
}

/** Files that SQLite keeps next to a database. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/**
 * Makes the backup `source` the archive of `directory`, with its accounts and keys. The copy is compared with the manifest and
 * checked before it is installed, with a new id; with `links` it shares the files of sealed markets with the backup. Its recordings get their name last: if this is interrupted, the directory has no bookreel.db or
 * a complete archive.
 *
 * `source` may be a function that writes the backup into a directory first, and returns that.
 *
 * Throws 'in-use' when a server or another command uses the directory, 'conflict' when it holds an archive and `force` is not
 * set, 'unreadable' when the backup differs from its manifest, 'unavailable' when something is missing or cannot be read or
 * written, and what `check` throws.
 */
export async function restore(
  source: string | (() => Promise<string>),
  directory: string,
  { force, check, links = false }: CopyOptions & { readonly links?: boolean },
): Promise<Restored> {
  if (typeof source === 'string') readManifest(source);
  const isNew = !existsSync(directory);
  const lock = ServeLock.take(directory);
  let installed = false;
  try {
    if (!force && BACKUP_FILES.some(({ name }) => existsSync(join(directory, name)))) {
      throw new DomainError(
        'conflict',
        `'${directory}' holds an archive: name another directory with --data, or set that one aside with --force`,
      );
    }
    const from = typeof source === 'string' ? source : await source();
    const { files, keySecretSha256 } = readManifest(from);
    const draft = draftOf(join(resolve(directory), 'restore'));
    try {
      explained(draft, () => mkdirSync(draft, { mode: 0o700 }));
      for (const file of files) await copyBackedUp(from, file, draft);
      const secret = backedUpSecret(from, directory, keySecretSha256);
      writeSecret(draft, secret);
      const sealed = copySealedFiles(draft, { directory: from, links });
      await check(draft, (market) => shareFile(draft, from, market));
      if (files.some(({ name }) => name === RECORDINGS.name)) identifyAnew(draft);
      const keptAs = explained(directory, () => installArchive(draft, directory, secret));
      installed = true;
      if (isNew) flush(dirname(resolve(directory)));
      return { files, sealed, keptAs };
    } finally {
      discard(draft);
    }
  } finally {
    lock.release();
    if (isNew && !installed) {
      discard(join(directory, LOCK_FILE));
      removeIfEmpty(directory);
    }
  }
}

/**
 * Makes the new directory `draft` a data directory to read, of databases of the backup `source` and its key secret as it is, right or wrong; it
 * has a link to the files of sealed markets. Throws as `restore` does, and 'unavailable' if the disk has no room for the databases.
 */
export async function expandBackup(
  source: string,
  draft: string,
  { files }: Pick<BackupContent, 'files'> = readManifest(source),
): Promise<void> {
  explained(draft, () => {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    refuseSmallDisk(dirname(draft), bytes, source, NO_FLOOR);
    mkdirSync(draft, { mode: 0o700 });
  });
  for (const file of files) await copyBackedUp(source, file, draft);
  const secret = join(source, KEY_SECRET_FILE);
  if (existsSync(secret)) explained(secret, () => copyFileSync(secret, join(draft, KEY_SECRET_FILE)));
  explained(draft, () => symlinkSync(join(resolve(source), BOOKS), join(draft, BOOKS)));
}

/** Copies a database of a backup, compares the copy with the manifest, upgrades it, and compares its schema with ours. */
async function copyBackedUp(source: string, file: BackedUpFile, draft: string): Promise<void> {
  const [from, to] = [join(source, file.name), join(draft, file.name)];
  const compressed = `${from}${COMPRESSED}`;
  if (existsSync(compressed)) await expandDatabase(compressed, file, to);
  else if (existsSync(from)) {
    explained(from, () => accessSync(from, constants.R_OK));
    explained(to, () => {
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      chmodSync(to, 0o600);
    });
    const { bytes, sha256 } = sizeAndDigest(to);
    if (bytes !== file.bytes || sha256 !== file.sha256) throw changedFile(from);
  } else throw new DomainError('unreadable', `'${compressed}' is missing: restore an earlier backup`);
  explained(to, () => flush(to));
  const kind = BACKUP_FILES.find(({ name }) => name === file.name)!;
  Database.upgradeCopy(to, kind);
  using database = Database.openToRead(to, kind);
  const difference = schemaDifference(database);
  if (difference !== undefined) throw new DomainError('unavailable', difference);
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

/** Returns the new paths of the databases that were there before. */
function installArchive(draft: string, directory: string, secret: Uint8Array | undefined): string[] {
  const secretFile = join(directory, KEY_SECRET_FILE);
  const aside = `.before-restore-${freeNumber(directory)}`;
  const held = BACKUP_FILES.map(({ name }) => join(directory, name))
    .reverse()
    .filter((path) => existsSync(path));
  for (const path of held) Database.mergeLog(path);
  for (const path of held) renameSync(path, `${path}${aside}`);
  // Files that a killed process left next to a database must never be used with another one.
  for (const { name } of BACKUP_FILES) {
    for (const companion of COMPANIONS) {
      const path = join(directory, name);
      if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${path}${aside}${companion}`);
    }
  }
  // The directory may have been that of a node, which deletes a damaged copy of a catalog, but no archive.
  discard(markOf(join(directory, RECORDINGS.name)));
  const books = join(directory, BOOKS);
  const hadBooks = existsSync(books);
  if (hadBooks) renameSync(books, `${books}${aside}`);
  if (existsSync(join(draft, BOOKS))) renameSync(join(draft, BOOKS), books);
  if (!holdsSecret(secretFile, secret)) {
    if (lstatSync(secretFile, { throwIfNoEntry: false })) renameSync(secretFile, `${secretFile}${aside}`);
    writeSecret(directory, secret);
  }
  flush(directory);
  for (const file of BACKUP_FILES) {
    if (!existsSync(join(draft, file.name))) continue;
    // After a loss of power a directory with bookreel.db has the others too.
    if (file === RECORDINGS) flush(directory);
    // A link never replaces a database that was created meanwhile.
    linkSync(join(draft, file.name), join(directory, file.name));
  }
  flush(directory);
  return [...held, ...(hadBooks ? [books] : [])].map((path) => `${path}${aside}`);
}

/** One more than the highest number of a file that was set aside in `directory`. */
function freeNumber(directory: string): number {
  const numbers = readdirSync(directory).map((name) => Number(/\.before-restore-(\d+)/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers) + 1;
}

function holdsSecret(path: string, secret: Uint8Array | undefined): boolean {
  try {
    const held = readSecret(path);
    if (held === undefined || secret === undefined) return held === secret;
    return Buffer.from(held).equals(secret);
  } catch (error) {
    // A damaged secret is set aside like any other.
    if (error instanceof DomainError) return false;
    throw error;
  }
}
