import { type Gap, isRebuiltGap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';

/**
 * Counts the gaps of an outcome in which the archive has rebuilt books. Archives of version 0.3 and before have such gaps: a recording
 * that was imported later covers the gap, or its books are doubtful. A merge leaves none.
 */
export class CoveredGaps {
  count = 0;
  /** Gaps that a rebuild found in this outcome's book, ascending by their start. */
  readonly #gaps: readonly Gap[];
  #next = 0;
  /** Gaps that began before the last book and are not known to be covered. */
  #open: Gap[] = [];

  /** `gaps`: the gaps of the market, ascending. */
  constructor(gaps: readonly Gap[], outcome: Outcome) {
    this.#gaps = gaps.filter((gap) => isRebuiltGap(gap, outcome));
  }

  /** Returns true if a book of this time is within a gap, apart from its ends, that is not counted yet. Times ascend. */
  isWithin(timestampMs: InstantMs): boolean {
    for (; (this.#gaps[this.#next]?.fromMs ?? Infinity) < timestampMs; this.#next += 1)
      this.#open.push(this.#gaps[this.#next]!);
    if (this.#open.length > 0) this.#open = this.#open.filter(({ toMs }) => timestampMs < toMs);
    return this.#open.length > 0;
  }

  /** Counts the gaps that contain the last time. */
  cover(): void {
    this.count += this.#open.length;
    this.#open = [];
  }
}
