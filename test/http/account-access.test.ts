import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createKey } from '../../src/account/account-keys.ts';
import { DAY_MS, HOUR_MS, type UsageResource } from '../../src/domain/usage.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NEW_BROWSER, people } from '../account/accounts.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { CONDITION_ID, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { type Service, startService } from './service.ts';

/** The archive has no coins. */
const GRANTED = 404;
const FREE = '/v1/btc/markets';
/** Needs the tier pro. */
const PRO = '/v1/sol/markets';

async function statusOf({ origin }: Service, key: string, path: string): Promise<number> {
  const answer = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return answer.status;
}

function keyOf({ registry }: Service, more: { tier?: string; expiresMs?: number } = {}) {
  const request = { account: 'ann@example.com', name: undefined, tier: undefined, requestsPerMinute: 100_000 };
  return createKey(registry, NOW_MS, { ...request, ...more });
}

test('The end of a grant is compared with the clock at every request, and nothing is written.', async () => {
  await using service = startService();
  const { registry } = service;
  const { key, apiKey } = keyOf(service);
  const pinned = keyOf(service, { tier: 'pro' }).key;
  expect(await statusOf(service, key, PRO)).toBe(403);
  const terms = { tier: 'pro', source: 'operator', startsMs: NOW_MS, endsMs: NOW_MS + 1000 } as const;
  registry.database.write(() => registry.grants.add({ ...terms, accountId: apiKey.accountId }, NOW_MS));
  const { path } = registry.database;
  const bytes = () => [path, `${path}-wal`].map((name) => Bun.hash(readFileSync(name)));
  const before = bytes();
  expect(await statusOf(service, key, PRO)).toBe(GRANTED);
  service.passTime(999);
  expect(await statusOf(service, key, PRO)).toBe(GRANTED);
  service.passTime(1);
  expect(await statusOf(service, key, PRO)).toBe(403);
  expect(await statusOf(service, key, FREE)).toBe(GRANTED);
  expect(await statusOf(service, pinned, PRO)).toBe(GRANTED);
  // The clock of the machine was wrong, and is corrected.
  service.passTime(-500);
  expect(await statusOf(service, key, PRO)).toBe(GRANTED);
  expect(bytes()).toEqual(before);
});

test('An expired key, and every key of a disabled account, get the 401 of an unknown key.', async () => {
  await using service = startService();
  const { origin } = service;
  using other = openRegistry(service.registry.database.path.replace(/\/[^/]*$/, ''), { create: false });
  const bodyOf = async (key: string) => {
    const answer = await fetch(`${origin}${FREE}`, { headers: { authorization: `Bearer ${key}` } });
    const { requestId: _, ...body } = (await answer.json()) as Record<string, unknown>;
    return [answer.status, answer.headers.get('www-authenticate'), body];
  };
  const unknown = await bodyOf('br_live_unknown');
  expect(unknown[0]).toBe(401);
  const expiring = keyOf(service, { tier: 'pro', expiresMs: NOW_MS + 10 });
  const [follows, pinned] = [keyOf(service).key, keyOf(service, { tier: 'pro' }).key];
  const { accountId } = expiring.apiKey;
  for (const key of [expiring.key, follows, pinned]) expect(await statusOf(service, key, FREE)).toBe(GRANTED);
  service.passTime(10);
  expect(await bodyOf(expiring.key)).toEqual(unknown);
  other.database.write(() => other.accounts.disable(accountId, NOW_MS));
  for (const key of [follows, pinned]) expect(await bodyOf(key)).toEqual(unknown);
  other.database.write(() => other.accounts.enable(accountId));
  for (const key of [follows, pinned]) expect(await statusOf(service, key, FREE)).toBe(GRANTED);
  expect(await bodyOf(expiring.key)).toEqual(unknown);
});

test('Storing usage does not empty the caches of keys and answers.', async () => {
  await using service = startService();
  const { archive, registry, usage } = service;
  const { key } = keyOf(service);
  const states = () => [archive, registry].map(({ database }) => database.readShared(() => database.state));
  expect(await statusOf(service, key, FREE)).toBe(GRANTED);
  const before = states();
  usage.flush(NOW_MS);
  expect(await statusOf(service, key, FREE)).toBe(GRANTED);
  usage.flush(NOW_MS);
  expect(states()).toEqual(before);
});

test('an hour of sign-ins and flushes keeps cached answers', async () => {
  await using service = startService();
  const { archive, registry, usage } = service;
  await importRecords(archive, [sampleMarket(), sampleSnapshot()]);
  const { key } = keyOf(service);
  await using held = people({}, registry);
  const state = () => archive.database.readShared(() => archive.database.state);
  const before = state();
  for (let minute = 0; minute < 60; minute += 1) {
    held.passTime(60_000);
    const { account } = held.service.signIn.redeemLink(held.createLink('ann@example.com'), NEW_BROWSER);
    expect(account.email).toBe('ann@example.com');
    expect(await statusOf(service, key, FREE)).toBe(200);
    usage.flush(NOW_MS + minute * 60_000);
  }
  expect(registry.audit.list(1000).filter(({ action }) => action === 'session.sign-in')).toHaveLength(60);
  expect(state()).toEqual(before);
});

test('Usage of a key of another account is not found, and not part of the own usage.', async () => {
  await using service = startService();
  const [own, other] = ['ann@example.com', 'bob@example.com'].map((account) =>
    createKey(service.registry, NOW_MS, { account, name: undefined, tier: 'pro', requestsPerMinute: 100_000 }),
  );
  await statusOf(service, other!.key, FREE);
  const path = '/v1/account/usage';
  expect(await statusOf(service, own!.key, `${path}?keyId=${other!.apiKey.id}`)).toBe(404);
  const answer = await fetch(`${service.origin}${path}`, { headers: { authorization: `Bearer ${own!.key}` } });
  expect(await answer.json()).toMatchObject({ data: { keys: [{ keyId: own!.apiKey.id, requests: 1, failed: 1 }] } });
});

test('Usage of a time that begins after the present hour is empty, with and without an end.', async () => {
  await using service = startService();
  const { key } = keyOf(service);
  await statusOf(service, key, FREE);
  const usedFrom = async (fromMs: number, rest = '') => {
    const path = `/v1/account/usage?from=${fromMs}${rest}`;
    const answer = await fetch(`${service.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    const { from, intervals, keys } = ((await answer.json()) as { data: UsageResource }).data;
    return [Date.parse(from), intervals.length, keys.length];
  };
  const [hourMs, nextMs] = [NOW_MS - (NOW_MS % HOUR_MS), NOW_MS - (NOW_MS % HOUR_MS) + HOUR_MS];
  expect(await usedFrom(NOW_MS)).toEqual([hourMs, 1, 1]);
  expect(await usedFrom(nextMs)).toEqual([nextMs, 0, 0]);
  expect(await usedFrom(nextMs + 1, `&to=${nextMs + 2}`)).toEqual([nextMs, 0, 0]);
  expect(await usedFrom(nextMs + DAY_MS, '&interval=day')).toEqual([nextMs + DAY_MS - (nextMs % DAY_MS), 0, 0]);
});

test('Keys that were created without an account may be of different persons: each sees only its own usage.', async () => {
  await using service = startService();
  const [own, other] = ['owner@localhost', 'OWNER@localhost'].map((account) =>
    createKey(service.registry, NOW_MS, { account, name: undefined, tier: 'pro', requestsPerMinute: 100_000 }),
  );
  await statusOf(service, other!.key, FREE);
  const read = async (path: string) => {
    const answer = await fetch(`${service.origin}${path}`, { headers: { authorization: `Bearer ${own!.key}` } });
    return { status: answer.status, text: await answer.text() };
  };
  expect((await read(`/v1/account/usage?keyId=${other!.apiKey.id}`)).status).toBe(404);
  for (const path of ['/v1/account', '/v1/account/usage', `/v1/account/usage?keyId=${own!.apiKey.id}`]) {
    const { status, text } = await read(path);
    expect(status).toBe(200);
    expect(text).toContain(own!.apiKey.id);
    expect(text).not.toContain(other!.apiKey.id);
  }
  const { data } = JSON.parse((await read('/v1/account/usage')).text) as { data: { routes: { route: string }[] } };
  expect(data.routes.map(({ route }) => route)).toEqual(['/v1/account', '/v1/account/usage']);
});

test('an answer to HEAD counts no bytes, and a streamed answer counts those that are sent', async () => {
  await using service = startService();
  await importRecords(service.archive, [sampleMarket(), sampleSnapshot()]);
  const { key, apiKey } = keyOf(service, { tier: 'enterprise' });
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
  const get = async (path: string, method = 'GET') => await fetch(`${service.origin}${path}`, { method, headers });
  expect((await get('/v1/coins', 'HEAD')).status).toBe(200);
  const streamed = await (await get(`/v1/btc/markets/${CONDITION_ID}/export?format=ndjson`)).bytes();
  expect(streamed.length).toBeGreaterThan(100);
  const rows = service.usage.list([apiKey.id], 0, NOW_MS, 3_600_000);
  expect(rows.map(({ route, requests, bytes }) => [route, requests, bytes])).toEqual([
    ['/v1/coins', 1, 0],
    ['/v1/{coin}/markets/{conditionId}/export', 1, streamed.length],
  ]);
});
