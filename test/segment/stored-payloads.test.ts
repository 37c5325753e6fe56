import { expect, test } from 'bun:test';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { topOfBook } from '../../src/domain/quote.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';

/** Payloads in base64. They must not change: archives and exports have such payloads. */
const PAYLOADS = {
  scaled: {
    books:
      'AgjAooCp2TMDAPoB+gEBwIQ9B/CiBAICAd3FCPT///////8f5////////x8CAwIBAwPJ+ALrA+NdCgUeBB+JBMkmCoO1GMwDFwoBpAEC4MkANOQH5gME5OMCFODg4QAj4ODg4OAAIOT8h96+AeQGY+TJ+ALrA+TjXQrkBR7g4OQfiQTkySYK5IO1GMwD5BcK',
    quotes:
      'AgjAooCp2TMDAPoB+gEBwIQ9B/CiBAICAd3FCPT///////8f5////////x8CAwIA5sn4AvwH5R+QCKQB5ONdFeYHHuXJJhTi4ezl/YfevgGlCObJ+AIL5R+QCA==',
    prices: 'AgjAooCp2TMDAPoB+gEBwIQ9B/CiBAICAd3FCPT///////8f5////////x8CAeoSZdrCA83UAwsAAOAS',
  },
  doubles: {
    books:
      'AgPAooCp2TMDAPCiBAICAAwfAAIBAgAAkB7EvNZCAf/fpZa7ERHqLYGZl3E9AQGBoJSljR2amZmZmZm5PxHpEeotgZmXgT3oMzMzMzMz0z8S4OQBgfCSy90IQN53gyES3ELg',
    quotes: 'AgPAooCp2TMDAPCiBAICAAwBAOaDgKSPxPla/r+oypo65QWAwKjKmjrRAObn+93BoaRw/9+llrsR4Q==',
    prices: 'AgPAooCp2TMDAPCiBAICAACAgNKH4rwtAPL9nNmu1Qo=',
  },
};

const EMPTY: OrderBook = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };
const FIRST: OrderBook = {
  bidPrices: [0.51, 0.5, 0.47],
  bidSizes: [120.5, 3000, 0.01],
  askPrices: [0.52, 0.53, 0.99, 1],
  askSizes: [7, 12.34, 100_000, 5],
};

/** Written out, so that no change of code can change the expected records. */
const RECORDS: Readonly<Record<'scaled' | 'doubles', readonly BookRecord[]>> = {
  scaled: placed([
    FIRST,
    { ...FIRST, bidSizes: [115.5, 3000, 0.01] },
    { ...FIRST, bidPrices: [0.5, 0.47], bidSizes: [3000, 0.02] },
    { ...FIRST, bidPrices: [0.515, 0.5, 0.48], bidSizes: [1, 2999, 88], askPrices: [0.53, 1], askSizes: [12.34, 6] },
    EMPTY,
    EMPTY,
    { ...EMPTY, askPrices: [0, 0.001], askSizes: [999_999.99, 1] },
    FIRST,
  ]),
  doubles: placed([
    { bidPrices: [0.999999999999, 0.4], bidSizes: [1e14, 1e-12], askPrices: [1], askSizes: [0.1] },
    { bidPrices: [0.999999999999, 0.4], bidSizes: [1e14, 2e-12], askPrices: [1], askSizes: [0.3] },
    { bidPrices: [0.7, 0.4], bidSizes: [123_456_789_012_345, 2e-12], askPrices: [], askSizes: [] },
  ]),
};

function placed(books: readonly OrderBook[]): BookRecord[] {
  const steps = [0, 3, 0, 250, 250, 250, 1_000_000, 7];
  const ids = [70_000, 70_001, 70_002, 70_003, 5, 9_007_199_254_740_991, 12, 13];
  let timestampMs = 1_776_323_400_000;
  return books.map((book, i) => {
    timestampMs += steps[i]!;
    return { timestampMs, id: ids[i]!, book };
  });
}

test.each(['scaled', 'doubles'] as const)(
  'records of %s are encoded to the stored payloads, and decoded from them',
  (name) => {
    const books = RECORDS[name];
    const quotes = books.map(({ book, ...position }) => ({ ...position, quote: topOfBook(book) }));
    const prices = books.map(({ book, ...position }) => ({ ...position, price: book.bidSizes[0] ?? 0.5 }));
    const stored = PAYLOADS[name];
    const bytesOf = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'));
    expect(bookCodec.encode(books, 0, SEGMENT_RECORDS_MAX).payload).toEqual(bytesOf(stored.books));
    expect(quoteCodec.encode(quotes, 0, SEGMENT_RECORDS_MAX).payload).toEqual(bytesOf(stored.quotes));
    expect(priceCodec.encode(prices, 0, SEGMENT_RECORDS_MAX).payload).toEqual(bytesOf(stored.prices));
    expect(bookCodec.decode(bytesOf(stored.books))).toEqual([...books]);
    expect(quoteCodec.decode(bytesOf(stored.quotes))).toEqual(quotes);
    expect(priceCodec.decode(bytesOf(stored.prices))).toEqual(prices);
  },
);
