import { expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { deleteAccount } from '../../src/account/account-deletion.ts';
import { changeKey, createKey } from '../../src/account/account-keys.ts';
import { usageOf } from '../../src/account/account-usage.ts';
import { grantTier } from '../../src/account/administration.ts';
import { serviceUsage } from '../../src/account/service-usage.ts';
import type { UsageCounts } from '../../src/domain/usage.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EMAILS = ['ann@example.com', 'bob@example.com', 'gone@example.com'];
const ROUTES = ['/v1/coins', '/v1/{coin}/markets'];

test('Usage by tier counts a key for its tier of now, and deleted accounts are one row: it is what a scan of all requests finds.', async () => {
  const request = fc.record({
    key: fc.nat(5),
    route: fc.nat(1),
    status: fc.constantFrom(200, 403, 404, 429),
    bytes: fc.nat(1000),
    agoMs: fc.integer({ min: 0, max: 5 * DAY_MS }),
    flushed: fc.boolean(),
  });
  const range = fc.record({
    fromMs: fc.integer({ min: 0, max: 6 * DAY_MS }),
    toMs: fc.integer({ min: 0, max: 6 * DAY_MS }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { maxLength: 25 }),
      range,
      fc.boolean(),
      async (requests, range, isDeletedLast) => {
        using held = temporaryArchive();
        const { registry, activity } = held;
        const keys = EMAILS.flatMap((account) =>
          [0, 1].map(
            () =>
              createKey(registry, 0, { account, name: undefined, tier: undefined, requestsPerMinute: undefined })
                .apiKey,
          ),
        );
        const change = { registry, nowMs: NOW_MS };
        const remove = () => deleteAccount(change, keys[4]!.accountId, activity);
        if (!isDeletedLast) remove();
        for (const { key, route, status, bytes, agoMs, flushed } of requests) {
          activity.usage.count(keys[key]!.id, ROUTES[route]!, status, bytes, NOW_MS - agoMs);
          if (flushed) activity.usage.flush(NOW_MS);
        }
        if (isDeletedLast) remove();
        grantTier(change, keys[0]!.accountId, 'pro');
        changeKey(change, keys[1]!.id, { tier: 'starter' });
        const [fromMs, toMs] = [NOW_MS - range.fromMs, NOW_MS - range.toMs];
        const beginMs = Math.min(fromMs, toMs) - (Math.min(fromMs, toMs) % DAY_MS);
        const scanned = (nameOf: (key: number) => string) => {
          const sums = new Map<string, number[]>();
          for (const { key, status, bytes, agoMs } of requests) {
            const hourMs = NOW_MS - agoMs - ((NOW_MS - agoMs) % HOUR_MS);
            if (hourMs < beginMs || hourMs > toMs) continue;
            const counts = [1, Number(status === 403), Number(status === 429), Number(status === 404), bytes];
            const before = sums.get(nameOf(key)) ?? [0, 0, 0, 0, 0];
            sums.set(
              nameOf(key),
              before.map((value, i) => value + counts[i]!),
            );
          }
          return Object.fromEntries(sums);
        };
        const used = await serviceUsage(registry, activity.usage, { fromMs, toMs }, NOW_MS);
        const counts = ({ requests, forbidden, limited, failed, bytes }: UsageCounts) => [
          requests,
          forbidden,
          limited,
          failed,
          bytes,
        ];
        const summed = (by: 'account' | 'tier') =>
          Object.fromEntries(used.sums[by].map(({ name, sum }) => [name ?? 'deleted', counts(sum)]));
        expect(summed('account')).toEqual(
          scanned((key) => ['ann@example.com', 'bob@example.com', 'deleted'][key >> 1]!),
        );
        expect(summed('tier')).toEqual(
          scanned((key) => ['pro', 'starter', 'free', 'free', 'deleted', 'deleted'][key]!),
        );
        const days = used.total.intervals.map(([, sum]) => counts(sum));
        const all = Object.values(scanned(() => 'all'))[0] ?? [0, 0, 0, 0, 0];
        expect(all.map((_, i) => days.reduce((sum, day) => sum + day[i]!, 0))).toEqual(all);
      },
    ),
    { numRuns: 25 },
  );
});

test('sums begin with the most requests, and are of 30 days by default and of 400 at most', async () => {
  using held = temporaryArchive();
  const { registry, activity } = held;
  for (const [index, account] of EMAILS.entries()) {
    const { apiKey } = createKey(registry, 0, { account, name: undefined, tier: 'pro', requestsPerMinute: undefined });
    for (let i = 0; i <= index; i += 1) activity.usage.count(apiKey.id, ROUTES[0]!, 200, 1, NOW_MS);
  }
  const used = await serviceUsage(registry, activity.usage, {}, NOW_MS);
  expect(used.sums.account.map(({ name, sum }) => [name, sum.requests])).toEqual(
    EMAILS.map((email, index) => [email, index + 1]).reverse() as [string, number][],
  );
  const days = async (fromMs?: number) =>
    (NOW_MS - (NOW_MS % DAY_MS) - (await serviceUsage(registry, activity.usage, { fromMs }, NOW_MS)).fromMs) / DAY_MS;
  expect([await days(), await days(0)]).toEqual([30, 400]);
});

test('Usage is stored by hour and by day: 400 days by day are read from the rows of days.', async () => {
  using held = temporaryArchive();
  const { usage } = held.activity;
  for (let day = 0; day <= 400; day += 1) {
    for (const hour of [0, 23])
      usage.count('key_a', ROUTES[0]!, 200, 1, NOW_MS - (NOW_MS % DAY_MS) - day * DAY_MS + hour * HOUR_MS);
  }
  usage.flush(NOW_MS);
  held.activity.database
    .query('DELETE FROM usage WHERE interval_ms = 3600000 AND start_ms < ?')
    .run(NOW_MS - (NOW_MS % DAY_MS));
  const { total, fromMs } = await usageOf(usage, ['key_a'], { interval: 'day', fromMs: 0 }, NOW_MS);
  expect(total.intervals).toHaveLength(401);
  expect(fromMs).toBe(NOW_MS - (NOW_MS % DAY_MS) - 400 * DAY_MS);
  expect(new Set(total.intervals.slice(0, -1).map(([, { requests }]) => requests))).toEqual(new Set([2]));
});

test('Of more than eight accounts the days of the seven with most requests are kept, and those of all others in one series.', async () => {
  const requests = fc.array(
    fc.record({ account: fc.nat(11), dayAgo: fc.nat(3), count: fc.integer({ min: 1, max: 3 }) }),
    {
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(requests, async (requests) => {
      using held = temporaryArchive();
      const { registry, activity } = held;
      const owned = Array.from({ length: 12 }, (_, nth) => {
        const account = `p${nth}@example.com`;
        const create = () =>
          createKey(registry, 0, { account, name: undefined, tier: undefined, requestsPerMinute: undefined }).apiKey.id;
        return { account, ids: nth % 3 === 0 ? [create(), create()] : [create()] };
      });
      const expected = owned.map(({ account }) => ({ account, requests: 0, days: new Map<number, number>() }));
      for (const [i, { account, dayAgo, count }] of requests.entries()) {
        const { ids } = owned[account]!;
        const atMs = NOW_MS - dayAgo * DAY_MS;
        for (let nth = 0; nth < count; nth += 1)
          activity.usage.count(ids[i % ids.length]!, ROUTES[i % 2]!, 200, 1, atMs);
        const one = expected[account]!;
        const dayMs = atMs - (atMs % DAY_MS);
        one.requests += count;
        one.days.set(dayMs, (one.days.get(dayMs) ?? 0) + count);
      }
      activity.usage.flush(NOW_MS);
      const sorted = expected.filter((one) => one.requests > 0).toSorted((a, b) => b.requests - a.requests);
      const others = new Map<number, number>();
      for (const { days } of sorted.slice(7)) for (const [day, n] of days) others.set(day, (others.get(day) ?? 0) + n);
      const inOrder = (days: ReadonlyMap<number, number>) => [...days].sort(([a], [b]) => a - b);
      const used = await serviceUsage(registry, activity.usage, {}, NOW_MS);
      expect(used.sums.account.map(({ name, sum }) => [name, sum.requests])).toEqual(
        sorted.map((one) => [one.account, one.requests]),
      );
      expect(
        used.series.account.map(({ name, series }) => [
          name,
          series.intervals.map(([day, sum]) => [day, sum.requests]),
        ]),
      ).toEqual([
        ...sorted.slice(0, sorted.length > 8 ? 7 : 8).map((one) => [one.account, inOrder(one.days)]),
        ...(sorted.length > 8 ? [[`${sorted.length - 7} others`, inOrder(others)]] : []),
      ] as never);
    }),
    { numRuns: 20 },
  );
});

test.each([
  ['32 keys', 1, 100, 32],
  ['one key with a year of five routes', 365, 6, 1],
])(
  'Usage of all accounts is read in turns of %s, and other requests are answered in between.',
  async (_, days, count, keysATurn) => {
    using held = temporaryArchive();
    const { registry, activity } = held;
    for (let key = 0; key < count; key += 1) {
      const request = {
        account: `p${key}@example.com`,
        name: undefined,
        tier: undefined,
        requestsPerMinute: undefined,
      };
      const { id } = createKey(registry, 0, request).apiKey;
      for (let day = 0; day < days; day += 1) {
        for (let route = 0; route < 5; route += 1)
          activity.usage.count(id, `/v1/${route}`, 200, 1, NOW_MS - day * DAY_MS);
      }
    }
    activity.usage.flush(NOW_MS);
    const read = spyOn(activity.usage, 'list');
    const owners = spyOn(registry.apiKeys, 'ownersAfter');
    let most = 0;
    let isRead = false;
    const turn = () => {
      most = Math.max(most, read.mock.calls.length);
      read.mockClear();
      if (!isRead) setImmediate(turn);
    };
    setImmediate(turn);
    const { sums } = await serviceUsage(registry, activity.usage, { fromMs: NOW_MS - (days - 1) * DAY_MS }, NOW_MS);
    isRead = true;
    expect(sums.account.map(({ sum }) => sum.requests)).toEqual(Array.from({ length: count }, () => 5 * days));
    expect(most).toBe(keysATurn);
    expect(Math.max(...owners.mock.results.map(({ value }) => (value as readonly unknown[]).length))).toBe(
      Math.min(count, 32),
    );
  },
);
