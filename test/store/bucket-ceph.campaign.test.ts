import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type BucketFault, BucketServer } from '../support/bucket-server.ts';
import { sized } from '../support/campaign-size.ts';
import { HAS_CEPH, startCeph } from '../support/ceph.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { marketsOfBooks, WIDE } from '../support/markets-of-books.ts';
import { randomsOf } from '../support/random-books.ts';
import { contentDigest } from '../support/stored.ts';

setDefaultTimeout(3_600_000);

const KILLS = Number(process.env.KILLS ?? sized(4, 12));
const SEED = Number(process.env.SEED ?? 20_261_126);
const FAULTS: readonly BucketFault[] = ['drop', 'lose', 'cut', { status: 503, code: 'SlowDown' }, 'flip'];

/** The storage of Ceph, and a proxy that fails. */
let ceph: Awaited<ReturnType<typeof startCeph>> | undefined;
let proxy: BucketServer;
beforeAll(async () => {
  proxy = await BucketServer.start();
  if (!HAS_CEPH) return;
  ceph = await startCeph();
  proxy.upstream = ceph.origin;
  const root = new Bucket({ ...bucketAccess('s3://books', proxy.environment), base: `${proxy.origin}/` }, Date.now);
  // The bucket is made, but its answer has no tag, which the client wants of every object.
  await expect(root.put('books', Buffer.from(''))).rejects.toThrow('has no ETag');
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await ceph?.[Symbol.asyncDispose]();
});

const clientOf = (address: string) => new Bucket(bucketAccess(address, proxy.environment), Date.now, { pauseMs: 1 });

function place() {
  const directory = temporaryDirectory();
  const options = { cwd: directory.path, env: proxy.environment };
  const run = async (words: string) => {
    const { code, stderr, stdout } = await runExecutable([...words.split(' '), '--data', 'data'], options);
    expect({ words, code, stderr: code === 0 ? '' : stderr }).toEqual({ words, code: 0, stderr: '' });
    return stdout;
  };
  const grow = async (from: number, count: number, books: number, style?: typeof WIDE) => {
    const lines = marketsOfBooks(from, count, books, style).map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
    await run('import records.ndjson');
    await run('seal');
  };
  return {
    ...directory,
    options,
    run,
    grow,
    data: join(directory.path, 'data'),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

test.skipIf(!HAS_CEPH)(
  "Ceph judges signatures and conditions as the tests' storage does (needs radosgw, ceph-mon and ceph-osd).",
  async () => {
    const storages = [clientOf('s3://books/a')];
    await using own = await BucketServer.start();
    storages.push(new Bucket(bucketAccess('s3://books/a', own.environment), Date.now));
    const [bytes, other] = [Buffer.from('one'), Buffer.from('two')];
    const answers = storages.map(async (bucket) => {
      const results: unknown[] = [
        await bucket.get('x'),
        await bucket.create('x', bytes),
        await bucket.create('x', bytes),
      ];
      results.push(await bucket.create('x', other), (await bucket.get('x'))!.bytes.toString());
      const { tag } = (await bucket.get('x'))!;
      results.push(await bucket.replace('x', other, tag), await bucket.replace('x', bytes, tag));
      for (let number = 0; number < 1100; number += 1) if (number % 100 === 0) await bucket.put(`l/${number}`, bytes);
      for await (const each of bucket.list('l/')) results.push(each);
      await bucket.delete('x');
      await bucket.delete('x');
      results.push(await bucket.get('x'));
      return results;
    });
    const [found, expected] = await Promise.all(answers);
    expect(found).toEqual(expected!);
    const refusals = [{ AWS_SECRET_ACCESS_KEY: 'no' }, { AWS_ACCESS_KEY_ID: 'no' }].flatMap((variables) =>
      [proxy, own].map(async ({ environment, origin }) => {
        const bucket = new Bucket(bucketAccess('s3://books', { ...environment, ...variables }), Date.now);
        return await bucket.get('x').catch((error: Error) => error.message.replace(origin, ''));
      }),
    );
    const [secret, ofOwn, id, idOfOwn] = await Promise.all(refusals);
    expect([secret, id]).toEqual([ofOwn, idOfOwn]);
    expect(secret).toContain('SignatureDoesNotMatch');
  },
);

test('Backups that are killed with -9 while a fifth of all answers is wrong are continued, and what is restored is the archive. (KILLS, SEED)', async () => {
  using held = place();
  const random = randomsOf(SEED);
  const bucket = clientOf('s3://books/killed');
  await held.grow(0, 40, 100);
  await held.run('key create --tier pro');
  let [kills, failures, digest] = [0, 0, ''];
  for (let round = 1; kills < KILLS; round += 1) {
    proxy.fault = ({ method, name }) => {
      if (random() > 0.2) return undefined;
      const fault = FAULTS[failures++ % FAULTS.length]!;
      return fault === 'flip' && !(method === 'GET' && name.includes('/files/')) ? 'drop' : fault;
    };
    await held.grow(100 * round, 3, 60);
    const command = [EXECUTABLE, 'backup', 's3://books/killed', '--keep', '2', '--data', 'data'];
    const child = Bun.spawn(command, {
      ...held.options,
      env: { ...process.env, ...held.options.env },
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await Promise.race([child.exited, Bun.sleep(100 + random() * 3000)]);
    if (child.exitCode === null) kills += 1;
    child.kill('SIGKILL');
    await child.exited;
    const restored = async (as: string) => {
      await runExecutable(['restore', 's3://books/killed', '--data', as], held.options);
      return contentDigest(join(held.path, as));
    };
    const present = contentDigest(held.data);
    if (digest !== '') expect([digest, present]).toContain(await restored(`killed-${round}`));
    // As if its lease had ended.
    await bucket.delete('writer.json');
    await held.run('backup s3://books/killed --keep 2');
    digest = present;
    if (round % 3 === 0) expect(await restored(`whole-${round}`)).toBe(digest);
  }
  proxy.fault = () => undefined;
});

test('A backup of an archive with 1 % of new data uploads at most 1.1 % of its bytes.', async () => {
  using held = place();
  for (let from = 0; from < 100; from += 20) await held.grow(from, 20, 2500, WIDE);
  await held.run('key create --tier pro');
  proxy.requests.length = 0;
  await held.run('backup s3://books/daily --keep 2');
  const whole = proxy.takeUploaded();
  await held.grow(100, 1, 2500, WIDE);
  await held.run('backup s3://books/daily --keep 2');
  const share = proxy.takeUploaded() / whole;
  console.log(`the second backup uploaded ${(100 * share).toFixed(2)} % of ${whole} bytes`);
  expect(share).toBeLessThan(0.011);
});
