import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFields, parsedJson } from '../record/fields.ts';
import { JOURNAL_DIRECTORY, type JournalPosition } from './journal.ts';
import { COUNTED, type StoredCounts } from './recorder.ts';
import { wholeFramesLength } from './zstd-frames.ts';

/** Whole zstd frames of a file of the journal. */
export interface JournalPart {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  /** The lines to import in place of all lines of the range. */
  readonly text?: string;
}

export type ImportPart = (part: JournalPart) => Promise<Omit<StoredCounts, 'isWaiting'>>;

const POSITION_FILE = 'stored.json';
const FILE = /^\d{4}-\d\d-\d\dT\d\d\.frames\.zst$/;
/** Messages that arrive later may have an earlier time of the venue, by at most this much. */
const REORDERED_MS = 250;
/** A larger part comes from a time without a follower; its end is as good as any other place in it. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;
/** A line waits no longer: its time is none that others come near to. */
const WAITED_US_MAX = 2_000_000;
/** The arrival in a line, and the venue's time, if its frame, which is JSON within JSON, states one. */
const TIMES = /^\{"receivedAt":(\d+),(?:.*?\\"timestamp\\": ?\\"(\d{13})\\")?/;

interface WaitingLine {
  readonly text: string;
  readonly receivedUs: number;
  /** Zero for a line without a time of the venue, which never waits. */
  readonly timestampMs: number;
  /** The place from which it can be read again. */
  readonly from: { readonly file: string; readonly end: number };
}

/**
 * Stores the journal in the archive, each part once: it remembers in the journal's directory how far it came. If that is lost, or the
 * process ends between a part and its note, parts are stored again, which changes nothing. Messages of the last moment wait for the next
 * part: those that arrive after them may belong before them, and the book between would be wrong.
 */
export class JournalFollower {
  readonly #directory: string;
  readonly #importPart: ImportPart;
  /** How far the journal was read; undefined: as far as it was noted. */
  #read: { readonly file: string; readonly end: number } | undefined;
  /** Lines before that which wait. */
  #waiting: readonly WaitingLine[] = [];

  constructor(data: string, importPart: ImportPart) {
    this.#directory = join(data, JOURNAL_DIRECTORY);
    this.#importPart = importPart;
  }

  /** `isLast`: nothing follows soon, so nothing waits. */
  async store(until: JournalPosition, isLast: boolean): Promise<StoredCounts> {
    const sums = { repeatedEvents: 0, hashesMatched: 0, hashesFailed: 0 };
    const doubtful = new Set<string>();
    const refused: NonNullable<StoredCounts['rejected']>[] = [];
    const read = this.#read ?? this.#noted();
    for (const file of this.#files().filter((name) => name >= read.file && name <= until.file)) {
      const path = join(this.#directory, file);
      const start = file === read.file ? read.end : 0;
      const end = file === until.file ? until.end : wholeFramesLength(readFileSync(path));
      if (end <= start && this.#waiting.length === 0) continue;
      // Nothing new has arrived since those that wait.
      const isHeld = !isLast && end > start && end - start <= HELD_BYTES_MAX;
      const { parts, waiting } = this.#divided({ path, start, end }, { file, end: start }, isHeld);
      for (const part of parts) {
        const counts = await this.#importPart(part);
        for (const name of COUNTED) sums[name] += counts[name];
        for (const id of counts.doubtful) doubtful.add(id);
        if (counts.rejected !== null) refused.push(counts.rejected);
      }
      this.#waiting = waiting;
      this.#read = { file, end };
      this.#note(waiting[0]?.from ?? { file, end });
    }
    const [first] = refused;
    const lines = refused.reduce((sum, one) => sum + one.lines, 0);
    return {
      ...{ ...sums, doubtful: [...doubtful], isWaiting: this.#waiting.length > 0 },
      rejected: first === undefined ? null : { lines, reason: first.reason },
    };
  }

  /** The parts to import, with the lines that have waited, and the lines that wait now. */
  #divided(
    range: JournalPart,
    from: WaitingLine['from'],
    isHeld: boolean,
  ): { parts: readonly JournalPart[]; waiting: readonly WaitingLine[] } {
    if (!isHeld) {
      const earlier = this.#waiting.length === 0 ? [] : [{ ...range, text: textOf(this.#waiting) }];
      return { parts: range.end > range.start ? [...earlier, range] : earlier, waiting: [] };
    }
    const bytes = readFileSync(range.path).subarray(range.start, range.end);
    const text = Bun.zstdDecompressSync(bytes).toString().trimEnd();
    const lines = [...this.#waiting, ...text.split('\n').map((line) => waitingLine(line, from))];
    const lastUs = lines.at(-1)!.receivedUs;
    const limitMs = lines.reduce((latest, { timestampMs }) => Math.max(latest, timestampMs), 0) - REORDERED_MS;
    const waits = ({ timestampMs, receivedUs }: WaitingLine) =>
      timestampMs > Math.max(0, limitMs) && receivedUs > lastUs - WAITED_US_MAX;
    const ready = lines.filter((line) => !waits(line));
    return { parts: ready.length === 0 ? [] : [{ ...range, text: textOf(ready) }], waiting: lines.filter(waits) };
  }

  /** Deletes the files whose lines are all stored and arrived before an instant. */
  deleteBefore(instantMs: number): void {
    const stored = this.#noted().file;
    const limit = `${new Date(instantMs).toISOString().slice(0, 13)}.frames.zst`;
    for (const name of this.#files()) if (name < stored && name < limit) rmSync(join(this.#directory, name));
  }

  #files(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => FILE.test(name))
      .sort();
  }

  #noted(): { readonly file: string; readonly end: number } {
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

function waitingLine(text: string, from: WaitingLine['from']): WaitingLine {
  const [, receivedUs = 0, timestampMs = 0] = TIMES.exec(text) ?? [];
  return { text, receivedUs: Number(receivedUs), timestampMs: Number(timestampMs), from };
}

function textOf(lines: readonly WaitingLine[]): string {
  return lines.map(({ text }) => text).join('\n');
}
