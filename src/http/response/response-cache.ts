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
  /** The version of the market or the archive that it was made from, see ResponseCache. */
  readonly version: number;
}

/**
 * Bodies of responses to repeated requests: popular lists and pages. Each is valid for one version of what it was made from: the revision
 * of its market, or else the state of the archive, so that a commit forgets only answers about the markets that it changed, and lists. They
 * take at most `bytesMax`, outdated ones included; the least recently used body is dropped first. A body of more than an eighth of that is
 * not cached. Call it within `Database.readShared`.
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

  constructor(database: Database, bytesMax: number) {
    this.#database = database;
    this.#bytesMax = bytesMax;
  }

  /** The cached response to a request, if it was made from `version`. */
  find(requestKey: string, version: number): CachedResponse | undefined {
    const cached = this.#cached.get(requestKey);
    if (cached?.version !== version) {
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
   * Offers a response that was made from `version`; NaN: from several, so it is not cached. Returns the cached response, to be sent without
   * another copy, or undefined if it is not cached.
   */
  offer(
    requestKey: string,
    body: Uint8Array<ArrayBuffer>,
    packed: boolean,
    version: number,
  ): CachedResponse | undefined {
    if (Number.isNaN(version) || requestKey.length > REQUEST_KEY_CHARS_MAX) return undefined;
    // Another request with the same key may have been answered since.
    const cached = this.#cached.get(requestKey);
    if (cached?.version === version) return cached;
    // Requests for other versions do not count.
    const hash = (Bun.hash.crc32(requestKey) ^ version) >>> 0;
    const slot = hash % SEEN_ONCE;
    const wasSeen = this.#seenOnce[slot] === hash;
    this.#seenOnce[slot] = wasSeen ? 0 : hash;
    const bytes = body.length + 2 * requestKey.length + OVERHEAD_BYTES;
    if (!wasSeen || bytes > this.#bytesMax / 8) return undefined;
    const response = { body: new Blob([body]), bytes, packed, hash: Bun.hash.xxHash3(body), version };
    this.#cached.delete(requestKey);
    this.#cached.set(requestKey, response);
    this.#bytes += bytes - (cached?.bytes ?? 0);
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
}
