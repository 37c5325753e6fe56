import { expect, test } from 'bun:test';
import { WidestSpread } from '../../src/store/widest-spread.ts';

const units = (price: number) => Math.round(price * 1e12);

test.each([
  [
    'in the window, both ends inclusive',
    [
      [99, 0.01, 0.99],
      [100, 0.4, 0.47],
      [200, 0.4, 0.41],
      [201, 0.01, 0.99],
    ],
    0.07,
  ],
  [
    'of all books if none is in the window',
    [
      [99, 0.4, 0.41],
      [201, 0.4, 0.48],
    ],
    0.08,
  ],
  [
    'of books with both sides',
    [
      [150, 0.4, Number.NaN],
      [99, 0.1, 0.3],
    ],
    0.2,
  ],
  ['of crossed books, below 0', [[150, 0.5, 0.48]], -0.02],
  ['of finer prices, exactly', [[150, 0.001, 0.3]], 0.299],
  ['of no book', [[150, Number.NaN, 0.3]], undefined],
] as const)('The widest spread is that %s.', (_, books, widest) => {
  const spread = new WidestSpread(100, 200);
  for (const [atMs, bid, ask] of books) spread.add(atMs, { bid: units(bid), ask: units(ask) });
  expect(spread.widest).toBe(widest);
});
