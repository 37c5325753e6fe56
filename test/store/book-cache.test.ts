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
    const books = new BookCache({ directory: path, bucket, bytesMax: 1e9, monotonicMs: () => nowMs, warn: () => {} });
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
