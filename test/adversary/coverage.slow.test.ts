import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { COVERAGES_PER_KEY_MAX } from '../../src/http/v1/coverage.ts';
import { type Service, startService } from '../http/service.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, LIGHT_START_MS, lightSnapshot } from '../support/light-recording.ts';

setDefaultTimeout(120_000);

const SNAPSHOTS = 4000;
const LAST_MS = LIGHT_START_MS + (SNAPSHOTS - 1) * 10;

let service: Service;

beforeAll(async () => {
  service = startService();
  const snapshots = Array.from({ length: SNAPSHOTS }, (_, index) => lightSnapshot(index, 40));
  await importRecords(service.archive, [LIGHT_MARKET, ...snapshots]);
});
afterAll(async () => await service[Symbol.asyncDispose]());

function newKey(): string {
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 1_000_000 };
  return createKey(service.registry, NOW_MS, request).key;
}

/** The status of the answer to a question about the coverage that the archive had at an instant. */
async function asked(key: string, asOfMs: number): Promise<number> {
  const url = `${service.origin}/v1/btc/markets/${LIGHT_CONDITION_ID}/coverage?asOf=${asOfMs}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return answer.status;
}

test('a key with sixty questions about coverage delays another key by a few of them', async () => {
  const answered: string[] = [];
  const [many, other] = [newKey(), newKey()];
  const questions = Array.from({ length: 60 }, (_, index) =>
    asked(many, LAST_MS - 1 - index).then((status) => answered.push(`many ${status}`)),
  );
  await Promise.race(questions);
  const before = answered.length;
  await asked(other, LAST_MS - 1000).then((status) => answered.push(`other ${status}`));
  expect(answered.indexOf('other 200') - before).toBeLessThanOrEqual(5);
  await Promise.all(questions);
  expect(answered.filter((answer) => answer === 'many 200')).toHaveLength(60);
});

test('a key has a share of the questions that may wait', async () => {
  const [many, other] = [newKey(), newKey()];
  const questions = Array.from({ length: COVERAGES_PER_KEY_MAX + 20 }, (_, index) =>
    asked(many, LAST_MS - 101 - index),
  );
  const status = await asked(other, LAST_MS - 301);
  const statuses = await Promise.all(questions);
  expect(status).toBe(200);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(statuses.filter((each) => each === 200).length).toBeGreaterThanOrEqual(COVERAGES_PER_KEY_MAX);
  expect(await asked(many, LAST_MS - 500)).toBe(200);
});
