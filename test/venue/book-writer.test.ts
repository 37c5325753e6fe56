import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { decimalText } from '../../src/domain/decimal.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { BookWriter } from '../../src/venue/book-writer.ts';
import { changesBetween } from '../../src/venue/level-change.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { CONDITION_ID, UP_ASSET } from '../support/sample-records.ts';

const styles: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(1, 2, 3, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 2, 20, 400),
  changesMax: fc.constantFrom(1, 5, 300),
});

/** The venue's answer, made with JSON.stringify. */
function summaryOf(book: OrderBook, timestamp: string, price: string) {
  const levels = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((each, i) => ({ price: decimalText(each), size: decimalText(sizes[i]!) })).reverse();
  const bids = levels(book.bidPrices, book.bidSizes);
  const asks = levels(book.askPrices, book.askSizes);
  const head = { market: CONDITION_ID, asset_id: UP_ASSET, timestamp };
  const tail = { bids, asks, min_order_size: '5', tick_size: '0.01', neg_risk: false, last_trade_price: price };
  const hash = createHash('sha1')
    .update(JSON.stringify({ ...head, hash: '', ...tail }))
    .digest('hex');
  return { head, hash, bids, asks, summary: JSON.stringify({ ...head, hash, ...tail }) };
}

test('a book that is edited level by level has the bytes and the hash of one that is written in full', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 1, max: 60 }),
      styles,
      fc.array(fc.constantFrom(0, 999_999_999_999, 1_776_323_400_000, 10_000_000_000_000), { minLength: 1 }),
      fc.constantFrom(undefined, 0.5, 0.1234),
      (seed, count, style, times, traded) => {
        const book = new BookWriter(CONDITION_ID, UP_ASSET);
        let before: OrderBook = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };
        for (const [nth, after] of randomBooks(seed, count, style).entries()) {
          if (nth % 17 === 16) book.reset(after);
          else
            for (const { isBid, price, size } of changesBetween(before, after))
              book.set(isBid, price, decimalText(price), decimalText(size));
          before = after;
          const timestampMs = times[nth % times.length]!;
          const lastTrade = traded === undefined ? undefined : { price: traded, timestampMs: 0, isOwn: true };
          const context = { timestampMs, tickSize: '0.01', lastTrade };
          const price = traded === undefined ? '' : traded === 0.5 ? '0.500' : '0.1234';
          const expected = summaryOf(after, String(timestampMs), price);
          expect(book.hash(context)).toBe(expected.hash);
          expect(book.summary(context)).toBe(expected.summary);
          const { head, hash, bids, asks } = expected;
          expect(book.opening(context)).toBe(
            JSON.stringify({
              ...head,
              hash,
              bids,
              asks,
              tick_size: '0.01',
              event_type: 'book',
              last_trade_price: price,
            }),
          );
          expect(JSON.parse(book.following(context))).toEqual({ ...head, hash, bids, asks, event_type: 'book' });
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('sizes that JavaScript writes with an exponent are written in digits', () => {
  expect([1e-12, 2.5e-7, 1e-6, 0.1, 0, 30, 999e11].map(decimalText)).toEqual([
    ...['0.000000000001', '0.00000025', '0.000001', '0.1', '0', '30', '99900000000000'],
  ]);
});
