import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { CENT_ROW_PRICES, type HeatMap } from '../../../src/domain/heat-map.ts';
import { fittedPrices } from '../../../src/web/browser/view/fitted-prices.ts';
import { viewLinkOf } from '../../../src/web/browser/view/view-link.ts';
import { ViewState } from '../../../src/web/browser/view/view-state.ts';

type Best = readonly [bid: number | undefined, ask: number | undefined];
const NOTHING = { rows: [], sizes: [] };
const mapOf = (books: readonly Best[], trades: readonly number[] = []): HeatMap => ({
  prices: CENT_ROW_PRICES,
  columns: [
    ...books.map(([bidPrice, askPrice], nth) => ({
      ...{ fromMs: nth, toMs: nth, hasGap: false },
      book: { id: nth, timestampMs: nth, bidPrice, askPrice, bids: NOTHING, asks: NOTHING },
    })),
    ...trades.map((price, nth) => ({
      ...{ fromMs: nth, toMs: nth, hasGap: true, book: undefined },
      traded: { count: 1, shares: 1, lowPrice: price, highPrice: price, sides: [] },
    })),
  ],
});

test.each([
  [
    'best prices',
    [
      [0.86, 0.87],
      [0.88, 0.89],
    ],
    [],
    [],
    [0.8, 0.95],
  ],
  ['best prices close together', [[0.5, 0.5]], [], [], [0.45, 0.55]],
  ['a trade outside of the best prices', [[0.5, 0.51]], [0.3], [], [0.25, 0.55]],
  ['an own order outside of them', [[0.5, 0.51]], [], [0.9], [0.45, 0.95]],
  [
    'books with one side',
    [
      [undefined, 0.01],
      [0.02, undefined],
    ],
    [],
    [],
    [0, 0.1],
  ],
  ['a book at the end of the prices', [[0.99, undefined]], [], [], [0.9, 1]],
  [
    'books in which nobody trades, beside others',
    [
      [0.001, 0.999],
      [0.4, 0.41],
    ],
    [],
    [],
    [0.35, 0.45],
  ],
  ['only books in which nobody trades', [[0.01, 0.99]], [], [], [0, 1]],
  ['columns without books', [], [], [], [0, 1]],
] as const)('the prices that fit %s', (_, books, trades, own, [from, to]) => {
  expect(fittedPrices([mapOf(books, trades)], own)).toMatchObject({ from, to });
});

test('The prices that fit have all best prices, at least two cents of room or the end of the prices, and at least ten cents.', () => {
  const price = fc.integer({ min: 0, max: 1000 }).map((units) => units / 1000);
  fc.assert(
    fc.property(fc.array(price, { minLength: 1 }), (bids) => {
      const { from, to } = fittedPrices([mapOf(bids.map((bid) => [bid, undefined]))], []);
      expect(from === 0 || from <= Math.min(...bids) - 0.0199).toBe(true);
      expect(to === 1 || to >= Math.max(...bids) + 0.0199).toBe(true);
      expect([from >= 0, to <= 1, to - from > 0.0999]).toEqual([true, true, true]);
    }),
  );
});

test('a link has no prices while those that fit are shown, 0 and 1 for all, and else the part that a person chose', () => {
  const window = { from: 0, to: 1000 };
  const spans = { limits: window, window, first: window, startMs: 0, firstMs: 0, outcome: 'up' } as const;
  const state = new ViewState(viewLinkOf(''), spans);
  state.fitted.value = { from: 0.4, to: 0.6 };
  const shown = () => [state.priceRange, state.link.prices, state.prices.value];
  expect(shown()).toEqual(['fit', undefined, { from: 0.4, to: 0.6 }]);
  state.showAllPrices(true);
  expect(shown()).toMatchObject(['all', { from: 0, to: 1 }, { from: 0, to: 1 }]);
  state.showAllPrices(false);
  state.movePrices(0.1);
  expect(shown()[0]).toBe('part');
  expect(state.link.prices!.from).toBeCloseTo(0.5, 9);
  state.showWhole();
  expect(shown()).toEqual(['fit', undefined, { from: 0.4, to: 0.6 }]);
  const all = new ViewState(viewLinkOf('?low=0&high=1'), spans);
  all.fitted.value = { from: 0.4, to: 0.6 };
  expect([all.priceRange, all.prices.value]).toEqual(['all', { from: 0, to: 1 }]);
});
