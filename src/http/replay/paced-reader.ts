import type { InstantMs } from '../../domain/instant.ts';
import { TASK_MS } from '../../replay/fair-queue.ts';
import type { StreamItem, TardisStream } from '../../replay/tardis/stream.ts';

/** Items that are handled between two looks at the time. */
const ITEMS_PER_LOOK = 16;

/** When what is recorded is to be sent: at `speed` recorded seconds a second, counted from the first item; 0: at once. */
export interface Pace {
  readonly fromMs: InstantMs;
  readonly speed: number;
  readonly monotonicMs: () => number;
}

/** Reads a stream at a pace, a turn at a time. */
export class PacedReader {
  readonly #stream: TardisStream;
  readonly #pace: Pace;
  #startedMs: number | undefined;
  /** It is not time for it yet. */
  #held: StreamItem | undefined;

  constructor(stream: TardisStream, pace: Pace) {
    this.#stream = stream;
    this.#pace = pace;
  }

  /**
   * Gives `take` what it is time for, until the turn is over or `take` says no. Returns how many real milliseconds the next item
   * is away, undefined behind the last one. Throws as the stream does. Wants a view of the archive.
   */
  read(take: (item: StreamItem) => boolean): number | undefined {
    const { monotonicMs } = this.#pace;
    const untilMs = monotonicMs() + TASK_MS;
    this.#stream.check();
    for (let count = 1; ; count += 1) {
      const item = this.#held ?? this.#stream.next();
      this.#held = undefined;
      if (item === undefined) return undefined;
      const isRest = item.kind === 'rest';
      const waitMs = isRest ? 0 : this.#waitMs(item.localMs);
      if (waitMs > 0) {
        this.#held = item;
        return waitMs;
      }
      if (!take(item)) return 0;
      // In front of a rest there was work.
      if ((isRest || count % ITEMS_PER_LOOK === 0) && monotonicMs() >= untilMs) return 0;
    }
  }

  /** Nobody wants the item any more that it is not time for yet. */
  drop(): void {
    this.#held = undefined;
  }

  /** 0 when it is time. */
  #waitMs(localMs: InstantMs): number {
    const { fromMs, speed, monotonicMs } = this.#pace;
    if (speed === 0) return 0;
    const nowMs = monotonicMs();
    this.#startedMs ??= nowMs;
    return Math.max(0, this.#startedMs + (localMs - fromMs) / speed - nowMs);
  }
}
