import { createKey } from '../../src/account/account-keys.ts';
import { openActivity } from '../../src/store/activity.ts';
import type { Database } from '../../src/store/database.ts';
import { openRegistry } from '../../src/store/registry.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const ROUTES = [
  '/v1/{coin}/markets',
  '/v1/{coin}/markets/{slug}',
  '/v1/{coin}/markets/{slug}/snapshots',
  '/v1/{coin}/markets/{slug}/quotes',
  '/v1/account/usage',
];

export interface SeededRequests {
  readonly keyId: string;
  readonly route: string;
  readonly startMs: number;
  /** Requests, with 403, with 429, with other refusals, bytes. */
  readonly counts: readonly [number, number, number, number, number];
}

/** The hourly usage of keys to all routes, as a server that ran for these days would have stored it. */
export function* hourlyUsage(keyIds: readonly string[], days: number, nowMs: number): Generator<SeededRequests> {
  for (const [key, keyId] of keyIds.entries()) {
    for (let hour = 0; hour < days * 24; hour += 1) {
      const startMs = nowMs - (nowMs % HOUR_MS) - hour * HOUR_MS;
      // Days have a rhythm, and keys differ.
      const load = 1.2 + Math.sin((hour / 12) * Math.PI) + ((hour * 7919) % 13) / 13;
      for (const [index, route] of ROUTES.entries()) {
        const requests = Math.round((load * 400) / (key + 1) / (index + 1));
        const limited = hour % 50 === 0 ? Math.floor(requests / 4) : 0;
        const refused = [key === 3 ? 1 : 0, limited, hour % 9 === 0 ? 1 : 0] as const;
        yield { keyId, route, startMs, counts: [requests + 2, ...refused, requests * 1800] };
      }
    }
  }
}

/** Creates accounts with keys in a data directory, and stores their usage. The ids of the keys. */
export function seedUsage(
  data: string,
  accounts: Readonly<Record<string, number>>,
  days: number,
  nowMs: number,
): string[] {
  using registry = openRegistry(data, { create: true });
  using activity = openActivity(data);
  const names = ['production', 'backtests', 'notebook', undefined, '<b>"quoted"</b> & long name of a key'];
  const keyIds = Object.entries(accounts).flatMap(([account, keys]) =>
    Array.from({ length: keys }, (_, index) => {
      const request = { account, name: names[index % names.length], tier: undefined, requestsPerMinute: undefined };
      return createKey(registry, nowMs - days * DAY_MS, request).apiKey.id;
    }),
  );
  storeUsage(activity.database, hourlyUsage(keyIds, days, nowMs));
  return keyIds;
}

/** Adds usage to that of its hours and days. */
export function storeUsage(activity: Database, rows: Iterable<SeededRequests>): void {
  const add = activity.query(
    `INSERT INTO usage (key_id, interval_ms, start_ms, route, requests, forbidden, limited, failed, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
     forbidden = forbidden + excluded.forbidden, limited = limited + excluded.limited, failed = failed + excluded.failed,
     bytes = bytes + excluded.bytes`,
  );
  activity.write(() => {
    for (const { keyId, route, startMs, counts } of rows) {
      for (const intervalMs of [HOUR_MS, DAY_MS]) {
        add.run(keyId, intervalMs, startMs - (startMs % intervalMs), route, ...counts);
      }
    }
  });
}
