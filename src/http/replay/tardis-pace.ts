import type { InstantMs } from '../../domain/instant.ts';

/** When what is recorded is to be sent: at `speed` recorded seconds a second, counted from the first question; 0: at once. */
export class TardisPace {
  readonly #fromMs: InstantMs;
  readonly #speed: number;
  readonly #monotonicMs: () => number;
  #startedMs: number | undefined;

  constructor(fromMs: InstantMs, speed: number, monotonicMs: () => number) {
    this.#fromMs = fromMs;
    this.#speed = speed;
    this.#monotonicMs = monotonicMs;
  }

  /** Whether there may be nothing to send for long. */
  get isTimed(): boolean {
    return this.#speed > 0;
  }

  /** Real milliseconds until then; 0 when it is time. */
  waitMs(localMs: InstantMs): number {
    if (this.#speed === 0) return 0;
    const nowMs = this.#monotonicMs();
    this.#startedMs ??= nowMs;
    return Math.max(0, this.#startedMs + (localMs - this.#fromMs) / this.#speed - nowMs);
  }
}
