import { describe, expect, test } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ResponseCache } from '../../src/http/response/response-cache.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const bytesOf = (length: number, fill = 1) => new Uint8Array(length).fill(fill);

describe('held answers', () => {
  test('are those that were asked for twice, until the archive changes', () => {
    using place = temporaryArchive();
    const { database, apiKeys } = place.archive;
    const held = new ResponseCache(database, 10_000);
    database.readShared(() => {
      expect(held.offer('a', bytesOf(10), false)).toBeUndefined();
      expect(held.find('a')).toBeUndefined();
      const given = held.offer('a', bytesOf(10), true);
      expect(given).toMatchObject({ packed: true });
      expect(given?.body.size).toBe(10);
      expect(held.find('a')).toBe(given!);
      expect(held.find('b')).toBeUndefined();
    });
    const request = { account: 'a@b', name: undefined, tier: 'free', requestsPerMinute: undefined };
    database.write(() => apiKeys.create(request, NOW_MS));
    database.readShared(() => {
      expect(held.find('a')).toBeUndefined();
      // What was asked once before the change was another question.
      expect(held.offer('a', bytesOf(10), false)).toBeUndefined();
    });
  });

  test('come to no more than they may, each with what it takes beside its body, and the longest unasked go first', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const bytesMax = 100_000;
    const held = new ResponseCache(database, bytesMax);
    const hold = (question: string, length: number) => {
      held.offer(question, bytesOf(length), false);
      return held.offer(question, bytesOf(length), false);
    };
    database.readShared(() => {
      for (let i = 0; i < 12; i += 1) hold(`q${i}`, 9000);
      expect(held.bytes).toBeLessThanOrEqual(bytesMax);
      expect(held.find('q1')).toBeUndefined();
      expect(held.find('q3')).toBeDefined();
      hold('new', 9000);
      expect(held.bytes).toBeLessThanOrEqual(bytesMax);
      expect(held.bytes).toBeGreaterThan(90_000);
      expect(held.find('q3')).toBeDefined();
      expect(held.find('q2')).toBeUndefined();
      expect(hold('large', bytesMax / 8)).toBeUndefined();
      expect(hold('x'.repeat(513), 1)).toBeUndefined();
      // Thousands of empty ones are no way around it.
      for (let i = 0; i < 1000; i += 1) hold(`${'e'.repeat(400)}${i}`, 0);
      expect(held.bytes).toBeLessThanOrEqual(bytesMax);
      expect(held.find(`${'e'.repeat(400)}900`)).toBeUndefined();
      expect(held.find(`${'e'.repeat(400)}999`)).toBeDefined();
    });
  });

  test('are held once, however many were under way at once', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const held = new ResponseCache(database, 100_000);
    database.readShared(() => {
      for (let i = 0; i < 64; i += 1) held.offer('q', bytesOf(10_000), true);
      const { bytes } = held;
      expect(bytes).toBeLessThan(12_000);
      held.offer('other', bytesOf(10_000), true);
      held.offer('other', bytesOf(10_000), true);
      expect(held.bytes).toBeLessThan(3 * bytes);
      expect(held.find('q')).toBeDefined();
      expect(held.find('other')).toBeDefined();
    });
  });

  test('that were made of an earlier state are not held', () => {
    using place = temporaryArchive();
    const { database } = place.archive;
    const held = new ResponseCache(database, 1000);
    const { state } = held;
    database.readShared(() => held.offer('a', bytesOf(1), false));
    database.write(() => undefined);
    expect(held.offer('a', bytesOf(1), false, state)).toBeUndefined();
    database.readShared(() => expect(held.find('a')).toBeUndefined());
  });
});

test('an answer that is held is the answer, with all its headers, in every form', async () => {
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

test('an import is seen by the next request for what was held', async () => {
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket(), sampleSnapshot({ timestamp: START_MS })]);
  const { get } = serviceOf(place.archive);
  const path = '/btc/markets/btc-updown-5m-1776323400/snapshots';
  const count = async () => ((await (await get(path)).json()) as { data: unknown[] }).data.length;
  for (let again = 0; again < 3; again += 1) expect(await count()).toBe(1);
  await importRecords(place.archive, [sampleSnapshot({ timestamp: START_MS + 1 })]);
  for (let again = 0; again < 3; again += 1) expect(await count()).toBe(2);
});
