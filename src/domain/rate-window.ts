export const WINDOW_MS = 60_000;

/** Two clocks: windows use the monotonic one, so that a change of the wall clock does not end or prolong a window. */
export interface ClockReading {
  /** Milliseconds since a fixed point; never decreases. */
  readonly monotonicMs: number;
  /** Unix milliseconds; only for the times in answers. */
  readonly wallMs: number;
}

/** A client's rate limit, as answers state it. */
export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds at which the window ends, rounded up. */
  readonly resetEpochSeconds: number;
  /** Whole seconds until then, at least 1. */
  readonly retryAfterSeconds: number;
}

interface Window {
  startMs: number;
  used: number;
  resetEpochSeconds: number;
}

/**
 * Fixed windows of one minute, one per subject, each starting with the subject's first request; counters live in memory
 * only. At most `subjectsMax` windows are kept. When all are open, further subjects share one window, so memory is bounded
 * and no subject gets more than the limit.
 */
export class RateWindows {
  readonly #windows = new Map<string, Window>();
  readonly #subjectsMax: number;
  #overflow: Window | undefined;

  constructor(subjectsMax: number) {
    this.#subjectsMax = subjectsMax;
  }

  /** Counts one request of `subject`, unless its limit is reached: a refused request does not count. */
  charge(subject: string, limit: number, now: ClockReading): Allowance {
    const window = this.#windowOf(subject, now);
    const allowed = window.used < limit;
    if (allowed) window.used += 1;
    return describe(window, limit, allowed, now);
  }

  /** The state of `subject`'s limit, without counting a request. */
  peek(subject: string, limit: number, now: ClockReading): Allowance {
    const window = this.#windows.get(subject);
    const current = window !== undefined && isOpen(window, now) ? window : newWindow(now);
    return describe(current, limit, current.used < limit, now);
  }

  /** Number of windows, for the test of the bound. */
  get size(): number {
    return this.#windows.size;
  }

  #windowOf(subject: string, now: ClockReading): Window {
    const existing = this.#windows.get(subject);
    if (existing !== undefined && isOpen(existing, now)) return correctReset(existing, now);
    if (existing === undefined && this.#windows.size >= this.#subjectsMax) this.#sweep(now);
    if (existing === undefined && this.#windows.size >= this.#subjectsMax) {
      if (this.#overflow === undefined || !isOpen(this.#overflow, now)) this.#overflow = newWindow(now);
      return correctReset(this.#overflow, now);
    }
    const fresh = newWindow(now);
    // Deleted first, so that the map is in order of the windows' starts and a sweep can stop early.
    this.#windows.delete(subject);
    this.#windows.set(subject, fresh);
    return fresh;
  }

  #sweep(now: ClockReading): void {
    for (const [subject, window] of this.#windows) {
      if (isOpen(window, now)) return;
      this.#windows.delete(subject);
    }
  }
}

function newWindow(now: ClockReading): Window {
  return { startMs: now.monotonicMs, used: 0, resetEpochSeconds: resetSeconds(now.monotonicMs, now) };
}

function isOpen(window: Window, now: ClockReading): boolean {
  return now.monotonicMs - window.startMs < WINDOW_MS;
}

function resetSeconds(startMs: number, now: ClockReading): number {
  return Math.ceil((now.wallMs + (startMs + WINDOW_MS - now.monotonicMs)) / 1000);
}

/** The reset time of a window changes only when the wall clock was set. */
function correctReset(window: Window, now: ClockReading): Window {
  const reset = resetSeconds(window.startMs, now);
  if (Math.abs(reset - window.resetEpochSeconds) > 1) window.resetEpochSeconds = reset;
  return window;
}

function describe(window: Window, limit: number, allowed: boolean, now: ClockReading): Allowance {
  const leftMs = window.startMs + WINDOW_MS - now.monotonicMs;
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - window.used),
    resetEpochSeconds: window.resetEpochSeconds,
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  };
}
