import { countText } from '../../domain/count-text.ts';
import type { Gap } from '../../domain/gap.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { SourceItem } from '../source-item.ts';

/** A time range in which the rebuilt book differed from the venue's, and the item of the message that revealed it, if any. */
export interface FoundGap {
  readonly gap: Gap;
  readonly item: SourceItem | undefined;
}

interface OpenGap {
  fromMs: number;
  toMs: number;
  readonly reason: string;
  /** Number of consecutive recorded books that differed. */
  books: number;
  /** True if it lasts until the next confirmation, and not only until `toMs`. */
  isRunning: boolean;
  item: SourceItem | undefined;
}

/** Tracks when a rebuilt book was confirmed to be the venue's. A gap lasts from one confirmation to the next. */
export class GapTracker {
  readonly #outcome: Outcome;
  #confirmed: number | (() => number) = -1;
  #gap: OpenGap | undefined;

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
  }

  /** The last time at which the rebuilt book was the venue's; -1 if there is none. */
  get confirmedMs(): number {
    if (typeof this.#confirmed !== 'number') this.#confirmed = this.#confirmed();
    return this.#confirmed;
  }

  /** Begins after a time at which the book was right. `confirmedMs`: called once, when it is needed. */
  begin(confirmedMs: number | (() => number)): void {
    this.#confirmed = confirmedMs;
  }

  /** Call it when a recorded book or a hash confirms the rebuilt book. Returns the gap that this ends, if any. */
  confirm(timestampMs: number): FoundGap | undefined {
    this.#confirmed = timestampMs;
    const gap = this.#gap;
    if (gap === undefined) return undefined;
    const isEnded = gap.isRunning ? timestampMs > gap.fromMs : timestampMs > gap.toMs;
    return isEnded ? this.end(timestampMs) : undefined;
  }

  /**
   * Call it when a whole book differs from the rebuilt one in `levels` prices and replaces it. `hasChanges`: a change was stated since
   * the last confirmation. `item`: of the message that has the book, if it is of this import.
   */
  disagree(timestampMs: number, levels: number, hasChanges: boolean, item: SourceItem | undefined): void {
    const fromMs = this.confirmedMs;
    this.#confirmed = timestampMs;
    const gap = this.#gap;
    if (gap === undefined) {
      const what = countText(levels, 'level');
      const reason = hasChanges
        ? `the recorded book of ${this.#outcome} differs from the changes before it in ${what}`
        : `the book of ${this.#outcome} changed in ${what}, and no change was recorded`;
      this.#gap = { fromMs, toMs: timestampMs, reason, books: 1, isRunning: false, item };
      return;
    }
    this.#gap = { ...gap, books: gap.books + 1, toMs: timestampMs, isRunning: false, item: gap.item ?? item };
  }

  /**
   * Call it when something is missing or wrong before `timestampMs`: the book is doubtful from `fromMs`, by default the last
   * confirmation, until the next confirmation.
   */
  doubt(timestampMs: number, reason: string, fromMs: number = this.confirmedMs): void {
    this.#gap ??= { fromMs, toMs: timestampMs, reason, books: 0, isRunning: true, item: undefined };
    this.#gap.isRunning = true;
  }

  /** Ends the open gap. `timestampMs`: its end if it lasts until the next confirmation. */
  end(timestampMs: number): FoundGap | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap === undefined) return undefined;
    const { fromMs, isRunning, books, item } = gap;
    const toMs = isRunning ? Math.max(gap.toMs, timestampMs) : gap.toMs;
    const reason =
      books > 1
        ? `${books} consecutive recorded books of ${this.#outcome} differ from the changes before them`
        : gap.reason;
    return { gap: { fromMs, toMs, reason }, item };
  }
}
