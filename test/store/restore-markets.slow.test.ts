import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { backUp } from '../../src/store/backup.ts';
import { Deletion } from '../../src/store/deletion.ts';
import { restore } from '../../src/store/restore.ts';
import { type MarketSelection, restoreMarkets } from '../../src/store/restore-markets.ts';
import { BOOKS } from '../../src/store/sealed-files.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const DAY_MS = 86_400_000;
const ANYTHING = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };
const ndjson = async (archive: Archive) => (await exported(archive, 'ndjson')).bytes.toString();

/** An archive with a backup of it. */
async function backedUp(lines: readonly object[], isSealed = true) {
  const place = temporaryArchive();
  const directory = temporaryDirectory();
  await importRecords(place.archive, lines);
  if (isSealed) sealAll(place.archive);
  const backup = join(directory.path, 'backup');
  await backUp(place.path, backup, () => NOW_MS, { force: false, check: async () => undefined });
  const restore = (selection: MarketSelection, force = false, archive = place.archive) =>
    restoreMarkets(archive, backup, selection, { force, check: checked, onProgress: () => undefined });
  const dispose = () => {
    place[Symbol.dispose]();
    directory[Symbol.dispose]();
  };
  return { ...place, backup, restore, [Symbol.dispose]: dispose };
}

async function checked(directory: string, names: readonly string[]): Promise<void> {
  const { problems, totals } = await verifyDirectory(directory, { clock: () => NOW_MS, names });
  expect(totals.markets).toBe(names.length);
  const damaged = problems.find(({ kind }) => kind === 'sealed' || kind === 'segment' || kind === 'database');
  if (damaged !== undefined) throw new Error(damaged.what);
}

function deleteMarkets(archive: Archive, marketKeys: readonly number[]): void {
  for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys }).run());
}

const two = [1, 2].flatMap((n) => [
  sampleMarket({ conditionId: `0x${n}`, slug: `m-${n}`, clobTokenIds: [`${n}1`, `${n}2`] }),
  sampleSnapshot({ conditionId: `0x${n}` }),
]);

test.each([true, false])(
  'A deleted market is restored with its records, ids, gaps and facts (sealed: %p).',
  async (isSealed) => {
    for (let seed = 1; seed <= 4; seed += 1) {
      using place = await backedUp(generatedRecording(seed), isSealed);
      const { archive, path, restore } = place;
      const [before, sealed] = [await ndjson(archive), sealedMarkets(archive).length];
      const markets = [archive.markets.afterKey(-1)!];
      for (
        let next = archive.markets.afterKey(markets[0]!.key);
        next !== undefined;
        next = archive.markets.afterKey(next.key)
      )
        markets.push(next);
      const chosen = markets.filter((_, i) => i % 2 === 0);
      deleteMarkets(
        archive,
        chosen.map(({ key }) => key),
      );
      expect(await ndjson(archive)).not.toBe(before);
      const result = await restore({ names: chosen.map(({ conditionId }) => conditionId) });
      expect(result).toEqual({ restored: chosen.length, replaced: 0, present: 0 });
      expect(sortedLines(await ndjson(archive))).toEqual(sortedLines(before));
      expect(sealedMarkets(archive)).toHaveLength(sealed);
      // Another key and revision: what a client has of the deleted market is not taken for it.
      for (const { conditionId, key, revision } of chosen) {
        const again = archive.markets.findByConditionId(conditionId)!;
        expect(again.key).toBeGreaterThan(Math.max(...markets.map((market) => market.key)));
        expect([again.revision === revision, again.key === key]).toEqual([false, false]);
      }
      const { problems } = await verifyDirectory(path, { clock: () => NOW_MS });
      expect(
        problems.filter(({ kind }) => ['sealed', 'id', 'database', 'reference', 'segment'].includes(kind)),
      ).toEqual([]);
      expect(readdirSync(path).filter((name) => name.startsWith('restore'))).toEqual([]);
    }
  },
);

test('A day is restored; markets that the archive has stay as they are, and --force replaces them.', async () => {
  using place = await backedUp(two);
  const { archive, restore } = place;
  const before = await ndjson(archive);
  const dayMs = Math.floor(archive.markets.afterKey(-1)!.startMs / DAY_MS) * DAY_MS;
  const day = { fromMs: dayMs, beforeMs: dayMs + DAY_MS };
  deleteMarkets(archive, [archive.markets.findByConditionId('0x1')!.key]);
  await importRecords(archive, [sampleSnapshot({ conditionId: '0x2', timestamp: '2026-04-16T07:14:00.000Z' })]);
  const { key, revision } = archive.markets.findByConditionId('0x2')!;
  expect(await restore(day)).toEqual({ restored: 1, replaced: 0, present: 1 });
  expect(archive.markets.findByConditionId('0x2')).toMatchObject({ key, revision });
  expect(await ndjson(archive)).not.toBe(before);
  expect(await restore(day)).toEqual({ restored: 0, replaced: 0, present: 2 });
  expect(await restore(day, true)).toEqual({ restored: 2, replaced: 2, present: 0 });
  expect(sortedLines(await ndjson(archive))).toEqual(sortedLines(before));
  await expect(restore({ fromMs: dayMs + DAY_MS, beforeMs: dayMs + 2 * DAY_MS })).rejects.toThrow(
    'no market that began',
  );
  await expect(restore({ names: ['m-1', 'm-3'] })).rejects.toThrow("no market with the conditionId or slug 'm-3'");
});

test('A market whose file is damaged is restored with --force, and its other file is deleted.', async () => {
  using place = await backedUp(two);
  const { archive, path, restore } = place;
  const before = await ndjson(archive);
  const [market] = sealedMarkets(archive);
  // A new file: the backup shares the former one.
  const file = join(path, BOOKS, market!.path);
  rmSync(file);
  writeFileSync(file, 'damaged');
  expect((await verifyDirectory(path, { clock: () => NOW_MS })).problems.map(({ kind }) => kind)).toEqual(['sealed']);
  expect(await restore({ names: ['m-1'] }, true)).toEqual({ restored: 1, replaced: 1, present: 0 });
  expect(existsSync(file)).toBe(false);
  expect(sortedLines(await ndjson(archive))).toEqual(sortedLines(before));
});

test('A market of a backup is refused when the archive was restored from an earlier one, though its ids are given meanwhile.', async () => {
  using place = await backedUp(two);
  using elsewhere = temporaryDirectory();
  const { archive, path, backup: monday } = place;
  const options = { force: false, check: async () => undefined };
  const books = (market: string, count: number) =>
    Array.from({ length: count }, (_, n) =>
      sampleSnapshot({ conditionId: market, timestamp: `2026-04-16T07:14:0${n}.000Z` }),
    );
  await importRecords(archive, books('0x2', 2));
  const tuesday = join(elsewhere.path, 'tuesday');
  await backUp(path, tuesday, () => NOW_MS, options);
  const data = join(elsewhere.path, 'data');
  await restore(monday, data, options);
  const again = openArchive(data, NOW_MS, { create: false });
  try {
    expect(again.archiveId).not.toBe(archive.archiveId);
    await importRecords(again, books('0x1', 9));
    const chosen = { names: ['0x2'] };
    const forced = { force: true, check: checked, onProgress: () => undefined };
    for (const backup of [tuesday, monday])
      await expect(restoreMarkets(again, backup, chosen, forced)).rejects.toThrow('before all of it was restored');
    const wednesday = join(elsewhere.path, 'wednesday');
    await backUp(data, wednesday, () => NOW_MS, options);
    expect(await restoreMarkets(again, wednesday, chosen, forced)).toMatchObject({ restored: 1 });
  } finally {
    again.database.close();
  }
});

test('Nothing is restored from a backup that is damaged, or of another archive.', async () => {
  using place = await backedUp(two);
  using other = temporaryArchive();
  const { archive, backup, restore } = place;
  await expect(restore({ names: ['m-1'] }, false, other.archive)).rejects.toThrow(
    'is not an earlier state of this archive',
  );
  const before = await ndjson(archive);
  const file = join(backup, BOOKS, sealedMarkets(archive)[0]!.path);
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] = bytes.at(-1)! ^ 1;
  rmSync(file);
  writeFileSync(file, bytes);
  await expect(restore({ names: ['m-1'] }, true)).rejects.toThrow('was changed after it was sealed');
  rmSync(join(backup, 'bookreel.db.zst'));
  await expect(restore({ names: ['m-1'] }, true)).rejects.toThrow('is missing');
  expect(await ndjson(archive)).toBe(before);
});

function sortedLines(text: string): string[] {
  return text.split('\n').sort();
}
