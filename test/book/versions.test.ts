import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type BookRecord, bookCodec } from '../../src/book/book-segment.ts';
import { priceCodec } from '../../src/book/price-segment.ts';
import { quoteCodec } from '../../src/book/quote-segment.ts';
import { RUN_RECORDS_MAX } from '../../src/book/run.ts';
import { topOfBook } from '../../src/domain/quote.ts';
import { ascendingPlaces } from '../support/places.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { encodeBooks1, encodePrices1, encodeQuotes1 } from './version-1-encoder.ts';
import { RECORDS } from './written-records.ts';

/** Payloads as builds of their version wrote them. They stay as they are: archives hold such ones. */
const PAYLOADS_1 = {
  scaled: {
    books:
      'AQjAooCp2TMDAPoB+gH6AcCEPQfwogQCAgLdxQj0////////H+f///////8fAgMCA+sDkl4K4KcSHgEEiQS8BQrSCcwDgK3iBAr0AwEAnloAAgEEAgAEAuYDZAD8phICFOBEAQMBBQDYBAMBAQECAQEAAAACAgH/wdcvAgFkAwLrA5JeAgrgpxICHgEGAQECiQS8BQIK0gkCzAOAreIEAgr0Aw==',
    quotes:
      'AQjAooCp2TMDAPoB+gH6AcCEPQfwogQCAgLdxQj0////////H+f///////8fAgMCA/wHkl6QCLwFCwCeWgsV4KcSAx5kFNIJAAACpQj/wdcvAwuSXpAIvAU=',
    prices: 'AQjAooCp2TMDAPoB+gH6AcCEPQfwogQCAgLdxQj0////////H+f///////8fAgHqEmXawgPN1AMLAADgEg==',
  },
  doubles: {
    books:
      'AQPAooCp2TMDAPCiBAICDB8CAgAAkB7EvNZC/9+llrsREeotgZmXcT0BgaCUpY0dmpmZmZmZuT8BBBHqLYGZl4E9AQAzMzMzMzPTPwIBAoHwksvdCEDed4MhEtxCAQE=',
    quotes: 'AQPAooCp2TMDAPCiBAICDAED/r+oypo6gICapuqv4wGAwKjKmjoBBwADAf/fpZa7Ebr1quTT2pgC',
    prices: 'AQPAooCp2TMDAPCiBAICAICA0ofivC0A8v2c2a7VCg==',
  },
};

const PAYLOADS_2 = {
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

function seriesOf(name: keyof typeof PAYLOADS_1) {
  const books = RECORDS[name];
  return {
    books,
    quotes: books.map(({ book, ...place }) => ({ ...place, quote: topOfBook(book) })),
    prices: books.map(({ book, ...place }) => ({ ...place, price: book.bidSizes[0] ?? 0.5 })),
  };
}

const bytesOf = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'));

describe.each(['scaled', 'doubles'] as const)('stored payloads of %s', (name) => {
  const { books, quotes, prices } = seriesOf(name);

  test.each([
    [1, PAYLOADS_1],
    [2, PAYLOADS_2],
  ])('in version %p are read as the records that they were made of', (_, payloads) => {
    const held = payloads[name];
    expect(bookCodec.decode(bytesOf(held.books))).toEqual([...books]);
    expect(quoteCodec.decode(bytesOf(held.quotes))).toEqual(quotes);
    expect(priceCodec.decode(bytesOf(held.prices))).toEqual(prices);
  });

  test('in version 1 are what the encoder of these tests makes', () => {
    const held = PAYLOADS_1[name];
    const [priceScale, sizeScale, scale] = name === 'scaled' ? [3, 2, 1] : [12, 31, 0];
    const quoteSizeScale = name === 'scaled' ? 2 : 1;
    expect(encodeBooks1(books, priceScale, sizeScale)).toEqual(bytesOf(held.books));
    expect(encodeQuotes1(quotes, priceScale, quoteSizeScale)).toEqual(bytesOf(held.quotes));
    expect(encodePrices1(prices, scale)).toEqual(bytesOf(held.prices));
  });
});

describe('version 2', () => {
  test.each(['scaled', 'doubles'] as const)('is what is written: %s', (name) => {
    const { books, quotes, prices } = seriesOf(name);
    const held = PAYLOADS_2[name];
    expect(bookCodec.encode(books, 0, RUN_RECORDS_MAX).payload).toEqual(bytesOf(held.books));
    expect(quoteCodec.encode(quotes, 0, RUN_RECORDS_MAX).payload).toEqual(bytesOf(held.quotes));
    expect(priceCodec.encode(prices, 0, RUN_RECORDS_MAX).payload).toEqual(bytesOf(held.prices));
  });
});

describe('version 1', () => {
  const style: fc.Arbitrary<BookStyle> = fc.record({
    priceScale: fc.constantFrom(0, 2, 4, 12),
    sizes: fc.constantFrom('whole', 'cents', 'extremes'),
    levelsMax: fc.constantFrom(1, 5, 40, 150),
    changesMax: fc.constantFrom(0, 3, 20),
  });
  const run = fc
    .tuple(fc.integer({ min: 1, max: RUN_RECORDS_MAX }), fc.nat(), style)
    .chain(([count, seed, bookStyle]) =>
      ascendingPlaces(count).map((places) => {
        const books = randomBooks(seed, count, bookStyle).map((book, i): BookRecord => ({ ...places[i]!, book }));
        return { books, bookStyle };
      }),
    );

  test('is read as whatever was written, books and quotes and prices', () => {
    fc.assert(
      fc.property(run, ({ books, bookStyle }) => {
        const sizeScale = bookStyle.sizes === 'extremes' ? 31 : 2;
        const quotes = books.map(({ book, ...place }) => ({ ...place, quote: topOfBook(book) }));
        const prices = books.map(({ book, ...place }) => ({ ...place, price: book.bidPrices[0] ?? 0.5 }));
        expect(bookCodec.decode(encodeBooks1(books, bookStyle.priceScale, sizeScale))).toEqual(books);
        expect(quoteCodec.decode(encodeQuotes1(quotes, bookStyle.priceScale, sizeScale))).toEqual(quotes);
        expect(priceCodec.decode(encodePrices1(prices, Math.max(1, bookStyle.priceScale)))).toEqual(prices);
        expect(priceCodec.decode(encodePrices1(prices, 31))).toEqual(prices);
      }),
      { seed: 20260416, numRuns: 100 },
    );
  });
});
