import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';

/** Playback speed: replayed milliseconds for each real one; 'max': as fast as the slowest follower reads. */
export type Speed = number | 'max';

export const SPEED_MIN = 0.1;
export const SPEED_MAX = 1000;

/** 'ended': the clock is at the end of its span, paused or not. */
export type ClockState = 'running' | 'paused' | 'ended';

/** 'jump' invalidates everything that was read ahead; 'pace' (speed, pause) only changes when it is due. */
export type ClockChange = 'jump' | 'pace';

/** The range of a clock, both ends inclusive. */
export interface Span {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** A reader of the recording; its progress moves a clock with the speed 'max'. */
export interface Follower {
  /** States that it has read everything up to `instantMs`. */
  reached(instantMs: InstantMs): void;
  leave(): void;
}

/** Throws 'invalid-parameter' for anything but 'max' and the numbers between SPEED_MIN and SPEED_MAX. */
function checkedSpeed(speed: Speed): Speed {
  if (speed === 'max' || (speed >= SPEED_MIN && speed <= SPEED_MAX)) return speed;
  throw new DomainError('invalid-parameter', `the speed must be a number from ${SPEED_MIN} to ${SPEED_MAX}, or max`);
}

/**
 * The one clock of a replay: nothing after its instant has happened yet. It starts paused at the beginning of its span, never
 * leaves the span, and only goes back by a jump. At a number as its speed it follows `monotonicMs`; at 'max' it follows its
 * slowest follower, and waits while it has none.
 */
export class ReplayClock {
  readonly span: Span;
  readonly #monotonicMs: () => number;
  readonly #listeners = new Set<(change: ClockChange) => void>();
  readonly #positions = new Map<Follower, InstantMs>();
  #speed: Speed;
  #isPaused = true;
  /** The instant at the last change, and the monotonic clock at that time, or when the clock begins to run. */
  #anchorMs: number;
  #anchoredAtMs: number;

  constructor(span: Span, speed: Speed, monotonicMs: () => number) {
    if (span.fromMs > span.toMs) throw new DomainError('invalid-parameter', 'a replay must end after its beginning');
    this.span = span;
    this.#speed = checkedSpeed(speed);
    this.#monotonicMs = monotonicMs;
    this.#anchorMs = span.fromMs;
    this.#anchoredAtMs = monotonicMs();
  }

  get speed(): Speed {
    return this.#speed;
  }

  get state(): ClockState {
    if (this.nowMs >= this.span.toMs) return 'ended';
    return this.#isPaused ? 'paused' : 'running';
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The clock's instant, in whole milliseconds. */
  get nowMs(): InstantMs {
    return Math.floor(this.#exactMs());
  }

  /** Events up to this instant may be sent: the clock's own; at 'max', which waits for its followers, the end of the span. */
  get dueMs(): InstantMs {
    return this.#speed === 'max' && !this.#isPaused ? this.span.toMs : this.nowMs;
  }

  /** Real milliseconds until the clock is at `instantMs`; undefined while it is paused, at 'max', or if it ends earlier. */
  realMsUntil(instantMs: InstantMs): number | undefined {
    if (this.#isPaused || this.#speed === 'max' || instantMs > this.span.toMs) return undefined;
    const untilRunningMs = Math.max(0, this.#anchoredAtMs - this.#monotonicMs());
    return untilRunningMs + Math.max(0, (instantMs - this.#exactMs()) / this.#speed);
  }

  pause(): void {
    this.#set('pace', { isPaused: true });
  }

  resume(): void {
    this.#set('pace', { isPaused: false });
  }

  setSpeed(speed: Speed): void {
    this.#set('pace', { speed: checkedSpeed(speed) });
  }

  /** Throws 'invalid-parameter' for an instant outside of the span. */
  checkWithin(instantMs: InstantMs): void {
    const { fromMs, toMs } = this.span;
    if (instantMs >= fromMs && instantMs <= toMs) return;
    const range = `from ${formatInstant(fromMs)} to ${formatInstant(toMs)}`;
    throw new DomainError('invalid-parameter', `the instant is outside the replay: choose one ${range}`);
  }

  /**
   * Jumps to an instant of the span, forwards or backwards, and stands there for `waitMs`, unless its speed is 'max'. Throws as
   * `checkWithin`.
   */
  seek(instantMs: InstantMs, waitMs = 0): void {
    this.checkWithin(instantMs);
    for (const follower of this.#positions.keys()) this.#positions.set(follower, instantMs);
    this.#set('jump', { instantMs, waitMs });
  }

  /** Moves forwards to an instant, at most to the end, as if time had passed, and pauses there. It never moves back. */
  stepTo(instantMs: InstantMs): void {
    const reachedMs = Math.min(Math.max(instantMs, this.#exactMs()), this.span.toMs);
    this.#set('pace', { instantMs: reachedMs, isPaused: true });
  }

  /** Calls `listener` after every change; returns a function that removes it. */
  onChange(listener: (change: ClockChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  follow(positionMs: InstantMs): Follower {
    const follower: Follower = {
      reached: (instantMs) => {
        if (this.#positions.has(follower)) this.#positions.set(follower, instantMs);
      },
      leave: () => {
        // The clock must not jump ahead to the position of a faster follower, nor back.
        this.#anchorHere();
        this.#positions.delete(follower);
      },
    };
    this.#anchorHere();
    this.#positions.set(follower, positionMs);
    return follower;
  }

  #exactMs(): number {
    const { toMs } = this.span;
    if (this.#isPaused) return this.#anchorMs;
    if (this.#speed !== 'max') {
      const passedMs = Math.max(0, this.#monotonicMs() - this.#anchoredAtMs);
      return Math.min(toMs, this.#anchorMs + passedMs * this.#speed);
    }
    if (this.#positions.size === 0) return this.#anchorMs;
    let slowestMs = toMs;
    for (const positionMs of this.#positions.values()) slowestMs = Math.min(slowestMs, positionMs);
    return Math.max(this.#anchorMs, slowestMs);
  }

  #anchorHere(): void {
    this.#anchorMs = this.#exactMs();
    this.#anchoredAtMs = Math.max(this.#anchoredAtMs, this.#monotonicMs());
  }

  #set(change: ClockChange, to: { instantMs?: InstantMs; waitMs?: number; isPaused?: boolean; speed?: Speed }): void {
    this.#anchorHere();
    if (to.instantMs !== undefined) {
      this.#anchorMs = to.instantMs;
      this.#anchoredAtMs = this.#monotonicMs() + (to.waitMs ?? 0);
    }
    this.#isPaused = to.isPaused ?? this.#isPaused;
    this.#speed = to.speed ?? this.#speed;
    for (const listener of [...this.#listeners]) listener(change);
  }
}
