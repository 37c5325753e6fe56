import type { Database } from '../../store/database.ts';

/** Questions that are remembered for having been asked once, about: a power of two. */
const ASKED_ONCE = 16_384;
/** Longer questions are answered each time: nobody asks them by accident. */
const QUESTION_CHARS_MAX = 512;
/** What a held answer takes beside its body and its question. */
const BYTES_BESIDE = 512;

/** An answer's body as it was sent. */
export interface CachedResponse {
  readonly body: Blob;
  /** What it takes in memory, about. */
  readonly bytes: number;
  /** Whether the body is compressed, as the question asks for. */
  readonly packed: boolean;
}

/**
 * Bodies of answers that were asked for twice, until the archive changes: the lists and pages that everybody reads. They
 * come to `bytesMax` at the most, the longest unasked are given up first; an answer that would take more than an eighth of
 * that is not held. Only within `Database.readShared`.
 */
export class ResponseCache {
  readonly #database: Database;
  readonly #bytesMax: number;
  /** The one asked for last stands last. */
  readonly #held = new Map<string, CachedResponse>();
  /**
   * Questions that were asked once, by hash: the last one of each slot. Two that share a hash are taken for one that was asked
   * twice, which does no harm. (The texts themselves, kept for thousands of requests, cost the collector more than all else.)
   */
  readonly #askedOnce = new Uint32Array(ASKED_ONCE);
  #bytes = 0;
  #state: number | undefined;

  constructor(database: Database, bytesMax: number) {
    this.#database = database;
    this.#bytesMax = bytesMax;
  }

  find(question: string): CachedResponse | undefined {
    this.#forgetOutdated();
    const held = this.#held.get(question);
    if (held === undefined) return undefined;
    this.#held.delete(question);
    this.#held.set(question, held);
    return held;
  }

  /** The state of the archive that answers are held of. */
  get state(): number {
    return this.#database.state;
  }

  /**
   * Takes note of an answer just made; returns it when it is held from now on, to be sent without another copy. An answer
   * that was made in an earlier turn says of which `state` it is.
   */
  offer(
    question: string,
    body: Uint8Array<ArrayBuffer>,
    packed: boolean,
    state: number = this.state,
  ): CachedResponse | undefined {
    if (state !== this.state) return undefined;
    if (question.length > QUESTION_CHARS_MAX) return undefined;
    this.#forgetOutdated();
    // Others may have asked the same while this one was made.
    const held = this.#held.get(question);
    if (held !== undefined) return held;
    const hash = Bun.hash.crc32(question);
    const slot = hash % ASKED_ONCE;
    if (this.#askedOnce[slot] !== hash) {
      this.#askedOnce[slot] = hash;
      return undefined;
    }
    this.#askedOnce[slot] = 0;
    const bytes = body.length + 2 * question.length + BYTES_BESIDE;
    if (bytes > this.#bytesMax / 8) return undefined;
    const answer = { body: new Blob([body]), bytes, packed };
    this.#held.set(question, answer);
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#held) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#held.delete(oldest);
      this.#bytes -= freed;
    }
    return answer;
  }

  /** Bytes held, for the test of the bound. */
  get bytes(): number {
    return this.#bytes;
  }

  #forgetOutdated(): void {
    const { state } = this.#database;
    if (state === this.#state) return;
    this.#state = state;
    this.#held.clear();
    this.#askedOnce.fill(0);
    this.#bytes = 0;
  }
}
