import { Database as Sqlite } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { type Archive, openArchive, openArchiveView } from '../../src/store/archive.ts';
import { backUp, type CopyOptions } from '../../src/store/backup.ts';
import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { BRIEF_STEP, Deletion } from '../../src/store/deletion.ts';
import { backUpAndKeep } from '../../src/store/kept-backups.ts';
import { restore } from '../../src/store/restore.ts';
import { sealedBytesFor } from '../../src/store/sealed-copies.ts';
import { BOOKS, SEALED_MARKET } from '../../src/store/sealed-files.ts';
import { Sealing } from '../../src/store/sealing.ts';
import { MarketVerifier } from '../../src/verify/market-verifier.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import {
  importRecords,
  NOW_MS,
  type TemporaryArchive,
  temporaryArchive,
  temporaryDirectory,
} from '../support/archive.ts';
import { expandInPlace } from '../support/backup-manifest.ts';
import { hasDisk, unlinkedDisk } from '../support/disks.ts';
import { randomsOf } from '../support/random-books.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { damageBooks, sealAll, sealedMarkets } from '../support/sealed.ts';

const SEEDS = 6;
const DAY_MS = 86_400_000;
const ANYTHING = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };

async function archiveOf(lines: readonly object[]): Promise<TemporaryArchive> {
  const place = temporaryArchive();
  await importRecords(place.archive, lines);
  return place;
}

const ndjson = async (archive: Archive) => (await exported(archive, 'ndjson')).bytes.toString();

function sweptBy(archive: Archive, nowMs: number): number {
  return [...new Sealing(archive).sweep(nowMs)].reduce((sum, files) => sum + files, 0);
}

function segmentsInMain({ database }: Archive): number {
  const sql = 'SELECT COUNT(*) AS count FROM segments JOIN series USING (series_id) WHERE market_key IS NOT NULL';
  return database.read(() => database.query<{ count: number }, []>(sql).get()!.count);
}

/** Everything that the archive says about its markets besides their records. */
function factsOf({ database, markets, recordedTimes, snapshotTotals, recordCounts }: Archive): unknown {
  return database.read(() => {
    const facts: unknown[] = [recordCounts()];
    for (let market = markets.afterKey(-1); market !== undefined; market = markets.afterKey(market.key)) {
      const halfMs = (market.startMs + market.endMs) / 2;
      facts.push(
        { ...market, revision: 0 },
        markets.sentSpan(market.key),
        markets.firstRecordMs(market.key),
        snapshotTotals.count(market.key, halfMs),
        recordedTimes.ofMarket(market.key),
        recordedTimes.ofMarket(market.key, halfMs),
      );
    }
    return facts;
  });
}

async function problemsOf({ path }: { readonly path: string }): Promise<string[]> {
  const { problems } = await verifyDirectory(path, { clock: () => NOW_MS });
  return problems.filter(({ kind }) => kind !== 'winner' && kind !== 'contradiction').map(({ what }) => what);
}

test('Sealing changes no answer: exports, counts, spans and recorded times are as before, and verify finds nothing.', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    using place = await archiveOf(generatedRecording(seed));
    const [before, facts, problems] = [await ndjson(place.archive), factsOf(place.archive), await problemsOf(place)];
    const markets = sealAll(place.archive);
    expect(segmentsInMain(place.archive)).toBe(0);
    expect(sealedMarkets(place.archive)).toHaveLength(markets);
    expect(await ndjson(place.archive)).toBe(before);
    expect(factsOf(place.archive)).toEqual(facts);
    // Mirrors of a generated recording are wrong.
    expect(await problemsOf(place)).toEqual(problems);
    // Nothing is left to seal.
    expect(sealAll(place.archive)).toBe(0);
  }
});

test('Records that arrive late bring their market back, as if they had arrived before; repeated ones leave it sealed.', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = randomsOf(seed);
    const lines = generatedRecording(seed);
    const isFirst = lines.map(({ type }) => type === 'market' || random() < 0.5);
    const first = lines.filter((_, i) => isFirst[i]);
    using place = await archiveOf(first);
    using never = await archiveOf(first);
    sealAll(place.archive);
    await importRecords(place.archive, first);
    expect(segmentsInMain(place.archive)).toBe(0);
    for (const { archive } of [place, never]) await importRecords(archive, lines);
    expect(await ndjson(place.archive)).toBe(await ndjson(never.archive));
    expect(factsOf(place.archive)).toEqual(factsOf(never.archive));
    sealAll(place.archive);
    expect(await ndjson(place.archive)).toBe(await ndjson(never.archive));
    expect(await problemsOf(place)).toEqual(await problemsOf(never));
  }
});

test('Markets are sealed that ended long enough ago and have a winner; without one after seven days.', async () => {
  const market = (n: number, winner: 'up' | undefined) => {
    const startMs = Date.UTC(2026, 3, 16, 7, 0);
    const [startTime, endTime] = [startMs, startMs + 300_000].map((ms) => new Date(ms).toISOString());
    return sampleMarket({ conditionId: `0x${n}`, slug: `m-${n}`, winner, startTime, endTime });
  };
  const snapshot = (n: number) => sampleSnapshot({ conditionId: `0x${n}`, timestamp: '2026-04-16T07:01:00.000Z' });
  const endMs = Date.UTC(2026, 3, 16, 7, 5);
  using place = await archiveOf([market(1, 'up'), market(2, undefined), market(3, 'up'), snapshot(1), snapshot(2)]);
  const sealedAt = (beforeMs: number, nowMs: number) => {
    for (const _ of new Sealing(place.archive).run(beforeMs, nowMs));
    return sealedMarkets(place.archive).map(({ path }) => path.split(/[/-]/)[3]);
  };
  expect(sealedAt(endMs - 1, endMs + 3 * DAY_MS)).toEqual([]);
  expect(sealedAt(endMs, endMs + 7 * DAY_MS - 1)).toEqual(['0x1']);
  // The third has no records.
  expect(sealedAt(endMs, endMs + 7 * DAY_MS)).toEqual(['0x1', '0x2']);
});

test('A market that changes while its file is written is not sealed, and no file of it is left.', async () => {
  using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
  const { archive } = place;
  const other = openArchive(place.path, NOW_MS, { create: false });
  const write = archive.database.write.bind(archive.database);
  archive.database.write = <T>(work: () => T): T => {
    const { key } = other.markets.afterKey(-1)!;
    other.database.write(() =>
      other.database.query('UPDATE markets SET revision = revision + 1 WHERE market_key = ?').run(key),
    );
    return write(work);
  };
  expect(new Sealing(archive).seal(archive.markets.afterKey(-1)!)).toBeUndefined();
  other.database.close();
  expect(segmentsInMain(archive)).toBeGreaterThan(0);
  expect(filesIn(place.path)).toEqual([]);
});

test.each([
  ['its payload has another digest', 'up', false],
  ['its payload cannot be decoded, and matches its digest', 'down', true],
] as const)('A market with a damaged segment is not sealed; those after it are. (%s)', async (_, outcome, matches) => {
  using place = await archiveOf(
    [1, 2].flatMap((n) => [
      sampleMarket({ conditionId: `0x${n}`, slug: `m-${n}` }),
      ...OUTCOMES.map((of) => sampleSnapshot({ conditionId: `0x${n}`, outcome: of })),
    ]),
  );
  const { archive, path } = place;
  const [damaged, intact] = ['0x1', '0x2'].map((id) => archive.markets.findByConditionId(id)!);
  damageBooks(archive, damaged!.key, outcome, matches);
  const segments = segmentsInMain(archive);
  const { failures } = [...new Sealing(archive).run(Infinity, Infinity)].at(-1)!;
  expect(failures).toEqual(['m-1: a stored segment is damaged: restore the data directory from a backup']);
  expect(sealedMarkets(archive).map(({ key }) => key)).toEqual([intact!.key]);
  expect(filesIn(path)).toEqual([sealedMarkets(archive)[0]!.path]);
  expect(segmentsInMain(archive)).toBe(segments / 2);
});

test.each([
  ['before the catalog names its file', false],
  ['and the catalog names its file after they look for it', true],
] as const)(
  'Commands that delete unused files while a market is sealed lose no records. (%s)',
  async (_, isSealedMeanwhile) => {
    using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
    const { archive, path } = place;
    const before = await ndjson(archive);
    const other = openArchive(path, NOW_MS, { create: false });
    const write = archive.database.write.bind(archive.database);
    const read = other.database.read.bind(other.database);
    archive.database.write = <T>(work: () => T): T => {
      archive.database.write = write;
      for (const name of filesIn(path)) if (name.includes('.partial-')) rmSync(join(path, BOOKS, name));
      let sealed: { result: T } | undefined;
      other.database.read = <R>(look: () => R): R => {
        const found = read(look);
        if (isSealedMeanwhile) sealed ??= { result: write(work) };
        return found;
      };
      // The file was written more than an hour ago.
      expect(sweptBy(other, Date.now() + 3_700_000)).toBe(isSealedMeanwhile ? 0 : 1);
      return (sealed ?? { result: write(work) }).result;
    };
    const bytes = new Sealing(archive).seal(archive.markets.afterKey(-1)!);
    other.database.close();
    expect(bytes !== undefined).toBe(isSealedMeanwhile);
    expect(filesIn(path)).toHaveLength(isSealedMeanwhile ? 1 : 0);
    expect(await ndjson(archive)).toBe(before);
    expect(sealAll(archive)).toBe(isSealedMeanwhile ? 0 : 1);
  },
);

test('A view that was taken before sees its state, while a market is sealed, brought back and deleted.', async () => {
  const lines = generatedRecording(3);
  using place = await archiveOf(lines);
  const { archive, path } = place;
  const recordsIn = (view: ReturnType<typeof openArchiveView>) => {
    const { key } = view.markets.afterKey(-1)!;
    return view.snapshotTotals.until(key, Infinity).count;
  };
  const count = () =>
    archive.database.read(() => archive.snapshotTotals.until(archive.markets.afterKey(-1)!.key, Infinity).count);
  const before = count();
  using unsealed = openArchiveView(join(path, 'bookreel.db'));
  sealAll(archive);
  using sealed = openArchiveView(join(path, 'bookreel.db'));
  const { conditionId } = archive.markets.afterKey(-1)!;
  await importRecords(archive, [sampleSnapshot({ conditionId, timestamp: '2020-01-01T00:00:00.000Z' })]);
  for (const _ of new Sealing(archive).sweep(Date.now()));
  using late = openArchiveView(join(path, 'bookreel.db'));
  expect([unsealed, sealed].map(recordsIn)).toEqual([before, before]);
  const withLate = recordsIn(late);
  expect(withLate).toBeGreaterThan(before);
  sealAll(archive);
  for (const _ of new Deletion(archive, ANYTHING).run());
  expect([unsealed, sealed, late].map(recordsIn)).toEqual([before, before, withLate]);
});

test.each(['read', 'readShared'] as const)(
  'A market that is deleted after the view of %s was taken is not there: its missing file is no fault.',
  async (read) => {
    using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
    const { archive, path } = place;
    sealAll(archive);
    const other = openArchive(path, NOW_MS, { create: false });
    let views = 0;
    const found = archive.database[read](() => {
      views += 1;
      const market = archive.markets.afterKey(-1);
      if (views === 1) for (const _ of new Deletion(other, ANYTHING).run());
      return market && archive.snapshots.nearest(market, 'up', market.endMs, 'before');
    });
    expect([found, views]).toEqual([undefined, 2]);
    other.database.close();
  },
);

test.each(['read', 'readShared'] as const)(
  'A later view of %s sees the records that another connection has brought back from a file that stays open, and those it sealed again.',
  async (read) => {
    const at = (time: string) => sampleSnapshot({ timestamp: `2026-04-16T07:${time}.000Z` });
    using place = await archiveOf([sampleMarket(), at('10:04'), at('14:04')]);
    sealAll(place.archive);
    const other = openArchive(place.path, NOW_MS, { create: false });
    const nearest = async () => {
      // A shared view ends with the tick.
      await new Promise(setImmediate);
      const { database, markets, snapshots } = place.archive;
      return database[read](() => {
        const market = markets.afterKey(-1)!;
        const found = snapshots.nearest(market, 'up', Date.parse('2026-04-16T07:12:00Z'), 'before')!;
        return new Date(found.head.timestamps[found.index]!).toISOString().slice(14, 19);
      });
    };
    expect(await nearest()).toBe('10:04');
    expect(await nearest()).toBe('10:04');
    await importRecords(other, [at('11:00')]);
    expect(await nearest()).toBe('11:00');
    sealAll(other);
    expect(await nearest()).toBe('11:00');
    await importRecords(other, [at('11:30')]);
    expect(await nearest()).toBe('11:30');
    other.database.close();
  },
);

test('A market that is deleted while it is verified is no problem.', async () => {
  using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
  const { archive, path } = place;
  sealAll(archive);
  const { key } = archive.markets.afterKey(-1)!;
  using database = Database.openToRead(join(path, 'bookreel.db'), RECORDINGS);
  const query = database.query.bind(database);
  let deletions = 0;
  // The view is taken, and the file is not open yet.
  database.query = ((sql: string) => {
    const statement = query(sql);
    if (sql !== SEALED_MARKET) return statement;
    const get = (...values: never[]) => {
      if (deletions === 0) for (const _ of new Deletion(archive, ANYTHING).run()) deletions += 1;
      return statement.get(...values);
    };
    return { get };
  }) as typeof database.query;
  const { problems, totals } = new MarketVerifier(database).verify({ key, knownState: undefined, nowMs: NOW_MS });
  expect(deletions).toBeGreaterThan(0);
  expect([problems.listed, totals.markets]).toEqual([[], 0]);
});

test('A deletion deletes the file of a sealed market, and counts its bytes.', async () => {
  using place = await archiveOf(generatedRecording(2));
  const { archive } = place;
  const unsealed = new Deletion(archive, ANYTHING).count();
  sealAll(archive);
  expect(filesIn(place.path).length).toBeGreaterThan(1);
  expect(new Deletion(archive, ANYTHING).count()).toEqual(unsealed);
  const [market] = sealedMarkets(archive);
  for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys: [market!.key] }).run());
  expect(filesIn(place.path)).not.toContain(market!.path);
  expect(sealedMarkets(archive)).toHaveLength(filesIn(place.path).length);
  const { problems } = await verifyDirectory(place.path, { clock: () => NOW_MS });
  expect(problems.filter(({ kind }) => kind === 'sealed' || kind === 'database' || kind === 'reference')).toEqual([]);
});

test('A transaction deletes many sealed markets, whatever their files have.', async () => {
  using place = await archiveOf(generatedRecording(2));
  const { archive } = place;
  sealAll(archive);
  const { markets } = new Deletion(archive, ANYTHING).run({ ...BRIEF_STEP, bytes: 1 }).next().value!;
  expect(sealedMarkets(archive)).toEqual([]);
  expect(markets).toBeGreaterThan(1);
});

test('More sealed markets than may be open are read in turns, backed up and restored.', async () => {
  const ids = Array.from({ length: 150 }, (_, i) => `0x${(i + 1).toString(16).padStart(64, '0')}`);
  using place = await archiveOf(
    ids.flatMap((conditionId, i) => [sampleMarket({ conditionId, slug: `m-${i}` }), sampleSnapshot({ conditionId })]),
  );
  const { archive } = place;
  expect(sealAll(archive)).toBe(150);
  for (let round = 0; round < 3; round += 1) {
    for (const id of round === 1 ? ids.toReversed() : ids) {
      const found = archive.database.readShared(() => {
        const market = archive.markets.findByConditionId(id)!;
        return archive.snapshots.nearest(market, 'up', market.endMs, 'before');
      });
      expect(found).toBeDefined();
    }
  }
  // So many files are synced to disk together.
  using directory = temporaryDirectory();
  const [backup, restored] = [join(directory.path, 'backup'), join(directory.path, 'restored')];
  const options = { force: false, check: async () => undefined };
  await backUp(place.path, backup, () => NOW_MS, options);
  const { sealed } = await restore(backup, restored, options);
  const bytes = sealedMarkets(archive).reduce((sum, file) => sum + file.bytes, 0);
  expect(sealed).toEqual({ files: 150, newFiles: 150, bytesWritten: bytes });
  expect(filesIn(restored).sort()).toEqual(filesIn(place.path).sort());
});

test.each([
  ['is missing', (path: string) => rmSync(path), 'is missing: unless its market was just deleted'],
  ['is shorter', (path: string) => truncateSync(path, statSync(path).size - 1), 'is not the file that was sealed'],
  ['is empty', (path: string) => writeFileSync(path, ''), 'is not the file that was sealed'],
  ['has a flipped byte', (path: string) => flipByte(path), 'was changed after it was sealed, or is damaged'],
  [
    'belongs to another market',
    (path: string, other: string) => cpSync(other, path),
    'is not the file that was sealed',
  ],
  [
    'is an earlier one of the market',
    (path: string, _: string, earlier: string) => cpSync(earlier, path),
    'is not the file that was sealed',
  ],
])('verify finds a file of a sealed market that %s, and nothing of it is served.', async (_, damage, sentence) => {
  using scratch = temporaryDirectory();
  using place = await archiveOf([
    ...[1, 2].flatMap((n) => [
      sampleMarket({ conditionId: `0x${n}`, slug: `m-${n}` }),
      sampleSnapshot({ conditionId: `0x${n}` }),
    ]),
  ]);
  const { archive } = place;
  const folder = join(place.path, BOOKS);
  sealAll(archive);
  const earlier = join(scratch.path, 'earlier.db');
  cpSync(join(folder, sealedMarkets(archive)[0]!.path), earlier);
  await importRecords(archive, [sampleSnapshot({ conditionId: '0x1', timestamp: '2026-04-16T07:14:59.000Z' })]);
  sealAll(archive);
  const [first, second] = sealedMarkets(archive);
  damage(join(folder, first!.path), join(folder, second!.path), earlier);
  const problems = await problemsOf(place);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(sentence);
  const again = openArchive(place.path, NOW_MS, { create: false });
  const read = (conditionId: string) => {
    const market = again.markets.findByConditionId(conditionId)!;
    return again.database.readShared(() => [...again.snapshots.slices(market, 'up', 0, Infinity)].length);
  };
  expect(() => read('0x1')).toThrow(/restore it from a backup|restore the data directory from a backup/);
  expect(read('0x2')).toBe(1);
  again.database.close();
});

test('The first record of a series that a sealed market did not have brings the market back too.', async () => {
  const at = (time: string, outcome: string) => sampleSnapshot({ outcome, timestamp: `2026-04-16T07:${time}.000Z` });
  const [first, late] = [[sampleMarket(), at('10:04', 'up'), at('14:04', 'up')], [at('12:00', 'down')]];
  using place = await archiveOf(first);
  using never = await archiveOf(first);
  sealAll(place.archive);
  for (const { archive } of [place, never]) await importRecords(archive, late);
  expect(sealedMarkets(place.archive)).toEqual([]);
  expect(factsOf(place.archive)).toEqual(factsOf(never.archive));
  expect(await ndjson(place.archive)).toBe(await ndjson(never.archive));
});

test('A sealed market whose stand-in is replaced by its conditionId is read as before, and its file is kept.', async () => {
  using place = await archiveOf([sampleMarket({ conditionId: '0x1' }), sampleSnapshot({ conditionId: '0x1' })]);
  const { archive, path } = place;
  sealAll(archive);
  const real = `0x${'ab'.repeat(32)}`;
  archive.database.write(() => archive.database.query('UPDATE markets SET condition_id = ?').run(real));
  for (const name of filesIn(path)) utimesSync(join(path, BOOKS, name), 0, 0);
  expect(sweptBy(archive, Date.now())).toBe(0);
  expect(await problemsOf(place)).toEqual([]);
  const again = openArchive(path, NOW_MS, { create: false });
  expect(await ndjson(again)).toContain(real);
  again.database.close();
});

test('Late records of a market whose file was changed are refused, and nothing of the file is taken.', async () => {
  using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
  const { archive, path } = place;
  sealAll(archive);
  const [market] = sealedMarkets(archive);
  flipByte(join(path, BOOKS, market!.path));
  const late = sampleSnapshot({ outcome: 'down', timestamp: '2026-04-16T07:12:00.000Z' });
  await expect(importRecords(archive, [late])).rejects.toThrow('was changed after it was sealed');
  expect(segmentsInMain(archive)).toBe(0);
  expect(sealedMarkets(archive)).toHaveLength(1);
});

test('A backup copies a file again that was cut in the backup before.', async () => {
  using place = await archiveOf(generatedRecording(2));
  using directory = temporaryDirectory();
  const check = async () => undefined;
  sealAll(place.archive);
  const kept = join(directory.path, 'kept');
  const first = await backUpAndKeep(place.path, kept, () => NOW_MS, { keep: 5, check });
  const [path] = filesIn(first.directory);
  rmSync(join(first.directory, BOOKS, path!));
  writeFileSync(join(first.directory, BOOKS, path!), 'cut');
  const second = await backUpAndKeep(place.path, kept, () => NOW_MS + DAY_MS, { keep: 5, check });
  expect(second.sealed.newFiles).toBe(1);
  expect(statSync(join(second.directory, BOOKS, path!)).size).toBe(statSync(join(place.path, BOOKS, path!)).size);
});

test('verify finds records that the catalog does not know of a sealed market, also where its file was verified elsewhere.', async () => {
  using place = await archiveOf([sampleMarket(), sampleSnapshot()]);
  const { archive, path } = place;
  sealAll(archive);
  archive.database.write(() => archive.database.query('UPDATE sealed_series SET records = records + 1').run());
  expect(await problemsOf(place)).toEqual([expect.stringContaining('has other records than the catalog says')]);
  archive.database.write(() => archive.database.query('UPDATE markets SET end_ms = start_ms - 1').run());
  const known = await verifyDirectory(path, { clock: () => NOW_MS, isKnown: () => true });
  expect(known.problems.map(({ kind }) => kind)).toContain('field');
});

test('Files that the catalog does not name are deleted after an hour; others stay.', async () => {
  using place = await archiveOf(generatedRecording(2));
  sealAll(place.archive);
  const named = filesIn(place.path);
  const folder = join(place.path, BOOKS, dirname(named[0]!));
  const left = ['0xabc-0123456789abcdef.db', '0xabc-0123456789abcdef.db.partial-0123456789ab'];
  for (const name of left) writeFileSync(join(folder, name), 'left by a kill');
  writeFileSync(join(folder, 'notes.txt'), 'not ours');
  const nowMs = Date.now();
  expect(sweptBy(place.archive, nowMs)).toBe(0);
  expect(sweptBy(place.archive, nowMs + 3_700_000)).toBe(2);
  for (const name of named) utimesSync(join(place.path, BOOKS, name), 0, 0);
  expect(sweptBy(place.archive, nowMs + 3_700_000)).toBe(0);
  expect(filesIn(place.path).sort()).toEqual([...named, join(dirname(named[0]!), 'notes.txt')].sort());
});

test('A backup shares the files of sealed markets with the archive and with the backup before, and can be restored without them.', async () => {
  using place = await archiveOf(generatedRecording(2));
  using directory = temporaryDirectory();
  const check: CopyOptions['check'] = async (path, isKnown) => {
    checked.push(sealedMarkets(place.archive).filter(isKnown).length);
    const { problems } = await verifyDirectory(path, { clock: () => NOW_MS });
    expect(problems.filter(({ kind }) => kind === 'sealed')).toEqual([]);
  };
  const checked: number[] = [];
  const markets = sealAll(place.archive);
  const kept = join(directory.path, 'kept');
  const [first, second] = [
    await backUpAndKeep(place.path, kept, () => NOW_MS, { keep: 5, check }),
    await backUpAndKeep(place.path, kept, () => NOW_MS + DAY_MS, { keep: 5, check }),
  ];
  expect([first.sealed, second.sealed]).toEqual([
    { files: markets, newFiles: markets, bytesWritten: 0 },
    { files: markets, newFiles: 0, bytesWritten: 0 },
  ]);
  // What a backup shares with the one before was verified there; what it restores for the proof is its own.
  expect(checked).toEqual([0, markets, markets, markets]);
  const expected = await ndjson(place.archive);
  // The archive and the first backup are lost.
  for (const path of [join(place.path, BOOKS), first.directory]) rmSync(path, { recursive: true });
  const restored = join(directory.path, 'restored');
  const { sealed } = await restore(second.directory, restored, { force: false, check });
  expect(sealed.bytesWritten).toBeGreaterThan(0);
  const archive = openArchive(restored, NOW_MS, { create: false });
  expect(await ndjson(archive)).toBe(expected);
  archive.database.close();
});

test.skipIf(!hasDisk(unlinkedDisk))(
  'A backup needs room for the files that it cannot share, also on a file system of the same device.',
  async () => {
    using place = await archiveOf(generatedRecording(2));
    using directory = temporaryDirectory();
    sealAll(place.archive);
    const { bytes } = place.archive.database.read(() => place.archive.sealed.totals());
    const here = join(directory.path, 'backup');
    expect(sealedBytesFor(place.path, here, undefined, 2)).toBe(0);
    using disk = unlinkedDisk(directory.path)!;
    // Links are made within it, not into it.
    expect(sealedBytesFor(place.path, join(disk.path, 'backup'), undefined, 2)).toBe(bytes);
    expect(readdirSync(disk.path)).toEqual([]);
    expect(readdirSync(directory.path)).toEqual(['bound']);
  },
);

test('A restore with --force sets the files of the former sealed markets aside, and refuses a backup with a damaged one.', async () => {
  using place = await archiveOf(generatedRecording(2));
  using directory = temporaryDirectory();
  const check = async () => undefined;
  sealAll(place.archive);
  const backup = join(directory.path, 'backup');
  await backUp(place.path, backup, () => NOW_MS, { force: false, check });
  const target = join(directory.path, 'target');
  await restore(backup, target, { force: false, check });
  const { keptAs } = await restore(backup, target, { force: true, check });
  expect(keptAs.some((path) => path.endsWith('bookreel.db.before-restore-1'))).toBe(true);
  expect(filesIn(target).length).toBeGreaterThan(0);
  expect(readdirSync(join(target, `${BOOKS}.before-restore-1`)).length).toBeGreaterThan(0);
  const [path] = filesIn(backup);
  flipByte(join(backup, BOOKS, path!));
  await expect(restore(backup, join(directory.path, 'other'), { force: false, check })).rejects.toThrow(
    'is damaged: restore an earlier backup',
  );
  expect(existsSync(join(directory.path, 'other'))).toBe(false);
  renameSync(join(backup, BOOKS, path!), join(backup, BOOKS, `${path}.away`));
  await expect(restore(backup, join(directory.path, 'other'), { force: false, check })).rejects.toThrow('is missing');
});

test('A backup is complete when markets are deleted while it is written.', async () => {
  using place = await archiveOf(
    [1, 2, 3, 4].flatMap((n) => [
      sampleMarket({ conditionId: `0x${n}`, slug: `m-${n}` }),
      sampleSnapshot({ conditionId: `0x${n}` }),
    ]),
  );
  const { archive, path } = place;
  sealAll(archive);
  using directory = temporaryDirectory();
  const backup = join(directory.path, 'backup');
  const { copyInto } = Database.prototype;
  let copies = 0;
  // After the databases are copied, and before the files of sealed markets are.
  const spy = spyOn(Database.prototype, 'copyInto').mockImplementation(function (this: Database, ...given) {
    copyInto.apply(this, given);
    if (this.file !== RECORDINGS) return;
    copies += 1;
    const marketKeys = [archive.markets.findByConditionId(`0x${copies}`)!.key];
    for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys }).run());
  });
  try {
    const { sealed } = await backUp(path, backup, () => NOW_MS, { force: false, check: async () => undefined });
    // The file of the second one was there when it was deleted.
    expect([copies, sealed.files, sealed.newFiles]).toEqual([2, 3, 3]);
  } finally {
    spy.mockRestore();
  }
  expect(filesIn(path).map(conditionIdIn).sort()).toEqual(['0x3', '0x4']);
  expect(filesIn(backup).map(conditionIdIn).sort()).toEqual(['0x2', '0x3', '0x4']);
  expandInPlace(backup);
  const { problems } = await verifyDirectory(backup, { clock: () => NOW_MS });
  expect(problems.filter(({ kind }) => kind === 'sealed' || kind === 'database')).toEqual([]);
  rmSync(join(path, BOOKS, filesIn(path)[0]!));
  const again = backUp(path, join(directory.path, 'again'), () => NOW_MS, {
    force: false,
    check: async () => undefined,
  });
  await expect(again).rejects.toThrow('is missing: restore it from a backup, or delete its market');
});

function conditionIdIn(path: string): string {
  return path.slice('2026-04-16/'.length, path.indexOf('-', '2026-04-16/'.length));
}

/** The files below books/, as the catalog names them. */
function filesIn(directory: string): string[] {
  const folder = join(directory, BOOKS);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((day) => readdirSync(join(folder, day)).map((name) => join(day, name)));
}

/** A new file: links to the former one keep their bytes. */
function flipByte(path: string): void {
  using file = new Sqlite(path, { readonly: true });
  const { payload } = file
    .query<{ payload: Uint8Array }, []>('SELECT payload FROM segments ORDER BY LENGTH(payload) DESC')
    .get()!;
  const bytes = readFileSync(path);
  const at = bytes.indexOf(payload) + payload.length - 1;
  bytes[at] = bytes[at]! ^ 1;
  rmSync(path);
  writeFileSync(path, bytes);
}
