import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import type { FairQueue } from '../../replay/fair-queue.ts';
import type { StreamItem } from '../../replay/tardis/stream.ts';
import type { Database } from '../../store/database.ts';
import type { PacedReader } from './paced-reader.ts';

/** A chunk ends behind the line that takes it past so many characters, or with a turn. */
const CHUNK_CHARS = 64 * 1024;
/** For no longer it sleeps without a look whether the server is going. */
const SLEEP_MS_MAX = 500;

const encoder = new TextEncoder();

/** What a body is made of. */
export interface BodySource {
  readonly database: Database;
  readonly queue: FairQueue;
  readonly reader: PacedReader;
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
  const { database, queue, reader, lineOf, isDraining, signal } = source;
  for (;;) {
    await queue.next();
    if (isDraining()) throw new DomainError('conflict', 'this server is going: try again at another one');
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
