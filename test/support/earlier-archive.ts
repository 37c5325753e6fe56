import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';

export interface TimedBook {
  readonly timestampMs: number;
  readonly book: OrderBook;
}

/** Stores books as one import of version 0.3 did: under new ids in their order, next to those that are there, without statements. */
export function storeAsBefore(
  { database, givenIds, snapshots, markets }: Archive,
  market: StoredMarket,
  outcome: Outcome,
  books: readonly TimedBook[],
): void {
  database.write(() => {
    givenIds.load();
    const records = books.map(({ timestampMs, book }) => ({ timestampMs, book, id: givenIds.take(undefined) }));
    snapshots.add(market, outcome, records);
    givenIds.save();
    markets.touch(market.key);
  });
}

/** The book with another size at its best bid. */
export function otherBook(book: OrderBook): OrderBook {
  return { ...book, bidSizes: book.bidSizes.map((size, level) => (level === 0 ? size + 1 : size)) };
}
