import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { differenceText } from '../../../src/domain/decimal.ts';
import { settlementSource } from '../../../src/domain/settlement.ts';
import { TIMEFRAMES } from '../../../src/domain/timeframe.ts';
import {
  clockText,
  coverageText,
  distanceText,
  exactText,
  marketTitle,
} from '../../../src/web/browser/view/market-texts.ts';
import { priceAt, shownReference } from '../../../src/web/browser/view/reference-prices.ts';

describe('a recorded price', () => {
  test('is shown with all its digits', () => {
    // Prices of Chainlink, as it publishes them.
    const recorded = [77643.36752000001, 75070.33193718485, 0.0973871234567891, 2.12345678, 1e-7, 90460.21];
    expect(recorded.map(exactText)).toEqual([
      '77,643.36752000001',
      '75,070.33193718485',
      '0.0973871234567891',
      '2.12345678',
      '0.0000001',
      '90,460.21',
    ]);
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e15, noNaN: true }), (price) => {
        expect(Number(exactText(price).replaceAll(',', ''))).toBe(price);
      }),
    );
  });
});

test('an instant and a title have the date where the day differs from that of the start', () => {
  const startMs = Date.UTC(2026, 0, 8, 23, 55);
  expect([startMs + 1, startMs + 300_000, startMs - 86_400_000].map((ms) => clockText(ms, startMs))).toEqual([
    '23:55:00.001',
    '9 Jan 00:00:00.000',
    '7 Jan 23:55:00.000',
  ]);
  const market = { symbol: 'btc', timeframe: '5m', startTime: new Date(startMs).toISOString() } as const;
  const titles = [60_000, 300_000].map((ms) => {
    return marketTitle({ ...market, endTime: new Date(startMs + ms).toISOString() });
  });
  expect(titles).toEqual(['BTC 5m, 8 Jan 2026, 23:55–23:56 UTC', 'BTC 5m, 8 Jan 2026, 23:55–9 Jan 00:00 UTC']);
});

describe('the recorded part of a market', () => {
  const [start, end] = ['2026-04-16T08:05:00.000Z', '2026-04-16T08:10:00.000Z'];
  const text = (up: number, down: number, last = '2026-04-16T08:09:15.000Z', oneSided = 0) => {
    const counts = { oneSided, crossed: 0, last };
    const outcomes = ([up, down] as const).map((recordedSeconds, nth) => {
      return { ...counts, outcome: nth === 0 ? 'up' : 'down', count: recordedSeconds < 0 ? 0 : 5, recordedSeconds };
    });
    const times = { startTime: start, endTime: end, windowSeconds: 300, recordedSeconds: Math.max(up, down) };
    return coverageText({ ...times, outcomes, gapCount: 0 } as never);
  };

  test.each([
    [288.4, 288.9, 'recorded 288 s of 300 s, 10 snapshots'],
    [168.7, 288.9, 'recorded 288 s of 300 s (up 168 s, down 288 s), 10 snapshots'],
    [288.9, 0, 'recorded 288 s of 300 s (up 288 s, down 0 s), 10 snapshots'],
    [288.9, -1, 'recorded 288 s of 300 s, up only, 5 snapshots'],
    [-1, 288.9, 'recorded 288 s of 300 s, down only, 5 snapshots'],
    [300, 300, 'recorded 300 s of 300 s, 10 snapshots, no gaps'],
  ])(
    'of %d s of up and %d s of down (-1: no book) says it by outcome where whole seconds differ',
    (up, down, expected) => {
      expect(text(up, down)).toBe(expected);
    },
  );

  test('says how many books have one side only', () => {
    expect(text(300, 300, undefined, 73)).toBe(
      'recorded 300 s of 300 s, 10 snapshots, no gaps, 146 with one side only',
    );
  });

  test('says that all books are of before the window, and until when', () => {
    expect(text(0, 0, '2026-04-15T09:11:30.500Z')).toBe(
      'recorded only before its window, until 2026-04-15 09:11 UTC, 10 snapshots',
    );
  });
});

describe('the distance to the strike', () => {
  test.each([
    [90363.46, 90460.21, '96.75 below'],
    [77644.65, 77643.36752, '1.28 above'],
    [77643.36344, 77643.36752, 'just below'],
    [0.30000000000000004, 0.1, '0.200000 above'],
    [0.1, 0.30000000000000004, '0.200000 below'],
    [1e-7, 3e-9, '0.00000009700000 above'],
    [1234567.5, 1, '1234566.50000 above'],
    [76211.80016560019, 76211.80016560019, 'at the strike'],
  ])('of %d to %d is %s', (price, strike, text) => {
    expect(distanceText(price, strike)).toBe(text);
  });

  test('is the difference of both decimals, without rounding', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 15n - 1n });
    fc.assert(
      fc.property(digits, digits, fc.nat(12), (a, b, places) => {
        const [first, second] = [a, b].map((units) => Number(`${units}e-${places}`));
        const text = differenceText(first!, second!);
        // The oracle counts in units of the last place.
        const [units = '', power = ''] = text.split('e');
        expect(BigInt(units) * 10n ** BigInt(places + Number(power))).toBe(a - b);
      }),
    );
  });
});

describe('the reference price', () => {
  const ticks = fc.array(fc.tuple(fc.nat(300), fc.nat(99)), { maxLength: 60 });

  test('at an instant is the last one at or before it', () => {
    fc.assert(
      fc.property(ticks, fc.integer({ min: -5, max: 305 }), (unsorted, ms) => {
        const sorted = unsorted.toSorted(([a], [b]) => a - b);
        const [times, prices] = [sorted.map(([time]) => time), sorted.map(([, price]) => price)];
        let expected: { timestampMs: number; price: number } | undefined;
        for (const [timestampMs, price] of sorted) if (timestampMs <= ms) expected = { timestampMs, price };
        expect(priceAt({ source: 'a', times, prices }, ms)).toEqual(expected);
      }),
    );
  });

  test('is of the chosen publisher, else of the one that decides the market, else of the one with the most points', () => {
    const name = fc.constantFrom('binance', 'chainlink', 'coinbase', 'pyth');
    const publishers = fc.uniqueArray(fc.tuple(name, fc.nat(2)), { selector: ([source]) => source });
    fc.assert(
      fc.property(publishers, fc.option(name, { nil: undefined }), name, (given, chosen, settlement) => {
        const all = given.map(([source, count]) => ({ source, times: new Array<number>(count).fill(1), prices: [] }));
        const rank = (source: string, count: number) => (source === settlement ? 10 : count);
        const [best] = given.toSorted(([a, m], [b, n]) => rank(b, n) - rank(a, m) || Number(a > b) - Number(a < b));
        const expected = chosen === undefined ? best?.[0] : given.find(([source]) => source === chosen)?.[0];
        expect(shownReference(all, chosen, settlement)?.source).toBe(expected);
      }),
    );
  });

  test('of Chainlink decides markets of 5 and 15 minutes and 4 hours, of Binance those of an hour and a day', () => {
    expect(Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, settlementSource(timeframe)]))).toEqual({
      '5m': 'chainlink',
      '15m': 'chainlink',
      '1h': 'binance',
      '4h': 'chainlink',
      '24h': 'binance',
    });
  });
});
