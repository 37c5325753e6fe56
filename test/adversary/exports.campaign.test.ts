import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Socket } from 'node:net';
import { createKey } from '../../src/account/account-keys.ts';
import { EXPORTS_PER_KEY_MAX } from '../../src/http/v1/export.ts';
import { type Service, startService } from '../http/service.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { LIGHT_START_MS } from '../support/light-recording.ts';
import { CountedReads, readsInCrowd } from './counted-reads.ts';
import { EXPORT_PATH, EXPORTED_RECORDS, requestExport, statusOf } from './unread-export.ts';

setDefaultTimeout(300_000);

/** A third of the market: fewer steps. */
const PART = `?format=parquet&to=${LIGHT_START_MS + 5000}`;
const READERS = 12;

let service: Service;
let key: string;

function keyOf({ registry }: Service): string {
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 1_000_000 };
  return createKey(registry, NOW_MS, request).key;
}

beforeAll(async () => {
  service = startService();
  await importRecords(service.archive, EXPORTED_RECORDS);
  key = keyOf(service);
});
afterAll(async () => await service[Symbol.asyncDispose]());

/** A client that requests an export and reads nothing. */
const requested = (query: string, encoding = 'zstd') => requestExport(service.origin, key, query, encoding);

const headersOf = (of: string) => ({ authorization: `Bearer ${of}`, 'accept-encoding': 'zstd' });

async function whole(query: string, of: string): Promise<void> {
  const answer = await fetch(`${service.origin}${EXPORT_PATH}${query}`, { headers: headersOf(of) });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
}

test.each(['parquet', 'ndjson', 'segments'])('After a reset no step of an export begins. (%s)', async (format) => {
  using reads = new CountedReads(service.archive);
  await whole(`?format=${format}`, key);
  const before = await reads.settled();
  const sockets = await Promise.all(Array.from({ length: READERS }, () => requested(`?format=${format}`)));
  while (reads.count === before) await new Promise(setImmediate);
  for (const socket of sockets) socket.resetAndDestroy();
  const atReset = reads.count;
  // A step is done if its turn came before the reset arrived.
  expect((await reads.settled()) - atReset).toBeLessThanOrEqual(READERS);
});

test('Every export that was reset gives its slot back, once.', async () => {
  for (let burst = 0; burst < 10; burst += 1) {
    const sockets = await Promise.all(Array.from({ length: READERS }, () => requested('?format=parquet')));
    for (let turn = 0; turn < burst; turn += 1) await new Promise(setImmediate);
    for (const socket of sockets) socket.resetAndDestroy();
  }
  using reads = new CountedReads(service.archive);
  await reads.settled();
  const open: Socket[] = [];
  const statuses: number[] = [];
  for (let count = 0; count <= EXPORTS_PER_KEY_MAX; count += 1) {
    const socket = await requested('?format=ndjson', 'identity');
    statuses.push(await statusOf(socket));
    open.push(socket);
  }
  for (const socket of open) socket.resetAndDestroy();
  expect(statuses).toEqual([...Array.from({ length: EXPORTS_PER_KEY_MAX }, () => 200), 429]);
});

test('Keys take turns with exports, whatever number of exports another key has.', async () => {
  using reads = new CountedReads(service.archive);
  const other = keyOf(service);
  const { inCrowd, alone } = await readsInCrowd(
    reads,
    () => whole(PART, other),
    () => whole(PART, key),
    EXPORTS_PER_KEY_MAX,
  );
  // Every second turn is its own, if it is ready for it; in one queue for all it would be every 17th.
  expect(inCrowd).toBeLessThan((alone * EXPORTS_PER_KEY_MAX) / 2);
});
