import { mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type JournalLine, journalText } from '../record/journal-line.ts';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import type { RecorderClock } from './recorder-clock.ts';
import { checkedFrame, frameEnds } from './zstd-frames.ts';

/** A zstd frame of the journal has at most this many bytes of lines, unless one line is longer. */
const FRAME_BYTES_MAX = 256 * 1024;
/** A process that is killed loses at most a second: half of it is left for compression and the write. */
const WRITE_MS = 500;
const NEWLINE = 0x0a;
/** A UTF-16 unit takes at most this many bytes. */
const UTF8_BYTES_MAX = 3;
/** One buffer is filled while another one is compressed. */
const SPARE_MAX = 2;
/** Lines beyond this are refused: the disk does not take what arrives. */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024;
const US_PER_HOUR = 3_600_000_000;
/** `YYYY-MM-DDTHH` */
const HOUR_CHARS = 13;

export const JOURNAL_DIRECTORY = 'journal';
/** The name of a file of the journal. */
export const FILE = /^\d{4}-\d\d-\d\dT\d\d\.frames\.zst$/;

/** A part of the journal that is on the disk. */
export interface JournalPosition {
  /** The name of the file. */
  readonly file: string;
  /** Bytes from its beginning, the end of a zstd frame. */
  readonly end: number;
  /** The arrival of its last line. */
  readonly receivedUs: number;
}

/**
 * Everything that arrived, as it arrived: lines of JSON (journal-line.ts) in zstd frames, appended to a file per hour (UTC),
 * `YYYY-MM-DDTHH.frames.zst`. A line is written a second after it was appended: a process that is killed loses no earlier one. The disk has it
 * as soon as it can: a slow disk delays no write.
 */
export class Journal {
  readonly #directory: string;
  readonly #clock: RecorderClock;
  readonly #onWritten: (position: JournalPosition) => void;
  readonly #onError: (error: unknown) => void;
  readonly #encoder = new TextEncoder();
  /** The lines that follow the last frame. */
  #lines = newBuffer();
  /** Buffers of written frames: to give memory back and to take it again takes longer than to compress what is in it. */
  readonly #spare: ByteBuffer[] = [];
  /** Hours since 1970. */
  #hour = 0;
  #lastUs = 0;
  #timer: Disposable | undefined;
  #file: { readonly name: string; readonly handle: FileHandle; end: number } | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Settles when all that was written is on the disk. */
  #syncing: Promise<void> = Promise.resolve();
  /** Bytes of lines that are not on the disk yet. */
  queuedBytes = 0;
  /** Bytes on the disk since the start, compressed. */
  writtenBytes = 0;

  /** `onWritten` is called with each part that is on the disk, `onError` when a part cannot be written. */
  constructor(
    directory: string,
    clock: RecorderClock,
    onWritten: (position: JournalPosition) => void,
    onError: (error: unknown) => void,
  ) {
    this.#directory = join(directory, JOURNAL_DIRECTORY);
    this.#clock = clock;
    this.#onWritten = onWritten;
    this.#onError = onError;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const files = readdirSync(this.#directory).filter((name) => FILE.test(name));
    const last = files.sort().at(-1);
    if (last !== undefined) this.#hour = hourOf(Date.parse(`${last.slice(0, HOUR_CHARS)}:00Z`) * 1000);
  }

  get fileName(): string | null {
    return this.#file?.name ?? null;
  }

  /**
   * False, and nothing is appended, while the disk is QUEUED_BYTES_MAX behind, except with `isForced`. A line is never in an earlier file
   * than those before it, also if the clock was set back.
   */
  append(line: JournalLine, { isForced = false } = {}): boolean {
    if (this.queuedBytes > QUEUED_BYTES_MAX && !isForced) return false;
    const hour = hourOf(line.receivedUs);
    if (hour > this.#hour) {
      this.#cut();
      this.#hour = hour;
    }
    const start = this.#lines.length;
    this.#encode(journalText(line));
    this.queuedBytes += this.#lines.length - start;
    this.#lastUs = line.receivedUs;
    if (this.#lines.length >= FRAME_BYTES_MAX) this.#cut();
    else this.#timer ??= this.#clock.after(WRITE_MS, () => this.#cut());
    return true;
  }

  /** Writes what was appended, and settles when it is on the disk. */
  async flush(): Promise<void> {
    this.#cut();
    await this.#writing;
    await this.#syncing;
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#closeFile();
  }

  #encode(text: string): void {
    const lines = this.#lines;
    lines.reserve(text.length * UTF8_BYTES_MAX + 1);
    lines.length += this.#encoder.encodeInto(text, lines.bytes.subarray(lines.length)).written;
    lines.byte(NEWLINE);
  }

  /** Ends the frame of the lines so far, and writes it after those before it. */
  #cut(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const [lines, receivedUs, name] = [this.#lines, this.#lastUs, fileNameOf(this.#hour)];
    const bytes = lines.length;
    this.#lines = this.#spare.pop() ?? newBuffer();
    const failed = (error: unknown) => this.#onError(error);
    const done = () => {
      this.queuedBytes -= bytes;
    };
    this.#writing = this.#writing.then(async () => {
      try {
        const onDisk = await this.#write(name, lines, receivedUs);
        // The parts after it are written meanwhile.
        this.#syncing = this.#syncing.then(onDisk).catch(failed).finally(done);
      } catch (error) {
        done();
        failed(error);
      }
    });
  }

  /** Writes a part. The result waits until the disk has it, after the parts before. */
  async #write(name: string, lines: ByteBuffer, receivedUs: number): Promise<() => Promise<void>> {
    const frame = await checkedFrame(lines.view());
    lines.clear();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(lines);
    if (this.#file?.name !== name) {
      await this.#closeFile();
      const path = join(this.#directory, name);
      const end = endOf(path);
      this.#file = { name, handle: await open(path, 'a', 0o600), end };
    }
    const file = this.#file;
    try {
      await file.handle.appendFile(frame);
    } catch (error) {
      // A part may be written: the file is opened again, which cuts it off.
      await this.#closeFile();
      throw error;
    }
    file.end += frame.length;
    const { end } = file;
    return async () => {
      await file.handle.datasync();
      this.writtenBytes += frame.length;
      this.#onWritten({ file: name, end, receivedUs });
    };
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await this.#syncing;
    await file?.handle.close();
  }
}

function newBuffer(): ByteBuffer {
  return new ByteBuffer(2 * FRAME_BYTES_MAX);
}

/** Hours since 1970. */
export function hourOf(us: number): number {
  return Math.floor(us / US_PER_HOUR);
}

/** The name of the file of an hour since 1970. */
export function fileNameOf(hour: number): string {
  return `${new Date(hour * (US_PER_HOUR / 1000)).toISOString().slice(0, HOUR_CHARS)}.frames.zst`;
}

/** The end of a file's whole frames. Cuts off what a process wrote when it was killed. 0 for a new file. */
function endOf(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return 0;
  const end = frameEnds(path, 0).at(-1) ?? 0;
  if (end < size) truncateSync(path, end);
  return end;
}
