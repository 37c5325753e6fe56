import { type InstantMs, laterInstant } from '../../domain/instant.ts';
import { type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { RebuiltMoment } from './book-rebuild.ts';
import type { StatedMoment } from './stated-moments.ts';

/**
 * When a book of a moment was known: as soon as the last of the changes that lead to it had arrived, or a whole book that equals it. Of a
 * message that came several times the earliest arrival counts, and messages without an arrival do not count. `storedMs`: the arrival
 * of the stored book to which the messages add. Undefined if no arrival is known.
 */
export function bookArrival(
  { moment: { added }, kept, isReached }: RebuiltMoment,
  book: OrderBook,
  storedMs?: InstantMs,
): InstantMs | undefined {
  if (added === undefined) return storedMs;
  let earliest = isReached ? laterInstant(storedMs, lastChange(added)) : undefined;
  for (const { event } of kept) {
    if (event.receivedMs !== undefined && sameBook(event.message.book, book)) {
      earliest = Math.min(earliest ?? Infinity, event.receivedMs);
    }
  }
  return earliest ?? storedMs;
}

/** When the last change of a moment arrived. */
function lastChange({ sources }: StatedMoment): InstantMs | undefined {
  const [first, second] = sources;
  // Most moments have one change.
  if (second === undefined && first?.length === 1) return first[0]!.receivedMs;
  const arrivals = new Map<string, InstantMs>();
  for (const { change, receivedMs } of sources.flat()) {
    if (receivedMs === undefined) continue;
    const { isBid, price, size, hash } = change;
    const name = `${isBid} ${price} ${size} ${hash}`;
    arrivals.set(name, Math.min(receivedMs, arrivals.get(name) ?? Infinity));
  }
  return [...arrivals.values()].reduce<InstantMs | undefined>(laterInstant, undefined);
}
