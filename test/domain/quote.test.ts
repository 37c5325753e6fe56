import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { midOf, type Quote, sameQuote, spreadOf, topOfBook } from '../../src/domain/quote.ts';
import { addExact, exactOf, halved, negated } from '../support/exact.ts';

const RUNS = { seed: 20260416, numRuns: 5000 };

function quoteOf(bidPrice: number | undefined, askPrice: number | undefined): Quote {
  return {
    bidPrice,
    bidSize: bidPrice === undefined ? undefined : 1,
    askPrice,
    askSize: askPrice === undefined ? undefined : 1,
  };
}

/** A price within 0…1 of up to 12 decimals. */
const price = fc
  .integer({ min: 0, max: 12 })
  .chain((scale) => fc.integer({ min: 0, max: 10 ** scale }).map((digits) => Number(`${digits}e-${scale}`)));

test('the mid is exactly half of the sum of bid and ask', () => {
  fc.assert(
    fc.property(price, price, (bid, ask) => {
      const mid = midOf(quoteOf(bid, ask));
      expect(exactOf(mid!)).toEqual(halved(addExact(exactOf(bid), exactOf(ask))));
    }),
    RUNS,
  );
});

test('the spread is exactly the ask minus the bid, also in a crossed book', () => {
  fc.assert(
    fc.property(price, price, (bid, ask) => {
      const spread = spreadOf(quoteOf(bid, ask));
      expect(exactOf(spread!)).toEqual(addExact(exactOf(ask), negated(exactOf(bid))));
    }),
    RUNS,
  );
});

describe('values that plain arithmetic gets wrong', () => {
  test.each<[number, number, number, number]>([
    [0.1, 0.2, 0.15, 0.1],
    [0.01, 0.02, 0.015, 0.01],
    [0.49, 0.51, 0.5, 0.02],
    [0.57, 0.58, 0.575, 0.01],
    [0.999, 1, 0.9995, 0.001],
    [0, 1, 0.5, 1],
    [0, 0, 0, 0],
    [0.51, 0.49, 0.5, -0.02],
    [0.3, 0.3, 0.3, 0],
    [0.000000000001, 0.000000000002, 0.0000000000015, 0.000000000001],
    [0.999999999998, 0.999999999999, 0.9999999999985, 0.000000000001],
  ])('bid %p and ask %p: mid %p, spread %p', (bid, ask, mid, spread) => {
    expect(midOf(quoteOf(bid, ask))).toBe(mid);
    expect(spreadOf(quoteOf(bid, ask))).toBe(spread);
  });
});

test.each<[string, Quote]>([
  ['bid', quoteOf(undefined, 0.5)],
  ['ask', quoteOf(0.5, undefined)],
  ['bid and ask', quoteOf(undefined, undefined)],
])('without %s there is neither mid nor spread', (_, quote) => {
  expect(midOf(quote)).toBeUndefined();
  expect(spreadOf(quote)).toBeUndefined();
});

test('the top of a book is the first level of each side', () => {
  const empty = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };
  expect(topOfBook({ bidPrices: [0.4, 0.3], bidSizes: [7, 8], askPrices: [0.6, 0.7], askSizes: [9, 10] })).toEqual({
    bidPrice: 0.4,
    bidSize: 7,
    askPrice: 0.6,
    askSize: 9,
  });
  expect(topOfBook(empty)).toEqual(quoteOf(undefined, undefined));
});

test('quotes are the same when all four values are', () => {
  const quote = { bidPrice: 0.4, bidSize: 7, askPrice: 0.6, askSize: 9 };
  expect(sameQuote(quote, { ...quote })).toBe(true);
  for (const field of ['bidPrice', 'bidSize', 'askPrice', 'askSize'] as const) {
    expect(sameQuote(quote, { ...quote, [field]: 0.5 })).toBe(false);
    expect(sameQuote(quote, { ...quote, [field]: undefined })).toBe(false);
  }
});
