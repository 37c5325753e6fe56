import type { Database } from '../../store/database.ts';

/** Slots for questions that were asked once: a power of two. */
const ASKED_ONCE = 16_384;
/** Longer questions are answered each time: nobody asks them by accident. */
const QUESTION_CHARS_MAX = 512;
/** Memory of a cached response besides its body and its question. */
const OVERHEAD_BYTES = 512;

/** A body as it was sent. */
export interface CachedResponse {
  readonly body: Blob;
  /** Its memory, about. */
  readonly bytes: number;
  /** Whether the body is compressed, as the question asks for. */
  readonly packed: boolean;
}

/**
 * Bodies of responses to questions that were asked twice, until the archive changes: the lists and pages that many read. They
 * take `bytesMax` at the most, the least recently used ones are dropped first; a body that would take more than an eighth of
 * that is not cached. Only within `Database.readShared`.
 */
export class ResponseCache {
  readonly #database: Database;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedResponse>();
  /**
   * Hashes of questions that were asked once: the last one of each slot. Two questions that share a hash count as one that was
   * asked twice, which does no harm. (The texts, kept for thousands of requests, cost the collector more than all else.)
   */
  readonly #askedOnce = new Uint32Array(ASKED_ONCE);
  #bytes = 0;
  #state: number | undefined;

  constructor(database: Database, bytesMax: number) {
    this.#database = database;
    this.#bytesMax = bytesMax;
  }

  find(question: string): CachedResponse | undefined {
    this.#dropOutdated();
    const cached = this.#cached.get(question);
    if (cached === undefined) return undefined;
    this.#cached.delete(question);
    this.#cached.set(question, cached);
    return cached;
  }

  /** The present state of the archive. */
  get state(): number {
    return this.#database.state;
  }

  /**
   * Notes a response that was made of `state`; returns it if it is cached from now on, to be sent without another copy. One
   * of an earlier state is not.
   */
  offer(question: string, body: Uint8Array<ArrayBuffer>, packed: boolean, state: number): CachedResponse | undefined {
    if (state !== this.state || question.length > QUESTION_CHARS_MAX) return undefined;
    this.#dropOutdated();
    // Another request may have asked the same while this response was made.
    const cached = this.#cached.get(question);
    if (cached !== undefined) return cached;
    const hash = Bun.hash.crc32(question);
    const slot = hash % ASKED_ONCE;
    const wasAsked = this.#askedOnce[slot] === hash;
    this.#askedOnce[slot] = wasAsked ? 0 : hash;
    const bytes = body.length + 2 * question.length + OVERHEAD_BYTES;
    if (!wasAsked || bytes > this.#bytesMax / 8) return undefined;
    const response = { body: new Blob([body]), bytes, packed };
    this.#cached.set(question, response);
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#cached) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#cached.delete(oldest);
      this.#bytes -= freed;
    }
    return response;
  }

  /** Bytes in use, for the test of the bound. */
  get bytes(): number {
    return this.#bytes;
  }

  #dropOutdated(): void {
    const { state } = this;
    if (state === this.#state) return;
    this.#state = state;
    this.#cached.clear();
    this.#askedOnce.fill(0);
    this.#bytes = 0;
  }
}
