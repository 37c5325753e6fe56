import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { ByteBuffer } from '../../src/segment/byte-buffer.ts';
import { jsonLabels, jsonOpenings, SnapshotJsonWriter } from '../../src/segment/json-writer.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import type { SnapshotLabels } from '../../src/segment/snapshot-writer.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { encodeAll } from './round-trip.ts';
import { recordsOf, snapshotOf, UP } from './snapshot-records.ts';

const RUNS = { seed: 20260416, numRuns: 150 };
const COMMA = 44;
const DOWN: SnapshotLabels = { ...UP, assetId: '0', outcome: 'down' };
/** Shared by all tests, as by all answers: its cache must be right for every scale. */
const OPENINGS = jsonOpenings();

/** Encodes `records` in segments of at most `countMax`, and writes those from `from` on, with commas as in an answer. */
function written(
  records: readonly BookRecord[],
  labels: SnapshotLabels,
  from = 0,
  countMax = SEGMENT_RECORDS_MAX,
): string {
  const out = new ByteBuffer();
  const writer = new SnapshotJsonWriter(out, OPENINGS);
  let before = 0;
  for (const payload of encodeAll(bookCodec, records, countMax)) {
    const head = readSegmentHeader(payload);
    const start = Math.max(0, from - before);
    before += head.count;
    if (start >= head.count) continue;
    writer.open({ payload, head, from: start, to: head.count }, jsonLabels(labels));
    for (let i = start; i < head.count; i += 1) {
      if (out.length > 0) out.byte(COMMA);
      writer.writeNext();
    }
  }
  return new TextDecoder().decode(out.view());
}

/** Sizes and prices that JSON.stringify writes without an exponent. */
const ordinary: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 1, 2, 3, 4),
  sizes: fc.constantFrom('whole', 'cents', 'millionths'),
  levelsMax: fc.constantFrom(0, 1, 5, 40, 200),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});

test('snapshots are the bytes that JSON.stringify writes for the documented records', () => {
  fc.assert(
    fc.property(
      ordinary,
      fc.integer({ min: 1, max: 150 }),
      fc.nat(),
      fc.nat(),
      fc.constantFrom(1, 3, 64, 128),
      (style, count, seed, at, countMax) => {
        const records = recordsOf(randomBooks(seed, count, style));
        const from = at % count;
        const expected = records.slice(from).map((record) => JSON.stringify(snapshotOf(record, UP)));
        expect(written(records, UP, from, countMax)).toBe(expected.join(','));
      },
    ),
    RUNS,
  );
});

test('any exact decimal is read back as the same number', () => {
  const styles: fc.Arbitrary<BookStyle> = fc.record({
    priceScale: fc.constantFrom(2, 7, 12),
    sizes: fc.constantFrom('mixed', 'extremes'),
    levelsMax: fc.constantFrom(1, 5, 40),
    changesMax: fc.constantFrom(0, 1, 3, 20),
  });
  fc.assert(
    fc.property(styles, fc.integer({ min: 1, max: 150 }), fc.nat(), (style, count, seed) => {
      const records = recordsOf(randomBooks(seed, count, style), 2 ** 53 - 1000);
      expect(JSON.parse(`[${written(records, DOWN)}]`)).toEqual(records.map((record) => snapshotOf(record, DOWN)));
    }),
    RUNS,
  );
});

describe('single values', () => {
  test.each<[number, number]>([
    [0, 1],
    [1, 5],
    [0.5, 10],
    [0.01, 100],
    [0.99, 999.99],
    [0.001, 0.000001],
    [0.9999, 1_000_000],
    [0.1, 123_456_789.012345],
    [0.3, 0.1],
    [0.7, 99_999_999.999999],
    [0.000001, 999_999_999_999_999],
    [0.25, 100_000_000_000_000],
    [0.75, 4_456_987_501.85],
  ])('price %p and size %p are written as JSON.stringify does', (price, size) => {
    const records = recordsOf([{ bidPrices: [price], bidSizes: [size], askPrices: [price], askSizes: [size] }]);
    expect(written(records, UP)).toBe(JSON.stringify(snapshotOf(records[0]!, UP)));
  });
});

test('writers of two outcomes can share one buffer', () => {
  fc.assert(
    fc.property(
      ordinary,
      fc.nat(),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 200 }),
      (style, seed, choices) => {
        const out = new ByteBuffer();
        const sides = [UP, DOWN].map((labels, i) => {
          const records = recordsOf(randomBooks(seed + i, choices.length, style), 1 + i);
          const payloads = encodeAll(bookCodec, records, 50);
          return { labels, records, payloads, writer: new SnapshotJsonWriter(out, OPENINGS), written: 0, left: 0 };
        });
        const expected: string[] = [];
        for (const choice of choices) {
          const side = sides[choice ? 1 : 0]!;
          if (side.left === 0) {
            const payload = side.payloads.shift()!;
            const head = readSegmentHeader(payload);
            side.left = head.count;
            side.writer.open({ payload, head, from: 0, to: head.count }, jsonLabels(side.labels));
          }
          if (out.length > 0) out.byte(COMMA);
          side.writer.writeNext();
          expected.push(JSON.stringify(snapshotOf(side.records[side.written]!, side.labels)));
          side.left -= 1;
          side.written += 1;
        }
        expect(new TextDecoder().decode(out.view())).toBe(expected.join(','));
      },
    ),
    RUNS,
  );
});

test('books larger than the buffer, the ladder and the edit log make them grow', () => {
  const levels = 2400;
  const book = (shift: number): OrderBook => {
    const bidPrices = Array.from({ length: levels }, (_, i) => (4999 - 2 * i + shift) / 1e4);
    const askPrices = Array.from({ length: levels }, (_, i) => (5001 + 2 * i + shift) / 1e4);
    return { bidPrices, bidSizes: bidPrices.map((_, i) => 1 + i / 8), askPrices, askSizes: askPrices.map(() => 7) };
  };
  const empty: OrderBook = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };
  const small: OrderBook = { bidPrices: [0.4], bidSizes: [1], askPrices: [0.6], askSizes: [2] };
  const records = recordsOf([small, book(0), book(1), small, book(0), empty, book(1), book(1)]);
  const expected = records.map((record) => JSON.stringify(snapshotOf(record, UP)));
  expect(expected.join(',').length).toBeGreaterThan(10 * 64 * 1024);
  expect(written(records, UP)).toBe(expected.join(','));
  expect(written(records, UP, 0, 1)).toBe(expected.join(','));
});

test('a cleared buffer has nothing of its earlier content', () => {
  const records = recordsOf(randomBooks(5, 20, { priceScale: 2, sizes: 'cents', levelsMax: 20, changesMax: 4 }));
  const { payload } = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
  const head = readSegmentHeader(payload);
  const out = new ByteBuffer();
  for (const from of [0, 7, 3]) {
    out.clear();
    const writer = new SnapshotJsonWriter(out, OPENINGS);
    writer.open({ payload, head, from, to: head.count }, jsonLabels(UP));
    writer.writeNext();
    expect(new TextDecoder().decode(out.view())).toBe(JSON.stringify(snapshotOf(records[from]!, UP)));
  }
});

test('labels are escaped as in JSON', () => {
  const labels: SnapshotLabels = { ...UP, symbol: 'a"b\\c\u0001é€', timeframe: '\n' };
  const records = recordsOf([{ bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] }]);
  expect(written(records, labels)).toBe(JSON.stringify(snapshotOf(records[0]!, labels)));
});
