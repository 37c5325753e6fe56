import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Gap } from '../../src/domain/gap.ts';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, sampleMarket } from '../support/sample-records.ts';

async function withGaps(gaps: readonly Gap[], work: (within: (fromMs: number, toMs: number) => Gap[]) => void) {
  using held = temporaryArchive();
  const { archive } = held;
  const other = sampleMarket({ conditionId: '0x77', slug: 'another', clobTokenIds: ['1', '2'] });
  await importRecords(archive, [sampleMarket(), other]);
  const { key } = archive.markets.findByConditionId(CONDITION_ID)!;
  archive.database.write(() => {
    for (const gap of gaps) archive.gaps.add(key, gap);
    archive.gaps.add(archive.markets.findByConditionId('0x77')!.key, { fromMs: 1, toMs: 2, reason: 'not this one' });
  });
  expect(archive.gaps.count(key, INSTANT_MAX_MS)).toBe(archive.gaps.list(key).length);
  work((fromMs, toMs) => [...archive.gaps.within(key, fromMs, toMs)]);
}

const inOrder = (a: Gap, b: Gap) =>
  a.fromMs - b.fromMs || a.toMs - b.toMs || Buffer.compare(Buffer.from(a.reason), Buffer.from(b.reason));

test('a window has the gaps that overlap it, both ends inclusive, in order', async () => {
  const instant = fc.integer({ min: 0, max: 40 });
  const gap = fc.record({ fromMs: instant, length: instant, reason: fc.constantFrom('', 'a', 'b', 'für', '😀') });
  await fc.assert(
    fc.asyncProperty(fc.array(gap, { maxLength: 60 }), instant, instant, async (drawn, a, b) => {
      const gaps = [
        ...new Map(
          drawn.map(({ fromMs, length, reason }) => [
            `${fromMs} ${length} ${reason}`,
            { fromMs, toMs: fromMs + length, reason },
          ]),
        ).values(),
      ];
      const [fromMs, toMs] = [Math.min(a, b), Math.max(a, b)];
      await withGaps(gaps, (within) => {
        const expected = gaps.filter((each) => each.fromMs <= toMs && each.toMs >= fromMs).sort(inOrder);
        expect(within(fromMs, toMs)).toEqual(expected);
      });
    }),
    { seed: 20260416, numRuns: 40 },
  );
});

test('all gaps are listed, however many have the same times', async () => {
  const gaps = Array.from({ length: 3000 }, (_, i) => ({
    fromMs: 7 + Math.floor(i / 1300),
    toMs: 9 + Math.floor(i / 700),
    reason: `missed ${String(i).padStart(4, '0')}`,
  }));
  await withGaps(gaps.toReversed(), (within) => {
    expect(within(0, 100)).toEqual(gaps.toSorted(inOrder));
    expect(within(14, 100)).toEqual([]);
    expect(within(0, 6)).toEqual([]);
  });
});

test('A gap keeps the causes of a gap within it that it replaces, and gets none of a time that it does not cover.', async () => {
  using held = temporaryArchive();
  const { archive } = held;
  await importRecords(archive, [sampleMarket()]);
  const { key } = archive.markets.findByConditionId(CONDITION_ID)!;
  const reason = '2 consecutive recorded books of up differ from the changes before them';
  const replaced = [{ fromMs: 10, toMs: 30, reason: `${reason}: the sockets brought nothing` }];
  archive.database.write(() => {
    for (const [fromMs, toMs] of [
      [10, 40],
      [20, 40],
    ] as const) {
      const found = { fromMs, toMs, reason };
      archive.gaps.add(key, found);
      archive.gaps.join(key, 'up', found, replaced);
    }
  });
  expect(archive.gaps.list(key)).toEqual([
    { fromMs: 10, toMs: 40, reason: `${reason}: the sockets brought nothing` },
    { fromMs: 20, toMs: 40, reason },
  ]);
});
