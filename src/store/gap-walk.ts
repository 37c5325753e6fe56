import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';

/** The number of gaps that a step reads, in about a millisecond. */
const STEP_GAPS = 1000;

/** Walks through gaps in the order of their starts. */
export class GapWalk {
  readonly #gaps: Iterator<Gap>;
  #next: IteratorResult<Gap>;
  /** The latest end of the gaps that were passed. */
  #endMs = -Infinity;

  constructor(gaps: Iterable<Gap>) {
    this.#gaps = gaps[Symbol.iterator]();
    this.#next = this.#gaps.next();
  }

  /** Passes the gaps that begin at or before an instant, in steps. */
  *pass(instantMs: InstantMs): Generator<void, void> {
    for (let passed = 1; this.#next.done !== true && this.#next.value.fromMs <= instantMs; passed += 1) {
      this.#endMs = Math.max(this.#endMs, this.#next.value.toMs);
      this.#next = this.#gaps.next();
      if (passed % STEP_GAPS === 0) yield;
    }
  }

  /** Returns true if a passed gap touches the time from `fromMs` to the last instant of `pass`. */
  touchesFrom(fromMs: InstantMs): boolean {
    return this.#endMs >= fromMs;
  }
}
