import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { PAGE_ROWS, PagedRows, type PagedRowsOptions } from '../../../src/web/browser/view/paged-rows.ts';
import { SETTLED_MS } from '../../../src/web/browser/view/shown-values.ts';
import { ManualTimers } from './manual-timers.ts';

const settled = async () => await Bun.sleep(0);

/** A list of numbers. `asked` gets the skip of each load. */
function listOf(all: readonly number[], count: number | undefined, asked: number[] = []) {
  const timers = new ManualTimers();
  const options: PagedRowsOptions<number> = {
    ...{ count, later: timers.later, onChange: () => undefined },
    loadPage: async (skip) => {
      asked.push(skip);
      return { rows: all.slice(skip, skip + PAGE_ROWS), hasMore: skip + PAGE_ROWS < all.length };
    },
  };
  return { rows: new PagedRows(options), timers };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

test('shown rows are those of the list, at any place', async () => {
  const all = numbers(100_000);
  const { rows, timers } = listOf(all, all.length);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: all.length - 1 }),
      fc.integer({ min: 1, max: 60 }),
      async (first, shown) => {
        const end = Math.min(first + shown, all.length);
        rows.show(first, end);
        timers.pass(SETTLED_MS);
        await settled();
        expect(numbers(end - first).map((i) => rows.row(first + i))).toEqual(all.slice(first, end));
        expect(rows.count).toBe(all.length);
      },
    ),
  );
});

test('few pages are in memory, after all were shown', async () => {
  const all = numbers(20_000);
  const asked: number[] = [];
  const { rows, timers } = listOf(all, all.length, asked);
  for (let first = 0; first < all.length; first += PAGE_ROWS) {
    rows.show(first, first + 10);
    timers.pass(SETTLED_MS);
    await settled();
  }
  expect(asked).toEqual(numbers(200).map((page) => page * PAGE_ROWS));
  expect(all.filter((index) => rows.row(index) !== undefined).length).toBe(40 * PAGE_ROWS);
});

test.each([0, 1, PAGE_ROWS, PAGE_ROWS + 1, 3 * PAGE_ROWS, 5 * PAGE_ROWS + 7])(
  'a list of an unknown number of rows is shown to its end: %d',
  async (length) => {
    const { rows, timers } = listOf(numbers(length), undefined);
    expect(rows.count).toBeUndefined();
    rows.show(0, 20);
    await settled();
    for (let end = 0; end < rows.count!; ) {
      end = rows.count!;
      rows.show(Math.max(0, end - 20), end);
      timers.pass(SETTLED_MS);
      await settled();
    }
    expect(rows.count).toBe(length);
    expect(rows.row(length)).toBeUndefined();
    if (length > 0) expect(rows.row(length - 1)).toBe(length - 1);
  },
);

test.each([
  // A page after the end says only that the list ends before it.
  ['shorter', 180, [200, 180]],
  ['longer', 420, [301, 301]],
  ['empty', 0, [0, 0]],
])('pages show that the list became %s since 250 rows were counted', async (_, length, expected) => {
  const { rows, timers } = listOf(numbers(length), 250);
  const counts: (number | undefined)[] = [];
  for (const at of [0, 240, 190]) {
    rows.show(at, at + 10);
    timers.pass(SETTLED_MS);
    await settled();
    counts.push(rows.count);
  }
  expect(counts.slice(1)).toEqual(expected);
});
