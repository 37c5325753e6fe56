import { describe, expect, test } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Metrics } from '../../src/http/metrics/metrics.ts';
import { ResponseCache } from '../../src/http/response/response-cache.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const bytesOf = (length: number, fill = 1) => new Uint8Array(length).fill(fill);

describe('cached responses', () => {
  test('are answers to repeated questions, until the archive changes', () => {
    using place = temporaryArchive();
    const { database, markets } = place.archive;
    const cache = new ResponseCache(database, 10_000);
    database.readShared(() => {
      expect(cache.offer('a', bytesOf(10), false, cache.state)).toBeUndefined();
      expect(cache.find('a', cache.state)).toBeUndefined();
      const given = cache.offer('a', bytesOf(10), true, cache.state);
      expect(given).toMatchObject({ packed: true });
      expect(given?.body.size).toBe(10);
      expect(cache.find('a', cache.state)).toBe(given!);
      expect(cache.find('b', cache.state)).toBeUndefined();
    });
    database.write(() => markets.put(marketStatement(1), NOW_MS));
    database.readShared(() => {
      expect(cache.find('a', cache.state)).toBeUndefined();
      // Requests before the change do not count.
      expect(cache.offer('a', bytesOf(10), false, cache.state)).toBeUndefined();
    });
  });

  test('take no more memory than allowed, with overhead; the least recently used is dropped first', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const bytesMax = 100_000;
    const cache = new ResponseCache(database, bytesMax);
    const hold = (question: string, length: number) => {
      cache.offer(question, bytesOf(length), false, cache.state);
      return cache.offer(question, bytesOf(length), false, cache.state);
    };
    database.readShared(() => {
      for (let i = 0; i < 12; i += 1) hold(`q${i}`, 9000);
      expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
      expect(cache.find('q1', cache.state)).toBeUndefined();
      expect(cache.find('q3', cache.state)).toBeDefined();
      hold('new', 9000);
      expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
      expect(cache.bytes).toBeGreaterThan(90_000);
      expect(cache.find('q3', cache.state)).toBeDefined();
      expect(cache.find('q2', cache.state)).toBeUndefined();
      expect(hold('large', bytesMax / 8)).toBeUndefined();
      expect(hold('x'.repeat(513), 1)).toBeUndefined();
      // Empty bodies count too, with their overhead.
      for (let i = 0; i < 1000; i += 1) hold(`${'e'.repeat(400)}${i}`, 0);
      expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
      expect(cache.find(`${'e'.repeat(400)}900`, cache.state)).toBeUndefined();
      expect(cache.find(`${'e'.repeat(400)}999`, cache.state)).toBeDefined();
    });
  });

  test('are cached once, even with many requests at once', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const cache = new ResponseCache(database, 100_000);
    database.readShared(() => {
      for (let i = 0; i < 64; i += 1) cache.offer('q', bytesOf(10_000), true, cache.state);
      const { bytes } = cache;
      expect(bytes).toBeLessThan(12_000);
      cache.offer('other', bytesOf(10_000), true, cache.state);
      cache.offer('other', bytesOf(10_000), true, cache.state);
      expect(cache.bytes).toBeLessThan(3 * bytes);
      expect(cache.find('q', cache.state)).toBeDefined();
      expect(cache.find('other', cache.state)).toBeDefined();
    });
  });

  test('of an earlier state are not found, and those of several are not cached', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const cache = new ResponseCache(database, 1000);
    const { state } = cache;
    database.readShared(() => cache.offer('a', bytesOf(1), false, cache.state));
    database.write(() => undefined);
    cache.offer('a', bytesOf(1), false, state);
    database.readShared(() => expect(cache.find('a', cache.state)).toBeUndefined());
    expect(cache.offer('b', bytesOf(1), false, Number.NaN)).toBeUndefined();
    expect(cache.offer('b', bytesOf(1), false, Number.NaN)).toBeUndefined();
  });
});

test('An answer that is requested twice is cached until the archive changes, up to 32 MiB, and access is checked for each request.', async () => {
  using place = temporaryArchive();
  const snapshots = Array.from({ length: 40 }, (_, i) =>
    sampleSnapshot({ timestamp: START_MS + i, bids: [{ price: 0.5, size: i + 1 }] }),
  );
  await importRecords(place.archive, [sampleMarket(), ...snapshots]);
  const { app, key } = serviceOf(place.archive);
  const forms = [{}, { accept: 'application/msgpack' }, { 'accept-encoding': 'zstd' }, { 'accept-encoding': 'gzip' }];
  const paths = [
    'markets',
    'markets/btc-updown-5m-1776323400/snapshots?limit=30&from=5',
    'markets/btc-updown-5m-1776323400',
  ];
  for (const path of paths) {
    for (const form of forms) {
      const ask = async (headers: Record<string, string> = {}) => {
        const init = { headers: { authorization: `Bearer ${key}`, ...form, ...headers } };
        const answer = await app.handle(new Request(`http://localhost/v1/btc/${path}`, init));
        const sent = Object.fromEntries(answer.headers);
        for (const name of ['x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
          expect(sent[name]).toBeDefined();
          delete sent[name];
        }
        return { status: answer.status, sent, body: Buffer.from(await answer.arrayBuffer()).toString('base64') };
      };
      const first = await ask();
      expect(first.status).toBe(200);
      for (let again = 0; again < 3; again += 1) {
        await nextTurn();
        expect(await ask()).toEqual(first);
      }
      expect((await ask({ authorization: 'Bearer nobody' })).status).toBe(401);
    }
  }
});

test('A commit forgets the cached answers about the markets that it changed, and lists; those about other markets stay.', async () => {
  using place = temporaryArchive();
  const other = { conditionId: `0x${'22'.repeat(32)}`, slug: 'btc-updown-5m-other', clobTokenIds: ['21', '22'] };
  await importRecords(place.archive, [
    ...[sampleMarket(), sampleSnapshot({ timestamp: START_MS })],
    ...[sampleMarket(other), sampleSnapshot({ ...other, timestamp: START_MS })],
  ]);
  const metrics = new Metrics((name, error) => {
    throw new Error(name, { cause: error });
  });
  const { get } = serviceOf(place.archive, undefined, metrics);
  const hits = () => Number(/^bookreel_response_cache_lookups_total\{result="hit"\} (\d+)$/m.exec(metrics.text())![1]);
  const [changed, unchanged, list] = ['btc-updown-5m-1776323400/snapshots', `${other.slug}/snapshots`, ''].map((path) =>
    `/btc/markets/${path}`.replace(/\/$/, ''),
  ) as [string, string, string];
  const hitsOf = async (path: string) => {
    const before = hits();
    expect((await get(path)).status).toBe(200);
    return hits() - before;
  };
  for (const path of [changed, unchanged, list]) for (let again = 0; again < 2; again += 1) await get(path);
  for (const path of [changed, unchanged, list]) expect([path, await hitsOf(path)]).toEqual([path, 1]);
  await importRecords(place.archive, [sampleSnapshot({ timestamp: START_MS + 1 })]);
  for (const path of [changed, list]) expect([path, await hitsOf(path)]).toEqual([path, 0]);
  expect(await hitsOf(unchanged)).toBe(1);
});

test('the first request after an import gets no cached response', async () => {
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket(), sampleSnapshot({ timestamp: START_MS })]);
  const { get } = serviceOf(place.archive);
  const path = '/btc/markets/btc-updown-5m-1776323400/snapshots';
  const count = async () => ((await (await get(path)).json()) as { data: unknown[] }).data.length;
  for (let again = 0; again < 3; again += 1) expect(await count()).toBe(1);
  await importRecords(place.archive, [sampleSnapshot({ timestamp: START_MS + 1 })]);
  for (let again = 0; again < 3; again += 1) expect(await count()).toBe(2);
});
