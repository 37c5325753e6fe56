import { expect, test } from 'bun:test';
import { marketState } from '../../src/domain/market-state.ts';

test.each([
  ['up', false, 99, 'up'],
  ['down', true, 101, 'down'],
  [null, false, 99, 'open'],
  [undefined, false, 100, 'over'],
  [null, false, 101, 'over'],
  [null, true, 99, 'over'],
  // The clock of a replay is not known yet.
  [null, false, Number.NaN, 'open'],
] as const)(
  'A market with the winner %p, closed: %p, is at %p ms, with its end at 100 ms: %s.',
  (winner, closed, nowMs, state) => {
    expect(marketState({ winner, closed, endMs: 100 }, nowMs)).toBe(state);
  },
);
