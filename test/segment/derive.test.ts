import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { deriveMids, deriveQuotes } from '../../src/segment/derive.ts';
import { midsImpliedBy, quotesImpliedBy } from '../support/derived.ts';
import { randomBooks } from '../support/random-books.ts';

const RUNS = { seed: 20260416, numRuns: 500 };

const books = fc
  .tuple(fc.nat(), fc.integer({ min: 0, max: 60 }), fc.constantFrom(1, 2), fc.constantFrom(1, 3))
  .map(([seed, count, levelsMax, changesMax]) =>
    randomBooks(seed, count, { priceScale: 1, sizes: 'whole', levelsMax, changesMax }).map(
      (book, i): BookRecord => ({ timestampMs: 1000 + i, id: 10 + i, book }),
    ),
  );

test('a snapshot has a quote exactly when its top differs from that of the one before', () => {
  fc.assert(
    fc.property(books, (records) => {
      expect(deriveQuotes(undefined, records)).toEqual(quotesImpliedBy(records));
    }),
    RUNS,
  );
});

test('a snapshot has a mid exactly when it is two-sided and its mid differs from that of the one before', () => {
  fc.assert(
    fc.property(books, (records) => {
      expect(deriveMids(undefined, records)).toEqual(midsImpliedBy(records));
    }),
    RUNS,
  );
});

test('deriving from any snapshot on gives the same records as deriving from the first', () => {
  fc.assert(
    fc.property(books, fc.nat(), (records, at) => {
      const cut = records.length === 0 ? 0 : at % records.length;
      const before = deriveQuotes(undefined, records.slice(0, cut)).at(-1)?.quote;
      const isAfter = (record: { id: number }) => record.id >= 10 + cut;
      const tail = records.slice(cut);
      expect(deriveQuotes(before, tail)).toEqual(deriveQuotes(undefined, records).filter(isAfter));
      expect(deriveMids(before, tail)).toEqual(deriveMids(undefined, records).filter(isAfter));
    }),
    RUNS,
  );
});

describe('a book that loses a side and gets it back', () => {
  const book = (bid: number | undefined, ask: number | undefined): OrderBook => ({
    bidPrices: bid === undefined ? [] : [bid],
    bidSizes: bid === undefined ? [] : [1],
    askPrices: ask === undefined ? [] : [ask],
    askSizes: ask === undefined ? [] : [1],
  });
  const records = [
    book(0.4, 0.6),
    book(0.4, undefined),
    book(0.4, 0.6),
    book(0.3, 0.7),
    book(undefined, undefined),
  ].map((it, i) => ({ timestampMs: i, id: i + 1, book: it }));

  test('has a quote for every change', () => {
    expect(deriveQuotes(undefined, records).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  });

  test('A derived quote or midpoint has the id of its snapshot, and a midpoint is stored again when a side is back.', () => {
    expect(deriveMids(undefined, records)).toEqual([
      { timestampMs: 0, id: 1, price: 0.5 },
      { timestampMs: 2, id: 3, price: 0.5 },
    ]);
  });
});
