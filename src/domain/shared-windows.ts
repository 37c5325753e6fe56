import {
  type Allowance,
  type ClockReading,
  describeWindow,
  RateWindows,
  WINDOW_MS,
  type Windows,
} from './rate-window.ts';

/** A slot is two words: its state, and the hash of its subject. The first slot begins after the word with the offset of the clocks. */
const SLOT_WORDS = 2;
const FIRST_SLOT = 1;
/** A state is the start of the window in milliseconds, and the used requests in its low bits. 0: the slot was never used. */
const USED_BITS = 24n;
const USED_MASK = (1n << USED_BITS) - 1n;
/** Slots that are looked at for a subject. */
const PROBES_MAX = 64;
/** The wall clock may have been set if it differs by more. */
const OFFSET_MS_MAX = 500;

/** The words of a table for this number of subjects. */
export function windowWords(subjectsMax: number): number {
  return FIRST_SLOT + SLOT_WORDS * subjectsMax;
}

interface Found {
  readonly slot: number;
  readonly state: bigint;
  /** False: the slot is free. */
  readonly isOwn: boolean;
}

/**
 * Windows like `RateWindows`, in memory that processes share, so that a limit holds for all of them. Each change is one compare-and-swap:
 * no process waits for another one, and one that is killed leaves nothing half done. Their monotonic clocks must be one clock.
 *
 * A free slot is taken in two steps: its state becomes the negative hash of the subject, then, by any process that reads it, the hash is
 * written and the window opened. So two processes that take a slot for the same subject get the same window. A subject that finds no free
 * slot gets a window of this process only.
 */
export class SharedWindows implements Windows {
  readonly #words: BigInt64Array;
  readonly #seed: bigint;
  readonly #slots: number;
  readonly #own: RateWindows;
  readonly #measuredMs: (now: ClockReading) => number;
  #overflows = 0;

  /**
   * `words`: `windowWords(subjectsMax)`, zeros at first. `seed`: a secret of all processes, so that nobody can fill the slots of another.
   * `offsetMs`: measures the wall clock minus the monotonic one; the reading of a request may be late by the time that its process waited.
   */
  constructor(words: BigInt64Array, seed: bigint, subjectsMax: number, offsetMs: (now: ClockReading) => number) {
    this.#measuredMs = offsetMs;
    this.#words = words;
    this.#seed = seed;
    this.#slots = subjectsMax;
    this.#own = new RateWindows(subjectsMax);
  }

  charge(subject: string, limit: number, now: ClockReading): Allowance {
    const hash = this.#hashOf(subject);
    for (;;) {
      const found = this.#find(hash, now);
      if (found === undefined) {
        this.#overflows += 1;
        return this.#own.charge(subject, limit, now);
      }
      const { slot, state, isOwn } = found;
      if (!isOwn) {
        // Whoever wins, the next look finds the window, or another free slot.
        Atomics.compareExchange(this.#words, slot, state, -hash);
        continue;
      }
      const used = Number(state & USED_MASK);
      const isAllowed = used < limit;
      if (isAllowed && Atomics.compareExchange(this.#words, slot, state, state + 1n) !== state) continue;
      return this.#describe(Number(state >> USED_BITS), isAllowed ? used + 1 : used, limit, isAllowed, now);
    }
  }

  peek(subject: string, limit: number, now: ClockReading): Allowance {
    const found = this.#find(this.#hashOf(subject), now);
    if (found === undefined) return this.#own.peek(subject, limit, now);
    if (!found.isOwn) return this.#describe(Math.floor(now.monotonicMs), 0, limit, limit > 0, now);
    const used = Number(found.state & USED_MASK);
    return this.#describe(Number(found.state >> USED_BITS), used, limit, used < limit, now);
  }

  get size(): number {
    let used = 0;
    for (let slot = 0; slot < this.#slots; slot += 1) if (this.#words[FIRST_SLOT + SLOT_WORDS * slot] !== 0n) used += 1;
    return used + this.#own.size;
  }

  get overflows(): number {
    return this.#overflows;
  }

  /** The open window of a subject, or else the first free slot for it; undefined: there is neither. */
  #find(hash: bigint, now: ClockReading): Found | undefined {
    const first = Number(hash % BigInt(this.#slots));
    let free: Found | undefined;
    for (let probe = 0; probe < PROBES_MAX; probe += 1) {
      const slot = FIRST_SLOT + SLOT_WORDS * ((first + probe) % this.#slots);
      let state = Atomics.load(this.#words, slot);
      for (; state < 0n; state = Atomics.load(this.#words, slot)) this.#open(slot, state, now);
      if (state !== 0n && now.monotonicMs - Number(state >> USED_BITS) < WINDOW_MS) {
        // The subject of a slot changes only while its state is negative.
        if (Atomics.load(this.#words, slot + 1) === hash) return { slot, state, isOwn: true };
      } else {
        free ??= { slot, state, isOwn: false };
        // Slots are taken in this order, and never become unused again.
        if (state === 0n) break;
      }
    }
    return free;
  }

  /** Opens a window in a slot that a process has taken. Several may do so at once. */
  #open(slot: number, taken: bigint, { monotonicMs }: ClockReading): void {
    const before = Atomics.load(this.#words, slot + 1);
    // Otherwise another process has opened it since, and the hash may be that of a later subject.
    if (Atomics.load(this.#words, slot) !== taken) return;
    Atomics.compareExchange(this.#words, slot + 1, before, -taken);
    Atomics.compareExchange(this.#words, slot, taken, BigInt(Math.max(1, Math.floor(monotonicMs))) << USED_BITS);
  }

  /** A positive number. */
  #hashOf(subject: string): bigint {
    return (BigInt(Bun.hash(subject, this.#seed)) >> 1n) | 1n;
  }

  #describe(startMs: number, used: number, limit: number, allowed: boolean, now: ClockReading): Allowance {
    const resetEpochSeconds = Math.ceil((startMs + WINDOW_MS + this.#offsetMs(now)) / 1000);
    // Another process may have begun the window after this one has read its clock.
    const since = now.monotonicMs < startMs ? { ...now, monotonicMs: startMs } : now;
    return describeWindow({ startMs, used, resetEpochSeconds }, limit, allowed, since);
  }

  /** The wall clock minus the monotonic one: the same for all requests of a window, unless the wall clock was set. */
  #offsetMs(now: ClockReading): number {
    const known = Number(Atomics.load(this.#words, 0));
    if (Math.abs(now.wallMs - now.monotonicMs - known) <= OFFSET_MS_MAX) return known;
    const present = Math.round(this.#measuredMs(now));
    Atomics.store(this.#words, 0, BigInt(present));
    return present;
  }
}
