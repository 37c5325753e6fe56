import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { midOf } from '../../src/domain/quote.ts';
import { tradeDetails } from '../../src/domain/trade.ts';
import { type PriceRecord, priceCodec } from '../../src/segment/price-segment.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { ascendingPositions } from '../support/positions.ts';
import { decodeAll, encodeAll } from './round-trip.ts';

const RUNS = { seed: 20260416, numRuns: 300 };

const decimalOf = (digitsMax: number) =>
  fc
    .integer({ min: 0, max: 12 })
    .chain((scale) => fc.integer({ min: 0, max: digitsMax }).map((digits) => Number(`${digits}e-${scale}`)));

/** The midpoint of two prices of 12 decimals has 13. */
const fineMid = fc
  .tuple(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 0, max: 1e12 }))
  .map(([bid, ask]) => midOf({ bidPrice: bid / 1e12, askPrice: ask / 1e12 })!);

const prices = fc.constantFrom<fc.Arbitrary<number>[]>(
  fc.integer({ min: 0, max: 100 }).map((cents) => cents / 100),
  fc.integer({ min: 1, max: 99_999_999 }).map((cents) => cents / 100),
  decimalOf(999_999_999_999_999),
  fineMid,
  fc.oneof(fineMid, fc.constantFrom(0, 1, 0.5)),
  fc.constantFrom(1e14, 1e-12, 0, 1),
  fc.oneof(
    fc.integer({ min: 1, max: 999_999_999_999 }).map((cents) => cents / 100),
    fc.constantFrom(0.000001, 0.00000001),
  ),
);

const segment = fc
  .tuple(prices, fc.integer({ min: 1, max: 300 }))
  .chain(([price, count]) =>
    fc
      .tuple(fc.array(price, { minLength: count, maxLength: count }), ascendingPositions(count))
      .map(([values, positions]): PriceRecord[] => values.map((value, i) => ({ ...positions[i]!, price: value }))),
  );

test('prices are decoded as encoded, in segments of any length', () => {
  fc.assert(
    fc.property(segment, fc.constantFrom(1, 2, 7, SEGMENT_RECORDS_MAX, 10_000), (records, countMax) => {
      expect(decodeAll(priceCodec, encodeAll(priceCodec, records, countMax))).toEqual(records);
    }),
    RUNS,
  );
});

const size = fc
  .oneof(decimalOf(999_999_999_999_999), fc.constantFrom(1e14, 1e-12, 30, 13.7931))
  .filter((value) => value > 0);
const details = fc
  .record({
    size: fc.option(size, { nil: undefined }),
    side: fc.constantFrom(undefined, 'buy' as const, 'sell' as const),
    feeRateBps: fc.option(fc.nat(10_000), { nil: undefined }),
    transactionHash: fc.option(
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
      { nil: undefined },
    ),
  })
  .map(tradeDetails);
const trades = fc
  .tuple(segment, fc.array(fc.option(details, { nil: undefined }), { minLength: 1, maxLength: 60 }))
  .map(([records, details]): PriceRecord[] =>
    records.map((record, i) => {
      const trade = details[i % details.length];
      return trade === undefined ? record : { ...record, trade };
    }),
  );

test('details of trades are decoded as encoded, whether all, some or none are known', () => {
  fc.assert(
    fc.property(trades, fc.constantFrom(1, 2, 7, SEGMENT_RECORDS_MAX, 10_000), (records, countMax) => {
      expect(decodeAll(priceCodec, encodeAll(priceCodec, records, countMax))).toEqual(records);
    }),
    RUNS,
  );
});

test('a segment of trades that is cut off, or has invalid flags, is damaged', () => {
  const trade = { size: 5, side: 'sell', feeRateBps: 10, transactionHash: `0x${'ab'.repeat(32)}` } as const;
  const { payload } = priceCodec.encode([{ timestampMs: 1, id: 1, price: 0.5, trade }], 0, 1);
  for (let length = payload.length - 1; length > payload.length - 36; length -= 1) {
    expect(() => priceCodec.decode(payload.slice(0, length))).toThrow('damaged');
  }
  expect(() => priceCodec.decode(Uint8Array.of(...payload, 0))).toThrow('damaged');
  const flags = payload.length - 32 - 1 - 1 - 1 - 1;
  expect(payload[flags]).toBe(31);
  for (const flag of [32, 255, 28]) {
    const altered = payload.slice();
    altered[flags] = flag;
    expect(() => priceCodec.decode(altered)).toThrow('damaged');
  }
});

test('Trades with the same time and price are one trade unless other fields differ; a trade with fewer fields adds nothing.', () => {
  const trade = { size: 5, side: 'sell', feeRateBps: 10, transactionHash: undefined } as const;
  const record = { timestampMs: 1, id: 1, price: 0.5 };
  const same = (a: object, b: object) => priceCodec.same({ ...record, ...a }, { ...record, ...b });
  expect(same({ trade }, { trade: { ...trade } })).toBe(true);
  expect(same({ trade }, {})).toBe(true);
  expect(same({}, { trade })).toBe(true);
  for (const other of [{ size: 6 }, { side: 'buy' }, { feeRateBps: 0 }]) {
    expect(same({ trade }, { trade: { ...trade, ...other } })).toBe(false);
  }
  const known = { ...trade, transactionHash: `0x${'1'.repeat(64)}` };
  for (const unknown of [...Object.keys(known), 'nothing']) {
    const less = { ...known, [unknown]: undefined };
    expect(same({ trade: known }, { trade: less })).toBe(true);
    expect(same({ trade: less }, { trade: known })).toBe(true);
  }
  expect(same({ trade: known }, { trade: { ...known, transactionHash: `0x${'2'.repeat(64)}` } })).toBe(false);
});

test('a segment has at most the given number of prices', () => {
  const records = Array.from({ length: 300 }, (_, i) => ({ timestampMs: i, id: i + 1, price: i / 100 }));
  expect(priceCodec.encode(records, 0, 10_000).count).toBe(SEGMENT_RECORDS_MAX);
  expect(priceCodec.encode(records, 0, 3).count).toBe(3);
  expect(priceCodec.encode(records, 299, 3).count).toBe(1);
});

test('prices are the same when their numbers are equal', () => {
  expect(priceCodec.same({ timestampMs: 1, id: 1, price: 0.5 }, { timestampMs: 1, id: 2, price: 0.5 })).toBe(true);
  expect(priceCodec.same({ timestampMs: 1, id: 1, price: 0.5 }, { timestampMs: 1, id: 1, price: 0.6 })).toBe(false);
});
