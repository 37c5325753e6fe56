import { afterAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { BookCache } from '../../src/store/book-cache.ts';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';

const storage = await BucketServer.start();
afterAll(async () => await storage[Symbol.asyncDispose]());

test.each(['flip', 'missing'] as const)(
  'A file of a market that the storage does not have as named (%s) is fetched again after pauses from 1 to 30 s, and used once it is right.',
  async (damage) => {
    using directory = temporaryDirectory();
    const bytes = Buffer.from(`books ${damage}`);
    const digest = createHash('sha256').update(bytes).digest();
    const object = `books/${digest.toString('hex')}.db`;
    storage.objects.set(object, { bytes, modifiedMs: 0 });
    const fault = { status: 404, code: 'NoSuchKey' };
    storage.fault = ({ name }) => (name !== object ? undefined : damage === 'flip' ? 'flip' : fault);
    let nowMs = 0;
    const times = { answerMs: 5000, pauseMs: 1, tries: 1 };
    const bucket = new Bucket(bucketAccess('s3://books', storage.environment), Date.now, times);
    const { path } = directory;
    const books = new BookCache({
      ...{ directory: path, bucket, bytesMax: 1e9, roomBytes: () => Infinity, monotonicMs: () => nowMs },
      warn: () => {},
    });
    const file = { path: `2026-01-08/${digest.toString('hex').slice(0, 16)}.db`, bytes: bytes.length, digest };
    const fetched: number[] = [];
    for (let second = 0; second < 100; second += 1) {
      nowMs = second * 1000;
      storage.requests.length = 0;
      await expect(books.fetch(file)).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(books.fetch(file)).rejects.toMatchObject({ kind: 'unavailable' });
      if (storage.requests.length > 0) fetched.push(second);
    }
    expect(fetched).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    storage.fault = () => undefined;
    storage.objects.set(object, { bytes, modifiedMs: 0 });
    nowMs = 121_000;
    await books.fetch(file);
    expect(books.readings.files).toBe(1);
  },
);

test('On a full disk the files of a node that were used last stay, whatever --cache-bytes is.', async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const bucket = new Bucket(bucketAccess('s3://books', storage.environment), Date.now);
  // A disk with room for two files.
  const room = { bytes: () => 100 };
  const books = new BookCache({
    ...{ directory: path, bucket, bytesMax: 1e9, roomBytes: () => room.bytes(), monotonicMs: () => 0 },
    warn: () => {},
  });
  room.bytes = () => 100 - books.readings.bytes;
  const files = [1, 2, 3].map((nth) => {
    const bytes = Buffer.alloc(40, nth);
    const digest = createHash('sha256').update(bytes).digest();
    storage.objects.set(`books/${digest.toString('hex')}.db`, { bytes, modifiedMs: 0 });
    return { path: `2026-01-08/${digest.toString('hex').slice(0, 16)}.db`, bytes: bytes.length, digest };
  });
  for (const file of files) await books.fetch(file);
  expect(files.map((file) => books.has(file.path))).toEqual([false, true, true]);
});
