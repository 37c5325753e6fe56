import type { Windows } from '../../domain/rate-window.ts';
import { SharedWindows, windowWords } from '../../domain/shared-windows.ts';
import type { OpenRequests, RequestCounts } from './request-counts.ts';

/** The size of the memory that processes share. It has the windows of RateLimit. */
export const SHARED_BYTES = 6.5 * 1024 ** 2;
/** Word 0: the process that changes the open requests; 0: none. */
const LOCK = 0;
const FIRST_ENTRY = 4;
/** An open request: the process that answers it (0: free), its kind, its key. */
const ENTRY_WORDS = 4;
/** More than the open requests of all kinds together. */
const ENTRIES = 1024;
const WINDOWS_AT = (FIRST_ENTRY + ENTRIES * ENTRY_WORDS) * Int32Array.BYTES_PER_ELEMENT;
/** Counting takes microseconds. A process that has not finished after this time was stopped or killed meanwhile. */
const LOCK_TRIES = 200;
const LOCK_MS_MAX = 100;

/** The counts of a server of several processes, in memory that they share. */
export class SharedCounts implements RequestCounts {
  readonly #memory: Uint8Array;
  readonly #entries: Int32Array;
  readonly #seed: bigint;
  readonly #process: number;
  readonly #offsetMs: () => number;
  #windows: SharedWindows[] = [];
  #nextByte = WINDOWS_AT;
  #requests = 0;

  /** `memory`: SHARED_BYTES, zeros at first. `seed`, `offsetMs`: see SharedWindows. `processId`: that of this process, not 0. */
  constructor(memory: Uint8Array, seed: bigint, processId: number, offsetMs: () => number) {
    this.#offsetMs = offsetMs;
    this.#memory = memory;
    this.#entries = new Int32Array(memory.buffer, memory.byteOffset, WINDOWS_AT / Int32Array.BYTES_PER_ELEMENT);
    this.#seed = seed;
    this.#process = processId;
  }

  /** The next table that is asked for is the first one again: for another app of this process, after the earlier one. */
  rewind(): void {
    this.#nextByte = WINDOWS_AT;
    this.#windows = [];
  }

  /** Takes the next part of the memory: all processes must ask for the same tables in the same order. */
  readonly windows = (subjectsMax: number): Windows => {
    const length = windowWords(subjectsMax);
    const words = new BigInt64Array(this.#memory.buffer, this.#memory.byteOffset + this.#nextByte, length);
    this.#nextByte += words.byteLength;
    const windows = new SharedWindows(words, this.#seed, subjectsMax, this.#offsetMs);
    this.#windows.push(windows);
    return windows;
  };

  readonly openRequests = (kind: string): OpenRequests => {
    const kindHash = this.#hashOf(kind);
    return {
      begin: (keyId, refuse) => {
        const keyHash = keyId === undefined ? undefined : this.#hashOf(keyId);
        return this.#locked(() => this.#begin(kindHash, keyHash, refuse));
      },
    };
  };

  readonly arrived = (): void => {
    this.#requests += 1;
  };

  /** Requests that have begun in this process. */
  get requests(): number {
    return this.#requests;
  }

  /** Requests that were counted by this process only, because a table was full. */
  get overflows(): number {
    return this.#windows.reduce((sum, { overflows }) => sum + overflows, 0);
  }

  /** Ends the open requests of a process that has ended. */
  release(processId: number): void {
    for (let at = FIRST_ENTRY; at < this.#entries.length; at += ENTRY_WORDS) {
      Atomics.compareExchange(this.#entries, at, processId, 0);
    }
    Atomics.compareExchange(this.#entries, LOCK, processId, 0);
  }

  #begin(kind: number, key: number | undefined, refuse: (open: number, openWithKey: number) => void): () => void {
    const entries = this.#entries;
    let [open, openWithKey, free] = [0, 0, -1];
    for (let at = FIRST_ENTRY; at < entries.length; at += ENTRY_WORDS) {
      if (Atomics.load(entries, at) === 0) {
        if (free < 0) free = at;
      } else if (entries[at + 1] === kind) {
        open += 1;
        if (entries[at + 2] === key) openWithKey += 1;
      }
    }
    refuse(open, openWithKey);
    if (free < 0) return () => undefined;
    entries[free + 1] = kind;
    entries[free + 2] = key ?? 0;
    Atomics.store(entries, free, this.#process);
    return () => void Atomics.compareExchange(entries, free, this.#process, 0);
  }

  #locked<T>(work: () => T): T {
    let holder = 0;
    for (let tries = 0; ; tries += 1) {
      const found = Atomics.compareExchange(this.#entries, LOCK, 0, this.#process);
      if (found === 0) break;
      if (found !== holder) [holder, tries] = [found, 0];
      if (tries < LOCK_TRIES) continue;
      if (tries >= LOCK_TRIES + LOCK_MS_MAX) Atomics.compareExchange(this.#entries, LOCK, holder, 0);
      Bun.sleepSync(1);
    }
    try {
      return work();
    } finally {
      Atomics.compareExchange(this.#entries, LOCK, this.#process, 0);
    }
  }

  #hashOf(text: string): number {
    return Bun.hash.xxHash32(text, Number(this.#seed & 0xffff_ffffn)) | 0;
  }
}
