export const WINDOW_MS = 60_000;

/** The time on two clocks. Windows use the monotonic one, so that setting the wall clock does not end or prolong a window. */
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

/** Fixed windows of one minute, one per subject, each starting with the subject's first request. */
export interface Windows {
  /** Counts one request of `subject`, unless its limit is reached: a refused request does not count. */
  charge(subject: string, limit: number, now: ClockReading): Allowance;
  /** The state of `subject`'s limit, without counting a request. */
  peek(subject: string, limit: number, now: ClockReading): Allowance;
  /** Number of windows, for the test of the bound. */
  readonly size: number;
}

/** A name to count requests under, the same on all servers. */
export interface Subject {
  readonly name: string;
  readonly limit: number;
}

/** Windows in which several servers count. A result of undefined, at once or later: this server must count alone. */
export interface CommonWindows {
  /** Counts a request of all these subjects, unless the limit of one is reached. Returns their allowances, in their order. */
  charge(subjects: readonly Subject[]): Promise<readonly Allowance[] | undefined> | undefined;
  /** The same without counting a request. */
  peek(subjects: readonly Subject[]): Promise<readonly Allowance[] | undefined> | undefined;
}

interface Window {
  startMs: number;
  used: number;
  resetEpochSeconds: number;
}

/**
 * Windows in the memory of this process. At most `subjectsMax` (2 or more) windows are kept, and a new subject always gets one: if all are open, the least used
 * quarter is dropped, and its subjects start again. A window with n requests is dropped only if three quarters of `subjectsMax`
 * others have n or more, so it takes many more requests to drop a window than its subject gains.
 */
export class RateWindows implements Windows {
  readonly #subjectsMax: number;
  #windows = new Map<string, Window>();

  constructor(subjectsMax: number) {
    this.#subjectsMax = subjectsMax;
  }

  charge(subject: string, limit: number, now: ClockReading): Allowance {
    const window = this.#openWindow(subject, now) ?? this.#startWindow(subject, now);
    const allowed = window.used < limit;
    if (allowed) window.used += 1;
    return describeWindow(window, limit, allowed, now);
  }

  peek(subject: string, limit: number, now: ClockReading): Allowance {
    const window = this.#openWindow(subject, now) ?? newWindow(now);
    return describeWindow(window, limit, window.used < limit, now);
  }

  get size(): number {
    return this.#windows.size;
  }

  #openWindow(subject: string, now: ClockReading): Window | undefined {
    const window = this.#windows.get(subject);
    return window !== undefined && isOpen(window, now) ? correctReset(window, now) : undefined;
  }

  #startWindow(subject: string, now: ClockReading): Window {
    if (this.#windows.size >= this.#subjectsMax) this.#dropWindows(now);
    const window = newWindow(now);
    this.#windows.set(subject, window);
    return window;
  }

  /** Frees at least a quarter of the windows, so that this takes little time per new subject. */
  #dropWindows(now: ClockReading): void {
    const open = [...this.#windows].filter(([, window]) => isOpen(window, now));
    // If windows are equally used, the newest are dropped: they may belong to an attack that has just begun.
    open.sort(([, a], [, b]) => b.used - a.used || a.startMs - b.startMs);
    this.#windows = new Map(open.slice(0, Math.floor((this.#subjectsMax * 3) / 4)));
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

/** Updates the reset time of a window, which changes only when the wall clock was set. */
function correctReset(window: Window, now: ClockReading): Window {
  const reset = resetSeconds(window.startMs, now);
  if (Math.abs(reset - window.resetEpochSeconds) > 1) window.resetEpochSeconds = reset;
  return window;
}

/** The limit of a subject with this window, for an answer. */
export function describeWindow(window: Window, limit: number, allowed: boolean, now: ClockReading): Allowance {
  const leftMs = window.startMs + WINDOW_MS - now.monotonicMs;
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - window.used),
    resetEpochSeconds: window.resetEpochSeconds,
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  };
}
