import type { InstantMs } from '../domain/instant.ts';
import { complement, mirrorOf } from '../domain/mirrored-book.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import { BookReader, bookOf } from '../segment/book-decoder.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

export interface KnownBook {
  readonly book: OrderBook;
  /** The time of its record. */
  readonly timestampMs: InstantMs;
  /** Whether it was recorded for this outcome; otherwise it is the other outcome's book, mirrored. */
  readonly isOwn: boolean;
}

/** The price of the last trade of an outcome. A trade of the other outcome counts at the complement of its price. */
export interface LastTrade {
  readonly price: number;
  readonly timestampMs: InstantMs;
  /** Whether it was recorded for this outcome. */
  readonly isOwn: boolean;
}

/**
 * The latest book of an outcome at an instant: its own, or before its first own book the other outcome's, mirrored (up and down
 * are one book at the venue). Undefined before the first book of either.
 */
export function bookAt(
  { snapshots }: Pick<Archive, 'snapshots'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
): KnownBook | undefined {
  const own = latest(snapshots, market, outcome, instantMs);
  if (own !== undefined) return { ...own, isOwn: true };
  const other = latest(snapshots, market, otherOutcome(outcome), instantMs);
  return other === undefined ? undefined : { ...other, book: mirrorOf(other.book), isOwn: false };
}

function latest(snapshots: Archive['snapshots'], market: StoredMarket, outcome: Outcome, instantMs: InstantMs) {
  const found = snapshots.nearest(market, outcome, instantMs, 'before');
  if (found === undefined) return undefined;
  const reader = new BookReader(found.payload, found.head);
  reader.advanceTo(found.index);
  return { book: bookOf(reader), timestampMs: found.head.timestamps[found.index]! };
}

/** The last trade of either outcome up to an instant; if both have one at that time, the outcome's own. */
export function lastTradeAt(
  { prices }: Pick<Archive, 'prices'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
): LastTrade | undefined {
  const own = prices.latest(market, outcome, 'trade', instantMs);
  const other = prices.latest(market, otherOutcome(outcome), 'trade', instantMs);
  if (own !== undefined && (other === undefined || other.timestampMs <= own.timestampMs)) {
    return { price: own.price, timestampMs: own.timestampMs, isOwn: true };
  }
  if (other === undefined) return undefined;
  return { price: complement(other.price), timestampMs: other.timestampMs, isOwn: false };
}
