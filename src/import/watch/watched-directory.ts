import { realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type { Archive } from '../../store/archive.ts';
import type { Codec } from '../codec.ts';
import { compressionOf } from '../compression.ts';
import { firstBytesOf, isParquet } from '../decompressed.ts';
import { openSource } from '../opened-source.ts';
import { codecOf, isDerived } from '../recognition.ts';
import { SAMPLE_LINES } from '../sample.ts';
import { accessible, inaccessible, type Source, sourcesOf, unreadable } from '../source.ts';
import { nextPart } from './growing-file.ts';
import { type WatchedEntry, WatchPositions } from './watch-positions.ts';

/** A file that cannot be read in parts is complete when its size and its time have not changed for so long. */
export const SETTLED_MS = 10_000;
/** A scan ends with the file that exceeds one of these: its records are stored before further files are read. */
const SCAN_BYTES_MAX = 64 * 1024 * 1024;
const SCAN_FILES_MAX = 1000;
/** Files of market records, from which no recorder derives others. */
const MARKETS = /^markets\./i;

/** Files of a directory with something new. */
export interface Scan {
  readonly sources: readonly Source[];
  /** True if the next scan will find more at once. */
  readonly hasMore: boolean;
  /** Sentences about files of which something is not read. */
  readonly notes: readonly string[];
  /** Notes that the sources were imported. Both are names of files: with records of unknown markets, and not readable. */
  readonly keep: (unknown: ReadonlySet<string>, failed: ReadonlySet<string>) => void;
}

/** The part of a file that is to be imported, and the entry that is noted then. */
interface Next {
  readonly entry: WatchedEntry;
  readonly source?: Source;
  readonly note?: string | undefined;
  readonly hasMore?: boolean;
}

interface Found {
  readonly path: string;
  readonly stat: Stats;
  readonly isSettled: boolean;
}

/**
 * Finds what is new in a directory and those below it. Files whose lines can be read one by one are read as they grow; all others once they
 * have not changed for SETTLED_MS, in two scans. It compares sizes and times, because no file system of another machine says when a
 * file is closed. Files whose names begin with a point are not complete.
 */
export class WatchedDirectory {
  readonly #directory: string;
  readonly #realDirectory: string;
  /** The data directory: what it has changes with each import. */
  readonly #data: string;
  readonly #positions: WatchPositions;
  readonly #newCodecs: () => readonly Codec[];
  readonly #clock: () => number;
  /** The last version of each file that is not read to its end, when it was first seen, and whether a scan looked into it. */
  readonly #seen = new Map<string, { readonly version: string; readonly sinceMs: number; isOpened: boolean }>();
  #scans = 0;

  /** Throws 'unreadable' if it is not a directory. */
  constructor(
    directory: string,
    options: { readonly archive: Archive; readonly newCodecs: () => readonly Codec[]; readonly clock: () => number },
  ) {
    const { archive, newCodecs, clock } = options;
    if (!accessible(directory, () => statSync(directory)).isDirectory()) {
      throw unreadable(`'${directory}' is not a directory: --watch imports what comes into directories`);
    }
    this.#directory = directory;
    this.#realDirectory = realpathSync(directory);
    this.#data = realpathSync(dirname(archive.database.path));
    this.#positions = new WatchPositions(this.#data, this.#realDirectory, archive.archiveId);
    this.#newCodecs = newCodecs;
    this.#clock = clock;
  }

  /** Reads files that have records of unknown markets again with the next scan. */
  forgetWaiting(): void {
    this.#positions.forgetWaiting();
    this.#positions.save();
  }

  /** The first scan only looks at sizes, so that complete files, which may state the markets, are read with the others. Throws 'unreadable'. */
  async scan(): Promise<Scan> {
    const listed = sourcesOf([this.#directory]).filter(({ path }) => !this.#isLeftAlone(path));
    const captures = listed.filter(({ path }) => !isDerived(path) && !MARKETS.test(basename(path)));
    const captured = new Set(captures.map(({ path }) => dirname(path)));
    const unfinished = new Set<string>();
    const withDerived = new Set<string>();
    const sources: Source[] = [];
    const notes: string[] = [];
    const read = new Map<Source, { readonly entry: WatchedEntry; readonly version: string }>();
    let bytes = 0;
    let hasMore = false;
    this.#scans += 1;
    for (const { path } of listed) {
      if (isDerived(path) && captured.has(dirname(path))) {
        if (!withDerived.has(dirname(path)))
          notes.push(`${path}: skipped, derived from the capture next to it: name a file to import it`);
        withDerived.add(dirname(path));
        continue;
      }
      if (bytes > SCAN_BYTES_MAX || sources.length >= SCAN_FILES_MAX) {
        hasMore = true;
        break;
      }
      const found = this.#changed(path, notes);
      if (found === undefined) continue;
      const next = await this.#next(found).catch((error) => {
        // The import reports it.
        if (error instanceof DomainError && error.kind === 'unreadable') return whole(found);
        throw error;
      });
      if (next?.note !== undefined) notes.push(next.note);
      if (next === undefined) continue;
      if (next.source === undefined) {
        this.#positions.set(this.#nameOf(path), next.entry);
        continue;
      }
      if (next.source.part !== undefined && unfinished.has(dirname(path))) {
        // It may continue the books of the file before it, as the next part of a capture.
        this.#seen.delete(path);
        continue;
      }
      if (next.hasMore === true) unfinished.add(dirname(path));
      sources.push(next.source);
      read.set(next.source, { entry: next.entry, version: versionOf(found.stat) });
      bytes += next.source.member?.storedBytes ?? found.stat.size;
      hasMore ||= next.hasMore === true;
    }
    this.#positions.save();
    const keep: Scan['keep'] = (unknown, failed) => {
      for (const [{ path, name }, { entry, version }] of read) {
        const isIn = (names: ReadonlySet<string>) =>
          [...names].some((other) => other === name || other.startsWith(`${name}/`));
        const isFailed = isIn(failed);
        // A file that is missing, because its disk was removed for example, may come back unchanged.
        if (isFailed && this.#statOf(path, []) === undefined) continue;
        const isWaiting = isFailed || isIn(unknown) || entry.isWaiting === true;
        const known = isFailed ? { version, inode: entry.inode } : entry;
        this.#positions.set(this.#nameOf(path), isWaiting ? { ...known, isWaiting } : known);
        if (entry.version !== '') this.#seen.delete(path);
      }
      this.#positions.save();
    };
    return { sources, hasMore, notes, keep };
  }

  /** A file that has changed since it was read, if it has not been looked at. */
  #changed(path: string, notes: string[]): Found | undefined {
    const stat = this.#statOf(path, notes);
    if (stat === undefined) return undefined;
    const version = versionOf(stat);
    const entry = this.#positions.get(this.#nameOf(path));
    if (entry?.version === version) return undefined;
    const nowMs = this.#clock();
    const seen = this.#seen.get(path);
    const isSame = seen?.version === version;
    if (!isSame) this.#seen.set(path, { version, sinceMs: nowMs, isOpened: false });
    if (this.#scans === 1) return undefined;
    const isSettled = isSame && (nowMs - seen.sinceMs >= SETTLED_MS || nowMs - stat.mtimeMs >= SETTLED_MS);
    if (isSame && seen.isOpened && !isSettled && entry?.version !== '') return undefined;
    this.#seen.get(path)!.isOpened = true;
    return { path, stat, isSettled };
  }

  /** Undefined for a file that was removed meanwhile, or is in a directory that may only be listed. */
  #statOf(path: string, notes: string[]): Stats | undefined {
    try {
      return statSync(path, { throwIfNoEntry: false });
    } catch (error) {
      notes.push(inaccessible(path, error).message);
      return undefined;
    }
  }

  /** The part of a file that is new, or the whole file; undefined if it may not be complete. */
  async #next(
    found: Found,
    before = this.#positions.get(this.#nameOf(found.path)) ?? this.#positions.ofInode(found.stat.ino),
  ): Promise<Next | undefined> {
    const { path, stat, isSettled } = found;
    const entry = { version: versionOf(stat), inode: stat.ino, ...(before?.isWaiting && { isWaiting: true }) };
    if (before?.version === entry.version) return { entry: before };
    const codec = await this.#codecOf(path, before?.part);
    if (codec?.lines === undefined) return whole(found);
    const known = before?.part?.format === codec.format ? before.part.position : undefined;
    const part = await nextPart(path, codec.lines, known);
    // Another file, which took the name or the inode, may have another format.
    if (part === undefined) return await this.#next(found, { version: '', inode: stat.ino });
    const isCut = part.isCut && !isSettled;
    const note = part.isCut && isSettled ? `'${path}' ends without a newline: its last line is not read` : undefined;
    const position = part.position === undefined ? undefined : { format: codec.format, position: part.position };
    const isRead = !isCut && !(part.bytes !== undefined && part.hasMore);
    const next = { ...entry, version: isRead ? entry.version : '', part: position };
    if (part.bytes === undefined) return { entry: next, note };
    const { bytes, linesBefore, repeatedLines, hasMore } = part;
    const member = {
      label: `'${path}'`,
      name: basename(path),
      storedBytes: bytes.length,
      stored: async () => new Blob([bytes]).stream(),
    };
    const of = { format: codec.format, linesBefore, repeatedLines };
    return { entry: next, source: { path, name: path, named: false, member, part: of }, note, hasMore };
  }

  /** The codec that reads the lines of a file; undefined if there is none yet, and for files that are not text. */
  async #codecOf(path: string, known: WatchedEntry['part']): Promise<Codec | undefined> {
    const codecs = this.#newCodecs();
    // The first lines may not have been enough.
    if (known !== undefined && known.position.lines >= SAMPLE_LINES)
      return codecs.find(({ format }) => format === known.format);
    const first = await firstBytesOf(path);
    if (isParquet(first) || compressionOf(first) !== undefined) return undefined;
    const { sample } = await openSource({ path, name: path, named: false }, {});
    const codec = codecOf(sample, codecs);
    return codec?.lines === 'json' && !sample.isJsonLines ? undefined : codec;
  }

  #nameOf(path: string): string {
    return relative(this.#directory, path);
  }

  /** Files that are not complete, and those of the archive. */
  #isLeftAlone(path: string): boolean {
    const name = this.#nameOf(path);
    const isOfArchive = join(this.#realDirectory, name).startsWith(`${this.#data}${sep}`);
    return isOfArchive || name.split(sep).some((one) => one.startsWith('.'));
  }
}

/** The whole file, if it is complete. */
function whole({ path, stat, isSettled }: Found): Next | undefined {
  if (!isSettled) return undefined;
  return { entry: { version: versionOf(stat), inode: stat.ino }, source: { path, name: path, named: false } };
}

/** Changes when the content may have changed, or who may read it. Another file may have the same size and mtime, but not the same ctime. */
function versionOf({ size, mtimeMs, ctimeMs }: Stats): string {
  return [size, mtimeMs, ctimeMs].join(' ');
}
