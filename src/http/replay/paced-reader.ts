import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { TASK_MS, type WorkQueue } from '../../replay/fair-queue.ts';
import type { StreamItem, TardisStream } from '../../replay/tardis/stream.ts';
import type { Database } from '../../store/database.ts';

const ITEMS_PER_CLOCK_CHECK = 16;
/** A chunk ends after the line that takes it beyond this length, or after TASK_MS. */
const CHUNK_CHARS = 64 * 1024;
/** The longest sleep between two checks whether the server is stopping. */
const SLEEP_MS_MAX = 500;

const encoder = new TextEncoder();

/** The playback speed from `fromMs` on: 1 is real time, 0 sends at once. */
export interface Pace {
  readonly fromMs: InstantMs;
  readonly speed: number;
  readonly monotonicMs: () => number;
}

/** Reads a stream at a pace, for at most TASK_MS at a time. */
export class PacedReader {
  readonly #stream: TardisStream;
  readonly #pace: Pace;
  #startedMs: number | undefined;
  /** The next item, which is not due yet. */
  #held: StreamItem | undefined;

  constructor(stream: TardisStream, pace: Pace) {
    this.#stream = stream;
    this.#pace = pace;
  }

  /**
   * Gives `take` the due items, until TASK_MS have passed or `take` returns false. Returns the real milliseconds until the next
   * item, undefined after the last one. Throws as the stream does. Needs a view of the archive.
   */
  read(take: (item: StreamItem) => boolean): number | undefined {
    const { monotonicMs } = this.#pace;
    const untilMs = monotonicMs() + TASK_MS;
    this.#stream.check();
    for (let count = 1; ; count += 1) {
      const item = this.#held ?? this.#stream.next();
      this.#held = undefined;
      if (item === undefined) return undefined;
      const isRest = item.kind === 'rest';
      const waitMs = isRest ? 0 : this.#waitMs(item.localMs);
      if (waitMs > 0) {
        this.#held = item;
        return waitMs;
      }
      if (!take(item)) return 0;
      // The stream did some work before it gave a rest.
      if ((isRest || count % ITEMS_PER_CLOCK_CHECK === 0) && monotonicMs() >= untilMs) return 0;
    }
  }

  /** Drops the item that is not due yet. */
  drop(): void {
    this.#held = undefined;
  }

  /** 0 if it is due. */
  #waitMs(localMs: InstantMs): number {
    const { fromMs, speed, monotonicMs } = this.#pace;
    if (speed === 0) return 0;
    const nowMs = monotonicMs();
    this.#startedMs ??= nowMs;
    return Math.max(0, this.#startedMs + (localMs - fromMs) / speed - nowMs);
  }
}

export interface BodySource {
  readonly database: Database;
  readonly queue: WorkQueue;
  readonly reader: PacedReader;
  /** An item as a line; '' if it has none. */
  readonly lineOf: (item: StreamItem) => string;
  /** True if the server is stopping: bodies in progress are cut off then. */
  readonly isDraining: () => boolean;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/**
 * A stream as lines, in chunks. Each chunk has its own view of the archive; a market that changes in between is an error. Other
 * tasks of the queue run between chunks. Throws as the stream does, and when the server stops.
 */
export async function* tardisChunks(source: BodySource): AsyncGenerator<Uint8Array> {
  const { database, queue, reader, lineOf, isDraining, signal } = source;
  for (;;) {
    await queue.next();
    signal.throwIfAborted();
    if (isDraining()) throw new DomainError('conflict', 'this server is stopping: try again later');
    let text = '';
    const waitMs = database.read(() =>
      reader.read((item) => {
        text += lineOf(item);
        return text.length < CHUNK_CHARS;
      }),
    );
    if (text !== '') yield encoder.encode(text);
    if (waitMs === undefined) return;
    if (waitMs > 0) await sleep(Math.min(Math.ceil(waitMs), SLEEP_MS_MAX), undefined, { signal });
  }
}
