import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openArchive } from '../../src/store/archive.ts';
import type { Database } from '../../src/store/database.ts';
import { GivenIds } from '../../src/store/ids.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';

const RUNS = { seed: 20260416, numRuns: 150 };
const ID_MAX = Number.MAX_SAFE_INTEGER;

const near = fc.integer({ min: 1, max: 40 });
// Far enough below the highest id that these transactions do not reach it.
const FAR_MAX = ID_MAX - 1000;
const wanted = fc.oneof(near, fc.integer({ min: FAR_MAX - 20, max: FAR_MAX }), fc.integer({ min: 1, max: FAR_MAX }));
const request = fc.option(fc.oneof({ weight: 5, arbitrary: near }, wanted), { nil: undefined });
const transactions = fc.array(fc.record({ requests: fc.array(request, { maxLength: 30 }), fails: fc.boolean() }), {
  maxLength: 12,
});

function rangesOf(database: Database): [number, number][] {
  return database
    .query<{ first_id: number; last_id: number }, []>('SELECT first_id, last_id FROM given_ids ORDER BY first_id')
    .all()
    .map((row) => [row.first_id, row.last_id]);
}

/** The ranges of a set, joined where they touch. */
function rangesOfSet(ids: ReadonlySet<number>): [number, number][] {
  const ranges: [number, number][] = [];
  for (const id of [...ids].sort((a, b) => a - b)) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] + 1 === id) open[1] = id;
    else ranges.push([id, id]);
  }
  return ranges;
}

describe('record ids', () => {
  test('are given as by a set: the wanted id when it is free, else the one after all given ids', () => {
    using held = temporaryArchive();
    const { database, givenIds } = held.archive;
    fc.assert(
      fc.property(transactions, (all) => {
        database.write(() => database.query<never, []>('DELETE FROM given_ids').run());
        let model = new Set<number>();
        for (const { requests, fails } of all) {
          const during = new Set(model);
          const work = () =>
            database.write(() => {
              givenIds.load();
              for (const want of requests) {
                const expected = want !== undefined && !during.has(want) ? want : Math.max(0, ...during) + 1;
                expect(givenIds.take(want)).toBe(expected);
                during.add(expected);
              }
              givenIds.save();
              if (fails) throw new Error('this batch fails');
            });
          if (fails) expect(work).toThrow('this batch fails');
          else work();
          if (!fails) model = during;
          expect(rangesOf(database)).toEqual(rangesOfSet(model));
        }
      }),
      RUNS,
    );
  });

  test('begin with 1 and are never given twice, also after the archive was closed', () => {
    using directory = temporaryDirectory();
    const given: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const archive = openArchive(directory.path, NOW_MS, { create: true });
      archive.database.write(() => {
        archive.givenIds.load();
        given.push(archive.givenIds.take(undefined), archive.givenIds.take(2), archive.givenIds.take(undefined));
        archive.givenIds.save();
      });
      archive.database.close();
    }
    expect(given).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('continue at the lowest gap once a recording has claimed the highest id', () => {
    using held = temporaryArchive();
    const { database } = held.archive;
    const ids = new GivenIds(database);
    database.write(() => {
      ids.load();
      expect(ids.take(ID_MAX)).toBe(ID_MAX);
      expect(ids.take(3)).toBe(3);
      expect([1, 2, 3, 4].map(() => ids.take(undefined))).toEqual([1, 2, 4, 5]);
      expect(ids.take(ID_MAX)).toBe(6);
      ids.save();
    });
    expect(rangesOf(database)).toEqual([
      [1, 6],
      [ID_MAX, ID_MAX],
    ]);
  });

  test('of a long recording take one row', () => {
    using held = temporaryArchive();
    const { database, givenIds } = held.archive;
    database.write(() => {
      givenIds.load();
      for (let id = 20_000; id > 0; id -= 2) givenIds.take(id);
      for (let id = 1; id < 20_000; id += 2) givenIds.take(id);
      givenIds.save();
    });
    expect(rangesOf(database)).toEqual([[1, 20_000]]);
  });
});
