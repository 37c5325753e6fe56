import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { topOfBook } from '../../src/domain/quote.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import { arrivalsIn, readSegmentHeader, SEGMENT_PAYLOAD_BYTES } from '../../src/segment/segment-header.ts';
import { randomBooks } from '../support/random-books.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { decodeAll, encodeAll } from './round-trip.ts';

const RUNS = { numRuns: 60 };
const START_MS = 1_776_323_400_000;
const BOOKS = randomBooks(7, 128, { priceScale: 3, sizes: 'cents', levelsMax: 12, changesMax: 3 });

/** Records 30 ms apart, with these arrivals. */
function recordsWith(arrivals: readonly (number | undefined)[]): BookRecord[] {
  return arrivals.map((receivedMs, i) => {
    const record = { timestampMs: START_MS + 30 * i, id: 70_000 + i, book: BOOKS[i % BOOKS.length]! };
    return receivedMs === undefined ? record : { ...record, receivedMs };
  });
}

const arrival = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: START_MS + 20, max: START_MS + 5000 }) },
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: INSTANT_MAX_MS }) },
);

test('arrivals are decoded as encoded, whether all, some or none are known', () => {
  fc.assert(
    fc.property(
      fc.array(arrival, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(1, 7, 10_000),
      (arrivals, countMax) => {
        const books = recordsWith(arrivals);
        const quotes = books.map(({ book, ...position }) => ({ ...position, quote: topOfBook(book) }));
        const prices = books.map(({ book, ...position }) => ({ ...position, price: book.bidSizes[0] ?? 0.5 }));
        expect(decodeAll(bookCodec, encodeAll(bookCodec, books, countMax))).toEqual(books);
        expect(decodeAll(quoteCodec, encodeAll(quoteCodec, quotes, countMax))).toEqual(quotes);
        expect(decodeAll(priceCodec, encodeAll(priceCodec, prices, countMax))).toEqual(prices);
      },
    ),
    RUNS,
  );
});

test('a segment without arrivals has the bytes that it had before arrivals were kept', () => {
  const books = recordsWith(Array.from({ length: 100 }, () => undefined));
  const { payload, count } = bookCodec.encode(books, 0, 10_000);
  expect(payload[0]).toBe(2);
  expect(readSegmentHeader(payload)).toMatchObject({ count, arrivalsOffset: 0 });
  const withNone = books.map((record) => ({ ...record, receivedMs: undefined }));
  expect(bookCodec.encode(withNone, 0, 10_000).payload).toEqual(payload);
});

test('an arrival takes one byte where the delays of a segment differ by less than 127 ms, and two below 16,383 ms', () => {
  const price = (spreadMs: number) => (_: unknown, i: number) => {
    const timestampMs = START_MS + 30 * i;
    return { timestampMs, id: 70_000 + i, price: 0.5, receivedMs: timestampMs - 2_000 + ((i * 7919) % spreadMs) };
  };
  const bytes = (spreadMs: number) => {
    const records = Array.from({ length: 128 }, price(spreadMs));
    const plain = records.map(({ receivedMs: _, ...record }) => record);
    return priceCodec.encode(records, 0, 128).payload.length - priceCodec.encode(plain, 0, 128).payload.length;
  };
  // The length of the column and the least delay take two bytes each at most.
  expect(bytes(127)).toBeLessThanOrEqual(128 + 4);
  expect(bytes(16_383)).toBeLessThanOrEqual(2 * 128 + 4);
});

test('arrivals count against the length at which a segment is closed', () => {
  const books = recordsWith(Array.from({ length: 200 }, (_, i) => START_MS + 30 * i + (i % 100)));
  const payloads = encodeAll(bookCodec, books, 10_000);
  expect(payloads.length).toBeGreaterThan(1);
  for (const payload of payloads) expect(payload.length).toBeLessThanOrEqual(SEGMENT_PAYLOAD_BYTES);
});

test('arrivals are no part of what makes two records the same', () => {
  const [early, late, none] = [5, 9, undefined].map((receivedMs) => recordsWith([receivedMs])[0]!);
  expect([bookCodec.same(early!, late!), bookCodec.same(early!, none!)]).toEqual([true, true]);
  const price = { timestampMs: 1, id: 1, price: 0.5 };
  expect(priceCodec.same(price, { ...price, receivedMs: 5 })).toBe(true);
  const quote = { timestampMs: 1, id: 1, quote: topOfBook(BOOKS[0]!) };
  expect(quoteCodec.same(quote, { ...quote, receivedMs: 5 })).toBe(true);
});

test('arrivals that are cut off, too long, or out of range are damage', () => {
  const records = [1, 2, 3].map((i) => ({ timestampMs: 1000 * i, id: i, price: 0.5, receivedMs: 1000 * i + i }));
  const { payload } = priceCodec.encode(records, 0, 3);
  const { arrivalsOffset, bodyOffset } = readSegmentHeader(payload);
  expect(bodyOffset - arrivalsOffset).toBe(4);
  const changed = (at: number, value: number) => {
    const copy = payload.slice();
    copy[at] = value;
    return copy;
  };
  const damaged = [
    // A least delay of -5000 ms: the arrival is before 1970.
    new Uint8Array([...payload.slice(0, arrivalsOffset - 1), 5, 0x91, 0x4e, ...payload.slice(arrivalsOffset + 1)]),
    changed(arrivalsOffset - 1, 3),
    changed(arrivalsOffset - 1, 5),
    changed(arrivalsOffset - 1, 120),
    changed(arrivalsOffset + 3, 200),
  ];
  for (const bytes of damaged) expect(thrownBy(() => priceCodec.decode(bytes))).toMatchObject({ kind: 'unavailable' });
  expect(thrownBy(() => readSegmentHeader(changed(0, 4)))).toMatchObject({ kind: 'unavailable' });
  const head = readSegmentHeader(payload);
  expect(arrivalsIn({ payload, head })).toEqual(Float64Array.of(1001, 2002, 3003));
});

test('quotes and prices are decoded without arrivals where nobody wants them', () => {
  const records = recordsWith(Array.from({ length: 9 }, (_, i) => START_MS + 40 * i));
  const quotes = records.map(({ book, ...position }) => ({ ...position, quote: topOfBook(book) }));
  const prices = records.map(({ book, ...position }) => ({ ...position, price: book.bidSizes[0] ?? 0.5 }));
  const without = <R extends object>(all: readonly R[]) => all.map((record) => ({ ...record, receivedMs: undefined }));
  const damagedArrivals = (payload: Uint8Array) => payload.with(readSegmentHeader(payload).bodyOffset - 1, 200);
  const quoteBytes = damagedArrivals(quoteCodec.encode(quotes, 0, 9).payload);
  expect(quoteCodec.decode(quoteBytes, true)).toEqual(without(quotes));
  expect(thrownBy(() => quoteCodec.decode(quoteBytes))).toMatchObject({ kind: 'unavailable' });
  const priceBytes = damagedArrivals(priceCodec.encode(prices, 0, 9).payload);
  expect(priceCodec.decode(priceBytes, true)).toEqual(without(prices));
  expect(thrownBy(() => priceCodec.decode(priceBytes))).toMatchObject({ kind: 'unavailable' });
});
