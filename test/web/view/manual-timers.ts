import type { Later } from '../../../src/web/browser/view/later.ts';

/** Timers that fire when a test says so. */
export class ManualTimers {
  #nowMs = 0;
  readonly #due = new Set<{ readonly atMs: number; readonly run: () => void }>();

  readonly later: Later = (run, delayMs) => {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#due.add(timer);
    return () => this.#due.delete(timer);
  };

  /** Lets `ms` pass. */
  pass(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#due]) {
      if (timer.atMs <= this.#nowMs && this.#due.delete(timer)) timer.run();
    }
  }
}
