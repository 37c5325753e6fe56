import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { deriveMids, deriveQuotes } from '../../src/segment/derive.ts';
import { derivedPayload, expandDerived, isDerived, topsIn } from '../../src/segment/derived-segment.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { ascendingPositions } from '../support/positions.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { encodeAll } from './round-trip.ts';

const RUNS = { seed: 20260416, numRuns: 80 };
const FIRST_ROW = 3;

const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 1, 2, 3, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 5, 40),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});

const books = fc.tuple(fc.integer({ min: 1, max: 500 }), fc.nat(), style).chain(([count, seed, bookStyle]) =>
  ascendingPositions(count).map((positions): BookRecord[] =>
    randomBooks(seed, count, bookStyle).map((book, i) => ({
      ...positions[i]!,
      ...(i % 3 === 0 ? { receivedMs: positions[i]!.timestampMs + i } : {}),
      book,
    })),
  ),
);

/** The segments of books, and a reader of their rows. */
function storedBooks(records: readonly BookRecord[]) {
  const payloads = encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX);
  const booksIn = (row: number) => {
    const payload = payloads[row - FIRST_ROW];
    if (payload === undefined) throw new DomainError('unavailable', 'missing');
    return topsIn(payload);
  };
  /** The row and the index of the book of a segment's first record. */
  const placeOf = (payload: Uint8Array) => {
    const { ids } = readSegmentHeader(payload);
    for (const [nth, one] of payloads.entries()) {
      const index = readSegmentHeader(one).ids.indexOf(ids[0]!);
      if (index >= 0) return [FIRST_ROW + nth, index] as const;
    }
    throw new Error('no book has this id');
  };
  return { payloads, booksIn, placeOf };
}

test('The tops of a segment are the best levels of its books.', () => {
  fc.assert(
    fc.property(books, (records) => {
      for (const payload of encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX)) {
        const best = bookCodec.decode(payload).map((record) => {
          const { bidPrices, bidSizes, askPrices, askSizes } = record.book;
          const [bid, bidSize, ask, askSize] = [bidPrices, bidSizes, askPrices, askSizes].map((all) => all.slice(0, 1));
          return { ...record, book: { bidPrices: bid!, bidSizes: bidSize!, askPrices: ask!, askSizes: askSize! } };
        });
        expect(topsIn(payload)).toEqual(best);
      }
    }),
    RUNS,
  );
});

test('Derived quotes and midpoints come back as the payloads that they were made from, byte by byte.', () => {
  let [quotes, mids] = [0, 0];
  fc.assert(
    fc.property(books, fc.constantFrom(1, 9, SEGMENT_RECORDS_MAX), (records, countMax) => {
      const { booksIn, placeOf } = storedBooks(records);
      const derived = [
        ...encodeAll(quoteCodec, deriveQuotes(undefined, records), countMax).map(
          (of) => ['derived-quote', of] as const,
        ),
        ...encodeAll(priceCodec, deriveMids(undefined, records), countMax).map((of) => ['derived-mid', of] as const),
      ];
      for (const [kind, payload] of derived) {
        const short = derivedPayload(kind, payload, ...placeOf(payload));
        expect(isDerived(short)).toBe(true);
        expect(short.length).toBeLessThan(12);
        expect(expandDerived(short, booksIn)).toEqual(payload);
        if (kind === 'derived-quote') quotes += 1;
        else mids += 1;
      }
    }),
    RUNS,
  );
  expect(Math.min(quotes, mids)).toBeGreaterThan(100);
});

describe('A damaged payload of derived quotes', () => {
  const records = randomBooks(4, 300, { priceScale: 2, sizes: 'cents', levelsMax: 20, changesMax: 3 }).map(
    (book, i) => ({
      timestampMs: 1_776_323_400_000 + i * 100,
      id: i + 1,
      book,
    }),
  );
  const { booksIn, placeOf } = storedBooks(records);
  const [first, payload] = encodeAll(quoteCodec, deriveQuotes(undefined, records), SEGMENT_RECORDS_MAX);
  const short = derivedPayload('derived-quote', payload!, ...placeOf(payload!));

  function expanded(bytes: Uint8Array, read = booksIn): Uint8Array | undefined {
    try {
      return expandDerived(bytes, read);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unavailable') throw error;
      return undefined;
    }
  }

  test('is refused when it ends too early, or goes on.', () => {
    expect(expanded(short)).toEqual(payload!);
    for (let length = 0; length < short.length; length += 1) expect(expanded(short.slice(0, length))).toBeUndefined();
    expect(expanded(Uint8Array.from([...short, 0]))).toBeUndefined();
  });

  test('is refused or makes another payload, with any byte replaced by any other.', () => {
    for (let at = 0; at < short.length; at += 1) {
      for (let byte = 0; byte < 256; byte += 7) {
        if (byte !== short[at]) expect(expanded(short.with(at, byte))).not.toEqual(payload!);
      }
    }
  });

  test('is refused if its books are missing, too few, or without end.', () => {
    const gone = () => {
      throw new DomainError('unavailable', 'missing');
    };
    expect(expanded(short, gone)).toBeUndefined();
    expect(expanded(short, () => [])).toBeUndefined();
    expect(expanded(short, () => records.slice(0, 1))).toBeUndefined();
    expect(expanded(derivedPayload('derived-quote', first!, 3000, 0))).toBeUndefined();
  });
});
