import { expect, test } from 'bun:test';
import { strikeText } from '../../../src/web/browser/view/market-texts.ts';
import { preferredReference } from '../../../src/web/browser/view/reference-prices.ts';

test.each([
  [{ priceStart: 90460.21, priceEnd: 90352.31 }, 'strike 90,460.21, final price 90,352.31'],
  [{ priceStart: 0.00001234, priceEnd: null }, 'strike 0.00001234'],
  [{ priceStart: null, priceEnd: null }, ''],
])('a market shows the prices that decide it, with all digits (%j)', (prices, text) => {
  expect(strikeText(prices)).toBe(text);
});

test('The reference price is that of the publisher that decides markets, or else has the most points.', () => {
  const of = (source: string, count: number) => ({ source, times: new Array<number>(count).fill(1), prices: [] });
  const [binance, chainlink, coinbase] = [of('binance', 9), of('chainlink', 2), of('coinbase', 9)];
  expect(preferredReference([binance, chainlink, coinbase])).toBe(chainlink);
  expect(preferredReference([coinbase, binance])).toBe(binance);
  expect(preferredReference([of('pyth', 1), coinbase])).toBe(coinbase);
  expect(preferredReference([])).toBeUndefined();
});
