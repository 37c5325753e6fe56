import { expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CatalogRows, SCHEMA } from '../../src/store/catalog.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { Deletion } from '../../src/store/deletion.ts';
import { schemaDifference } from '../../src/store/schema-difference.ts';
import { importRecords } from '../support/archive.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { catalogRows, PublishedPlace } from '../support/published.ts';
import { randomsOf } from '../support/random-books.ts';
import { sampleCoinPrice, sampleGap } from '../support/sample-records.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const SEEDS = Number(process.env.SEEDS ?? 6);
const ANYTHING = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };

async function change(place: PublishedPlace, random: () => number): Promise<void> {
  const { archive } = place.held;
  const [from, count] = [Math.floor(random() * 20), 1 + Math.floor(random() * 4)];
  const action = random();
  if (action < 0.45) await importRecords(archive, marketsOfBooks(from, count, 1 + Math.floor(random() * 30)));
  else if (action < 0.6) sealAll(archive);
  else if (action < 0.7) {
    const [market] = marketsOfBooks(from, 1, 0) as { conditionId: string; startTime: string; endTime: string }[];
    const known = archive.markets.findByConditionId(market!.conditionId);
    if (known === undefined) return;
    await importRecords(archive, [
      sampleGap({ conditionId: known.conditionId, from: market!.startTime, to: market!.endTime }),
    ]);
  } else if (action < 0.8) await importRecords(archive, [sampleCoinPrice({ source: `s${Math.floor(random() * 3)}` })]);
  else {
    const some = archive.database.read(() => [
      ...archive.markets.filtered('btc', {
        timeframe: undefined,
        recorded: undefined,
        closed: undefined,
        fromMs: 0,
        toMs: Infinity,
      }),
    ]);
    const marketKeys = some
      .filter(() => random() < 0.3)
      .map(({ key }) => key)
      .sort((a, b) => a - b);
    const filter = random() < 0.2 ? { sources: ['s0', 's1', 's2'] } : { marketKeys };
    for (const _ of new Deletion(archive, { ...ANYTHING, ...filter }).run());
  }
}

test.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
  'a follower has the rows of home after any imports, seals and deletions (%d)',
  async (seed) => {
    await using place = await PublishedPlace.open();
    const random = randomsOf(seed);
    await importRecords(place.held.archive, marketsOfBooks(0, 5, 10));
    await place.publish();
    using early = await place.follower();
    for (let round = 0; round < 6; round += 1) {
      for (let changes = random() * 4; changes > 0; changes -= 1) await change(place, random);
      await place.publish();
      using late = await place.follower();
      await early.poll(true);
      const expected = catalogRows(place.held.archive.database);
      for (const follower of [early, late]) {
        expect(follower.fault).toBeUndefined();
        expect(catalogRows(follower.replica.database)).toEqual(expected);
        expect(follower.archiveId).toBe(place.held.archive.archiveId);
      }
      const names = sealedMarkets(place.held.archive).map(
        ({ digest }) => `a/books/${Buffer.from(digest).toString('hex')}.db`,
      );
      expect(place.server.names('a/books/')).toEqual(expect.arrayContaining(names));
      expect(schemaDifference(late.replica.database)).toBeUndefined();
    }
    expect(place.lines).toEqual([]);
  },
);

test('an archive that is not published notes no changes', async () => {
  await using place = await PublishedPlace.open();
  const { archive } = place.held;
  await importRecords(archive, marketsOfBooks(0, 3, 10));
  sealAll(archive);
  const noted = () => archive.database.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM changed_markets').get()!.n;
  expect(noted()).toBe(0);
  await place.publish();
  expect(noted()).toBe(0);
  await importRecords(archive, marketsOfBooks(1, 1, 20));
  expect(noted()).toBe(1);
});

test('the version of the rows in a catalog is that of the schema', () => {
  expect<number>(SCHEMA).toBe(RECORDINGS.version);
});

test('A node whose bucket has another catalog, which was begun anew with lower numbers, takes its rows and follows it.', async () => {
  await using place = await PublishedPlace.open();
  const { archive } = place.held;
  await importRecords(archive, marketsOfBooks(0, 4, 5));
  await place.publish();
  for (let more = 6; more < 9; more += 1) {
    await importRecords(archive, marketsOfBooks(0, 2, more));
    await place.publish();
  }
  const directory = place.newDirectory();
  const before = await place.follower(directory);
  expect(before.number).toBeGreaterThan(2);
  before[Symbol.dispose]();
  place.server.objects.clear();
  const [{ key }] = archive.database.query<{ key: number }, []>('SELECT MIN(market_key) AS key FROM markets').all() as [
    { key: number },
  ];
  for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys: [key] }).run());
  await place.publish();
  using after = await place.follower(directory);
  expect([after.number, after.fault]).toEqual([0, undefined]);
  expect(catalogRows(after.replica.database)).toEqual(catalogRows(archive.database));
  await importRecords(archive, marketsOfBooks(2, 1, 9));
  await place.publish();
  await after.poll(false);
  expect([after.number, after.fault]).toEqual([1, undefined]);
  expect(catalogRows(after.replica.database)).toEqual(catalogRows(archive.database));
});

test('The series of a coin may have the id of a series whose market is deleted by a later object.', async () => {
  await using place = await PublishedPlace.open();
  await importRecords(place.held.archive, marketsOfBooks(0, 2, 5));
  await place.publish();
  using node = await place.follower();
  const { replica } = node;
  const series = replica.database.read(() => replica.database.query('SELECT * FROM series LIMIT 1').values())[0]!;
  const rows = new CatalogRows(replica.database).archive();
  const ofCoin = [series[0], 'coin-price', null, null, 'btc', 'chainlink', null] as never;
  replica.apply({ archive: rows.map((each, index) => (index === 2 ? [ofCoin] : each)), markets: [] });
  const left = replica.database.read(() =>
    replica.database.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM markets').get(),
  );
  expect(left).toEqual({ n: 1 });
});

test('A first publication ends with a signal, and the next one goes on without waiting.', async () => {
  await using place = await PublishedPlace.open();
  await importRecords(place.held.archive, marketsOfBooks(0, 4, 5));
  const end = new AbortController();
  place.server.fault = ({ method }) => {
    if (method === 'PUT') end.abort();
    return undefined;
  };
  await expect(place.publisher({ signal: end.signal })).rejects.toThrow();
  await using publisher = await place.publisher();
  await publisher.publish();
  using node = await place.follower();
  expect(catalogRows(node.replica.database)).toEqual(catalogRows(place.held.archive.database));
});

test('A first publication uploads 16 files at the same time, and writes its checkpoint after all of them.', async () => {
  await using place = await PublishedPlace.open();
  const { held, server } = place;
  await importRecords(held.archive, marketsOfBooks(0, 40, 3));
  expect(sealAll(held.archive)).toBe(40);
  const asked = new Set<string>();
  let isHanging = true;
  server.fault = ({ method, name }) => {
    if (method !== 'PUT' || !name.startsWith('a/books/')) return undefined;
    asked.add(name);
    return isHanging ? 'hang' : undefined;
  };
  const opening = place.publisher({ bucket: place.bucket('a', { pauseMs: 1, answerMs: 1000 }) });
  while (asked.size < 16) await Bun.sleep(5);
  await Bun.sleep(200);
  expect(asked.size).toBe(16);
  isHanging = false;
  await using _ = await opening;
  expect(server.names('a/books/')).toHaveLength(40);
  const names = server.requests.flatMap(({ method, name }) => (method === 'PUT' ? [name] : []));
  const firstPart = names.findIndex((name) => name.startsWith('a/parts/'));
  expect(firstPart).toBeGreaterThan(names.findLastIndex((name) => name.startsWith('a/books/')));
  using node = await place.follower();
  expect(catalogRows(node.replica.database)).toEqual(catalogRows(held.archive.database));
});

test.each<[string, number, number]>([
  ['its header', 0, 100],
  ['the number of its program', 68, 4],
  ['the version of its schema', 60, 4],
  ['its schema', 100, 4000],
  ['all but its first page', 8192, Number.POSITIVE_INFINITY],
])(
  'A follower deletes a replica that is damaged in %s, and makes it again; an archive stays.',
  async (_, at, length) => {
    await using place = await PublishedPlace.open();
    await importRecords(place.held.archive, marketsOfBooks(0, 30, 5));
    await place.publish();
    const directory = place.newDirectory();
    (await place.follower(directory))[Symbol.dispose]();
    const path = join(directory, 'bookreel.db');
    const whole = readFileSync(path);
    const damaged = Buffer.from(whole);
    for (let i = at; i < Math.min(at + length, damaged.length); i += 1) damaged[i]! ^= 0xff;
    writeFileSync(path, damaged);
    {
      using follower = await place.follower(directory);
      expect(place.lines).toEqual([`'${path}' is damaged: it is deleted, and made again from a checkpoint`]);
      expect(follower.fault).toBeUndefined();
      expect(catalogRows(follower.replica.database)).toEqual(catalogRows(place.held.archive.database));
    }
    rmSync(`${path}.replica`);
    writeFileSync(path, damaged);
    await expect(place.follower(directory)).rejects.toThrow(path);
    expect(readFileSync(path).equals(damaged)).toBe(true);
  },
);
