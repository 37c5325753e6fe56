import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeSide } from '../domain/trade.ts';
import type { Micros } from './micros.ts';

/** A recorded trade whose size and side are known. */
export interface MomentTrade {
  readonly id: number;
  readonly outcome: Outcome;
  /** The taker's. */
  readonly side: TradeSide;
  readonly price: number;
  readonly shares: Micros;
}

/** A recorded book. Either outcome reads it in its own prices: down's bid at q is up's ask at 1 − q. The next moment may change it. */
export interface MomentBook {
  /** The id and time of the snapshot that it is, and the outcome for which that was recorded. */
  readonly id: number;
  readonly atMs: InstantMs;
  readonly recordedFor: Outcome;
  /** The best price of a side; undefined if the side is empty. */
  best(outcome: Outcome, isBid: boolean): number | undefined;
  /** The sizes at prices of a side, which are given best first; 0 for a price without a level. */
  sizesAt(outcome: Outcome, isBid: boolean, prices: readonly number[]): readonly number[];
  /** The levels of a side, the best first. */
  levels(outcome: Outcome, isBid: boolean): Iterable<{ readonly price: number; readonly size: number }>;
}

/** The books of both outcomes, often the same one: up and down are one book, so both change whenever one of them is recorded. */
export type MomentBooks = Readonly<Record<Outcome, MomentBook>>;

/** Everything that a recording of one market has at one millisecond. */
export interface MarketMoment {
  readonly atMs: InstantMs;
  readonly trades: readonly MomentTrade[];
  /** As they are at the end of the millisecond; undefined if none was recorded in it. */
  readonly books: MomentBooks | undefined;
  readonly gap: Gap | undefined;
}
