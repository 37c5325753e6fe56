import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { complement, mirrorOf } from '../domain/mirrored-book.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import { BookReader, bookOf } from '../segment/book-decoder.ts';
import type { PriceRecord } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { TRADE_DELAY_MAX_MS } from '../venue/book-hash.ts';

export interface KnownBook {
  readonly book: OrderBook;
  /** The time and the id of its record. */
  readonly timestampMs: InstantMs;
  readonly id: number;
  /** True if it was recorded for this outcome; otherwise it is the other outcome's book, mirrored. */
  readonly isOwn: boolean;
}

/** The price of the last trade of an outcome. A trade of the other outcome counts at the complement of its price. */
export interface LastTrade extends Pick<PriceRecord, 'price' | 'timestampMs' | 'trade'> {
  /** True if it was recorded for this outcome; otherwise its price is the complement of the other outcome's. */
  readonly isOwn: boolean;
}

/**
 * The book that an outcome has, since up and down are one book at the venue. 'fresh': the later of its own book and the other outcome's,
 * mirrored; if both have the same timestamp, its own. 'recorded': its own; before its first own book the other's, mirrored.
 */
export const MIRROR_MODES = ['fresh', 'recorded'] as const;
export type MirrorMode = (typeof MIRROR_MODES)[number];

/** A book of a series, and its time. */
export type DatedBook = Omit<KnownBook, 'isOwn'>;

/** The book of an outcome at an instant. Undefined before the first book of either outcome. */
export function bookAt(
  archive: Pick<Archive, 'snapshots'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
  mode: MirrorMode,
  isByArrival = false,
): KnownBook | undefined {
  const own = recordedBookAt(archive, market, outcome, instantMs, isByArrival);
  if (own !== undefined && mode === 'recorded') return { ...own, isOwn: true };
  return chosenBook(own, recordedBookAt(archive, market, otherOutcome(outcome), instantMs, isByArrival), mode);
}

/** Chooses the book of an outcome between the last book of its own series and that of the other outcome's. */
export function chosenBook(
  own: DatedBook | undefined,
  other: DatedBook | undefined,
  mode: MirrorMode,
): KnownBook | undefined {
  if (own !== undefined && (other === undefined || mode === 'recorded' || own.timestampMs >= other.timestampMs)) {
    return { ...own, isOwn: true };
  }
  return other && { ...other, book: mirrorOf(other.book), isOwn: false };
}

/** The last book of one outcome's series at an instant; by arrival, the last one that had arrived then. */
export function recordedBookAt(
  { snapshots }: Pick<Archive, 'snapshots'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
  isByArrival = false,
): DatedBook | undefined {
  const found = isByArrival
    ? snapshots.nearest(market, outcome, INSTANT_MAX_MS, 'before', instantMs)
    : snapshots.nearest(market, outcome, instantMs, 'before');
  if (found === undefined) return undefined;
  const reader = new BookReader(found.payload, found.head);
  reader.advanceTo(found.index);
  const { timestamps, ids } = found.head;
  return { book: bookOf(reader), timestampMs: timestamps[found.index]!, id: ids[found.index]! };
}

/** The last trade of either outcome up to an instant; if both have one at that time, the outcome's own. By arrival, of those that had arrived then. */
export function lastTradeAt(
  { prices }: Pick<Archive, 'prices'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
  isByArrival = false,
): LastTrade | undefined {
  const limits = limitsOf(instantMs, isByArrival);
  const own = prices.latest(market, outcome, 'trade', ...limits);
  const other = prices.latest(market, otherOutcome(outcome), 'trade', ...limits);
  if (own !== undefined && (other === undefined || other.timestampMs <= own.timestampMs)) {
    return { ...own, isOwn: true };
  }
  return other && { ...other, price: complement(other.price), isOwn: false };
}

/**
 * The last price of the last trade that a book of either outcome states up to an instant; if both state one at that time, the
 * outcome's own. The venue's books of both outcomes have the same price, so it is never complemented (1,800 of 1,800 pairs of books of
 * one time in polymarket-BTC5min-database).
 */
export function statedTradeAt(
  { prices }: Pick<Archive, 'prices'>,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
  isByArrival = false,
): PriceRecord | undefined {
  const limits = limitsOf(instantMs, isByArrival);
  const own = prices.latest(market, outcome, 'last-trade', ...limits);
  return laterStated(own, prices.latest(market, otherOutcome(outcome), 'last-trade', ...limits));
}

/** The latest time of a record, and by arrival the latest arrival. */
function limitsOf(
  instantMs: InstantMs,
  isByArrival: boolean,
): readonly [timestampMs: InstantMs, receivedByMs?: InstantMs] {
  return isByArrival ? [INSTANT_MAX_MS, instantMs] : [instantMs];
}

/** The later one of the prices that the books of an outcome and of the other one state. */
export function laterStated(own: PriceRecord | undefined, other: PriceRecord | undefined): PriceRecord | undefined {
  return own === undefined || (other !== undefined && other.timestampMs > own.timestampMs) ? other : own;
}

/**
 * The price of the last trade in an outcome's book: the last one that a book states, unless a trade is later. The message of a trade
 * follows the book that counts it, so a trade shortly after a book is not later.
 */
export function tradeInBook(
  trade: LastTrade | undefined,
  stated: PriceRecord | undefined,
): { readonly price: number } | undefined {
  if (trade === undefined || stated === undefined) return stated ?? trade;
  return trade.timestampMs > stated.timestampMs + TRADE_DELAY_MAX_MS ? trade : stated;
}
