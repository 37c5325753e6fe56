import { randomUUID } from 'node:crypto';
import type { InstantMs } from '../domain/instant.ts';
import type { ReplayClock } from '../replay/replay-clock.ts';

/** 10 s, and 5 s of grace (docs.polymarket.com, Send heartbeat). */
const SILENCE_MS = 15_000;

interface Heartbeat {
  readonly id: string;
  readonly atMs: InstantMs;
  timer?: ReturnType<typeof setTimeout>;
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
    const next: Heartbeat = { id: id === undefined ? (last?.id ?? '') : randomUUID(), atMs: this.#clock.nowMs };
    this.#last.set(address, next);
    this.#await(address, next);
    return { id: next.id, isExpected: true };
  }

  /** Forgets all of them. */
  clear(): void {
    for (const { timer } of this.#last.values()) clearTimeout(timer);
    this.#last.clear();
  }

  #await(address: string, beat: Heartbeat, waitMs = this.#silenceMs): void {
    beat.timer = setTimeout(() => {
      const silentMs = beat.atMs + this.#silenceMs;
      if (this.#clock.nowMs < silentMs) {
        const leftMs = this.#clock.realMsUntil(silentMs) ?? Infinity;
        return this.#await(address, beat, Math.min(Math.ceil(leftMs), this.#silenceMs));
      }
      this.#last.delete(address);
      this.#isSilent(address);
    }, waitMs);
  }
}
