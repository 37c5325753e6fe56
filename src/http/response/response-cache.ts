import type { Database } from '../../store/database.ts';

/** Slots for questions with one request so far: a power of two. */
const ASKED_ONCE = 16_384;
/** Answers to longer questions are not cached: such requests are not repeated by accident. */
const QUESTION_CHARS_MAX = 512;
/** Memory of a cached response in addition to its body and its question. */
const OVERHEAD_BYTES = 512;

/** The body of a sent response. */
export interface CachedResponse {
  readonly body: Blob;
  /** Its approximate memory. */
  readonly bytes: number;
  /** True if the body is compressed, with the encoding of the question. */
  readonly packed: boolean;
  /** Hash of the body. */
  readonly hash: bigint;
}

/**
 * Bodies of responses to repeated questions, until the archive changes: popular lists and pages. They take at most `bytesMax`; the
 * least recently used body is dropped first. A body of more than an eighth of that is not cached. Call it within
 * `Database.readShared`.
 */
export class ResponseCache {
  readonly #database: Database;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedResponse>();
  /**
   * Hashes of questions with one request so far: the last one of each slot. Two questions with the same hash count as a repeated
   * question, which is harmless. (Thousands of texts would cost the garbage collector more than everything else.)
   */
  readonly #askedOnce = new Uint32Array(ASKED_ONCE);
  #bytes = 0;
  #hits = 0;
  #misses = 0;
  #state: number | undefined;

  constructor(database: Database, bytesMax: number) {
    this.#database = database;
    this.#bytesMax = bytesMax;
  }

  find(question: string): CachedResponse | undefined {
    this.#dropOutdated();
    const cached = this.#cached.get(question);
    if (cached === undefined) {
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    this.#cached.delete(question);
    this.#cached.set(question, cached);
    return cached;
  }

  /** The current state of the archive. */
  get state(): number {
    return this.#database.state;
  }

  /**
   * Offers a response that was made from `state` of the archive. Returns the cached response, to be sent without another copy, or
   * undefined if it is not cached. A response of an earlier state is not cached.
   */
  offer(question: string, body: Uint8Array<ArrayBuffer>, packed: boolean, state: number): CachedResponse | undefined {
    if (state !== this.state || question.length > QUESTION_CHARS_MAX) return undefined;
    this.#dropOutdated();
    // Another request with the same question may have been answered since.
    const cached = this.#cached.get(question);
    if (cached !== undefined) return cached;
    const hash = Bun.hash.crc32(question);
    const slot = hash % ASKED_ONCE;
    const wasAsked = this.#askedOnce[slot] === hash;
    this.#askedOnce[slot] = wasAsked ? 0 : hash;
    const bytes = body.length + 2 * question.length + OVERHEAD_BYTES;
    if (!wasAsked || bytes > this.#bytesMax / 8) return undefined;
    const response = { body: new Blob([body]), bytes, packed, hash: Bun.hash.xxHash3(body) };
    this.#cached.set(question, response);
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#cached) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#cached.delete(oldest);
      this.#bytes -= freed;
    }
    return response;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#cached.size;
  }

  /** Questions that were answered from the cache so far. */
  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
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
