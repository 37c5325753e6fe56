import { expect, test } from 'bun:test';
import { stolenShare, ticks } from './stolen.ts';

test('the share of stolen time is that of all processors between two readings', () => {
  const before = ticks('cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n');
  const after = ticks('cpu  150 0 70 900 10 0 10 60 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n');
  expect(before).toEqual({ all: 1000, stolen: 35 });
  expect(stolenShare(before, after)).toBe(25 / 200);
});

test('a system without figures counts as nothing stolen', () => {
  expect(stolenShare(ticks(''), ticks(''))).toBe(0);
  const now = ticks();
  expect(stolenShare(now, now)).toBe(0);
});
