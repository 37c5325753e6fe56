/** The recorder's only clock and timers: simulated hours pass at speed. */
export interface RecorderClock {
  /** Microseconds since 1970, never descending. */
  nowUs(): number;
  /** Calls `work` once after `ms`, unless it is disposed of before. */
  after(ms: number, work: () => void): Disposable;
  /** Follows a step of the wall clock, and returns its length in ms; undefined without one. Absent from clocks that have no steps. */
  takeStep?(): number | undefined;
  /** The number of steps so far. */
  readonly steps?: number;
}

/** A longer difference of the wall clock from the monotonic one is a step of the wall clock. */
const STEP_MS = 50;

/** The wall clock at its start, and the monotonic one since: its times have equal distances, whatever happens to the wall clock. */
export class AnchoredClock implements RecorderClock {
  readonly #monotonicMs: () => number;
  readonly #wallMs: () => number;
  #anchorMs: number;
  #lastUs = 0;
  steps = 0;

  constructor(monotonicMs: () => number, wallMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#wallMs = wallMs;
    this.#anchorMs = wallMs() - monotonicMs();
  }

  nowUs(): number {
    const nowUs = Math.round((this.#anchorMs + this.#monotonicMs()) * 1000);
    this.#lastUs = Math.max(this.#lastUs, nowUs);
    return this.#lastUs;
  }

  after(ms: number, work: () => void): Disposable {
    const timer = setTimeout(work, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }

  takeStep(): number | undefined {
    const stepMs = this.#wallMs() - this.#monotonicMs() - this.#anchorMs;
    if (Math.abs(stepMs) <= STEP_MS) return undefined;
    this.#anchorMs += stepMs;
    this.steps += 1;
    return stepMs;
  }
}
