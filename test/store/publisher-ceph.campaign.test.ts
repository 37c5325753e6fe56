import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../src/domain/errors.ts';
import { openArchive } from '../../src/store/archive.ts';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { verifyPublication } from '../../src/store/catalog-upkeep.ts';
import { importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import type { BucketFault } from '../support/bucket-server.ts';
import { sized } from '../support/campaign-size.ts';
import { HAS_CEPH, startCeph } from '../support/ceph.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { catalogRows, followerOf, PublishedPlace } from '../support/published.ts';
import { randomsOf } from '../support/random-books.ts';
import { sealAll } from '../support/sealed.ts';

setDefaultTimeout(3_600_000);

const [KILLS, ROUNDS] = [Number(process.env.KILLS ?? sized(4, 12)), Number(process.env.ROUNDS ?? sized(5, 12))];
const FAULTS: readonly BucketFault[] = ['drop', 'lose', 'cut', { status: 503, code: 'SlowDown' }, 'flip'];

/** The storage of Ceph behind a proxy that fails, and archives. */
let ceph: Awaited<ReturnType<typeof startCeph>> | undefined;
let place: PublishedPlace;
beforeAll(async () => {
  place = await PublishedPlace.open();
  if (!HAS_CEPH) return;
  ceph = await startCeph();
  place.server.upstream = ceph.origin;
  const { server } = place;
  const root = new Bucket({ ...bucketAccess('s3://books', server.environment), base: `${server.origin}/` }, Date.now);
  // The bucket is made, but its answer has no tag, which the client wants of every object.
  await expect(root.put('books', Buffer.from(''))).rejects.toThrow('has no ETag');
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await ceph?.[Symbol.asyncDispose]();
});

test.skipIf(!HAS_CEPH)('a follower has the rows of home, through failures of every kind at Ceph', async () => {
  const random = randomsOf(7);
  const { archive } = place.held;
  let failures = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await importRecords(archive, marketsOfBooks(Math.floor(random() * 20), 2, 1 + Math.floor(random() * 30)));
    if (random() < 0.5) sealAll(archive);
    place.server.fault = () => (random() < 0.15 ? FAULTS[failures++ % FAULTS.length] : undefined);
    for (let isDone = false; !isDone; ) {
      isDone = await place.publish({ leaseMs: 1000 }).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof DomainError)) throw error;
          return false;
        },
      );
      if (!isDone) await Bun.sleep(500);
    }
    place.server.fault = () => undefined;
    using follower = await place.follower();
    expect(catalogRows(follower.replica.database)).toEqual(catalogRows(archive.database));
  }
  const { problems } = await verifyPublication(place.bucket(), place.newDirectory(), true);
  expect(problems).toEqual([]);
});

test.skipIf(!HAS_CEPH)(
  'kill -9 at any time leaves a catalog at Ceph with which the next publisher goes on',
  async () => {
    using directory = temporaryDirectory();
    const [data, address] = [join(directory.path, 'data'), 's3://books/killed'];
    const env = { ...place.server.environment, BOOKREEL_BOOKS: address, BOOKREEL_DATA: data };
    const run = async (words: string) => await runExecutable(words.split(' '), { cwd: directory.path, env });
    const lock = new Bucket(bucketAccess(address, env), Date.now);
    const random = randomsOf(11);
    const started = performance.now();
    let wholeMs = 0;
    for (let kill = 0; kill <= KILLS; kill += 1) {
      const lines = marketsOfBooks(2 * kill, 3, 40).map((line) => `${JSON.stringify(line)}\n`);
      writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
      expect((await run('import records.ndjson')).code).toBe(0);
      expect((await run('seal')).code).toBe(0);
      await lock.delete('publisher.json');
      const beganMs = performance.now();
      const child = startChild([EXECUTABLE, 'publish'], { env });
      // The first one is not killed: it says how long one takes.
      if (kill === 0) await child.exited;
      else await Promise.race([Bun.sleep(random() * wholeMs), child.exited]);
      wholeMs = kill === 0 ? performance.now() - beganMs : wholeMs;
      await child[Symbol.asyncDispose]();
    }
    await lock.delete('publisher.json');
    expect(await run('publish')).toMatchObject({ code: 0, stderr: '' });
    using follower = await followerOf(place.server, address, join(directory.path, 'node'));
    const archive = openArchive(data, NOW_MS, { create: false });
    expect(catalogRows(follower.replica.database)).toEqual(catalogRows(archive.database));
    archive.database.close();
    expect((await run('publish verify --deep')).stdout).toContain(': 0 problems');
    console.log(`${KILLS} kills in ${Math.round((performance.now() - started) / 1000)} s`);
  },
);
