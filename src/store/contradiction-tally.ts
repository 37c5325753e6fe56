import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { BookReader } from '../segment/book-decoder.ts';

/** The best prices of a book in units of 10^-12, which are exact; NaN for a side without levels. */
export interface BestUnits {
  bid: number;
  ask: number;
}

const ONE = powerOfTen(DECIMAL_PLACES_MAX);

/** The best prices of the present book of `reader`. */
export function readBest({ bids, asks, priceScale }: BookReader, target: BestUnits): void {
  const unit = powerOfTen(DECIMAL_PLACES_MAX - priceScale);
  target.bid = bids.length === 0 ? Number.NaN : bids.values[0]! * unit;
  target.ask = asks.length === 0 ? Number.NaN : asks.values[0]! * unit;
}

/**
 * Counts the instants at which the last recorded books of up and down contradict each other: both asks together cost less than
 * 1, or both bids pay more than 1. Up and down are one book at the venue, so one of the two is old. A crossed book and its
 * mirror do not contradict each other.
 */
export class ContradictionTally {
  count = 0;
  readonly #best: Readonly<Record<Outcome, BestUnits>> = {
    up: { bid: Number.NaN, ask: Number.NaN },
    down: { bid: Number.NaN, ask: Number.NaN },
  };

  /** A recorded book; of several at one instant the last one counts. */
  set(outcome: Outcome, { bid, ask }: BestUnits): void {
    this.#best[outcome].bid = bid;
    this.#best[outcome].ask = ask;
  }

  /** Call it after the books of an instant. */
  endInstant(): void {
    const { up, down } = this.#best;
    if (up.bid + down.ask === ONE && up.ask + down.bid === ONE) return;
    if (up.ask + down.ask < ONE || up.bid + down.bid > ONE) this.count += 1;
  }
}
