import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  CONTENT_PX_MAX,
  contentPx,
  type ListSize,
  rowWindow,
  scrolledTo,
  seenRows,
} from '../../../src/web/browser/view/row-window.ts';

const SIZE = fc.record({
  count: fc.integer({ min: 0, max: 2000 }),
  rowPx: fc.integer({ min: 20, max: 90 }),
  viewPx: fc.integer({ min: 0, max: 1200 }),
});
const HIGH = fc.record({
  count: fc.integer({ min: 400_000, max: 5_000_000 }),
  rowPx: fc.integer({ min: 40, max: 90 }),
  viewPx: fc.integer({ min: 100, max: 1200 }),
});
const scrolledMax = (size: ListSize) => Math.max(0, contentPx(size) - size.viewPx);

test('The list names the rows of which at least a half is visible, and at its end the last one.', () => {
  const size = { count: 37, rowPx: 52, viewPx: 427 };
  expect([0, 25, 27, scrolledMax(size)].map((scrollTop) => seenRows(scrollTop, size))).toEqual([
    { first: 0, end: 8 },
    { first: 0, end: 9 },
    { first: 1, end: 9 },
    { first: 29, end: 37 },
  ]);
});

test('a window has the rows that overlap the visible part, and those around it', () => {
  fc.assert(
    fc.property(
      SIZE,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 0, max: 8 }),
      (size, at, around) => {
        const scrollTop = Math.round(scrolledMax(size) * at);
        const { first, end, topPx } = rowWindow(scrollTop, size, around);
        const visible = Array.from({ length: size.count }, (_, index) => index).filter(
          (index) => (index + 1) * size.rowPx > scrollTop && index * size.rowPx < scrollTop + size.viewPx,
        );
        expect(topPx).toBe(first * size.rowPx);
        if (visible.length === 0) return;
        expect(first).toBe(Math.max(0, visible[0]! - around));
        expect(end).toBe(Math.min(size.count, visible.at(-1)! + 1 + around));
      },
    ),
  );
});

test('A list that is higher than browsers draw is scrolled in larger steps, from its first row to its last.', () => {
  fc.assert(
    fc.property(HIGH, fc.double({ min: 0, max: 1, noNaN: true }), (size, at) => {
      expect(contentPx(size)).toBe(CONTENT_PX_MAX);
      const scrollTop = scrolledMax(size) * at;
      const { first, end, topPx } = rowWindow(scrollTop, size, 0);
      // Rows cover what is visible. A pixel of a scroll position is a hundredth exact.
      expect(topPx).toBeLessThan(scrollTop + 0.01);
      expect(topPx + (end - first) * size.rowPx).toBeGreaterThan(scrollTop + size.viewPx - 0.01);
      expect(rowWindow(0, size, 0).first).toBe(0);
      expect(rowWindow(scrolledMax(size), size, 0).end).toBe(size.count);
    }),
  );
});

test('a scroll position for a row shows all of it, and does not move if it did so before', () => {
  fc.assert(
    fc.property(
      fc.oneof(SIZE, HIGH).filter(({ count, rowPx, viewPx }) => count > 0 && viewPx >= rowPx),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (size, at, row) => {
        const before = scrolledMax(size) * at;
        const index = Math.floor(size.count * row);
        const after = scrolledTo(index, before, size);
        expect(after).toBeGreaterThanOrEqual(0);
        expect(after).toBeLessThanOrEqual(scrolledMax(size) + 0.01);
        const { first, topPx } = rowWindow(after, size, 0);
        const rowTopPx = topPx + (index - first) * size.rowPx;
        expect(rowTopPx).toBeGreaterThan(after - 0.01);
        expect(rowTopPx + size.rowPx).toBeLessThan(after + size.viewPx + 0.01);
        expect(scrolledTo(index, after, size)).toBeCloseTo(after, 2);
      },
    ),
  );
});
