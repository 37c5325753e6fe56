import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isFields, parsedJson } from '../../record/fields.ts';
import { explained } from '../../store/database-errors.ts';
import type { ReadPosition } from './growing-file.ts';

/** The files that are watched have their positions below the data directory. */
const DIRECTORY = 'watched';
/** The file of positions is written anew when it has this number of lines more than entries. */
const SURPLUS_MAX = 10_000;

/** How far a file was read. */
export interface WatchedEntry {
  /** Its version when it was read to its end; empty if there is more to read. */
  readonly version: string;
  readonly inode: number;
  /** The position and format of a file that is read as it grows; undefined for one that is read as a whole. */
  readonly part?: { readonly format: string; readonly position: ReadPosition } | undefined;
  /** True if it has records of markets that are not known, or could not be read: the next command reads it again. */
  readonly isWaiting?: boolean;
}

/**
 * The entries of the files of a directory, by their paths below it. It is kept in a file to which changes are appended, after the archive
 * has the records. If it is lost, torn, or belongs to another archive, files are read again, which stores nothing twice.
 */
export class WatchPositions {
  readonly #path: string;
  readonly #archiveId: string;
  readonly #directory: string;
  readonly #entries = new Map<string, WatchedEntry>();
  readonly #changed = new Set<string>();
  readonly #byInode = new Map<number, WatchedEntry>();
  #lines = 0;

  /** `directory`: a real path, so that it is the same one in every command. */
  constructor(data: string, directory: string, archiveId: string) {
    this.#path = join(data, DIRECTORY, `${Bun.hash(directory).toString(36)}.ndjson`);
    this.#directory = directory;
    this.#archiveId = archiveId;
    for (const [path, entry] of this.#kept()) this.set(path, entry);
    this.#changed.clear();
    this.#rewrite();
  }

  get(path: string): WatchedEntry | undefined {
    return this.#entries.get(path);
  }

  set(path: string, entry: WatchedEntry): void {
    this.#entries.set(path, entry);
    this.#byInode.set(entry.inode, entry);
    this.#changed.add(path);
  }

  /** Finds the entry of a file that had another name. */
  ofInode(inode: number): WatchedEntry | undefined {
    return this.#byInode.get(inode);
  }

  /** Forgets the files that have records of unknown markets, or could not be read: they are read again. */
  forgetWaiting(): void {
    for (const [path, { inode, isWaiting }] of this.#entries)
      if (isWaiting === true) this.set(path, { version: '', inode });
  }

  /** Writes the changes since the last call. Throws 'unavailable'. */
  save(): void {
    if (this.#changed.size === 0) return;
    this.#lines += this.#changed.size;
    if (this.#lines > this.#entries.size + SURPLUS_MAX) this.#rewrite();
    else {
      const lines = [...this.#changed].map((path) => this.#line(path)).join('');
      explained(this.#path, () => appendFileSync(this.#path, lines));
    }
    this.#changed.clear();
  }

  #rewrite(): void {
    const header = `${JSON.stringify({ archive: this.#archiveId, directory: this.#directory })}\n`;
    const lines = [...this.#entries.keys()].map((path) => this.#line(path)).join('');
    explained(this.#path, () => {
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(`${this.#path}.new`, header + lines);
      renameSync(`${this.#path}.new`, this.#path);
    });
    this.#lines = this.#entries.size;
  }

  #line(path: string): string {
    return `${JSON.stringify([path, this.#entries.get(path)])}\n`;
  }

  #kept(): [string, WatchedEntry][] {
    const [header, ...lines] = this.#text().split('\n');
    const belongs = parsedJson(header ?? '');
    if (!isFields(belongs) || belongs.archive !== this.#archiveId || belongs.directory !== this.#directory) return [];
    // The last line may be torn.
    return lines.flatMap((line) => {
      const value = parsedJson(line) as [string, WatchedEntry] | undefined;
      return value === undefined ? [] : [value];
    });
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch {
      // Nothing was read yet.
      return '';
    }
  }
}
