import { describe, expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import {
  CONDITION_ID,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { type Service, startService } from './service.ts';

const MARKET = `/v1/btc/markets/${CONDITION_ID}`;
const PRICE_PATHS = [MARKET, `${MARKET}/prices`];
const BOOK_PATHS = [`${MARKET}/snapshots`, `${MARKET}/coverage`, `${MARKET}/heatmap`];
const LATER = { timestamp: '2026-04-16T07:12:00.000Z' };
const FORMATS = [{}, { accept: 'application/msgpack' }, { 'accept-encoding': 'zstd' }] as const;
/** The first answer is made, the second one fills the cache, the third one comes from it. */
const TIMES = 3;

/** Sends requests with a new key of the tier. */
function clientOf({ registry, origin }: Service, tier: string) {
  const { key } = createKey(registry, NOW_MS, {
    account: 'test@localhost',
    name: undefined,
    tier,
    requestsPerMinute: 500,
  });
  return async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    await fetch(`${origin}${path}`, { method, headers: { ...headers, authorization: `Bearer ${key}` } });
}
type Client = ReturnType<typeof clientOf>;

/** The entity tags of each path in each format. */
async function tagsOf(client: Client, paths: readonly string[]): Promise<readonly string[]> {
  const tags: string[] = [];
  for (const path of paths) {
    for (const format of FORMATS) {
      const same = new Set<string>();
      for (let time = 0; time < TIMES; time += 1) same.add((await client(path, { ...format })).headers.get('etag')!);
      expect(same.size).toBe(1);
      const [tag] = same;
      expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
      tags.push(tag!);
    }
  }
  return tags;
}

const differencesOf = (before: readonly string[], after: readonly string[]) =>
  after.map((tag, index) => tag !== before[index]);
const all = (tags: readonly string[], differs: boolean) => tags.map(() => differs);

describe('an entity tag', () => {
  test('An entity tag does not change with records that the tier does not grant.', async () => {
    await using service = startService();
    const { archive, registry } = service;
    registry.database.write(() => registry.tiers.update({ ...registry.tiers.find('starter')!, routes: ['snapshots'] }));
    await importRecords(archive, [sampleMarket({ winner: 'up' }), samplePrice(), sampleSnapshot()]);
    // The tiers grant: markets and prices; snapshots; everything.
    const [free, books, pro] = [clientOf(service, 'free'), clientOf(service, 'starter'), clientOf(service, 'pro')];

    const before = { free: await tagsOf(free, PRICE_PATHS), pro: await tagsOf(pro, [...PRICE_PATHS, ...BOOK_PATHS]) };
    await importRecords(archive, [sampleQuote(LATER), sampleGap()]);
    expect(await tagsOf(free, PRICE_PATHS)).toEqual(before.free);
    const afterwards = await tagsOf(pro, [...PRICE_PATHS, ...BOOK_PATHS]);
    expect(differencesOf(before.pro, afterwards)).toEqual(all(before.pro, true));

    const beforePrice = await tagsOf(books, BOOK_PATHS);
    await importRecords(archive, [samplePrice(LATER)]);
    expect(await tagsOf(books, BOOK_PATHS)).toEqual(beforePrice);
    const [market, prices] = [await tagsOf(free, [MARKET]), await tagsOf(free, [`${MARKET}/prices`])];
    expect([...market, ...prices].map((tag, index) => tag === before.free[index])).toEqual([
      ...all(market, true),
      ...all(prices, false),
    ]);

    await importRecords(archive, [sampleSnapshot(LATER)]);
    expect(differencesOf(beforePrice, await tagsOf(books, BOOK_PATHS))).toEqual(all(beforePrice, true));
  });

  test('of a tier that does not grant all records gets a 304, from the archive and from the cache', async () => {
    await using service = startService();
    await importRecords(service.archive, [sampleMarket({ winner: 'up' }), samplePrice()]);
    const free = clientOf(service, 'free');
    for (const path of PRICE_PATHS) {
      const first = await free(path);
      const etag = first.headers.get('etag')!;
      for (const method of ['GET', 'HEAD']) {
        for (const tags of [etag, `"other", W/${etag}`, '*']) {
          const again = await free(path, { 'if-none-match': tags }, method);
          expect({ tags, status: again.status, etag: again.headers.get('etag') }).toEqual({ tags, status: 304, etag });
          for (const name of ['cache-control', 'vary']) expect(again.headers.get(name)).toBe(first.headers.get(name));
          expect(await again.text()).toBe('');
        }
        expect((await free(path, { 'if-none-match': '"other"' }, method)).status).toBe(200);
      }
    }
  });
});
