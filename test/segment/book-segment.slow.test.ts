import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { BookReader, bookCodec, bookOf } from '../../src/segment/book-decoder.ts';
import type { BookRecord, EditLog } from '../../src/segment/book-format.ts';
import {
  KEYFRAMES_PER_SEGMENT,
  readSegmentHeader,
  SEGMENT_PAYLOAD_BYTES,
  SEGMENT_RECORDS_MAX,
} from '../../src/segment/segment-header.ts';
import { ascendingPositions } from '../support/positions.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { decodeAll, encodeAll } from './round-trip.ts';

const RUNS = { seed: 20260416, numRuns: 150 };
const EMPTY: OrderBook = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };

const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 1, 2, 3, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 5, 40, 150),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});

const segment = fc
  .tuple(fc.integer({ min: 1, max: 200 }), fc.nat(), style)
  .chain(([count, seed, bookStyle]) =>
    ascendingPositions(count).map((positions): BookRecord[] =>
      randomBooks(seed, count, bookStyle).map((book, i) => ({ ...positions[i]!, book })),
    ),
  );

function recordsOf(books: readonly OrderBook[]): BookRecord[] {
  return books.map((book, i) => ({ timestampMs: 1_776_323_400_000 + i * 100, id: i + 1, book }));
}

/** A book of `levels` on each side, in ticks of 10^-4; `shift` is the number of ticks that every price moves. */
function largeBook(levels: number, shift: number, size: number): OrderBook {
  const bidPrices = Array.from({ length: levels }, (_, i) => (4999 - 2 * i - shift) / 1e4).filter(
    (price) => price >= 0,
  );
  const askPrices = Array.from({ length: levels }, (_, i) => (5001 + 2 * i + shift) / 1e4).filter(
    (price) => price <= 1,
  );
  return {
    bidPrices,
    bidSizes: bidPrices.map((_, i) => size + i),
    askPrices,
    askSizes: askPrices.map((_, i) => size + i / 4),
  };
}

describe('a segment of books', () => {
  test('decodes to the encoded records, in segments of any length', () => {
    fc.assert(
      fc.property(segment, fc.constantFrom(1, 2, 7, 64, SEGMENT_RECORDS_MAX, 10_000), (records, countMax) => {
        expect(decodeAll(bookCodec, encodeAll(bookCodec, records, countMax))).toEqual(records);
      }),
      RUNS,
    );
  });

  test('does not depend on the records before its first one', () => {
    fc.assert(
      fc.property(segment, fc.nat(), (records, at) => {
        const from = at % records.length;
        const here = bookCodec.encode(records, from, 5);
        const alone = bookCodec.encode(records.slice(from), 0, 5);
        expect(here.payload).toEqual(alone.payload);
      }),
      RUNS,
    );
  });

  test('keeps books in which every level changes: more than 256 edits a side', () => {
    const books = Array.from({ length: 12 }, (_, i) => largeBook(1200, i % 2, 10 + i));
    const records = recordsOf([...books, EMPTY, largeBook(1200, 0, 5), EMPTY, EMPTY]);
    expect(decodeAll(bookCodec, encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX))).toEqual(records);
  });

  test('keeps edits far from the best level, and far from each other', () => {
    const before = largeBook(1200, 0, 10);
    const resized = { ...before, bidSizes: before.bidSizes.with(700, 1.5).with(900, 2.5).with(1199, 3.5) };
    const without = (list: readonly number[]) => list.filter((_, i) => i !== 850);
    const shorter = { ...resized, bidPrices: without(resized.bidPrices), bidSizes: without(resized.bidSizes) };
    const records = recordsOf([before, resized, shorter, resized, before]);
    const payloads = encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX);
    expect(payloads.length).toBe(1);
    expect(decodeAll(bookCodec, payloads)).toEqual(records);
  });

  test.each<[string, readonly OrderBook[]]>([
    ['empty books only', [EMPTY, EMPTY, EMPTY]],
    ['an empty book that fills', [EMPTY, { ...EMPTY, bidPrices: [0.5], bidSizes: [1] }, EMPTY]],
    ['prices 0 and 1', [{ bidPrices: [1, 0], bidSizes: [1, 2], askPrices: [0, 1], askSizes: [3, 4] }]],
    ['a crossed book', [{ bidPrices: [0.6], bidSizes: [1], askPrices: [0.4], askSizes: [1] }]],
    ['12 decimals', [{ bidPrices: [0.999999999999], bidSizes: [1e-12], askPrices: [1], askSizes: [0.1] }]],
    ['10^14 next to 10^-12', [{ bidPrices: [0.5, 0.4], bidSizes: [1e14, 1e-12], askPrices: [], askSizes: [] }]],
    [
      '10^14 and 10^-12 in different books',
      [
        { ...EMPTY, bidPrices: [0.5], bidSizes: [1e14] },
        { ...EMPTY, bidPrices: [0.5], bidSizes: [1e-12] },
      ],
    ],
    ['15 digits', [{ bidPrices: [0.5], bidSizes: [999_999_999_999_999], askPrices: [0.6], askSizes: [0.5] }]],
    [
      // 4456987501.85 · 10^6 is not a whole number in doubles: a column up to there must not be scaled.
      'large sizes next to sizes of 6 decimals',
      [
        {
          bidPrices: [0.5, 0.4],
          bidSizes: [4_456_987_501.85, 0.000001],
          askPrices: [0.6],
          askSizes: [4_458_264_477.64],
        },
      ],
    ],
  ])('keeps %s', (_, books) => {
    const records = recordsOf(books);
    expect(decodeAll(bookCodec, encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX))).toEqual(records);
  });

  test('keeps large sizes next to fine ones, up to the limit of every scale', () => {
    // Sizes of 2 decimals, up to 2^53 in units of the scale, and one size that needs the scale.
    const sizesUpToTheEnd = fc.integer({ min: 3, max: 12 }).chain((scale) => {
      const centsMax = Math.floor(Number.MAX_SAFE_INTEGER / 10 ** (scale - 2));
      const cents = fc.integer({ min: Math.floor(centsMax / 8), max: centsMax }).map((digits) => digits / 100);
      return fc.tuple(fc.array(cents, { minLength: 1, maxLength: 8 }), fc.constant(Number(`1e-${scale}`)));
    });
    fc.assert(
      fc.property(sizesUpToTheEnd, ([large, small]) => {
        const sizes = [...large, small].filter((size) => size > 0);
        const bidPrices = sizes.map((_, i) => (99 - i) / 100);
        const records = recordsOf([{ ...EMPTY, bidPrices, bidSizes: sizes }]);
        expect(decodeAll(bookCodec, encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX))).toEqual(records);
      }),
      { ...RUNS, numRuns: 1000 },
    );
  });
});

describe('encoding', () => {
  test('gives the same bytes whether or not books share their unchanged arrays', () => {
    fc.assert(
      fc.property(segment, (records) => {
        const books: OrderBook[] = [];
        const shared = records.map((record): BookRecord => {
          const before = books.at(-1);
          const same = (name: keyof OrderBook) =>
            before !== undefined && Bun.deepEquals(before[name], record.book[name]) ? before[name] : record.book[name];
          const book: OrderBook = {
            bidPrices: same('bidPrices'),
            bidSizes: same('bidSizes'),
            askPrices: same('askPrices'),
            askSizes: same('askSizes'),
          };
          books.push(book);
          return { ...record, book };
        });
        const apart = records.map((record) => ({ ...record, book: structuredClone(record.book) }));
        expect(encodeAll(bookCodec, shared, SEGMENT_RECORDS_MAX)).toEqual(
          encodeAll(bookCodec, apart, SEGMENT_RECORDS_MAX),
        );
      }),
      RUNS,
    );
  });

  test.each([
    ['in the end no scale fits all', [5, 0.5, 0.25, 0.125, 0.0625, 0.000001, 1e-9, 1e-12, 1e11, 1e14, 7]],
    ['one scale fits all in the end', [5, 0.5, 80, 0.25, 80.5, 0.125, 0.0625, 3, 0.000001, 17, 18, 1e-9, 5]],
  ])('starts a segment again, as often as necessary, when a later book needs a finer scale; %s', (_, sizes) => {
    // Most books refine the sizes of the one before.
    const books = sizes.map((size, i) => ({
      bidPrices: [0.5, i % 2 === 0 ? 0.4 : 0.4321],
      bidSizes: [size, 3],
      askPrices: i < 4 ? [0.75] : [0.75, 0.923456789],
      askSizes: i < 4 ? [1] : [1, 2],
    }));
    const records = recordsOf([...books, ...books.slice(0, 4), ...books]);
    const payloads = encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX);
    expect(payloads.length).toBe(1);
    expect(decodeAll(bookCodec, payloads)).toEqual(records);
  });
});

describe('a segment', () => {
  test('has at most the given number of records', () => {
    const records = recordsOf(randomBooks(1, 500, { priceScale: 2, sizes: 'whole', levelsMax: 3, changesMax: 1 }));
    expect(bookCodec.encode(records, 0, 10_000).count).toBe(SEGMENT_RECORDS_MAX);
    expect(bookCodec.encode(records, 0, 5).count).toBe(5);
    expect(bookCodec.encode(records, 498, 5).count).toBe(2);
  });

  test('closes at its number of bytes when books are small', () => {
    const records = recordsOf(randomBooks(2, 400, { priceScale: 2, sizes: 'cents', levelsMax: 40, changesMax: 30 }));
    const payloads = encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX);
    expect(payloads.length).toBeGreaterThan(4);
    for (const payload of payloads) expect(payload.length).toBeLessThanOrEqual(SEGMENT_PAYLOAD_BYTES + 20);
  });

  test('has a few books even if the first one exceeds that number', () => {
    const books = Array.from({ length: 40 }, (_, i) => largeBook(1500, i % 2, 1000 + i));
    const alone = bookCodec.encode(recordsOf(books.slice(0, 1)), 0, 1).payload.length;
    expect(alone).toBeGreaterThan(SEGMENT_PAYLOAD_BYTES);
    const { payload, count } = bookCodec.encode(recordsOf(books), 0, SEGMENT_RECORDS_MAX);
    expect(count).toBeGreaterThan(1);
    expect(payload.length).toBeLessThanOrEqual(KEYFRAMES_PER_SEGMENT * alone + 100);
  });

  test('has its positions in its header', () => {
    fc.assert(
      fc.property(segment, (records) => {
        const { payload, count } = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
        const head = readSegmentHeader(payload);
        expect(head.count).toBe(count);
        expect([...head.timestamps]).toEqual(records.slice(0, count).map((record) => record.timestampMs));
        expect([...head.ids]).toEqual(records.slice(0, count).map((record) => record.id));
      }),
      RUNS,
    );
  });

  test('is far smaller than its books when little changes', () => {
    const records = recordsOf(randomBooks(3, 128, { priceScale: 2, sizes: 'cents', levelsMax: 60, changesMax: 2 }));
    const bytes = encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX).reduce((sum, payload) => sum + payload.length, 0);
    expect(bytes).toBeLessThan(JSON.stringify(records).length / 10);
  });
});

test('frequent changes of size take one byte each', () => {
  // Up and down by amounts that take four bytes each outside the table.
  const amounts = [500.37, 777.77, 640.01];
  const books = Array.from({ length: 100 }, (_, i): OrderBook => {
    const size = 5000 + (i % 2 === 0 ? 0 : amounts[Math.floor(i / 2) % 3]!);
    return { bidPrices: [0.5], bidSizes: [Math.round(size * 100) / 100], askPrices: [], askSizes: [] };
  });
  const { payload, count } = bookCodec.encode(recordsOf(books), 0, SEGMENT_RECORDS_MAX);
  expect(count).toBe(100);
  // Each record also has a byte with the number of edits.
  expect(payload.length).toBeLessThan(2 * 100 + 40);
  expect(bookCodec.decode(payload)).toEqual(recordsOf(books));
});

describe('the positions of a segment', () => {
  const steps = fc.array(fc.constantFrom(0, 1, 2, 250, 1000, 2 ** 40), {
    minLength: 1,
    maxLength: SEGMENT_RECORDS_MAX,
  });

  test('are decoded as encoded, with any repetition of steps', () => {
    fc.assert(
      fc.property(steps, steps, fc.nat(3), (times, ids, repeats) => {
        // Each step several times, so that there are runs of equal ones.
        const repeated = (list: readonly number[]) => list.flatMap((step) => new Array<number>(1 + repeats).fill(step));
        const [timeSteps, idSteps] = [repeated(times), repeated(ids)];
        const position = { timestampMs: 1_776_323_400_000, id: 1 };
        const records = timeSteps.slice(0, SEGMENT_RECORDS_MAX).map((step, i): BookRecord => {
          position.timestampMs += step;
          // Up and down, and no step of 0.
          position.id += 1 + (idSteps[i % idSteps.length]! % 1000) - (i % 5 === 4 ? 3 : 0);
          return { timestampMs: position.timestampMs, id: Math.max(1, position.id), book: EMPTY };
        });
        expect(decodeAll(bookCodec, encodeAll(bookCodec, records, SEGMENT_RECORDS_MAX))).toEqual(records);
      }),
      RUNS,
    );
  });

  test('take almost no bytes when all steps are equal', () => {
    const records = Array.from({ length: SEGMENT_RECORDS_MAX }, (_, i) => ({
      timestampMs: 1000 * i,
      id: i + 1,
      book: EMPTY,
    }));
    // Each record has one byte: no edits.
    expect(bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX).payload.length).toBeLessThan(SEGMENT_RECORDS_MAX + 20);
  });
});

describe('a reader', () => {
  /** The first segment of the records. */
  const payloads = segment.map((records) => {
    const { payload, count } = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
    return { encoded: records.slice(0, count), payload };
  });

  test('reads one segment after another, also after damaged ones', () => {
    const reader = new BookReader();
    fc.assert(
      fc.property(payloads, fc.nat(), fc.boolean(), ({ encoded, payload }, at, cut) => {
        if (cut) {
          expect(() => {
            reader.open(payload.slice(0, at % payload.length));
            while (reader.advance());
          }).toThrow(DomainError);
        }
        reader.open(payload);
        for (const { book } of encoded) {
          expect(reader.advance()).toBe(true);
          expect(bookOf(reader)).toEqual(book);
        }
        expect(reader.advance()).toBe(false);
      }),
      RUNS,
    );
  });

  test('advances to any book, and from there to the next', () => {
    const reader = new BookReader();
    fc.assert(
      fc.property(payloads, fc.nat(), fc.nat(), ({ encoded, payload }, one, other) => {
        const [first, second] = [one % encoded.length, other % encoded.length].sort((a, b) => a - b);
        reader.open(payload);
        for (const index of [first!, second!]) {
          reader.advanceTo(index);
          expect(reader.index).toBe(index);
          expect(bookOf(reader)).toEqual(encoded[index]!.book);
          expect([reader.bidEdits.length, reader.askEdits.length]).toEqual([0, 0]);
        }
        expect(reader.advance()).toBe(second! + 1 < encoded.length);
        expect(bookOf(reader)).toEqual(encoded[Math.min(second! + 1, encoded.length - 1)]!.book);
        expect(() => reader.advanceTo(encoded.length)).toThrow(DomainError);
      }),
      RUNS,
    );
  });

  test('logs the edits between consecutive books', () => {
    type Level = readonly [number, number];
    const levels = (prices: readonly number[], sizes: readonly number[]) =>
      prices.map((price, i): Level => [price, sizes[i]!]);
    /** Applies the log to `before`; new levels come from `after`. */
    const edited = (before: readonly Level[], after: readonly Level[], log: EditLog): Level[] => {
      const made: Level[] = [];
      let at = 0;
      for (let i = 0; i < log.length; i += 1) {
        made.push(...before.slice(at, at + log.skips[i]!));
        at += log.skips[i]! + log.consumes[i]!;
        if (log.produces[i] === 1) made.push(after[made.length]!);
      }
      const keepsLevels = [...log.consumes.subarray(0, log.length), ...log.produces.subarray(0, log.length)];
      expect(log.restructures).toBe(keepsLevels.includes(0));
      return [...made, ...before.slice(at)];
    };
    fc.assert(
      fc.property(payloads, ({ encoded, payload }) => {
        const reader = new BookReader(payload);
        reader.advance();
        expect([reader.bidEdits.length, reader.askEdits.length]).toEqual([0, 0]);
        for (let i = 1; i < encoded.length; i += 1) {
          reader.advance();
          const [before, after] = [encoded[i - 1]!.book, encoded[i]!.book];
          const bids = levels(after.bidPrices, after.bidSizes);
          const asks = levels(after.askPrices, after.askSizes);
          expect(edited(levels(before.bidPrices, before.bidSizes), bids, reader.bidEdits)).toEqual(bids);
          expect(edited(levels(before.askPrices, before.askSizes), asks, reader.askEdits)).toEqual(asks);
        }
      }),
      RUNS,
    );
  });

  test('has no book before it has a segment', () => {
    const reader = new BookReader();
    expect(reader.advance()).toBe(false);
    expect(() => reader.advanceTo(0)).toThrow(DomainError);
  });
});

test('a segment does not depend on later records, unless they need a finer scale', () => {
  let compared = 0;
  fc.assert(
    fc.property(segment, (records) => {
      const { payload, count } = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
      const alone = bookCodec.encode(records.slice(0, count), 0, SEGMENT_RECORDS_MAX);
      const [a, b] = [new BookReader(payload), new BookReader(alone.payload)];
      if (a.priceScale !== b.priceScale || a.sizeScale !== b.sizeScale) return;
      expect(alone.payload).toEqual(payload);
      if (count < records.length) compared += 1;
    }),
    RUNS,
  );
  expect(compared).toBeGreaterThan(20);
});

test('books are equal when all their levels are', () => {
  const record = recordsOf([{ bidPrices: [0.5], bidSizes: [1], askPrices: [0.6, 0.7], askSizes: [2, 3] }])[0]!;
  expect(bookCodec.same(record, { ...record, id: 99 })).toBe(true);
  for (const book of [
    { ...record.book, bidPrices: [0.4] },
    { ...record.book, bidSizes: [2] },
    { ...record.book, askPrices: [0.6, 0.8] },
    { ...record.book, askSizes: [2, 4] },
    { ...record.book, askPrices: [0.6], askSizes: [2] },
    { ...record.book, bidPrices: [], bidSizes: [] },
    EMPTY,
  ]) {
    expect(bookCodec.same(record, { ...record, book })).toBe(false);
    expect(bookCodec.same({ ...record, book }, record)).toBe(false);
  }
});
