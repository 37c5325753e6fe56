import { chmodSync, constants, copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { Database } from './database.ts';
import { explained, isSystemError, MissingFile } from './database-errors.ts';
import { RECORDINGS } from './database-file.ts';
import { sizeAndDigest } from './file-digest.ts';
import { discard, draftOf, flush, flushAll, writeNew } from './on-disk.ts';
import { BOOKS, IS_NAMED, SealedFiles, type SealedMarket } from './sealed-files.ts';

/** Where the files of sealed markets are taken from: data directories or backups. */
export interface SealedSources {
  /** An earlier backup, whose files are taken first. */
  readonly earlier?: string | undefined;
  readonly directory: string;
  /** True if the copy shares files by hard links where both are on one disk. The files are never changed. */
  readonly links: boolean;
}

export interface SealedCopies {
  /** The number of files, and of those that the earlier backup did not have. */
  readonly files: number;
  readonly newFiles: number;
  /** Written by this copy, its last try: a link takes none. */
  readonly bytesWritten: number;
}

/**
 * Gives `target`, which has a copy of bookreel.db, the files of its sealed markets. A copied file is compared with its digest and is on
 * disk when this returns. Throws `MissingFile` after all others are there if markets were deleted or changed since bookreel.db was copied:
 * with another copy of it, this goes on from there. Throws 'unavailable' if a file is missing, 'unreadable' if one is damaged.
 */
export function copySealedFiles(target: string, { earlier, directory, links }: SealedSources): SealedCopies {
  let [files, newFiles, bytesWritten] = [0, 0, 0];
  const folders = new Set<string>();
  const copied: string[] = [];
  let gone: string | undefined;
  discardUnnamed(target);
  for (const market of sealedMarketsOf(target)) {
    const to = join(target, BOOKS, market.path);
    const known = earlier === undefined ? undefined : join(earlier, BOOKS, market.path);
    // One that was cut or replaced is copied again.
    const isNew = known === undefined || statSync(known, { throwIfNoEntry: false })?.size !== market.bytes;
    const from = isNew ? join(directory, BOOKS, market.path) : known;
    const folder = dirname(to);
    if (!folders.has(folder)) explained(to, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
    folders.add(folder);
    try {
      if (!existsSync(to) && (!links || !linked(from, to))) {
        copyChecked(from, to, market);
        copied.push(to);
        bytesWritten += market.bytes;
      }
    } catch (error) {
      if (existsSync(from)) throw error;
      const missing = `'${from}' of a sealed market is missing`;
      if (isNamed(directory, market)) {
        throw new DomainError('unavailable', `${missing}: restore it from a backup, or delete its market`);
      }
      gone = `${missing}, because its market was just deleted or changed: run this again`;
      continue;
    }
    files += 1;
    if (isNew) newFiles += 1;
  }
  flushAll(target, copied);
  for (const folder of folders) flush(folder);
  if (files > 0) flush(join(target, BOOKS));
  if (gone !== undefined) throw new MissingFile(gone);
  return { files, newFiles, bytesWritten };
}

/** Deletes files that an earlier copy of bookreel.db named, and the present one does not. */
function discardUnnamed(target: string): void {
  const books = join(target, BOOKS);
  if (!existsSync(books)) return;
  const named = new Set(sealedMarketsOf(target).map(({ path }) => path));
  for (const day of readdirSync(books))
    for (const name of readdirSync(join(books, day))) if (!named.has(`${day}/${name}`)) discard(join(books, day, name));
}

function isNamed(directory: string, { path }: SealedMarket): boolean {
  const recordings = join(directory, RECORDINGS.name);
  // That of a backup is compressed, and never changes.
  if (!existsSync(recordings)) return true;
  using database = Database.openToRead(recordings, RECORDINGS);
  return database.read(() => database.query(IS_NAMED).get(path)) !== null;
}

/**
 * The bytes that a backup would write at most to the disk of `target` for sealed markets: `known`, an earlier backup there, has some of their
 * files already. `copies`: 2 if it is restored there too. Whether links are possible is tried: no number of a file system says it.
 */
export function sealedBytesFor(directory: string, target: string, known: string | undefined, copies: number): number {
  let bytes = 0;
  let isShared: boolean | undefined;
  let hasLinks: boolean | undefined;
  for (const market of sealedMarketsOf(directory)) {
    isShared ??= canLink(join(directory, BOOKS, market.path), target);
    hasLinks ??= isShared || canLink(undefined, target);
    const isKnown = known !== undefined && existsSync(join(known, BOOKS, market.path));
    if (!hasLinks) bytes += copies * market.bytes;
    else if (!isShared && !isKnown) bytes += market.bytes;
  }
  return bytes;
}

/** `from`: left out, a new file next to `target`. */
function canLink(from: string | undefined, target: string): boolean {
  const [file, probe] = [draftOf(target), draftOf(target)];
  try {
    if (from === undefined) writeNew(file, '');
    return linked(from ?? file, probe);
  } finally {
    for (const name of [file, probe]) discard(name);
  }
}

/** Returns true if two directories share the file of a sealed market: what was verified in one need not be read in the other. */
export function shareFile(a: string, b: string, { path }: Pick<SealedMarket, 'path'>): boolean {
  const [first, second] = [a, b].map((directory) => statSync(join(directory, BOOKS, path), { throwIfNoEntry: false }));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

/** The sealed markets of a data directory or backup, by key, one view for each. */
function* sealedMarketsOf(directory: string): Generator<SealedMarket> {
  const path = join(directory, RECORDINGS.name);
  if (!existsSync(path)) return;
  using database = Database.openToRead(path, RECORDINGS);
  using sealed = new SealedFiles(database, path);
  for (let key = -1; ; ) {
    const market = database.read(() => sealed.after(key));
    if (market === undefined) return;
    key = market.key;
    yield market;
  }
}

/** False if the two places are on different disks, or the file system has no links. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isSystemError(error) && ['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'EOPNOTSUPP'].includes(error.code))
      return false;
    throw error;
  }
}

function copyChecked(from: string, to: string, { digest }: SealedMarket): void {
  explained(to, () => {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    chmodSync(to, 0o600);
  });
  if (sizeAndDigest(to).sha256 === Buffer.from(digest).toString('hex')) return;
  throw new DomainError('unreadable', `'${from}' is damaged: restore an earlier backup`);
}
