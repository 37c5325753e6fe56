import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Quote } from '../../src/domain/quote.ts';
import { type QuoteRecord, quoteCodec } from '../../src/segment/quote-segment.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { ascendingPositions } from '../support/positions.ts';
import { randomSize, randomsOf } from '../support/random-books.ts';
import { decodeAll, encodeAll } from './round-trip.ts';

const RUNS = { seed: 20260416, numRuns: 300 };

/** Quotes whose sides repeat, disappear and change independently. */
function randomQuotes(
  seed: number,
  count: number,
  priceScale: number,
  sizes: Parameters<typeof randomSize>[1],
): Quote[] {
  const random = randomsOf(seed);
  const side = (): [number | undefined, number | undefined] => {
    if (random() < 0.15) return [undefined, undefined];
    return [Math.floor(random() * (10 ** priceScale + 1)) / 10 ** priceScale, randomSize(random, sizes)];
  };
  let bid = side();
  let ask = side();
  return Array.from({ length: count }, () => {
    if (random() < 0.6)
      bid = random() < 0.3 ? [bid[0], bid[0] === undefined ? undefined : randomSize(random, sizes)] : side();
    if (random() < 0.6) ask = side();
    return { bidPrice: bid[0], bidSize: bid[1], askPrice: ask[0], askSize: ask[1] };
  });
}

const segment = fc
  .tuple(
    fc.integer({ min: 1, max: 300 }),
    fc.nat(),
    fc.constantFrom(0, 2, 4, 12),
    fc.constantFrom<Parameters<typeof randomSize>[1][]>('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  )
  .chain(([count, seed, priceScale, sizes]) =>
    ascendingPositions(count).map((positions): QuoteRecord[] =>
      randomQuotes(seed, count, priceScale, sizes).map((quote, i) => ({ ...positions[i]!, quote })),
    ),
  );

test('quotes are decoded as encoded, in segments of any length', () => {
  fc.assert(
    fc.property(segment, fc.constantFrom(1, 2, 7, SEGMENT_RECORDS_MAX, 10_000), (records, countMax) => {
      expect(decodeAll(quoteCodec, encodeAll(quoteCodec, records, countMax))).toEqual(records);
    }),
    RUNS,
  );
});

test('a segment has at most the given number of quotes', () => {
  const records = randomQuotes(1, 300, 2, 'cents').map((quote, i) => ({ timestampMs: i, id: i + 1, quote }));
  expect(quoteCodec.encode(records, 0, 10_000).count).toBe(SEGMENT_RECORDS_MAX);
  expect(quoteCodec.encode(records, 0, 3).count).toBe(3);
  expect(quoteCodec.encode(records, 299, 3).count).toBe(1);
});

describe('quotes that an encoder could confuse are kept', () => {
  const none: Quote = { bidPrice: undefined, bidSize: undefined, askPrice: undefined, askSize: undefined };
  test.each<[string, readonly Quote[]]>([
    ['empty books only', [none, none]],
    [
      'a side that disappears and comes back the same',
      [{ ...none, bidPrice: 0.5, bidSize: 1 }, none, { ...none, bidPrice: 0.5, bidSize: 1 }],
    ],
    ['price 0 as the first one', [{ ...none, bidPrice: 0, bidSize: 5 }]],
    [
      'unknown sizes between known ones, at one price',
      [
        { ...none, bidPrice: 0.5, bidSize: 1.5 },
        { ...none, bidPrice: 0.5 },
        { ...none, bidPrice: 0.5, bidSize: 2 },
        none,
        { ...none, askPrice: 0 },
      ],
    ],
    [
      'unknown sizes only',
      [
        { ...none, bidPrice: 0.5, askPrice: 0.51 },
        { ...none, askPrice: 0.51 },
      ],
    ],
    [
      'an unknown size next to 10^14',
      [
        { bidPrice: 0.5, bidSize: 1e14, askPrice: 0.6, askSize: undefined },
        { ...none, bidPrice: 0.5 },
      ],
    ],
    ['the same price on both sides', [{ bidPrice: 0.5, bidSize: 1, askPrice: 0.5, askSize: 1 }]],
    [
      'a new size at an old price',
      [
        { ...none, askPrice: 0.5, askSize: 1 },
        { ...none, askPrice: 0.5, askSize: 2 },
      ],
    ],
    ['10^14 next to 10^-12', [{ bidPrice: 0.5, bidSize: 1e14, askPrice: 0.6, askSize: 1e-12 }]],
    [
      'large sizes next to sizes of 6 decimals',
      [{ bidPrice: 0.5, bidSize: 4_456_987_501.85, askPrice: 0.6, askSize: 0.000001 }],
    ],
    ['12 decimals', [{ bidPrice: 0.000000000001, bidSize: 1, askPrice: 0.999999999999, askSize: 1 }]],
  ])('%s', (_, quotes) => {
    const records = quotes.map((quote, i) => ({ timestampMs: 5, id: i + 1, quote }));
    expect(decodeAll(quoteCodec, encodeAll(quoteCodec, records, SEGMENT_RECORDS_MAX))).toEqual(records);
  });
});

test('frequent changes of size take one byte each', () => {
  const amounts = [500.37, 777.77, 640.01];
  const records = Array.from({ length: 100 }, (_, i) => ({
    timestampMs: 100 * i,
    id: i + 1,
    quote: {
      ...{ bidPrice: 0.5, bidSize: Math.round(500_000 + (i % 2) * 100 * amounts[Math.floor(i / 2) % 3]!) / 100 },
      ...{ askPrice: 0.6, askSize: 10 },
    },
  }));
  const { payload, count } = quoteCodec.encode(records, 0, SEGMENT_RECORDS_MAX);
  expect(count).toBe(100);
  expect(payload.length).toBeLessThan(100 + 50);
  expect(quoteCodec.decode(payload)).toEqual(records);
});
