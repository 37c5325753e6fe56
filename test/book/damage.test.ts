import { describe, expect, test } from 'bun:test';
import { bookCodec } from '../../src/book/book-segment.ts';
import { ByteBuffer } from '../../src/book/byte-buffer.ts';
import { PriceTexts, SnapshotJsonWriter } from '../../src/book/json.ts';
import { priceCodec } from '../../src/book/price-segment.ts';
import { quoteCodec } from '../../src/book/quote-segment.ts';
import { RUN_RECORDS_MAX, readRunHead } from '../../src/book/run.ts';
import { DomainError } from '../../src/domain/errors.ts';
import { topOfBook } from '../../src/domain/quote.ts';
import { type BookStyle, randomBooks, randomsOf } from '../support/random-books.ts';

const STYLES: readonly BookStyle[] = [
  { priceScale: 2, sizes: 'cents', levelsMax: 8, changesMax: 3 },
  { priceScale: 4, sizes: 'extremes', levelsMax: 8, changesMax: 3 },
];
const LABELS = { assetId: '1', conditionId: '0x1', symbol: 'btc', outcome: 'up', timeframe: '5m' } as const;

const books = STYLES.flatMap((style, seed) => [
  randomBooks(seed, 40, style).map((book, i) => ({ timestampMs: 1_776_323_400_000 + i * 250, id: 7 * i + 1, book })),
]);

/** Every kind of payload, and what reads it. */
const PAYLOADS: [string, Uint8Array, (payload: Uint8Array) => void][] = books.flatMap((records, i) => {
  const quotes = records.map(({ book, ...place }) => ({ ...place, quote: topOfBook(book) }));
  const prices = records.map(({ book, ...place }) => ({ ...place, price: book.bidSizes[0] ?? 0.5 }));
  const book = bookCodec.encode(records, 0, RUN_RECORDS_MAX).payload;
  return [
    [`books ${i}`, book, (payload) => void bookCodec.decode(payload)],
    [`books ${i} as JSON`, book, writeJson],
    [
      `quotes ${i}`,
      quoteCodec.encode(quotes, 0, RUN_RECORDS_MAX).payload,
      (payload) => void quoteCodec.decode(payload),
    ],
    [
      `prices ${i}`,
      priceCodec.encode(prices, 0, RUN_RECORDS_MAX).payload,
      (payload) => void priceCodec.decode(payload),
    ],
  ];
});

function writeJson(payload: Uint8Array): void {
  const head = readRunHead(payload);
  const writer = new SnapshotJsonWriter(new ByteBuffer(), LABELS, new PriceTexts());
  writer.open({ payload, head, from: 0, to: head.count });
  for (let i = 0; i < head.count; i += 1) writer.writeNext();
}

/** Whether `payload` is read to its end; the only error allowed is the one that says it is damaged. */
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
  test('is an error wherever it ends too early', () => {
    expect(reads(read, payload)).toBe(true);
    for (let length = 0; length < payload.length; length += 1) {
      expect(reads(read, payload.slice(0, length))).toBe(false);
    }
  });

  test('with any one bit flipped is refused or read as something else, and nothing worse', () => {
    let refused = 0;
    for (let bit = 0; bit < payload.length * 8; bit += 1) {
      const flipped = payload.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      if (!reads(read, flipped)) refused += 1;
    }
    expect(refused).toBeGreaterThan(0);
  });

  test('with bytes replaced at random is refused or read as something else, and nothing worse', () => {
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
    ['nothing', new Uint8Array(0)],
    ['another version', Uint8Array.from([2, 1, 1, 1, 0, 0, 0, 0])],
    ['no record', Uint8Array.from([1, 0, 1, 1, 0, 0, 0, 0])],
    ['more records than a segment holds', Uint8Array.from([1, 129, 1, ...new Uint8Array(600)])],
    ['a scale that does not exist', Uint8Array.from([1, 1, 1, 1, 14, 14, 0, 0, 0, 0])],
  ])('that says %s is an error', (_, bytes) => {
    expect(reads(read, bytes)).toBe(false);
  });
});
