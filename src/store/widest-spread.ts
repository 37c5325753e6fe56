import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { BestUnits } from './contradiction-tally.ts';

/** Finds the widest spread of the books in a window, both ends inclusive, or of all books if none is in it. Crossed books have one below 0. */
export class WidestSpread {
  readonly #startMs: InstantMs;
  readonly #endMs: InstantMs;
  #inside = -Infinity;
  #outside = -Infinity;

  constructor(startMs: InstantMs, endMs: InstantMs) {
    this.#startMs = startMs;
    this.#endMs = endMs;
  }

  /** A book without bids or without asks has no spread. */
  add(timestampMs: InstantMs, { bid, ask }: BestUnits): void {
    if (Number.isNaN(ask - bid)) return;
    if (timestampMs < this.#startMs || timestampMs > this.#endMs) this.#outside = Math.max(this.#outside, ask - bid);
    else this.#inside = Math.max(this.#inside, ask - bid);
  }

  /** Exact; undefined if no book has two sides. */
  get widest(): number | undefined {
    const units = this.#inside === -Infinity ? this.#outside : this.#inside;
    return units === -Infinity ? undefined : units / powerOfTen(DECIMAL_PLACES_MAX);
  }
}
