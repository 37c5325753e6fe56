import { describe, expect, test } from 'bun:test';
import { DomainError } from '../../src/domain/errors.ts';
import { topOfBook } from '../../src/domain/quote.ts';
import { BookReader, bookCodec, bookOf } from '../../src/segment/book-decoder.ts';
import { ByteBuffer } from '../../src/segment/byte-buffer.ts';
import { jsonLabels, jsonOpenings, SnapshotJsonWriter } from '../../src/segment/json-writer.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { type BookStyle, randomBooks, randomsOf } from '../support/random-books.ts';

const STYLES: readonly BookStyle[] = [
  { priceScale: 2, sizes: 'cents', levelsMax: 8, changesMax: 3 },
  { priceScale: 4, sizes: 'extremes', levelsMax: 8, changesMax: 3 },
];
const LABELS = { assetId: '1', conditionId: '0x1', symbol: 'btc', outcome: 'up', timeframe: '5m' } as const;

const books = STYLES.flatMap((style, seed) => [
  randomBooks(seed, 40, style).map((book, i) => ({ timestampMs: 1_776_323_400_000 + i * 250, id: 7 * i + 1, book })),
]);

/** Every kind of payload, and its reader. */
const PAYLOADS: [string, Uint8Array, (payload: Uint8Array) => void][] = books.flatMap((records, i) => {
  const quotes = records.map(({ book, ...position }) => ({ ...position, quote: topOfBook(book) }));
  const prices = records.map(({ book, ...position }) => ({ ...position, price: book.bidSizes[0] ?? 0.5 }));
  const book = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX).payload;
  return [
    [`books ${i}`, book, (payload) => void bookCodec.decode(payload)],
    [`books ${i} as JSON`, book, writeJson],
    [
      `quotes ${i}`,
      quoteCodec.encode(quotes, 0, SEGMENT_RECORDS_MAX).payload,
      (payload) => void quoteCodec.decode(payload),
    ],
    [
      `prices ${i}`,
      priceCodec.encode(prices, 0, SEGMENT_RECORDS_MAX).payload,
      (payload) => void priceCodec.decode(payload),
    ],
  ];
});

function writeJson(payload: Uint8Array): void {
  const head = readSegmentHeader(payload);
  const writer = new SnapshotJsonWriter(new ByteBuffer(), jsonOpenings());
  writer.open({ payload, head, from: 0, to: head.count }, jsonLabels(LABELS));
  for (let i = 0; i < head.count; i += 1) writer.writeNext();
}

/** Whether `payload` is read to its end; throws every error except 'damaged'. */
function reads(read: (payload: Uint8Array) => void, payload: Uint8Array): boolean {
  try {
    read(payload);
    return true;
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind !== 'unavailable') throw error;
    return false;
  }
}

describe.each(PAYLOADS)('a damaged payload of %s', (_, payload, read) => {
  test('is refused when it ends too early, at any byte', () => {
    expect(reads(read, payload)).toBe(true);
    for (let length = 0; length < payload.length; length += 1) {
      expect(reads(read, payload.slice(0, length))).toBe(false);
    }
  });

  test('with any bit flipped is refused or read as other records, without any other error', () => {
    let refused = 0;
    for (let bit = 0; bit < payload.length * 8; bit += 1) {
      const flipped = payload.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      if (!reads(read, flipped)) refused += 1;
    }
    expect(refused).toBeGreaterThan(0);
  });

  test('with bytes replaced at random is refused or read as other records, without any other error', () => {
    const random = randomsOf(42);
    for (let i = 0; i < 3000; i += 1) {
      const replaced = payload.slice();
      for (let count = 1 + random() * 8; count > 0; count -= 1) {
        replaced[Math.floor(random() * payload.length)] = random() < 0.3 ? 0xff : Math.floor(random() * 256);
      }
      reads(read, replaced);
    }
  });

  test.each([
    ['no bytes', new Uint8Array(0)],
    ['an earlier version', Uint8Array.from([1, 1, 1, 1, 0, 0, 0, 0, 0])],
    ['a later version', Uint8Array.from([3, 1, 1, 1, 0, 0, 0, 0, 0])],
    ['no record', Uint8Array.from([2, 0, 1, 1, 0, 0, 0, 0, 0])],
    ['more records than a segment can have', Uint8Array.from([2, 129, 1, 1, ...new Uint8Array(600)])],
    ['a scale that does not exist', Uint8Array.from([2, 1, 1, 1, 14, 14, 0, 0, 0, 0])],
    ['a step that repeats more often than there are records', Uint8Array.from([2, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])],
    ['an id below 0', Uint8Array.from([2, 2, 1, 1, 1, 5, 0, 0, 0, 0, 0, 0])],
  ])('with %s is refused', (_, bytes) => {
    expect(reads(read, bytes)).toBe(false);
  });
});

/** A table of one entry (1 unit), a keyframe with a bid at 0.5 (10.00) and an ask at 0.6 (20.00). */
const FRAME = [2, 2, 1, 2, 1, 43, 51, 1, 83, 61];
/** Headers of one record, and of two records one millisecond apart. */
const HEADER_1 = [2, 1, 7, 7];
const HEADER_2 = [2, 2, 7, 1, 7, 2];

describe('a book', () => {
  const sizes = (delta: readonly number[]) => {
    const [, book] = bookCodec.decode(Uint8Array.from([...HEADER_2, ...FRAME, ...delta]));
    return [book!.book.bidPrices, book!.book.bidSizes, book!.book.askPrices, book!.book.askSizes];
  };

  test.each<[string, readonly number[], (readonly number[])[]]>([
    ['an entry of the table', [0x01, 0 << 2], [[0.5], [10.01], [0.6], [20]]],
    ['its negative, on the other side', [0x10, 1 << 2], [[0.5], [10], [0.6], [19.99]]],
    ['whole units', [0x01, 42 << 2, 1], [[0.5], [15], [0.6], [20]]],
    ['a negative number of whole units', [0x01, 43 << 2, 0], [[0.5], [8], [0.6], [20]]],
    ['units', [0x01, 48 << 2, 1], [[0.5], [10.04], [0.6], [20]]],
    ['the removal of a level', [0x01, 56 << 2], [[], [], [0.6], [20]]],
    ['a new level after the last', [0x01, (57 << 2) + 1, 6], [[0.5, 0.49], [10, 1], [0.6], [20]]],
  ])('is edited by %s', (_, delta, book) => {
    expect(sizes(delta)).toEqual(book);
  });

  test.each<[string, readonly number[]]>([
    ['an entry that the table does not have', [0x01, 2 << 2]],
    ['a new size of a level that does not exist', [0x01, (0 << 2) + 1]],
    ['the removal of a level that does not exist', [0x01, (56 << 2) + 1]],
    ['a new level after one that does not exist', [0x01, (57 << 2) + 2, 6]],
    ['a size below 0', [0x01, 43 << 2, 3]],
    ['a size above the maximum', [0x01, 40 << 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ['a price below 0', [0x01, (57 << 2) + 1, 7, 60]],
    ['a price above 1', [0x10, (57 << 2) + 1, 7, 60]],
    ['a new level that is not before the next one', [0x01, 57 << 2, 7, 52]],
    ['a double among integers', [0x01, 58 << 2, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['an operation that only quotes have', [0x01, 59 << 2]],
    ['an operation that does not exist', [0x01, 63 << 2]],
    ['more edits than bytes', [0x0f, 0xff, 0xff, 0xff, 0x7f, 0, 0]],
    ['a skip with too many bytes', [0x01, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['fewer edits than announced', [0x01]],
    ['bytes after its end', [0x01, 0 << 2, 0]],
  ])('with %s is refused', (_, delta) => {
    expect(() => sizes(delta)).toThrow(DomainError);
  });

  test.each<[string, readonly number[]]>([
    ['more levels than bytes', [2, 2, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]],
    ['a price below 0', [2, 2, 0, 1, 3, 120, 0]],
    ['a price above 1', [2, 2, 0, 0, 1, 3, 110]],
    ['a table of too many entries', [2, 2, 21, ...new Uint8Array(21).fill(2), 0, 0]],
    ['a double that is NaN', [2, 31, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 0]],
    ['a double below 0', [2, 31, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf, 0]],
    ['bytes after its end', [2, 2, 0, 0, 0, 0]],
  ])('whose keyframe has %s is refused', (_, body) => {
    expect(() => bookCodec.decode(Uint8Array.from([...HEADER_1, ...body]))).toThrow(DomainError);
  });
});

describe('a quote', () => {
  test.each<[string, readonly number[]]>([
    ['a new size of an absent side', [0]],
    ['the removal of an absent side', [56 << 2]],
    ['a price below 0', [57 << 2, 7, 3]],
    ['a price above 1', [57 << 2, 7, 0xfe, 0x7f]],
    ['a double among integers', [(57 << 2) + 2, 6, 58 << 2, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['fewer edits than announced', [(57 << 2) + 2, 6]],
    ['bytes after its end', [59 << 2, 0]],
  ])('with %s is refused', (_, edits) => {
    const body = [2, 2, 1, 2, ...edits];
    expect(() => quoteCodec.decode(Uint8Array.from([...HEADER_1, ...body]))).toThrow(DomainError);
  });

  test('may have no side', () => {
    const [record] = quoteCodec.decode(Uint8Array.from([...HEADER_1, 2, 2, 0, 59 << 2]));
    expect(record!.quote.bidPrice).toBeUndefined();
    expect(record!.quote.askPrice).toBeUndefined();
  });
});

test('A reader that failed reads the segment from its first book again, not from where it failed.', () => {
  const records = books[0]!;
  const { payload } = bookCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
  const head = readSegmentHeader(payload);
  const whole = bookCodec.decode(payload);
  const reader = new BookReader();
  // Damaged after it was read, so that the same segment, with the same header, is whole again later.
  const kept = payload.slice();
  let failures = 0;
  for (let at = head.bodyOffset + 100; at < payload.length; at += 1) {
    payload.fill(255, at);
    reader.open(payload, head);
    const fails = !reads(() => reader.advanceTo(20), payload);
    payload.set(kept);
    if (!fails) continue;
    failures += 1;
    for (const from of [25, 30]) {
      reader.moveBefore({ payload, head, from, to: from + 1 });
      reader.advance();
      expect(bookOf(reader)).toEqual(whole[from]!.book);
    }
  }
  expect(failures).toBeGreaterThan(10);
});
