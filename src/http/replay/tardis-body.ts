import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import type { StreamItem, TardisStream } from '../../replay/tardis/tardis-stream.ts';
import type { Database } from '../../store/database.ts';
import type { TardisPace } from './tardis-pace.ts';

/** A chunk ends behind the line that takes it past so many characters, or when so much time has gone by. */
const CHUNK_CHARS = 64 * 1024;
const TURN_MS = 4;
/** Items that are read between two looks at the time. */
const ITEMS_PER_LOOK = 16;
/** For no longer it sleeps without a look whether the server is going. */
const SLEEP_MS_MAX = 500;

const encoder = new TextEncoder();

/** What a body is made of. */
export interface BodySource {
  readonly database: Database;
  readonly stream: TardisStream;
  readonly pace: TardisPace;
  readonly monotonicMs: () => number;
  /** An item as a line, or nothing. */
  readonly lineOf: (item: StreamItem) => string;
  /** Whether the server is going: what is under way is cut off then. */
  readonly isDraining: () => boolean;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/**
 * A stream as lines, a chunk at a time: each is a view of the archive of its own, in which nothing may have changed of what is being
 * told. Others get their turn in between. Throws as the stream does, and when the server is going.
 */
export async function* tardisChunks(source: BodySource): AsyncGenerator<Uint8Array> {
  const { database, isDraining, signal } = source;
  const reader = new ChunkReader(source);
  for (;;) {
    await nextTurn();
    if (isDraining()) throw new DomainError('conflict', 'this server is going: try again at another one');
    const text = database.read(() => reader.read());
    if (text !== '') yield encoder.encode(text);
    if (reader.isDone) return;
    if (reader.waitMs > 0) await sleep(Math.min(Math.ceil(reader.waitMs), SLEEP_MS_MAX), undefined, { signal });
  }
}

class ChunkReader {
  readonly #source: BodySource;
  /** It is not time for it yet. */
  #held: StreamItem | undefined;
  isDone = false;
  waitMs = 0;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** Lines, as far as it is time for them. */
  read(): string {
    const { stream, pace, monotonicMs, lineOf } = this.#source;
    const untilMs = monotonicMs() + TURN_MS;
    let text = '';
    stream.check();
    for (let count = 1; text.length < CHUNK_CHARS; count += 1) {
      const item = this.#held ?? stream.next();
      this.#held = undefined;
      this.isDone = item === undefined;
      this.waitMs = item === undefined || item.kind === 'rest' ? 0 : pace.waitMs(item.localMs);
      if (item === undefined) break;
      if (this.waitMs > 0) {
        this.#held = item;
        break;
      }
      text += lineOf(item);
      // In front of a rest there was work.
      if ((item.kind === 'rest' || count % ITEMS_PER_LOOK === 0) && monotonicMs() >= untilMs) break;
    }
    return text;
  }
}
