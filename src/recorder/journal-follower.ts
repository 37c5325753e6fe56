import { closeSync, openSync, readdirSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFields, parsedJson } from '../record/fields.ts';
import { FILE, fileNameOf, hourOf, JOURNAL_DIRECTORY, type JournalPosition } from './journal.ts';
import { COUNTED, type StoredCounts } from './recorder.ts';
import { REORDERED_MS } from './watched-asset.ts';
import { frameEnds } from './zstd-frames.ts';

/** Imports lines of the journal, at least one; `name` is that of their file in messages. */
export type ImportLines = (lines: readonly string[], name: string) => Promise<Omit<StoredCounts, 'isWaiting'>>;

const POSITION_FILE = 'stored.json';
/** Maximum number of compressed bytes that are imported at once, unless one frame is longer. */
const PART_BYTES_MAX = 128 * 1024;
/** A line waits no longer, in case its time is wrong and no other line reaches it. */
const WAITED_US_MAX = 2_000_000;
/** The arrival in a line, and the venue's time, if its frame, which is JSON within JSON, states one. */
const TIMES = /^\{"receivedAt":(\d+),(?:.*?\\"timestamp\\": ?\\"(\d{13})\\")?/;

/** A place in the journal, the end of a zstd frame. */
type Place = Pick<JournalPosition, 'file' | 'end'>;

interface WaitingLine {
  readonly text: string;
  readonly receivedUs: number;
  /** Zero for a line without a time of the venue, which never waits. */
  readonly timestampMs: number;
  /** The place from which it can be read again. */
  readonly from: Place;
}

/** The lines of some zstd frames, and the end of the last of them. */
interface Part {
  readonly end: number;
  readonly lines: readonly string[];
  /** Frames that cannot be decompressed. */
  readonly damaged: number;
}

/**
 * Stores the journal in the archive, each part once: it remembers in the journal's directory how far it came. If that is lost, or the
 * process ends between a part and its note, parts are stored again, which changes nothing. Messages of the last moment wait for the next
 * part: those that arrive after them may belong before them, and the book between would be wrong.
 */
export class JournalFollower {
  readonly #directory: string;
  readonly #importLines: ImportLines;
  /** How far the journal was read; undefined: as far as it was noted. */
  #read: Place | undefined;
  /** Lines before that which wait. */
  #waiting: readonly WaitingLine[] = [];

  constructor(data: string, importLines: ImportLines) {
    this.#directory = join(data, JOURNAL_DIRECTORY);
    this.#importLines = importLines;
  }

  /** `isLast`: nothing follows soon, so nothing waits. */
  async store(until: JournalPosition, isLast: boolean): Promise<StoredCounts> {
    const sums = { repeatedEvents: 0, hashesMatched: 0, hashesFailed: 0, gaps: 0 };
    const doubtful = new Set<string>();
    const refused: NonNullable<StoredCounts['rejected']>[] = [];
    const importAll = async (lines: readonly WaitingLine[], name: string) => {
      if (lines.length === 0) return;
      const counts = await this.#importLines(
        lines.map(({ text }) => text),
        name,
      );
      for (const each of COUNTED) sums[each] += counts[each];
      for (const id of counts.doubtful) doubtful.add(id);
      if (counts.rejected !== null) refused.push(counts.rejected);
    };
    const read = this.#read ?? this.#noted();
    let hasNew = false;
    for (const file of this.#files().filter((name) => name >= read.file && name <= until.file)) {
      const start = file === read.file ? read.end : 0;
      for (const { lines, end, damaged } of this.#parts(file, start, file === until.file ? until.end : Infinity)) {
        hasNew = true;
        if (damaged > 0) refused.push({ lines: damaged, reason: `a part of '${file}' is damaged, and was left out` });
        const from = this.#read?.file === file ? this.#read : { file, end: start };
        const { ready, waiting } = divided([...this.#waiting, ...lines.map((text) => waitingLine(text, from))]);
        await importAll(ready, file);
        this.#waiting = waiting;
        this.#read = { file, end };
        this.#note(waiting[0]?.from ?? this.#read);
      }
    }
    // Nothing that arrived since those that wait, or nothing to come.
    if ((isLast || !hasNew) && this.#waiting.length > 0) {
      await importAll(this.#waiting, until.file);
      this.#waiting = [];
      this.#note(this.#read ?? read);
    }
    const [first] = refused;
    const lines = refused.reduce((sum, one) => sum + one.lines, 0);
    return {
      ...{ ...sums, doubtful: [...doubtful], isWaiting: this.#waiting.length > 0 },
      rejected: first === undefined ? null : { lines, reason: first.reason },
    };
  }

  /** Deletes the files whose lines are all stored and arrived before an instant. */
  deleteBefore(instantMs: number): void {
    const stored = this.#noted().file;
    const limit = fileNameOf(hourOf(instantMs * 1000));
    for (const name of this.#files()) if (name < stored && name < limit) rmSync(join(this.#directory, name));
  }

  /** The lines of a file from `start` to `end`, some zstd frames at a time. */
  *#parts(name: string, start: number, end: number): Generator<Part> {
    const path = join(this.#directory, name);
    const file = openSync(path, 'r');
    try {
      let [from, lines, damaged] = [start, [] as string[], 0];
      let at = start;
      const ends = frameEnds(path, start).filter((frameEnd) => frameEnd <= end);
      for (const [index, frameEnd] of ends.entries()) {
        const bytes = new Uint8Array(frameEnd - at);
        readSync(file, bytes, 0, bytes.length, at);
        at = frameEnd;
        try {
          lines.push(...Bun.zstdDecompressSync(bytes).toString().trimEnd().split('\n'));
        } catch {
          // The disk gave other bytes back than it got.
          damaged += 1;
        }
        if (frameEnd - from < PART_BYTES_MAX && index < ends.length - 1) continue;
        yield { end: frameEnd, lines, damaged };
        [from, lines, damaged] = [frameEnd, [], 0];
      }
    } finally {
      closeSync(file);
    }
  }

  #files(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => FILE.test(name))
      .sort();
  }

  #noted(): Place {
    try {
      const value = parsedJson(readFileSync(join(this.#directory, POSITION_FILE), 'utf8'));
      if (isFields(value) && typeof value.file === 'string' && typeof value.end === 'number')
        return { file: value.file, end: value.end };
    } catch {
      // Nothing was stored yet.
    }
    return { file: '', end: 0 };
  }

  #note(place: Place): void {
    const path = join(this.#directory, POSITION_FILE);
    writeFileSync(`${path}.new`, JSON.stringify(place), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

/** The lines that no later line belongs before, and those that wait. */
function divided(lines: readonly WaitingLine[]) {
  const lastUs = lines.at(-1)?.receivedUs ?? 0;
  const limitMs = lines.reduce((latest, { timestampMs }) => Math.max(latest, timestampMs), 0) - REORDERED_MS;
  const waits = ({ timestampMs, receivedUs }: WaitingLine) =>
    timestampMs > Math.max(0, limitMs) && receivedUs > lastUs - WAITED_US_MAX;
  return { ready: lines.filter((line) => !waits(line)), waiting: lines.filter(waits) };
}

function waitingLine(text: string, from: Place): WaitingLine {
  const [, receivedUs = 0, timestampMs = 0] = TIMES.exec(text) ?? [];
  return { text, receivedUs: Number(receivedUs), timestampMs: Number(timestampMs), from };
}
