import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openActivity } from '../../src/store/activity.ts';
import type { UsageRow } from '../../src/store/usage.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The requests of each key, route and interval, in an order of their own. */
function summed(rows: readonly UsageRow[]): string[] {
  const sums = new Map<string, number[]>();
  for (const { keyId, route, startMs, requests, forbidden, limited, failed, bytes } of rows) {
    const name = `${startMs} ${keyId} ${route}`;
    const before = sums.get(name) ?? [0, 0, 0, 0, 0];
    const counts = [requests, forbidden, limited, failed, bytes];
    sums.set(
      name,
      before.map((value, i) => value + counts[i]!),
    );
  }
  return [...sums].map(([name, counts]) => `${name}: ${counts.join()}`).sort();
}

test('whenever it is flushed, usage is that of a list of all requests, by hour and by day', () => {
  const request = fc.record({
    keyId: fc.constantFrom('key_a', 'key_b'),
    route: fc.constantFrom('/v1/coins', '/v1/{coin}/markets'),
    status: fc.constantFrom(200, 304, 400, 403, 404, 429, 503),
    bytes: fc.nat(1000),
    // The clock may go back.
    stepMs: fc.integer({ min: -HOUR_MS, max: 3 * HOUR_MS }),
    flushed: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 25 }), (requests) => {
      using held = temporaryArchive();
      const { usage } = held.activity;
      const expected: UsageRow[] = [];
      let nowMs = NOW_MS;
      for (const { keyId, route, status, bytes, stepMs, flushed } of requests) {
        nowMs += stepMs;
        usage.count(keyId, route, status, bytes, nowMs);
        expected.push({
          ...{ keyId, route, startMs: nowMs - (nowMs % HOUR_MS), requests: 1, bytes },
          forbidden: Number(status === 403),
          limited: Number(status === 429),
          failed: Number(status >= 400 && status !== 403 && status !== 429),
        });
        if (flushed) usage.flush(nowMs);
      }
      const [fromMs, toMs] = [NOW_MS - (NOW_MS % DAY_MS), NOW_MS + 9 * HOUR_MS];
      const within = expected.filter(({ startMs }) => startMs >= fromMs && startMs <= toMs);
      expect(summed(usage.list(['key_a', 'key_b'], fromMs, toMs, HOUR_MS))).toEqual(summed(within));
      const days = within.map((row) => ({ ...row, startMs: row.startMs - (row.startMs % DAY_MS) }));
      expect(summed(usage.list(['key_a', 'key_b'], fromMs, toMs, DAY_MS))).toEqual(summed(days));
      const hourly = NOW_MS - (NOW_MS % HOUR_MS);
      for (const keyIds of [[], ['key_a'], ['key_a', 'key_b']]) {
        for (const [beginMs, intervalMs] of [
          [fromMs, HOUR_MS],
          [fromMs, DAY_MS],
          [hourly, HOUR_MS],
        ] as const) {
          for (const endMs of [hourly - 1, hourly, hourly + HOUR_MS, toMs]) {
            const counted = expected.filter((row) => {
              return keyIds.includes(row.keyId) && row.startMs >= beginMs && row.startMs <= endMs;
            });
            expect(usage.requests(keyIds, beginMs, endMs, intervalMs)).toBe(counted.length);
          }
        }
      }
      const ofOne = within.filter(({ keyId }) => keyId === 'key_a');
      expect(summed(usage.list(['key_a'], fromMs, toMs, HOUR_MS))).toEqual(summed(ofOne));
    }),
    { numRuns: 25 },
  );
});

test('Usage is kept for 400 days, and a clock that jumps ahead while the server runs deletes none.', () => {
  using held = temporaryArchive();
  const { usage } = held.activity;
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS);
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS + 7);
  usage.flush(NOW_MS + 7);
  using again = openActivity(held.path);
  expect(again.usage.list(['key_a'], 0, NOW_MS, HOUR_MS)).toMatchObject([{ requests: 2, bytes: 10 }]);
  expect([...again.usage.lastUses(['key_a', 'key_b'])]).toEqual([['key_a', NOW_MS + 7]]);
  // A later start, and no further requests.
  const laterMs = NOW_MS + 400 * DAY_MS;
  const kept = () => [HOUR_MS, DAY_MS].map((intervalMs) => usage.list(['key_a'], 0, laterMs, intervalMs).length);
  again.usage.flush(laterMs);
  expect(kept()).toEqual([1, 1]);
  again.usage.flush(laterMs + HOUR_MS);
  expect(kept()).toEqual([0, 1]);
  // A clock that moves by more than an hour was set.
  for (let hours = 2; hours <= 25; hours += 1) again.usage.flush(laterMs + hours * HOUR_MS);
  expect(kept()).toEqual([0, 0]);
});

test('a clock that jumps ahead deletes no usage', () => {
  using held = temporaryArchive();
  const { usage } = held.activity;
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS);
  usage.flush(NOW_MS);
  const kept = () => usage.list(['key_a'], NOW_MS, NOW_MS, HOUR_MS);
  for (const aheadMs of [0, 1, HOUR_MS]) {
    usage.count('key_b', '/v1/coins', 200, 5, NOW_MS + 4000 * DAY_MS + aheadMs);
    usage.flush(NOW_MS + 4000 * DAY_MS + aheadMs);
    expect(kept()).toHaveLength(1);
  }
  usage.flush(NOW_MS + HOUR_MS);
  usage.flush(NOW_MS + 2 * HOUR_MS);
  expect(kept()).toHaveLength(1);
});

test('a use just before a full hour is stored by the flush after it', () => {
  using held = temporaryArchive();
  const { usage } = held.activity;
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS - 1);
  usage.count('key_b', '/v1/coins', 200, 5, NOW_MS);
  usage.flush(NOW_MS + 1);
  expect([...usage.lastUses(['key_a', 'key_b'])]).toEqual([
    ['key_a', NOW_MS - 1],
    ['key_b', NOW_MS],
  ]);
});

test('usage that cannot be stored is kept, and stored by the next flush', () => {
  using held = temporaryArchive();
  const { usage, database } = held.activity;
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS);
  database.query('ALTER TABLE key_uses RENAME TO gone').run();
  expect(() => usage.flush(NOW_MS)).toThrow('no such table');
  usage.count('key_a', '/v1/coins', 200, 5, NOW_MS);
  database.query('ALTER TABLE gone RENAME TO key_uses').run();
  usage.flush(NOW_MS);
  using again = openActivity(held.path);
  expect(again.usage.list(['key_a'], 0, NOW_MS, HOUR_MS)).toMatchObject([{ requests: 2 }]);
});
