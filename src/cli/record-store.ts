import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { REPEATED, recorderJournal } from '../import/codecs/recorder-journal.ts';
import type { Member } from '../import/containers/member.ts';
import { Importer } from '../import/importer.ts';
import { SocketMerge } from '../import/rebuild/socket-merge.ts';
import { parsedJson } from '../record/fields.ts';
import type { JournalPosition } from '../recorder/journal.ts';
import type { ImportLines } from '../recorder/journal-follower.ts';
import { messageOf, type StoredCounts, type StoreJournal } from '../recorder/recorder.ts';
import type { Archive } from '../store/archive.ts';
import { linesOf, ownCommand } from './own-command.ts';

const RESTART_MS = 1000;
/**
 * The engine of the process that stores collects garbage as on a machine with this memory, which leaves the rest to others, and works without its
 * last compiler, which takes more processor time than its code saves here.
 */
const ENGINE = { BUN_JSC_forceRAMSize: '100000000', BUN_JSC_useFTLJIT: '0' };
/** Garbage is collected after a part if the process has more memory than this: after each part it would take a tenth of the time. */
const RESIDENT_BYTES_MAX = 110_000_000;
/** An archive that needs longer than this for a part is behind the journal, and catches up first. */
const BUSY_MS = 1500;
/** A line with a gap that the recorder wrote, and has counted. */
const GAP_LINE = /^\{"receivedAt":\d+,"gap":/;

/** Imports lines of the journal, call by call, like one recording. Throws an Error if they are not read to their end. */
export function importLines(archive: Archive, clock: () => number): ImportLines {
  let merge = new SocketMerge();
  return async (lines, name) => {
    const known = merge;
    // Until the end: what is imported again after an error is new.
    merge = new SocketMerge();
    // Enough to be recognised: the lines themselves would become bytes, and text again.
    const stored = async () => new Blob([lines[0]!]).stream();
    const member: Member = { label: `'${name}'`, name, storedBytes: lines[0]!.length, stored };
    const importer = new Importer(archive, { clock, codec: () => recorderJournal(lines, known) });
    const stated = lines.filter((line) => GAP_LINE.test(line)).length;
    const { files, total, rejections } = await importer.run([{ path: name, name, named: true, member }]);
    archive.database.checkpoint();
    const [file] = files;
    if (file?.error !== undefined) throw new Error(file.error);
    merge = known;
    const { hashesVerified, changeHashesVerified, booksDamaged, changeHashesTried } = importer.checks;
    return {
      repeatedEvents: file?.kinds.find(({ kind }) => kind === REPEATED)?.ignored ?? 0,
      hashesMatched: hashesVerified + changeHashesVerified,
      hashesFailed: booksDamaged + changeHashesTried - changeHashesVerified,
      gaps: Math.max(0, total.gaps - stated),
      doubtful: [...importer.doubtful],
      rejected: total.rejected === 0 ? null : { lines: total.rejected, reason: rejections[0]!.reason },
    };
  };
}

/** The work of the process that stores. */
export interface StoringWork {
  readonly store: StoreJournal;
  /** Called between two parts, if there is time. */
  readonly rest: () => void;
  /** The notes that `rest` made since the last call. */
  readonly takeNotes: () => readonly string[];
}

/** The process that stores answers with its counts and notes, or with the reason why it did not. */
type StoreAnswer = (StoredCounts | { readonly error: string }) & { readonly notes: readonly string[] };

/**
 * Answers each line of `input`, a position as JSON, with a line of JSON: the counts of what was stored up to it, or `error`. Returns when
 * the input ends.
 */
export async function storeForParent(
  input: Readable,
  { store, rest, takeNotes }: StoringWork,
  print: (line: string) => void,
): Promise<void> {
  const answer = (counts: StoredCounts | { readonly error: string }) => {
    print(JSON.stringify({ ...counts, notes: takeNotes() } satisfies StoreAnswer));
  };
  for await (const line of createInterface({ input })) {
    const startMs = performance.now();
    let hasTime = false;
    try {
      const { isLast, ...until } = parsedJson(line) as JournalPosition & { readonly isLast: boolean };
      answer(await store(until, isLast));
      hasTime = !isLast && performance.now() - startMs < BUSY_MS;
    } catch (error) {
      answer({ error: messageOf(error) });
    }
    // Its memory is not used again before the next part.
    if (process.memoryUsage.rss() > RESIDENT_BYTES_MAX) Bun.gc(true);
    if (hasTime) rest();
  }
}

/**
 * Stores the journal in a process of its own, because an import takes the processor for longer than the arrivals of frames may wait. The
 * process is started again with the next part if it has ended.
 */
export class StoringProcess implements Disposable {
  readonly #args: readonly string[];
  readonly #note: (line: string) => void;
  #child: ReturnType<typeof spawned> | undefined;

  /** `args`: the arguments of `record store`. */
  constructor(args: readonly string[], note: (line: string) => void) {
    this.#args = args;
    this.#note = note;
  }

  readonly store: StoreJournal = async (until, isLast) => {
    this.#child ??= spawned(this.#args);
    const child = this.#child;
    try {
      child.process.stdin.write(`${JSON.stringify({ ...until, isLast })}\n`);
      child.process.stdin.flush();
      const { value, done } = await child.lines.next();
      if (done === true) throw new Error('the process that stores has ended');
      // The other side is `storeForParent`, of the same executable.
      const answer = JSON.parse(value) as StoreAnswer;
      for (const note of answer.notes) this.#note(note);
      if ('error' in answer) throw new Error(answer.error);
      return answer;
    } catch (error) {
      if (child.process.exitCode !== null || child.process.signalCode !== null) {
        this.#child = undefined;
        await Bun.sleep(RESTART_MS);
      }
      throw error;
    }
  };

  /** The process ends with its input. */
  [Symbol.dispose](): void {
    this.#child?.process.stdin.end();
  }
}

function spawned(args: readonly string[]) {
  const process_ = Bun.spawn(ownCommand(['record', 'store', ...args]), {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, MIMALLOC_PURGE_DELAY: undefined, ...ENGINE },
  });
  return { process: process_, lines: linesOf(process_.stdout) };
}
