import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { createKey } from '../../src/cli/key.ts';
import { type Service, startService } from '../http/service.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';

setDefaultTimeout(60_000);

const PATH = `/v1/btc/markets/${LIGHT_CONDITION_ID}/export`;
const READERS = 12;
/** When nothing was read for this time, no export is under way. */
const QUIET_MS = 150;

let service: Service;
let key: string;

beforeAll(async () => {
  service = startService();
  const { archive } = service;
  await importRecords(archive, [LIGHT_MARKET, ...Array.from({ length: 1500 }, (_, i) => lightSnapshot(i, 150))]);
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: undefined };
  ({ key } = createKey(archive, NOW_MS, request));
});
afterAll(async () => await service[Symbol.asyncDispose]());

/** Every step of an export reads the database once. */
function countedReads() {
  const spy = spyOn(service.archive.database, 'read');
  return { count: () => spy.mock.calls.length, [Symbol.dispose]: () => spy.mockRestore() };
}

async function quiet(count: () => number): Promise<number> {
  for (let before = -1; before !== count(); ) {
    before = count();
    await Bun.sleep(QUIET_MS);
  }
  return count();
}

/** A client that requests an export and reads nothing. */
async function requested(query: string): Promise<Socket> {
  const { hostname, port } = new URL(service.origin);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.pause();
  socket.write(
    `GET ${PATH}${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nAccept-Encoding: zstd\r\n\r\n`,
  );
  return socket;
}

test.each(['parquet', 'ndjson', 'segments'])('an export as %s that is reset does no further step', async (format) => {
  using reads = countedReads();
  const whole = await fetch(`${service.origin}${PATH}?format=${format}`, {
    headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'zstd' },
  });
  await whole.arrayBuffer();
  const before = await quiet(reads.count);
  const sockets = await Promise.all(Array.from({ length: READERS }, () => requested(`?format=${format}`)));
  while (reads.count() === before) await new Promise(setImmediate);
  for (const socket of sockets) socket.resetAndDestroy();
  const atReset = reads.count();
  // A step is done if its turn came before the reset arrived.
  expect((await quiet(reads.count)) - atReset).toBeLessThanOrEqual(READERS);
});
