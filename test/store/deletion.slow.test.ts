import { describe, expect, test } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Importer } from '../../src/import/importer.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { LOG_PAGES } from '../../src/store/database.ts';
import {
  BRIEF_STEP,
  type CoinDeletion,
  Deletion,
  type DeletionFilter,
  type DeletionTotals,
} from '../../src/store/deletion.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported, linesOfNdjson } from '../export/exported.ts';
import {
  expectedExport,
  generatedRecording,
  type Line,
  type MarketLine,
  timesOf,
} from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Deleted, recordingWithout } from '../support/recording-without.ts';
import { sampleCoinPrice, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const SEEDS = 8;
const NOTHING: DeletionTotals = { markets: 0, records: 0, coinPrices: 0, bytes: 0 };
const ANYTHING: DeletionFilter = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };

/** Deletes to the end, and returns the totals. */
function deleteAll(archive: Archive, filter: Partial<DeletionFilter> = {}): DeletionTotals {
  return [...new Deletion(archive, { ...ANYTHING, ...filter }).run()].at(-1) ?? NOTHING;
}

function keysOf(archive: Archive, conditionIds: readonly string[] | undefined): number[] | undefined {
  return conditionIds?.map((id) => archive.markets.findByConditionId(id)!.key).sort((a, b) => a - b);
}

function sumOf(coins: readonly CoinDeletion[]): DeletionTotals {
  const sum = (field: keyof DeletionTotals) => coins.reduce((total, coin) => total + coin[field], 0);
  return { markets: sum('markets'), records: sum('records'), coinPrices: sum('coinPrices'), bytes: sum('bytes') };
}

/** A recording of which some markets are simulated, and a selection of it. */
function anyDeletion(seed: number): { readonly lines: readonly Line[]; readonly deleted: Deleted } {
  const random = randomsOf(seed);
  const lines = generatedRecording(seed).map(
    (line): Line => (line.type === 'market' && random() < 0.4 ? { ...line, slug: `simulated-${line.slug}` } : line),
  );
  const markets = lines.filter((line): line is MarketLine => line.type === 'market');
  const sometimes = <T>(value: T) => (random() < 0.5 ? value : undefined);
  const [first] = lines.flatMap(timesOf);
  const ends = markets.map(({ endTime }) => Date.parse(endTime));
  const instants = [...ends, ...ends.map((ms) => ms - 1), first ?? 0, (first ?? 0) + 20_000];
  return {
    lines,
    deleted: {
      conditionIds: random() < 0.3 ? markets.filter(() => random() < 0.5).map((one) => one.conditionId) : undefined,
      coins: sometimes(['btc', 'sol']),
      sources: random() < 0.4 ? [['simulated'], ['chainlink'], ['a, "b"', 'simulated']][seed % 3] : undefined,
      beforeMs: sometimes(instants[Math.floor(random() * instants.length)]),
    },
  };
}

describe('a deletion', () => {
  test('of the last market does not give its key to the next one, also after another deletion', async () => {
    using place = temporaryArchive();
    const keys: number[] = [];
    for (const conditionId of [1, 2, 1, 2]) {
      await importRecords(place.archive, [sampleMarket({ conditionId: `0x${conditionId}` })]);
      keys.push(place.archive.markets.findByConditionId(`0x${conditionId}`)!.key);
      if (conditionId === 2) deleteAll(place.archive, ANYTHING);
    }
    expect(keys).toEqual([1, 2, 3, 4]);
  });

  test('A deletion by --before, --source or as simulated removes whole markets, and leaves the archive as if it never had them.', async () => {
    let effective = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { lines, deleted } = anyDeletion(seed);
      const kept = recordingWithout(lines, deleted);
      using place = temporaryArchive();
      using never = temporaryArchive();
      await importRecords(place.archive, lines);
      await importRecords(never.archive, kept);
      const { conditionIds, ...others } = deleted;
      const filter = { ...ANYTHING, ...others, marketKeys: keysOf(place.archive, conditionIds) };
      const counted = new Deletion(place.archive, filter).count();
      place.archive.database.checkpoint();
      const before = statSync(place.archive.database.path).size;
      const done = deleteAll(place.archive, filter);
      place.archive.database.checkpoint();
      const { bytes } = await exported(place.archive, 'ndjson');
      expect(bytes.equals((await exported(never.archive, 'ndjson')).bytes)).toBe(true);
      expect(linesOfNdjson(bytes)).toEqual(expectedExport(kept));
      const gone = lines.filter((line) => !kept.includes(line));
      const goneOf = (...types: Line['type'][]) => gone.filter(({ type }) => types.includes(type)).length;
      expect(done).toEqual({
        markets: goneOf('market'),
        records: goneOf('snapshot', 'quote', 'price', 'lastTradePrice', 'gap'),
        coinPrices: goneOf('coinPrice'),
        bytes: expect.any(Number),
      });
      expect(sumOf(counted.coins)).toEqual(done);
      expect(counted.isEverything).toBe(kept.length === 0 || (!kept.some(isMarket) && gone.some(isMarket)));
      expect(place.archive.database.pageBytes().free).toBe(0);
      expect(statSync(place.archive.database.path).size).toBeLessThanOrEqual(before);
      if (gone.length > 0) effective += 1;
      expect(await problemsOf(place)).toEqual(await problemsOf(never));
    }
    expect(effective).toBeGreaterThan(SEEDS / 3);
  });

  test('Ids of deleted records are never given again, not even to the same records.', async () => {
    using place = temporaryArchive();
    const records = [sampleMarket(), sampleSnapshot({ id: '7' })];
    await importRecords(place.archive, records);
    const before = place.archive.markets.findBySlug(sampleMarket().slug)!;
    expect(deleteAll(place.archive)).toMatchObject({ markets: 1, records: 1 });
    expect(place.archive.markets.byKey(before.key)).toBeUndefined();
    expect((await importRecords(place.archive, records)).total).toMatchObject({ stored: 2, duplicate: 0 });
    const after = place.archive.markets.findBySlug(sampleMarket().slug)!;
    expect(after.key).not.toBe(before.key);
    expect(after.revision).not.toBe(before.revision);
    const { bytes } = await exported(place.archive, 'ndjson');
    expect(linesOfNdjson(bytes).at(-1)).toEqual({ ...sampleSnapshot({ id: '8' }), mirrored: undefined });
  });

  test('delete --before keeps the prices that a later market of the coin needs, and the last price before that instant.', async () => {
    using place = temporaryArchive();
    const priceAt = (timestamp: string, symbol = 'btc') => sampleCoinPrice({ symbol, timestamp });
    await importRecords(place.archive, [
      // 07:10 to 07:15
      sampleMarket(),
      ...['07:09:58', '07:09:59', '07:10:00', '07:12:00'].map((time) => priceAt(`2026-04-16T${time}.000Z`)),
      ...['07:09:58', '07:11:00', '07:11:59', '07:13:00'].map((time) => priceAt(`2026-04-16T${time}.000Z`, 'eth')),
    ]);
    const beforeMs = Date.parse('2026-04-16T07:12:30.000Z');
    expect(deleteAll(place.archive, { beforeMs })).toMatchObject({ markets: 0, coinPrices: 4 });
    const { bytes } = await exported(place.archive, 'ndjson');
    expect(bytes.toString().match(/\d\d:\d\d:\d\d(?=\.000Z","price)/g)).toEqual([
      '07:10:00',
      '07:12:00',
      '07:11:59',
      '07:13:00',
    ]);
    const endMs = Date.parse('2026-04-16T07:15:00.000Z');
    expect(deleteAll(place.archive, { beforeMs: endMs - 1 })).toMatchObject({ markets: 0 });
    expect(deleteAll(place.archive, { beforeMs: endMs })).toMatchObject({ markets: 1 });
  });

  test('takes many transactions for many markets, each with whole markets, and others write between them', () => {
    using place = temporaryArchive();
    const { markets, database } = place.archive;
    using other = openArchive(place.path, NOW_MS, { create: false }).database;
    const count = other.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM markets');
    database.write(() => {
      for (let number = 1; number <= 250; number += 1) markets.put(marketStatement(number), NOW_MS);
    });
    const left: number[] = [];
    const deletion = new Deletion(place.archive, { ...ANYTHING, coins: ['btc'] });
    for (const { markets: deleted } of deletion.run(BRIEF_STEP)) {
      left.push(250 - deleted);
      expect(other.write(() => count.get()!.n)).toBe(250 - deleted);
    }
    expect(left).toEqual([150, 50, 0]);
  });

  test.each(['ends', 'is stopped'])(
    'A deletion keeps what would undo a statement in memory, and has a longer log, until it %s.',
    (how) => {
      using place = temporaryArchive();
      const { markets, database } = place.archive;
      database.write(() => {
        for (let number = 1; number <= 250; number += 1) markets.put(marketStatement(number), NOW_MS);
      });
      const [inFile, inMemory] = [0, 2];
      const settings = () =>
        ['temp_store', 'wal_autocheckpoint'].flatMap((name) => database.query(`PRAGMA ${name}`).values()[0]!);
      expect(settings()).toEqual([inFile, LOG_PAGES]);
      for (const _ of new Deletion(place.archive, ANYTHING).run({ ...BRIEF_STEP, logPages: 77 })) {
        expect(settings()).toEqual([inMemory, 77]);
        if (how === 'is stopped') break;
      }
      expect(settings()).toEqual([inFile, LOG_PAGES]);
    },
  );

  test('A database file of version 0.2.0 is rebuilt after its first deletion if the disk has room for it.', async () => {
    using directory = temporaryDirectory();
    const released = join(import.meta.dir, '../../fixtures/released/0.2.0/bookreel.db.zst');
    writeFileSync(join(directory.path, 'bookreel.db'), Bun.zstdDecompressSync(readFileSync(released)), { mode: 0o600 });
    const archive = openArchive(directory.path, NOW_MS, { create: false });
    using reader = openArchive(directory.path, NOW_MS, { create: false }).database;
    using database = archive.database;
    await importRecords(archive, generatedRecording(2));
    const deletion = new Deletion(archive, { ...ANYTHING, coins: archive.recordedCoins.symbols() });
    [...deletion.run()];
    expect(deletion.givesBack).toBe(false);
    expect(database.pageBytes().free).toBeGreaterThan(0);
    database.rebuild();
    expect(database.pageBytes().free).toBe(0);
    expect(reader.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM markets').get()!.n).toBe(0);
    await importRecords(archive, generatedRecording(2));
    const again = new Deletion(archive, ANYTHING);
    [...again.run()];
    expect(again.givesBack).toBe(true);
    expect(database.pageBytes().free).toBe(0);
  });
});

describe('an import of a market that is deleted meanwhile', () => {
  test('An import rejects the remaining records of a market that is deleted meanwhile, and does not store the market again.', async () => {
    using place = temporaryArchive();
    using files = temporaryDirectory();
    await importRecords(place.archive, [sampleMarket()]);
    const other = { ...sampleMarket(), conditionId: `0x${'cd'.repeat(32)}`, slug: 'btc-updown-5m-1776323700' };
    const lines = [
      sampleSnapshot(),
      sampleGap(),
      {
        ...other,
        startTime: '2026-04-16T07:15:00.000Z',
        endTime: '2026-04-16T07:20:00.000Z',
        clobTokenIds: ['1', '2'],
      },
      sampleSnapshot({ conditionId: other.conditionId, timestamp: '2026-04-16T07:16:00.000Z' }),
    ];
    const path = join(files.path, 'records.ndjson');
    writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
    const marketKeys = keysOf(place.archive, [sampleMarket().conditionId]);
    const deleteOnce = () => void deleteAll(place.archive, { marketKeys });
    const importer = new Importer(place.archive, { clock: () => NOW_MS, beforeBatch: deleteOnce });
    const { total, rejections } = await importer.run(sourcesOf([path]));
    expect(total).toMatchObject({ read: 4, stored: 2, duplicate: 0, rejected: 2 });
    const reason = `market ${sampleMarket().conditionId} was deleted during the import: import the file again`;
    expect(rejections.map((rejection) => rejection.reason)).toEqual([reason, reason]);
    const { bytes } = await exported(place.archive, 'ndjson');
    expect(linesOfNdjson(bytes)).toHaveLength(2);
  });
});

/** Random recordings have some: their mirrored books are not mirrors. */
async function problemsOf({ path }: { readonly path: string }): Promise<string[]> {
  const { problems } = await verifyDirectory(path, { clock: () => NOW_MS });
  return problems.map(({ kind, what, slug, outcome }) => [kind, what, slug, outcome].join()).sort();
}

function isMarket({ type }: Line): boolean {
  return type === 'market';
}
