import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFields, parsedJson } from '../record/fields.ts';
import { JOURNAL_DIRECTORY, type JournalPosition } from './journal.ts';
import { COUNTED, type StoredCounts } from './recorder.ts';
import { wholeFramesLength } from './zstd-frames.ts';

/** Imports a range of bytes of a file of the journal, which is whole zstd frames. */
export type ImportRange = (path: string, start: number, end: number) => Promise<StoredCounts>;

const POSITION_FILE = 'stored.json';
const FILE = /^\d{4}-\d\d-\d\dT\d\d\.frames\.zst$/;

/**
 * Stores the journal in the archive, each part once: it remembers in the journal's directory how far it came. If that is lost, or the
 * process ends between a part and its note, parts are stored again, which changes nothing.
 */
export class JournalFollower {
  readonly #directory: string;
  readonly #importRange: ImportRange;

  constructor(data: string, importRange: ImportRange) {
    this.#directory = join(data, JOURNAL_DIRECTORY);
    this.#importRange = importRange;
  }

  async store(until: JournalPosition): Promise<StoredCounts> {
    const sums = { repeatedEvents: 0, hashesMatched: 0, hashesFailed: 0 };
    const doubtful = new Set<string>();
    const refused: NonNullable<StoredCounts['rejected']>[] = [];
    const stored = this.#stored();
    for (const file of this.#files().filter((name) => name >= stored.file && name <= until.file)) {
      const path = join(this.#directory, file);
      const start = file === stored.file ? stored.end : 0;
      const end = file === until.file ? until.end : wholeFramesLength(readFileSync(path));
      if (end <= start) continue;
      const counts = await this.#importRange(path, start, end);
      for (const name of COUNTED) sums[name] += counts[name];
      for (const id of counts.doubtful) doubtful.add(id);
      if (counts.rejected !== null) refused.push(counts.rejected);
      this.#note({ file, end });
    }
    const [first] = refused;
    const lines = refused.reduce((sum, one) => sum + one.lines, 0);
    return { ...sums, doubtful: [...doubtful], rejected: first === undefined ? null : { lines, reason: first.reason } };
  }

  /** Deletes the files whose lines are all stored and arrived before an instant. */
  deleteBefore(instantMs: number): void {
    const stored = this.#stored().file;
    const limit = `${new Date(instantMs).toISOString().slice(0, 13)}.frames.zst`;
    for (const name of this.#files()) if (name < stored && name < limit) rmSync(join(this.#directory, name));
  }

  #files(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => FILE.test(name))
      .sort();
  }

  #stored(): { readonly file: string; readonly end: number } {
    try {
      const value = parsedJson(readFileSync(join(this.#directory, POSITION_FILE), 'utf8'));
      if (isFields(value) && typeof value.file === 'string' && typeof value.end === 'number')
        return { file: value.file, end: value.end };
    } catch {
      // Nothing was stored yet.
    }
    return { file: '', end: 0 };
  }

  #note(position: { readonly file: string; readonly end: number }): void {
    const path = join(this.#directory, POSITION_FILE);
    writeFileSync(`${path}.new`, JSON.stringify(position), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}
