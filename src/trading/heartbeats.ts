import { randomUUID } from 'node:crypto';
import type { InstantMs } from '../domain/instant.ts';
import type { ReplayClock } from '../replay/replay-clock.ts';

/** 10 s, and 5 s of grace (docs.polymarket.com, Send heartbeat). */
const SILENCE_MS = 15_000;

interface Heartbeat {
  readonly id: string;
  readonly atMs: InstantMs;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The heartbeats of a replay's accounts. An account that has sent one and then none for SILENCE_MS is silent: both of real time, in which
 * clients send them, and of the replay's time, which may be paused.
 */
export class Heartbeats {
  readonly #clock: ReplayClock;
  readonly #silenceMs: number;
  readonly #isSilent: (address: string) => void;
  readonly #last = new Map<string, Heartbeat>();

  constructor(clock: ReplayClock, isSilent: (address: string) => void, silenceMs = SILENCE_MS) {
    this.#clock = clock;
    this.#isSilent = isSilent;
    this.#silenceMs = silenceMs;
  }

  /** The id of the next heartbeat. `id`: that of this one, '' for the first; undefined: it is not checked. `isExpected`: it was right. */
  beat(address: string, id?: string): { readonly id: string; readonly isExpected: boolean } {
    const last = this.#last.get(address);
    if (last !== undefined && id !== undefined && id !== last.id) return { id: last.id, isExpected: false };
    clearTimeout(last?.timer);
    const next = id === undefined ? (last?.id ?? '') : randomUUID();
    this.#last.set(address, { id: next, atMs: this.#clock.nowMs, timer: this.#await(address, this.#silenceMs) });
    return { id: next, isExpected: true };
  }

  /** Forgets all of them. */
  clear(): void {
    for (const { timer } of this.#last.values()) clearTimeout(timer);
    this.#last.clear();
  }

  #await(address: string, waitMs: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#check(address), waitMs);
  }

  #check(address: string): void {
    const last = this.#last.get(address)!;
    const passedMs = this.#clock.nowMs - last.atMs;
    if (passedMs >= this.#silenceMs) {
      this.#last.delete(address);
      this.#isSilent(address);
      return;
    }
    const waitMs = this.#clock.realMsUntil(last.atMs + this.#silenceMs) ?? this.#silenceMs;
    this.#last.set(address, { ...last, timer: this.#await(address, Math.min(waitMs, this.#silenceMs) + 1) });
  }
}
