import { expect, test } from 'bun:test';
import { MarketTrades } from '../../../src/import/rebuild/market-trades.ts';

test('the last trade of a book is searched around its time, at its price and at the other outcome’s, most likely first', () => {
  const trades = new MarketTrades();
  for (const [timestampMs, price] of [
    [1300, 0.3],
    [1021, 0.87],
    [990, 0.5],
    [880, 0.2],
    [1200, 0.125],
  ] as const) {
    trades.add(timestampMs, price);
  }
  // A trade is sent about 20 ms after the book that it changed; 880 and 1300 are too far away.
  expect(trades.pricesAround(1000)).toEqual([
    ...['0.870', '0.130', '0.500', '0.125', '0.875'],
    // Before them.
    ...['0.200', '0.800'],
  ]);
  expect(trades.pricesAround(500)).toEqual([]);
});

test('only the latest trades are kept, and sixteen prices at most are tried', () => {
  const trades = new MarketTrades();
  for (let second = 0; second < 10_000; second += 1) trades.add(second, (second % 100) / 1000);
  expect(trades.pricesAround(0)).toEqual([]);
  expect(trades.pricesAround(9000)).toHaveLength(16);
});

test('a trade that is noted twice counts once', () => {
  const trades = new MarketTrades();
  for (const timestampMs of [10, 20, 10, 20]) trades.add(timestampMs, 0.3);
  expect(trades.pricesAround(15)).toEqual(['0.300', '0.700']);
});
