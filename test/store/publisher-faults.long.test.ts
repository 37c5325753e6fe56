import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { identifyAnew, openArchive } from '../../src/store/archive.ts';
import { checkpointOf, downloadCheckpoint } from '../../src/store/catalog-checkpoints.ts';
import { verifyPublication } from '../../src/store/catalog-upkeep.ts';
import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { Deletion } from '../../src/store/deletion.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import type { BucketFault, BucketRequest } from '../support/bucket-server.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { catalogRows, PublishedPlace, TIMES } from '../support/published.ts';
import { randomsOf } from '../support/random-books.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const ANYTHING = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };

/** A published archive of sealed markets. */
async function publishedPlace(): Promise<PublishedPlace> {
  const place = await PublishedPlace.open();
  await importRecords(place.held.archive, marketsOfBooks(0, 6, 20));
  sealAll(place.held.archive);
  await place.publish();
  return place;
}

async function expectSame(place: PublishedPlace, archive = place.held.archive): Promise<void> {
  using follower = await place.follower();
  expect(follower.fault).toBeUndefined();
  expect(catalogRows(follower.replica.database)).toEqual(catalogRows(archive.database));
  expect(follower.archiveId).toBe(archive.archiveId);
  const { problems } = await verifyPublication(place.bucket(), place.newDirectory(), true);
  expect(problems).toEqual([]);
}

const catalogOf = ({ server }: PublishedPlace) => server.names('a/catalog/').map((name) => Number(name.slice(-12)));

describe('a publisher', () => {
  test('ends at any request, and the next one goes on: no object is written twice, and none is missing', async () => {
    await using place = await PublishedPlace.open();
    await importRecords(place.held.archive, marketsOfBooks(0, 3, 10));
    sealAll(place.held.archive);
    const faults: readonly BucketFault[] = ['drop', 'lose', { status: 403, code: 'AccessDenied' }];
    for (let round = 0; round < 12; round += 1) {
      const before = new Map([...place.server.objects].map(([name, { bytes }]) => [name, bytes]));
      let requests = 0;
      place.server.fault = () => {
        requests += 1;
        return requests > 3 + round * 3 ? faults[round % 3] : undefined;
      };
      await place.publish({ bucket: place.bucket('a', { ...TIMES, tries: 1 }) }).catch(() => undefined);
      place.server.fault = () => undefined;
      for (const [name, bytes] of before) {
        if (name.includes('/catalog/')) expect(place.server.objects.get(name)!.bytes).toBe(bytes);
      }
      if (round % 4 === 3) {
        await place.publish();
        await expectSame(place);
        await importRecords(place.held.archive, marketsOfBooks(round, 2, 10 + round));
        if (round % 2 === 1) sealAll(place.held.archive);
      }
    }
    await place.publish();
    await expectSame(place);
  });

  test('does not write twice when the answer to a write is lost', async () => {
    await using place = await publishedPlace();
    await importRecords(place.held.archive, marketsOfBooks(6, 1, 20));
    let lost = 0;
    place.server.fault = ({ method, name }: BucketRequest) => {
      if (method !== 'PUT' || !name.startsWith('a/catalog/') || lost > 0) return undefined;
      lost += 1;
      return 'lose';
    };
    await place.publish();
    expect(lost).toBe(1);
    expect(catalogOf(place)).toEqual([1]);
    await expectSame(place);
  });

  test('is the only one: a second one is refused, and one that lost its lease writes nothing', async () => {
    await using place = await publishedPlace();
    let nowMs = NOW_MS;
    await using first = await place.publisher({ clock: () => nowMs, bucket: place.bucket() });
    await expect(place.publisher()).rejects.toThrow(
      /^another process publishes to 's3:\/\/books\/a': run this again when it is done; one that was killed is forgotten after 120 s$/,
    );
    place.server.objects.get('a/publisher.json')!.modifiedMs = 0;
    await using second = await place.publisher();
    await importRecords(place.held.archive, marketsOfBooks(6, 1, 20));
    nowMs += 60_000;
    await expect(first.publish()).rejects.toThrow(/^another process publishes/);
    expect(catalogOf(place)).toEqual([]);
    await second.publish();
    expect(catalogOf(place)).toEqual([1]);
    await expectSame(place);
  });

  test('does not write over an object of another publisher without a lease', async () => {
    await using place = await publishedPlace();
    await using publisher = await place.publisher();
    await importRecords(place.held.archive, marketsOfBooks(6, 1, 20));
    const foreign = Buffer.from('other');
    place.server.objects.set('a/catalog/000000000001', { bytes: foreign, modifiedMs: Date.now() });
    await expect(publisher.publish()).rejects.toThrow(/another process publishes to/);
    expect(place.server.objects.get('a/catalog/000000000001')!.bytes).toBe(foreign);
  });

  test('goes on from a standby that is behind, and after a restore with --take-over', async () => {
    await using place = await publishedPlace();
    const standby = join(place.newDirectory(), 'data');
    cpSync(place.data, standby, { recursive: true });
    await importRecords(place.held.archive, marketsOfBooks(6, 3, 20));
    sealAll(place.held.archive);
    await place.publish();
    for (const isReplicaLost of [false, true]) {
      if (isReplicaLost)
        for (const name of readdirSync(standby)) if (name.startsWith('published.db')) rmSync(join(standby, name));
      using database = openStandby(standby);
      await importRecords(database.archive, marketsOfBooks(0, 2, 25 + Number(isReplicaLost)));
      await place.publish({ directory: standby });
      await expectSame(place, database.archive);
    }
    identifyAnew(standby);
    rmSync(join(standby, 'published.db'));
    await expect(place.publish({ directory: standby })).rejects.toThrow(
      /has the catalog of another archive: name another folder, or go on with that catalog by --take-over/,
    );
    expect(existsSync(join(standby, 'published.db'))).toBe(false);
    await place.publish({ directory: standby, takesOver: true });
    using database = openStandby(standby);
    // The home of before comes back.
    await expect(place.publish()).rejects.toThrow(/has the catalog of another archive/);
    await expectSame(place, database.archive);
    await place.publish({ directory: standby });
  });

  test('publishes a market whose file is damaged as if it was not sealed, and names the file', async () => {
    await using place = await PublishedPlace.open();
    const { archive } = place.held;
    await importRecords(archive, marketsOfBooks(0, 2, 20));
    sealAll(archive);
    const [market] = sealedMarkets(archive);
    const file = archive.sealed.placeOf(market!);
    renameSync(file, `${file}.away`);
    await place.publish();
    expect(place.lines).toEqual([
      expect.stringMatching(/^'.*' is missing or damaged, and is not published: restore it/),
    ]);
    using follower = await place.follower();
    expect(catalogRows(follower.replica.database).sealed_markets).toHaveLength(1);
    renameSync(`${file}.away`, file);
    await place.publish();
    await expectSame(place);
  });

  test('writes again what is missing in the bucket', async () => {
    await using place = await publishedPlace();
    const [name] = place.server.names('a/books/');
    place.server.objects.delete(name!);
    const { problems } = await verifyPublication(place.bucket(), place.newDirectory(), false);
    expect(problems).toEqual([
      expect.stringMatching(
        /^'books\/[0-9a-f]{64}.db' is missing or has another size: it is '.*': 'bookreel publish now' writes it$/,
      ),
    ]);
    await place.publish();
    await expectSame(place);
  });

  test('writes a checkpoint where any part of the one before is missing or damaged', async () => {
    await using place = await publishedPlace();
    for (const name of place.server.names('a/parts/')) {
      for (const bytes of [undefined, Buffer.from('damaged')]) {
        if (bytes === undefined) place.server.objects.delete(name);
        else place.server.objects.set(name, { ...place.server.objects.get(name)!, bytes });
        const { problems } = await verifyPublication(place.bucket(), place.newDirectory(), false);
        expect(problems).toEqual([expect.stringContaining(name.slice('a/'.length))]);
        await using publisher = await place.publisher();
        await publisher.publish();
        if (bytes !== undefined) await publisher.writeCheckpoint();
        await expectSame(place);
      }
    }
  });

  test('deletes a file when no market has had it for a day', async () => {
    await using place = await publishedPlace();
    let nowMs = NOW_MS;
    const { archive } = place.held;
    for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys: [archive.markets.afterKey(0)!.key] }).run());
    const pruned = async () => {
      await using publisher = await place.publisher({ clock: () => nowMs });
      await publisher.publish();
      return await publisher.prune();
    };
    const nothing = { files: 0, waitingFiles: 0, objects: 0, checkpoints: 0, parts: 0 };
    expect(await pruned()).toEqual({ ...nothing, waitingFiles: 1 });
    nowMs += 86_399_000;
    expect(await pruned()).toEqual({ ...nothing, waitingFiles: 1 });
    expect(place.server.names('a/books/')).toHaveLength(6);
    nowMs += 2000;
    expect(await pruned()).toEqual({ ...nothing, files: 1 });
    expect(place.server.names('a/books/')).toHaveLength(5);
    await expectSame(place);
  });

  test('keeps the last two checkpoints, and the objects that nodes need after them', async () => {
    await using place = await publishedPlace();
    for (let step = 0; step < 4; step += 1) {
      await importRecords(place.held.archive, marketsOfBooks(10 + step, 1, 5));
      await using publisher = await place.publisher();
      await publisher.publish();
      if (step % 2 === 1) await publisher.writeCheckpoint();
    }
    using early = await place.follower();
    await using publisher = await place.publisher();
    const { objects, checkpoints } = await publisher.prune();
    expect({ objects, checkpoints, left: catalogOf(place) }).toEqual({ objects: 1, checkpoints: 1, left: [2, 3, 4] });
    await early.poll(true);
    expect(early.fault).toBeUndefined();
    await expectSame(place);
  });

  test('keeps the parts of its checkpoint where lists do not have the checkpoint yet', async () => {
    await using place = await publishedPlace();
    await using publisher = await place.publisher();
    await importRecords(place.held.archive, marketsOfBooks(6, 1, 20));
    await publisher.publish();
    place.server.isListed = (name) => name !== 'a/checkpoints/000000000001.json';
    await publisher.writeCheckpoint();
    expect((await publisher.prune()).parts).toBe(0);
    place.server.isListed = () => true;
    await expectSame(place);
  });

  test('writes a checkpoint of one object while it publishes others', async () => {
    await using place = await publishedPlace();
    await using publisher = await place.publisher({ bucket: place.bucket('a', { ...TIMES, tries: 30 }) });
    let isHeld = true;
    place.server.fault = ({ method, name }) => {
      // The first part is asked for again until other objects are written.
      const fails = isHeld && method === 'PUT' && name.startsWith('a/parts/');
      return fails ? { status: 503, code: 'SlowDown' } : undefined;
    };
    await importRecords(place.held.archive, marketsOfBooks(0, 6, 30));
    const expected = catalogRows(publisher.replica.database);
    const writing = publisher.writeCheckpoint();
    for (let step = 0; step < 3; step += 1) {
      await publisher.publish();
      await importRecords(place.held.archive, marketsOfBooks(0, 6, 40 + step));
    }
    isHeld = false;
    await writing;
    const found = await checkpointOf(place.bucket(), 0);
    const path = join(place.newDirectory(), 'checkpoint.db');
    await downloadCheckpoint(place.bucket(), found!, path);
    using database = Database.openToRead(path, RECORDINGS);
    expect(catalogRows(database)).toEqual(expected);
    await publisher.publish();
    await expectSame(place);
  });

  test('that follows publishes what changes, through failures of the storage, until its signal', async () => {
    await using place = await publishedPlace();
    const { archive } = place.held;
    using follower = await place.follower();
    const end = new AbortController();
    const following = follower.follow(end.signal);
    const publisher = await place.publisher();
    const publishing = publisher.follow(end.signal, 100);
    const random = randomsOf(1);
    place.server.fault = () => (random() < 0.1 ? 'drop' : undefined);
    const settled = async () => {
      const expected = JSON.stringify(catalogRows(archive.database));
      while (JSON.stringify(catalogRows(follower.replica.database)) !== expected) await Bun.sleep(20);
    };
    await importRecords(archive, marketsOfBooks(4, 4, 30));
    await settled();
    sealAll(archive);
    await settled();
    for (const _ of new Deletion(archive, { ...ANYTHING, marketKeys: [archive.markets.afterKey(0)!.key] }).run());
    await settled();
    place.server.fault = () => undefined;
    end.abort();
    await Promise.all([following, publishing]);
    await publisher[Symbol.asyncDispose]();
    await expectSame(place);
  });
});

function openStandby(directory: string) {
  const archive = openArchive(directory, NOW_MS, { create: false });
  return { archive, [Symbol.dispose]: () => archive.database.close() };
}

describe('a follower', () => {
  test.each(['flipped', 'cut', 'missing', 'later', 'of another catalog'] as const)(
    'stays at its state before an object that is %s, and goes on with the next checkpoint',
    async (damage) => {
      await using place = await publishedPlace();
      using follower = await place.follower();
      const before = catalogRows(follower.replica.database);
      for (let number = 1; number <= 3; number += 1) {
        await importRecords(place.held.archive, marketsOfBooks(5 + number, 1, 20));
        await place.publish();
      }
      const name = 'a/catalog/000000000001';
      const object = place.server.objects.get(name)!;
      const whole = object.bytes;
      if (damage === 'missing') place.server.objects.delete(name);
      else if (damage === 'cut') object.bytes = whole.subarray(0, -1);
      else if (damage === 'later') object.bytes = place.server.objects.get('a/catalog/000000000002')!.bytes;
      else if (damage === 'of another catalog') {
        const other = { bucket: place.bucket('b') };
        await place.publish(other);
        await importRecords(place.held.archive, marketsOfBooks(20, 1, 20));
        await place.publish(other);
        object.bytes = place.server.objects.get('b/catalog/000000000001')!.bytes;
      } else {
        object.bytes = Buffer.from(whole);
        object.bytes[whole.length >> 1]! ^= 4;
      }
      await follower.poll(true);
      await follower.poll(true);
      expect(follower.number).toBe(0);
      expect(catalogRows(follower.replica.database)).toEqual(before);
      expect(place.lines).toHaveLength(1);
      expect(place.lines[0]).toMatch(/^the catalog is followed to object 0: .*catalog\/000000000001/);
      const { problems } = await verifyPublication(place.bucket(), place.newDirectory(), true);
      expect(problems.join()).toContain('catalog/000000000001');
      await using publisher = await place.publisher();
      await publisher.publish();
      // One that had to make published.db anew has written it already.
      if (damage !== 'of another catalog') await publisher.writeCheckpoint();
      await follower.poll(true);
      expect(follower.fault).toBeUndefined();
      expect(catalogRows(follower.replica.database)).toEqual(catalogRows(place.held.archive.database));
    },
  );

  test('uses the checkpoint before one that is damaged', async () => {
    await using place = await publishedPlace();
    await importRecords(place.held.archive, marketsOfBooks(7, 1, 20));
    await using publisher = await place.publisher();
    await publisher.publish();
    await publisher.writeCheckpoint();
    const last = place.server.objects.get('a/checkpoints/000000000001.json')!;
    const { packs } = JSON.parse(last.bytes.toString());
    const part = place.server.objects.get(`a/parts/${packs.at(-1)}`)!;
    part.bytes = part.bytes.subarray(1);
    using follower = await place.follower();
    expect(catalogRows(follower.replica.database)).toEqual(catalogRows(place.held.archive.database));
    expect(place.lines[0]).toMatch(/^the checkpoint 1 is not used: /);
  });

  test.each(['a/catalog/000000000001', 'a/parts/'] as const)(
    'fetches %s that is damaged again after pauses from 1 to 30 s, and uses it once it is whole',
    async (start) => {
      await using place = await publishedPlace();
      let nowMs = 0;
      using follower = await place.follower(undefined, () => nowMs);
      await importRecords(place.held.archive, marketsOfBooks(7, 1, 20));
      await using publisher = await place.publisher();
      await publisher.publish();
      if (start === 'a/parts/') {
        // Only the checkpoint leads on: what is damaged are its parts.
        await publisher.writeCheckpoint();
        place.server.objects.delete('a/catalog/000000000001');
      }
      place.server.fault = ({ method, name }) => (method === 'GET' && name.startsWith(start) ? 'flip' : undefined);
      const fetched: number[] = [];
      for (let second = 0; second < 100; second += 1) {
        nowMs = second * 1000;
        place.server.requests.length = 0;
        await follower.poll(true);
        if (place.server.requests.some(({ name }) => name.startsWith(start))) fetched.push(second);
      }
      expect(fetched).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
      expect(follower.isStuck).toBe(true);
      place.server.fault = () => undefined;
      nowMs = 121_000;
      await follower.poll(true);
      expect(follower.fault).toBeUndefined();
      expect(catalogRows(follower.replica.database)).toEqual(catalogRows(place.held.archive.database));
    },
  );

  test('starts without the storage if it has a replica, and goes on later', async () => {
    await using place = await publishedPlace();
    const directory = place.newDirectory();
    (await place.follower(directory))[Symbol.dispose]();
    await importRecords(place.held.archive, marketsOfBooks(7, 1, 20));
    await place.publish();
    place.server.fault = () => ({ status: 503, code: 'SlowDown' });
    using follower = await place.follower(directory);
    expect(follower.isTooFarBehind).toBe(true);
    expect(follower.fault).toContain('answers 503');
    place.server.fault = () => undefined;
    await follower.poll(true);
    expect(follower.isTooFarBehind).toBe(false);
    expect(catalogRows(follower.replica.database)).toEqual(catalogRows(place.held.archive.database));
  });

  test('refuses an archive of its own, and a bucket without a catalog', async () => {
    await using place = await PublishedPlace.open();
    await expect(place.follower()).rejects.toThrow(/^there is no catalog in 's3:\/\/books\/a'/);
    await importRecords(place.held.archive, marketsOfBooks(0, 1, 3));
    await place.publish();
    await expect(place.follower(dirname(place.held.archive.database.path))).rejects.toThrow(
      /has an archive of its own/,
    );
    using follower = await place.follower();
    const directory = dirname(follower.replica.database.path);
    await expect(place.publisher({ directory, bucket: place.bucket('b') })).rejects.toThrow(/belongs to a node/);
  });
});
