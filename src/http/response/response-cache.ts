import type { Database } from '../../store/database.ts';

/** Slots for keys of requests that came once so far: a power of two. */
const SEEN_ONCE = 16_384;
/** Answers to longer keys are not cached: such requests are not repeated by accident. */
const REQUEST_KEY_CHARS_MAX = 512;
/** Memory of a cached response in addition to its body and its request key. */
const OVERHEAD_BYTES = 512;

/** The body of a sent response. */
export interface CachedResponse {
  readonly body: Blob;
  /** Its approximate memory. */
  readonly bytes: number;
  /** True if the body is compressed, with the encoding of the request key. */
  readonly packed: boolean;
  /** Hash of the body. */
  readonly hash: bigint;
}

/**
 * Bodies of responses to repeated requests, until the archive changes: popular lists and pages. They take at most `bytesMax`; the
 * least recently used body is dropped first. A body of more than an eighth of that is not cached. Call it within
 * `Database.readShared`.
 */
export class ResponseCache {
  readonly #database: Database;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedResponse>();
  /**
   * Hashes of keys of requests that came once so far: the last one of each slot. Two keys with the same hash count as a repeated
   * request, which is harmless. (Thousands of texts would cost the garbage collector more than everything else.)
   */
  readonly #seenOnce = new Uint32Array(SEEN_ONCE);
  #bytes = 0;
  #hits = 0;
  #misses = 0;
  #state: number | undefined;

  constructor(database: Database, bytesMax: number) {
    this.#database = database;
    this.#bytesMax = bytesMax;
  }

  find(requestKey: string): CachedResponse | undefined {
    this.#dropOutdated();
    const cached = this.#cached.get(requestKey);
    if (cached === undefined) {
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    this.#cached.delete(requestKey);
    this.#cached.set(requestKey, cached);
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
  offer(requestKey: string, body: Uint8Array<ArrayBuffer>, packed: boolean, state: number): CachedResponse | undefined {
    if (state !== this.state || requestKey.length > REQUEST_KEY_CHARS_MAX) return undefined;
    this.#dropOutdated();
    // Another request with the same key may have been answered since.
    const cached = this.#cached.get(requestKey);
    if (cached !== undefined) return cached;
    const hash = Bun.hash.crc32(requestKey);
    const slot = hash % SEEN_ONCE;
    const wasSeen = this.#seenOnce[slot] === hash;
    this.#seenOnce[slot] = wasSeen ? 0 : hash;
    const bytes = body.length + 2 * requestKey.length + OVERHEAD_BYTES;
    if (!wasSeen || bytes > this.#bytesMax / 8) return undefined;
    const response = { body: new Blob([body]), bytes, packed, hash: Bun.hash.xxHash3(body) };
    this.#cached.set(requestKey, response);
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#cached) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#cached.delete(oldest);
      this.#bytes -= freed;
    }
    return response;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#cached.size;
  }

  /** Requests that were answered from the cache so far. */
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
    this.#seenOnce.fill(0);
    this.#bytes = 0;
  }
}
