import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { EXPORTS_MAX, EXPORTS_PER_KEY_MAX } from '../../src/http/v1/export.ts';
import { residentBytes } from '../fault/machine.ts';
import { importBytes, importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed, type RunningServer, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';
import { messagesAfterStart } from '../support/logged.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Service, startService } from './service.ts';

setDefaultTimeout(120_000);

const PATH = `/v1/btc/markets/${LIGHT_CONDITION_ID}/export`;
const MB = 1024 * 1024;

/** A market whose export is `count` times about 60 bytes a level. */
function recording(count: number, levels: number): string {
  const lines = [JSON.stringify(LIGHT_MARKET)];
  for (let index = 0; index < count; index += 1) lines.push(JSON.stringify(lightSnapshot(index, levels)));
  return `${lines.join('\n')}\n`;
}

/** A client that requests the export, and then reads on command. */
interface Reader {
  readonly socket: Socket;
  /** All received bytes, with headers and chunk sizes. */
  received(): number;
  readonly text: () => string;
  readonly closed: Promise<void>;
}

async function openReader(origin: string, key: string, query = '', kept = false): Promise<Reader> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = 0;
  const chunks: Buffer[] = [];
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  // Some tests expect a connection that is cut off.
  socket.on('error', () => undefined);
  const first = new Promise<boolean>((resolve) =>
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (kept) chunks.push(chunk);
      resolve(chunk.toString('latin1').startsWith('HTTP/1.1 200 '));
    }),
  );
  socket.write(
    `GET ${PATH}${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  if (!(await first)) {
    // Readers that have just left may still be counted.
    socket.destroy();
    await Bun.sleep(25);
    return await openReader(origin, key, query, kept);
  }
  socket.pause();
  return { socket, received: () => received, text: () => Buffer.concat(chunks).toString('latin1'), closed };
}

/** The last chunk of a complete answer is empty. */
const isWhole = (text: string) => text.endsWith('\r\n0\r\n\r\n');

describe('a server with an export of more than 20 MB', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let server: RunningServer;
  let key: string;
  let whole: { bytes: number; sha256: string };
  const get = async (asking = key) =>
    await fetch(`${server.origin}${PATH}`, {
      headers: { authorization: `Bearer ${asking}`, 'accept-encoding': 'identity' },
    });
  const rss = () => residentBytes(server.pid);

  beforeAll(async () => {
    const path = join(directory.path, 'large.ndjson');
    writeFileSync(path, recording(1800, 220));
    await printed(['import', path, '--data', data]);
    const exporting = ['export', '--data', data, '-o', join(directory.path, 'whole'), '--json'];
    whole = JSON.parse(await printed(exporting)) as typeof whole;
    ({ key } = await issueKey(data));
    server = await startServer(data, ['--idle-seconds', '1']);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('sends what the command writes, byte for byte', async () => {
    expect(whole.bytes).toBeGreaterThan(20 * MB);
    const hash = createHash('sha256');
    for await (const chunk of (await get()).body!) hash.update(chunk);
    expect(hash.digest('hex')).toBe(whole.sha256);
  });

  test.skipIf(!existsSync('/proc/self/status'))('holds little for readers that do not read (needs /proc)', async () => {
    // The memory of the code itself does not count.
    await (await get()).arrayBuffer();
    const before = rss();
    const readers = await Promise.all(Array.from({ length: 10 }, () => openReader(server.origin, key)));
    for (let turn = 0; turn < 10; turn += 1) {
      await Bun.sleep(100);
      for (const { socket } of readers) {
        socket.resume();
        await new Promise(setImmediate);
        socket.pause();
      }
    }
    const held = () => rss() - before;
    // Memory that is not collected yet does not count either: it is collected within these 3 s.
    for (let turn = 0; turn < 30 && held() >= 10 * 6 * MB; turn += 1) await Bun.sleep(100);
    expect(held()).toBeLessThan(10 * 6 * MB);
    for (const { socket } of readers) socket.destroy();
  });

  test('a reader that pauses for longer than the idle timeout gets the whole export', async () => {
    const reader = await openReader(server.origin, key, '', true);
    // An idle timeout of one second takes effect after at most four.
    await Bun.sleep(5000);
    expect(reader.received()).toBeLessThan(10 * MB);
    reader.socket.resume();
    await reader.closed;
    expect(isWhole(reader.text())).toBe(true);
    expect(reader.received()).toBeGreaterThan(whole.bytes);
  });

  test('A key may have 16 of the 64 open exports: beyond that it gets a 429, beyond the total a 503.', async () => {
    // Of the last 16 slots a key gets half of those that are free: 8, 4, 2, 1 and 1.
    const counts = [EXPORTS_PER_KEY_MAX, EXPORTS_PER_KEY_MAX, EXPORTS_PER_KEY_MAX, 8, 4, 2, 1, 1];
    const keys = await Promise.all(counts.map(async () => (await issueKey(data)).key));
    for (const query of ['', '?format=msgpack']) {
      const readers: Reader[] = [];
      for (const [index, asking] of keys.entries()) {
        const opening = Array.from({ length: counts[index]! }, () => openReader(server.origin, asking, query));
        readers.push(...(await Promise.all(opening)));
        const over = await get(asking);
        const detail = ((await over.json()) as { detail: string }).detail;
        if (counts[index] === EXPORTS_PER_KEY_MAX) {
          expect([over.status, over.headers.get('retry-after')]).toEqual([429, '5']);
          expect(detail).toContain('exports are open with this key');
        } else {
          expect(over.status).toBe(503);
          expect(detail).toBe(`${readers.length} exports are open already: try again later`);
        }
      }
      expect(readers).toHaveLength(EXPORTS_MAX);
      expect((await get()).status).toBe(503);
      expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
      for (const { socket } of readers) socket.destroy();
      let status = 503;
      for (let tries = 0; status === 503 && tries < 200; tries += 1) {
        await Bun.sleep(25);
        const answer = await get();
        status = answer.status;
        await answer.body?.cancel();
      }
      expect(status).toBe(200);
    }
  });
});

describe('an export whose market changes or cannot be read', () => {
  /** One for all tests here: each changes it after its export has begun. */
  let large: Service;
  beforeAll(async () => {
    large = startService();
    await importBytes(large.archive, recording(2000, 150));
  });
  afterAll(async () => await large[Symbol.asyncDispose]());

  const keyOf = ({ registry }: Service, account = 'test@localhost') =>
    createKey(registry, NOW_MS, { account, name: undefined, tier: 'enterprise', requestsPerMinute: undefined });

  test('An export over HTTP is cut off when its market changes, so that no client takes a part for the whole.', async () => {
    const { origin, archive, log } = large;
    const { key } = keyOf(large);
    for (const query of ['', '?format=msgpack', '?format=csv']) {
      const reader = await openReader(origin, key, query, true);
      await importRecords(archive, [lightSnapshot(5000 + query.length, 2)]);
      reader.socket.resume();
      await reader.closed;
      expect(reader.text(), query).toStartWith('HTTP/1.1 200 OK');
      expect(isWhole(reader.text()), query).toBe(false);
    }
    expect(log).toEqual([]);
  });

  test('An export checks access at each step: it is cut off when its key is revoked, loses its tier, or its account is disabled.', async () => {
    const { origin, registry, log } = large;
    const { database, accounts, apiKeys } = registry;
    const losses = [
      (id: string) => apiKeys.revoke(id, NOW_MS),
      (id: string) => apiKeys.update({ ...apiKeys.changeable(id), tier: 'free' }),
      (_: string, accountId: number) => accounts.disable(accountId, NOW_MS),
    ];
    for (const [index, lose] of losses.entries()) {
      const account = `reader-${index}@example.com`;
      const { apiKey, key } = keyOf(large, account);
      const reader = await openReader(origin, key, '?format=ndjson', true);
      database.write(() => lose(apiKey.id, apiKey.accountId));
      reader.socket.resume();
      await reader.closed;
      expect(reader.text(), account).toStartWith('HTTP/1.1 200 OK');
      expect(isWhole(reader.text()), account).toBe(false);
    }
    expect(log).toEqual([]);
  });

  test('is cut off in the format segments too', async () => {
    await using service = startService();
    const { archive, origin, log } = service;
    await importRecords(archive, [LIGHT_MARKET]);
    const market = archive.markets.findByConditionId(LIGHT_CONDITION_ID)!;
    const random = randomsOf(20_260_416);
    const prices = Array.from({ length: 900 }, (_, level) => (level + 1) / 1000);
    const records = Array.from({ length: 3000 }, (_, index) => ({
      timestampMs: market.startMs + index,
      id: index + 1,
      book: {
        bidPrices: [],
        bidSizes: [],
        askPrices: prices,
        askSizes: prices.map(() => 1e14 + Math.floor(random() * 8e14)),
      },
    }));
    archive.database.write(() => {
      archive.snapshots.add(market, 'up', records);
      archive.markets.touch(market.key);
    });
    const { key } = keyOf(service);
    const whole = await openReader(origin, key, '?format=segments', true);
    whole.socket.resume();
    await whole.closed;
    expect(isWhole(whole.text())).toBe(true);
    expect(whole.received()).toBeGreaterThan(16 * MB);
    const reader = await openReader(origin, key, '?format=segments', true);
    await importRecords(archive, [lightSnapshot(5000, 2)]);
    reader.socket.resume();
    await reader.closed;
    expect(reader.text()).toStartWith('HTTP/1.1 200 OK');
    expect(isWhole(reader.text())).toBe(false);
    expect(log).toEqual([]);
  });

  test('is not cut off by records of another market', async () => {
    const { origin, archive } = large;
    const other = { ...LIGHT_MARKET, conditionId: '0x77', slug: 'another', clobTokenIds: ['31', '32'] };
    const reader = await openReader(origin, keyOf(large).key, '', true);
    await importRecords(archive, [other, { ...lightSnapshot(1), conditionId: '0x77' }]);
    reader.socket.resume();
    await reader.closed;
    expect(isWhole(reader.text())).toBe(true);
  });

  test('is cut off, and the reason is logged, if the archive is damaged', async () => {
    const { origin, archive, log } = large;
    const { key } = keyOf(large);
    using database = new Database(archive.database.path);
    database
      .query(`UPDATE segments SET digest = zeroblob(32) WHERE segment_id = (
        SELECT MAX(segment_id) FROM segments JOIN series USING (series_id) JOIN markets USING (market_key)
        WHERE kind = 'book' AND condition_id = ?)`)
      .run(LIGHT_CONDITION_ID);
    const reader = await openReader(origin, key, '', true);
    reader.socket.resume();
    await reader.closed;
    expect(reader.text()).toStartWith('HTTP/1.1 200 OK');
    expect(isWhole(reader.text())).toBe(false);
    expect(log.length).toBe(1);
    expect(log[0]).toContain('damaged');
    expect(log[0]).not.toContain(key);
  });

  test('prints nothing on standard error when it is cut off', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    writeFileSync(join(directory.path, 'large.ndjson'), recording(2000, 150));
    await printed(['import', join(directory.path, 'large.ndjson'), '--data', data]);
    const { key } = await issueKey(data);
    await using server = startChild([EXECUTABLE, 'serve', '--data', data, '--port', '0']);
    const [, origin] = await server.said(/ on (http:\/\/\S+) /);
    const reader = await openReader(origin!, key, '', true);
    await printed(['import', '-', '--data', data], { stdin: `${JSON.stringify(lightSnapshot(9000))}\n` });
    reader.socket.resume();
    await reader.closed;
    expect(isWhole(reader.text())).toBe(false);
    server.kill('SIGTERM');
    await server.exited;
    expect(messagesAfterStart(server.stderr())).toEqual([
      { level: 'info', message: 'stopping: waiting for the requests under way' },
    ]);
  });
});
