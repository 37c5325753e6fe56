import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeSide } from '../domain/trade.ts';
import type { LevelChange } from '../venue/level-change.ts';
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

/** An outcome's book at the end of a millisecond. */
export interface MomentBook {
  /** The next moment may edit it. */
  readonly book: OrderBook;
  /** All changes of this millisecond, in order; a price may occur more than once. */
  readonly changes: readonly LevelChange[];
  /** True for the first book of the outcome, which has no changes. */
  readonly isFirst: boolean;
  /** The id and time of the snapshot that it is, and the outcome for which that was recorded: the other one's is mirrored. */
  readonly id: number;
  readonly atMs: InstantMs;
  readonly recordedFor: Outcome;
}

/** Everything that a recording of one market has at one millisecond. */
export interface MarketMoment {
  readonly atMs: InstantMs;
  readonly trades: readonly MomentTrade[];
  readonly books: Readonly<Partial<Record<Outcome, MomentBook | undefined>>>;
  readonly gap: Gap | undefined;
}
