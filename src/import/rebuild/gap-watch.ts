import type { Gap } from '../../domain/gap.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { SourceItem } from '../record-sink.ts';

/** A time in which the rebuilt book was not the venue's, and the message that shows it, if that has a part for it. */
export interface FoundGap {
  readonly gap: Gap;
  readonly item: SourceItem | undefined;
}

interface OpenGap {
  fromMs: number;
  toMs: number;
  readonly reason: string;
  /** Recorded books in a row that differed. */
  books: number;
  /** It lasts until the book is confirmed again, not only until `toMs`. */
  isRunning: boolean;
  item: SourceItem | undefined;
}

/** Knows when a rebuilt book was the venue's. A gap, or several in a row, lasts from such a time to the next one. */
export class GapWatch {
  readonly #outcome: Outcome;
  #goodMs = -1;
  #gap: OpenGap | undefined;

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
  }

  /** A recorded book, or a hash, says that the rebuilt book is right at this time. Returns the gap that this ends. */
  confirm(timestampMs: number): FoundGap | undefined {
    this.#goodMs = timestampMs;
    const gap = this.#gap;
    if (gap === undefined) return undefined;
    const isEnded = gap.isRunning ? timestampMs > gap.fromMs : timestampMs > gap.toMs;
    return isEnded ? this.end(timestampMs) : undefined;
  }

  /**
   * A recorded book differs from the rebuilt one at so many prices, and takes its place. `hasChanges`: whether any change was
   * recorded since the book was last known to be right. False when the item's part for it is not needed.
   */
  disagree(timestampMs: number, levels: number, hasChanges: boolean, item: SourceItem): boolean {
    const fromMs = this.#goodMs;
    this.#goodMs = timestampMs;
    const gap = this.#gap;
    if (gap === undefined) {
      const what = `${levels} ${levels === 1 ? 'level' : 'levels'}`;
      const reason = hasChanges
        ? `the recorded book of ${this.#outcome} differs from the changes before it in ${what}`
        : `the book of ${this.#outcome} changed in ${what}, and no change was recorded`;
      this.#gap = { fromMs, toMs: timestampMs, reason, books: 1, isRunning: false, item };
      return true;
    }
    const isNeeded = gap.item === undefined;
    this.#gap = { ...gap, books: gap.books + 1, toMs: timestampMs, isRunning: false, item: gap.item ?? item };
    return isNeeded;
  }

  /** Something is known to be missing or wrong before `timestampMs`; until the next confirmation nobody knows. */
  doubt(timestampMs: number, reason: string): void {
    this.#gap ??= { fromMs: this.#goodMs, toMs: timestampMs, reason, books: 0, isRunning: true, item: undefined };
    this.#gap.isRunning = true;
  }

  /** A change of `timestampMs` cannot be applied any more: everything up to `settledMs` is settled. */
  lose(timestampMs: number, settledMs: number): void {
    const isRunning = timestampMs > this.#goodMs;
    if (this.#gap !== undefined) {
      this.#gap.fromMs = Math.min(this.#gap.fromMs, timestampMs);
      this.#gap.isRunning ||= isRunning;
      return;
    }
    const toMs = isRunning ? settledMs : this.#goodMs;
    const reason = `a change of ${this.#outcome} arrived too late`;
    this.#gap = { fromMs: timestampMs, toMs, reason, books: 0, isRunning, item: undefined };
  }

  /** Ends what is open. `timestampMs`: up to where a gap lasts that nothing confirmed the end of. */
  end(timestampMs: number): FoundGap | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap === undefined) return undefined;
    const { fromMs, isRunning, books, item } = gap;
    const toMs = isRunning ? Math.max(gap.toMs, timestampMs) : gap.toMs;
    const reason =
      books > 1
        ? `${books} recorded books of ${this.#outcome} in a row differ from what was recorded before them`
        : gap.reason;
    return { gap: { fromMs, toMs, reason }, item };
  }
}
