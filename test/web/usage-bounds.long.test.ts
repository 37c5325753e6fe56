import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { NOW_MS } from '../support/archive.ts';
import type { PlainBrowser } from './browser.ts';
import { rowsOf } from './page-content.ts';
import { storeUsage } from './seeded-usage.ts';
import { type Site, startSite } from './site.ts';

/** A person may create 100 keys a day, and the pages show a year. */
const KEYS = 36_500;
const ADA = 'ada@example.com';
const HOUR_MS = 3_600_000;
/** Requests of all keys: the first one has 1, the next one 2. */
const REQUESTS = (KEYS * (KEYS + 1)) / 2;
const idOf = (number: number) =>
  `key_${String(number)
    .padStart(10, 'a')
    .replaceAll(/\d/g, (digit) => 'abcdefghij'[+digit]!)}x${number}`;

let site: Site;
let browser: PlainBrowser;
let accountId: number;
let key: string;

beforeAll(async () => {
  site = startSite();
  const { registry, activity } = site.people;
  browser = await site.signedIn(ADA);
  accountId = registry.accounts.findByEmail(ADA)!.id;
  registry.database.write(() => registry.accounts.setRole(accountId, 'admin'));
  key = createKey(registry, NOW_MS, {
    account: ADA,
    name: undefined,
    tier: undefined,
    requestsPerMinute: undefined,
  }).key;
  const insert = registry.database.query(
    `INSERT INTO api_keys (key_id, account_id, name, digest, prefix, created_ms, revoked_ms)
     VALUES (?1, ?2, 'a name of a key for this test', CAST(?1 AS BLOB), 'br_live_aaaaaa', ?3, ?3)`,
  );
  registry.database.write(() => {
    for (let number = 1; number <= KEYS; number += 1) insert.run(idOf(number), accountId, NOW_MS - HOUR_MS);
  });
  storeUsage(
    activity,
    Array.from({ length: KEYS }, (_, index) => ({
      keyId: idOf(index + 1),
      route: '/v1/{coin}/markets',
      startMs: NOW_MS - (NOW_MS % HOUR_MS),
      counts: [index + 1, 0, 0, 0, 10] as const,
    })),
  );
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

/** An answer, and the turns of the event loop that it took. */
async function opened(path: string) {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const { status, text } = await browser.open(path);
  clearImmediate(next);
  return { status, text, turns };
}

test.each([
  ['/account/usage', 300_000, 4],
  ['/account', 30_000, 4],
  ['/admin/usage', 100_000, 32],
  ['/admin/accounts/ID', 100_000, 4],
])('%s has at most %d bytes with 36,500 keys, and lets other requests pass', async (path, bytesMax, keysATurn) => {
  const { status, text, turns } = await opened(path.replace('ID', String(accountId)));
  expect(status).toBe(200);
  expect(text.length).toBeLessThan(bytesMax);
  expect(turns).toBeGreaterThan(KEYS / keysATurn);
  expect(text).toContain(new Intl.NumberFormat('en').format(REQUESTS));
});

test('the usage page lists 100 keys with most requests, and its file all of them', async () => {
  const { text } = await opened('/account/usage');
  const rows = rowsOf(text, 'Usage by key');
  expect(rows.map(({ Requests }) => Number(Requests!.replace(',', '')))).toEqual(
    Array.from({ length: 100 }, (_, index) => KEYS - index),
  );
  expect(text).toContain('36,400 more keys with fewer requests are in the file.');
  expect(text.match(/<option /g)!.length).toBeLessThan(120);
  const chosen = await opened(`/account/usage?key=${idOf(7)}`);
  expect(rowsOf(chosen.text, 'Usage by key').map(({ Requests }) => Requests)).toEqual(['7']);
  expect(chosen.text).toContain(`<option value="${idOf(7)}" selected`);
  const file = await opened('/account/usage/csv?by=day');
  expect(file.text.trimEnd().split('\n')).toHaveLength(KEYS + 1);
});

test('the usage of the interface lists 1,000 keys with most requests, and sums all', async () => {
  const answer = await fetch(`${site.origin}/v1/account/usage`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await answer.json()) as {
    data: { keys: { keyId: string; requests: number }[]; routes: { requests: number }[] };
  };
  expect(data.keys).toHaveLength(1000);
  expect(Math.min(...data.keys.map(({ requests }) => requests))).toBe(KEYS - 999);
  expect(data.keys.map(({ keyId }) => keyId)).toEqual(data.keys.map(({ keyId }) => keyId).toSorted());
  expect(data.routes.map(({ requests }) => requests)).toEqual([REQUESTS]);
});

test('a file of more than 100,000 lines is refused, and its other lines are not read', async () => {
  const { activity } = site.people;
  const requests = Array.from({ length: 3 * KEYS }, (_, index) => ({
    keyId: idOf((index % KEYS) + 1),
    route: `/v1/${index % 3}`,
    startMs: NOW_MS - (NOW_MS % HOUR_MS),
    counts: [1, 0, 0, 0, 10] as const,
  }));
  storeUsage(
    activity,
    requests.map((one, index) => ({ ...one, route: `/v1/${Math.floor(index / KEYS)}` })),
  );
  const read = spyOn(site.people.service.activity.usage, 'list');
  const { status, text } = await opened('/account/usage/csv?by=day');
  // A key has four lines, and four keys are read at a time.
  expect(read).toHaveBeenCalledTimes(Math.ceil(100_001 / 16) + 1);
  read.mockRestore();
  expect([status, text]).toEqual([400, expect.stringContaining('This file would have more than 100,000 lines')]);
});
