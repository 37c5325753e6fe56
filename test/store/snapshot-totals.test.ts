import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';

const START_MS = marketStatement(0).startMs;

/** The times of all stored snapshots, read from the segments. */
function timestampsOf({ snapshots }: Archive, market: StoredMarket, outcomes: readonly Outcome[] = OUTCOMES): number[] {
  return outcomes.flatMap((outcome) =>
    [...snapshots.slices(market, outcome, 0, Number.MAX_SAFE_INTEGER)].flatMap(({ head, from, to }) =>
      Array.from(head.timestamps.slice(from, to)),
    ),
  );
}

const added = fc.record({
  outcome: fc.constantFrom(...OUTCOMES),
  isMirrored: fc.boolean(),
  /** Few enough for repeated records, and enough for several segments. */
  times: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 300 }),
  isRolledBack: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
});

test('the total of a market is that of its segments, after any additions and at any instant', () => {
  let replaced = 0;
  fc.assert(
    fc.property(fc.array(added, { minLength: 4, maxLength: 6 }), (additions) => {
      using held = temporaryArchive();
      const { archive } = held;
      const { database, markets, snapshots, snapshotTotals, givenIds } = archive;
      const { market } = database.write(() => markets.put(marketStatement(0), NOW_MS));
      const { market: other } = database.write(() => markets.put(marketStatement(1), NOW_MS));
      const giveId = (record: BookRecord) => ({ ...record, id: givenIds.take(undefined) });
      for (const { outcome, isMirrored, times, isRolledBack } of additions) {
        const records = [...times]
          .sort((a, b) => a - b)
          .map((time) => ({
            timestampMs: START_MS + time,
            id: 0,
            book: { bidPrices: [0.5], bidSizes: [(time % 7) + 1], askPrices: [], askSizes: [] },
          }));
        const add = () => {
          givenIds.load();
          if (isMirrored)
            snapshots.addMirrored(market, outcome, snapshots.newMirrored(market, outcome, records).map(giveId));
          else snapshots.add(market, outcome, snapshots.newRecords(market, outcome, records).map(giveId));
          givenIds.save();
          if (isRolledBack) throw new Error('rolled back');
        };
        const recordedFromMs = snapshots.recordedFromMs(market, outcome);
        const isLate = (timestampMs: number) => timestampMs >= records[0]!.timestampMs && timestampMs < recordedFromMs;
        const hasLate = timestampsOf(archive, market, [outcome]).some(isLate);
        if (!isMirrored && !isRolledBack && hasLate) replaced += 1;
        if (isRolledBack) expect(() => database.write(add)).toThrow('rolled back');
        else database.write(add);
        const stored = timestampsOf(archive, market);
        expect(snapshotTotals.count(market.key)).toBe(stored.length);
        expect(snapshotTotals.count(other.key)).toBe(0);
        for (const time of [-1, 0, 1, 200, 399, 400]) {
          const known = stored.filter((timestampMs) => timestampMs <= START_MS + time);
          expect(snapshotTotals.count(market.key, START_MS + time)).toBe(known.length);
        }
        const row = database
          .query<object, [number]>(
            'SELECT first_snapshot_ms AS first, last_snapshot_ms AS last FROM markets WHERE market_key = ?',
          )
          .get(market.key);
        const [first, last] = stored.length === 0 ? [null, null] : [Math.min(...stored), Math.max(...stored)];
        expect(row).toEqual({ first, last });
      }
    }),
    { seed: 13, numRuns: 30 },
  );
  // Recorded snapshots replaced mirrored ones, which must not be counted any more.
  expect(replaced).toBeGreaterThan(5);
});
