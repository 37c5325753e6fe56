import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { Member } from './containers/member.ts';

/** Some of the lines of a file that grows: `Source.member` has their bytes. */
export interface SourcePart {
  /** The format of the file, recognised by its beginning. */
  readonly format: string;
  /** Added to the number of a line of the part it gives the number in the file. */
  readonly linesBefore: number;
  /** The number of the first lines that were imported before, and are not counted again. */
  readonly repeatedLines: number;
}

/** A file to import: named by the user, or found in a directory or a container. */
export interface Source {
  /** `-` for standard input. */
  readonly path: string;
  /** Its name in reports. */
  readonly name: string;
  /** The name of the file for mappings, if `path` does not have it: that of standard input. */
  readonly fileName?: string;
  /** True if the user named the file: then it must be a recording. Files in directories that are not recordings are skipped. */
  readonly named: boolean;
  /** Set for market records that no mapping describes: `--markets`, and the `markets.ndjson` next to a named file. */
  readonly byContent?: true;
  /** Set for a member of a container. Its path is that of the container and its own, and no file. */
  readonly member?: Member;
  readonly part?: SourcePart;
}

export interface SourceNames {
  /** The name of standard input. */
  readonly pipeName?: string | undefined;
  /** Names for reports, by path. */
  readonly names?: ReadonlyMap<string, string>;
}

const MARKETS_FILE = /^markets\.ndjson(?:\.gz|\.zst)?$/;

/**
 * The files to read for `paths`, in order: directories recursively and by name, in each the `markets.ndjson` first, because records
 * need their market. A named Parquet file also adds the `markets.ndjson` of its directory.
 * Throws 'unreadable' for a path that does not exist, cannot be read or is a device. An unreadable file in a directory is part of
 * the result; opening it reports the error.
 */
export function sourcesOf(paths: readonly string[], { pipeName, names }: SourceNames = {}): Source[] {
  const sources = new Map<string, Source>();
  const add = (path: string, name: string, named: boolean, more: Pick<Source, 'byContent' | 'fileName'> = {}) => {
    if (!sources.has(path)) sources.set(path, { path, name: names?.get(path) ?? name, named, ...more });
  };
  for (const path of paths) {
    if (path === '-') {
      add(path, pipeName ?? 'standard input', true, pipeName === undefined ? {} : { fileName: pipeName });
      continue;
    }
    const stat = accessible(path, () => statSync(path));
    if (stat.isCharacterDevice() || stat.isBlockDevice()) {
      throw unreadable(`'${path}' is a device: name a file, a directory, a pipe or -`);
    }
    const isDirectory = stat.isDirectory();
    if (!isDirectory && path.endsWith('.parquet'))
      for (const file of marketsNextTo(path)) add(file, file, true, { byContent: true });
    for (const file of isDirectory ? accessible(path, () => filesIn(path)) : [path]) add(file, file, !isDirectory);
  }
  return [...sources.values()];
}

/** Runs `read`; errors of the file system become DomainError 'unreadable'. */
export function accessible<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inaccessible(path, error);
  }
}

/** The error for an input that cannot be read; `sentence` says what to do. */
export function unreadable(sentence: string, cause?: unknown): DomainError {
  return new DomainError('unreadable', sentence, { cause });
}

/** An error that ends one file only. Any other error is thrown again. */
export function unreadableOrThrow(error: unknown): DomainError {
  if (error instanceof DomainError && error.kind === 'unreadable') return error;
  throw error;
}

export function inaccessible(path: string, cause: unknown): DomainError {
  const remedy = path.includes('\ufffd') ? 'rename it, its name is not UTF-8' : 'check the path and its permissions';
  return unreadable(`'${path}' cannot be read: ${remedy}`, cause);
}

/** The files below a directory. A subdirectory that cannot be read is itself in the result; opening it reports the error. */
function filesIn(directory: string): string[] {
  // Recorders number the parts of a capture: part 10 follows part 9 and continues its books.
  const { compare } = new Intl.Collator('en', { numeric: true });
  const entries = readdirSync(directory, { withFileTypes: true });
  entries.sort((a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1));
  const markets = entries.filter((entry) => MARKETS_FILE.test(entry.name));
  const rest = entries.filter((entry) => !MARKETS_FILE.test(entry.name));
  return [...markets, ...rest].flatMap((entry) => {
    const path = join(directory, entry.name);
    if (!entry.isDirectory()) return entry.isFile() || (entry.isSymbolicLink() && linksToFile(path)) ? [path] : [];
    try {
      return filesIn(path);
    } catch {
      return [path];
    }
  });
}

/** Links to directories may form cycles, and system files of size 0 may never end: neither is followed. */
function linksToFile(path: string): boolean {
  return existsSync(path) && (sizeOf(path) ?? 0) > 0;
}

function marketsNextTo(path: string): string[] {
  const directory = dirname(path);
  return accessible(directory, () => readdirSync(directory))
    .filter((name) => MARKETS_FILE.test(name))
    .map((name) => join(directory, name));
}

/** Size of a file in bytes, before decompression; undefined for anything but a file, like a pipe. */
export function sizeOf(path: string): number | undefined {
  if (path === '-') return undefined;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : undefined;
}

/** Size of a source in the file that has it, in bytes; undefined for a pipe. */
export function storedSizeOf({ path, member }: Source): number | undefined {
  return member?.storedBytes ?? sizeOf(path);
}
