import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';

/** A file to import, as it was named or found. */
export interface Source {
  /** `-` for standard input. */
  readonly path: string;
  /** How reports call it. */
  readonly name: string;
  /** Named by the user: then it must be a recording. Files found in a directory may be anything. */
  readonly named: boolean;
}

const MARKETS_FILE = /^markets\.ndjson(?:\.gz|\.zst)?$/;

/**
 * The files that `paths` name, in the order in which they are to be read: directories in depth and by name, and in each the
 * `markets.ndjson` first, because records need their market; a Parquet file that is named brings along the one in its directory.
 * Throws 'unreadable' for what is named and does not exist, cannot be read or is a device. What is found in a directory and
 * cannot be read is among the files: opening it says why.
 */
export function sourcesOf(paths: readonly string[]): Source[] {
  const sources = new Map<string, Source>();
  const add = (path: string, name: string, named: boolean) => {
    if (!sources.has(path)) sources.set(path, { path, name, named });
  };
  for (const path of paths) {
    if (path === '-') {
      add(path, 'standard input', true);
      continue;
    }
    const stat = accessible(path, () => statSync(path));
    if (stat.isCharacterDevice() || stat.isBlockDevice()) {
      throw new DomainError('unreadable', `'${path}' is a device: name a file, a directory, a pipe, or -`);
    }
    const isDirectory = stat.isDirectory();
    const found = isDirectory
      ? filesIn(
          path,
          accessible(path, () => entriesOf(path)),
        )
      : [...(path.endsWith('.parquet') ? marketsBeside(path) : []), path];
    for (const file of found) add(file, file, !isDirectory);
  }
  return [...sources.values()];
}

/** Errors of the file system as DomainError 'unreadable'. */
function accessible<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    throw inaccessible(path, error);
  }
}

export function inaccessible(path: string, cause: unknown): DomainError {
  return new DomainError('unreadable', `'${path}' cannot be read: check the path and its permissions`, { cause });
}

function entriesOf(directory: string): Dirent[] {
  return readdirSync(directory, { withFileTypes: true });
}

function filesIn(directory: string, entries: Dirent[]): string[] {
  // Recorders number the parts of a capture: 10 comes after 9, and a book goes on from one to the next.
  const { compare } = new Intl.Collator('en', { numeric: true });
  entries.sort((a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1));
  const markets = entries.filter((entry) => MARKETS_FILE.test(entry.name));
  const rest = entries.filter((entry) => !MARKETS_FILE.test(entry.name));
  return [...markets, ...rest].flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() || (entry.isSymbolicLink() && leadsToFile(path)) ? [path] : [];
  });
}

/** A directory that cannot be read is listed itself: opening it says why. */
function filesBelow(directory: string): string[] {
  let entries: Dirent[];
  try {
    entries = entriesOf(directory);
  } catch {
    return [directory];
  }
  return filesIn(directory, entries);
}

/** Links to directories may lead in circles, and what the system shows as files of no size may never end. */
function leadsToFile(path: string): boolean {
  if (!existsSync(path)) return false;
  const stat = statSync(path);
  return stat.isFile() && stat.size > 0;
}

function marketsBeside(path: string): string[] {
  const directory = dirname(path);
  return accessible(directory, () => readdirSync(directory))
    .filter((name) => MARKETS_FILE.test(name))
    .map((name) => join(directory, name));
}

/** Bytes of a file as they lie on the disk; undefined where there is no telling, as of a pipe. */
export function sizeOf(path: string): number | undefined {
  if (path === '-') return undefined;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : undefined;
}
