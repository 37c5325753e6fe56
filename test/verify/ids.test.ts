import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { IdRange } from '../../src/store/ids.ts';
import { IdCheck, IdRuns, type IdSource } from '../../src/verify/ids.ts';

const ID_MAX = Number.MAX_SAFE_INTEGER;

/** The ranges of exactly the ids `given`, not adjacent to each other. */
function rangesOf(given: ReadonlySet<number>): IdRange[] {
  const ranges: { firstId: number; lastId: number }[] = [];
  for (const id of [...given].sort((a, b) => a - b)) {
    const open = ranges.at(-1);
    if (open !== undefined && open.lastId + 1 === id) open.lastId = id;
    else ranges.push({ firstId: id, lastId: id });
  }
  return ranges;
}

function sourceOf(given: ReadonlySet<number>): IdSource {
  const ranges = rangesOf(given);
  return {
    givenRanges: (fromId, countMax) => ranges.filter(({ lastId }) => lastId >= fromId).slice(0, countMax),
    isGiven: (id) => given.has(id),
  };
}

/** The verdicts on all ids in `used`, marked once per window, and the number of windows. */
function verdicts(source: IdSource, used: readonly number[], marks: number, ranges: number) {
  const check = new IdCheck(source, { marks, ranges });
  const faults: string[] = [];
  let windows = 0;
  while (check.nextWindow()) {
    windows += 1;
    for (const [index, id] of used.entries()) {
      const verdict = check.mark(id);
      if (verdict !== 'fine') faults.push(`${index}: ${verdict}`);
    }
  }
  return { faults: faults.sort(), windows };
}

/** The same, with all ids in memory. */
function expected(given: ReadonlySet<number>, used: readonly number[]): string[] {
  const seen = new Set<number>();
  const faults: string[] = [];
  for (const [index, id] of used.entries()) {
    if (!given.has(id)) faults.push(`${index}: not-given`);
    else if (seen.has(id)) faults.push(`${index}: repeated`);
    seen.add(id);
  }
  return faults.sort();
}

const anId = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: ID_MAX - 5, max: ID_MAX }) },
);

describe('ids', () => {
  test('of a market are marked together: all of them, or none if one was used before or never given', () => {
    const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 6 })), { maxLength: 6 });
    const property = fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 66 }), { minLength: 20 }),
      fc.array(runs, { maxLength: 6 }),
      fc.integer({ min: 1, max: 80 }),
      (ids, markets, marks) => {
        const given = new Set(ids);
        const check = new IdCheck(sourceOf(given), { marks, ranges: 100 });
        check.nextWindow();
        const isIn = (id: number) => check.touches(id, id);
        const used = new Set<number>();
        for (const market of markets) {
          const wanted = market.flatMap(([first, more]) => Array.from({ length: more + 1 }, (_, i) => first + i));
          const collected = new IdRuns();
          for (const id of wanted) collected.mark(id);
          const own = wanted.filter(isIn);
          const isFine = own.every((id) => given.has(id) && !used.has(id)) && new Set(own).size === own.length;
          expect(check.markRuns(collected.toArray())).toBe(isFine);
          if (isFine) for (const id of own) used.add(id);
        }
        for (const id of ids.filter(isIn)) expect(check.mark(id)).toBe(used.has(id) ? 'repeated' : 'fine');
      },
    );
    fc.assert(property);
  });

  test('that are used twice or were never given are found, with windows of any size', () => {
    const ids = fc.array(anId, { maxLength: 60 });
    const limits = [fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12 })] as const;
    fc.assert(
      fc.property(ids, ids, ...limits, (given, used, marks, ranges) => {
        const givenIds = new Set(given);
        expect(verdicts(sourceOf(givenIds), used, marks, ranges).faults).toEqual(expected(givenIds, used));
      }),
      { seed: 20_260_416, numRuns: 500 },
    );
  });

  test('of a small archive need one window, and of a larger one as many as needed', () => {
    const given = new Set(Array.from({ length: 100 }, (_, index) => index + 1));
    const used = [...given];
    expect(verdicts(sourceOf(given), used, 100, 10)).toEqual({ faults: [], windows: 1 });
    expect(verdicts(sourceOf(given), used, 99, 10)).toEqual({ faults: [], windows: 2 });
    expect(verdicts(sourceOf(given), used, 7, 1)).toEqual({ faults: [], windows: 15 });
    const sparse = new Set(used.map((id) => 2 * id));
    expect(verdicts(sourceOf(sparse), [...sparse], 1000, 10)).toEqual({ faults: [], windows: 10 });
  });

  test('that are given while the archive is read are no fault', () => {
    const given = new Set([1, 2, 3]);
    const source = sourceOf(given);
    const check = new IdCheck(source);
    check.nextWindow();
    given.add(4);
    expect([1, 2, 3, 4, 5].map((id) => check.mark(id))).toEqual(['fine', 'fine', 'fine', 'fine', 'not-given']);
  });

  test('of an empty archive need one window, and every id is a fault', () => {
    expect(verdicts(sourceOf(new Set()), [1], 8, 8)).toEqual({ faults: ['0: not-given'], windows: 1 });
  });
});
