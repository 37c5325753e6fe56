import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, revokeKey } from '../../src/account/account-keys.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { cpuSeconds, residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { startServer } from '../support/executable.ts';
import { becomes, SECRET, startNode } from './nodes.ts';

const KEYS = Number(process.env.FEED_KEYS ?? sized(5000, 20_000));
const FEEDS = Number(process.env.FEEDS ?? sized(20, 50));
/** 15 MB for each feed: the buffers of a connection, 10 MB by Linux' defaults, are full before. */
const UNREAD_KEYS = 100_000;
const UNREAD_FEEDS = sized(8, 20);
const CHANGES = sized(20, 50);
const REVOCATIONS = sized(50, 200);

/** Adds keys of as many accounts without creating each by itself. */
function addKeys({ database }: Registry, count: number): void {
  const numbers = 'WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ?)';
  database.write(() => {
    database
      .query(
        `${numbers} INSERT INTO accounts (account_id, email, created_ms)
         SELECT 1000000 + i, printf('a%d@example.com', i), 0 FROM numbers`,
      )
      .run(count);
    database
      .query(
        `${numbers} INSERT INTO api_keys (key_id, account_id, digest, prefix, created_ms)
         SELECT printf('key_%016x', i), 1000000 + i, randomblob(32), 'br_live_', 0 FROM numbers`,
      )
      .run(count);
  });
}

/** The data directory and the file of the secret. */
function prepared(path: string) {
  const secretFile = join(path, 'node-secret');
  writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  return { data: join(path, 'data'), args: ['--node-secret-file', secretFile] };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

test('Many feeds of many keys: the cost of a feed and of a change', async () => {
  using directory = temporaryDirectory();
  const { data, args } = prepared(directory.path);
  using registry = openRegistry(data, { create: true });
  addKeys(registry, KEYS);
  await using home = await startServer(data, args);
  const before = { seconds: cpuSeconds(home.pid), bytes: residentBytes(home.pid) };
  const seen = Array.from({ length: FEEDS }, () => new Map<string, number>());
  const leaving = new AbortController();
  const begunMs = performance.now();
  let isSynced = false;
  const ready = seen.map(async (times) => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const headers = { authorization: `Node ${SECRET}` };
    const answer = await fetch(`${home.origin}/node/feed`, { headers, signal: leaving.signal });
    void (async () => {
      let tail = '';
      const decoder = new TextDecoder();
      for await (const chunk of answer.body!) {
        if (isSynced) {
          for (const [, id] of decoder.decode(chunk, { stream: true }).matchAll(/\["key","(key_\w+)"\]/g))
            times.set(id!, performance.now());
        } else {
          tail = (tail + decoder.decode(chunk, { stream: true })).slice(-200);
          if (tail.includes('"ready":true')) resolve(performance.now() - begunMs);
        }
      }
    })().catch(() => undefined);
    return await promise;
  });
  const readyMs = await Promise.all(ready);
  isSynced = true;
  const synced = cpuSeconds(home.pid);
  const idleMs = performance.now();
  await Bun.sleep(5000);
  const idle = (cpuSeconds(home.pid) - synced) / ((performance.now() - idleMs) / 1000);
  const changing = cpuSeconds(home.pid);
  const changingMs = performance.now();
  const latencies: number[] = [];
  for (let i = 0; i < CHANGES; i += 1) {
    const id = `key_${i.toString(16).padStart(16, '0')}`;
    registry.database.write(() => registry.apiKeys.revoke(id, Date.now()));
    const committedMs = performance.now();
    expect(await becomes(() => seen.every((times) => times.has(id)), true)).toBe(true);
    latencies.push(...seen.map((times) => times.get(id)! - committedMs));
    await Bun.sleep(20);
  }
  const changesSeconds = cpuSeconds(home.pid) - changing - (idle * (performance.now() - changingMs)) / 1000;
  console.log(
    [
      `a feed of ${KEYS} keys, ${FEEDS} at once: ready after ${Math.round(median(readyMs))} ms (median), ${Math.round(Math.max(...readyMs))} ms (last)`,
      `home: ${(synced - before.seconds).toFixed(1)} s of the processor, ${Math.round((residentBytes(home.pid) - before.bytes) / 1e6)} MB more`,
      `idle: ${(idle * 100).toFixed(1)} % of a core`,
      `a change: ${Math.round(median(latencies))} ms (median), ${Math.round(Math.max(...latencies))} ms (last) to a node, ${((changesSeconds / CHANGES) * 1000).toFixed(1)} ms of the processor for all`,
    ].join('\n'),
  );
  leaving.abort();
}, 600_000);

test('Many feeds that continue after home was killed: their bytes and time', async () => {
  using directory = temporaryDirectory();
  const { data, args } = prepared(directory.path);
  using registry = openRegistry(data, { create: true });
  addKeys(registry, KEYS);
  let after = '';
  for (const kind of ['all rows', 'changes'] as const) {
    await using home = await startServer(data, args);
    const before = cpuSeconds(home.pid);
    const begunMs = performance.now();
    const feeds = await Promise.all(Array.from({ length: FEEDS }, () => readFeed(home.origin, after)));
    const seconds = cpuSeconds(home.pid) - before;
    const megabytes = feeds.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
    console.log(
      `${kind}, ${KEYS} keys, ${FEEDS} feeds at once: ${megabytes.toFixed(2)} MB, ready after ${Math.round(performance.now() - begunMs)} ms (last), ${seconds.toFixed(2)} s of home's processor`,
    );
    for (const { revoked } of feeds) expect(revoked).toBe(kind === 'changes');
    after = feeds[0]!.position;
    await home.stop('SIGKILL');
    registry.database.write(() => registry.apiKeys.revoke(`key_${'0'.repeat(16)}`, Date.now()));
  }
}, 600_000);

/** Reads a feed until all is sent. `revoked`: it says that the first key is not valid any more. */
async function readFeed(origin: string, after: string) {
  const leaving = new AbortController();
  const headers = { authorization: `Node ${SECRET}` };
  const url = `${origin}/node/feed?after=${encodeURIComponent(after)}`;
  const answer = await fetch(url, { headers, signal: leaving.signal });
  const decoder = new TextDecoder();
  let [bytes, tail, revoked, position] = [0, '', false, ''];
  for await (const chunk of answer.body!) {
    bytes += chunk.length;
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-chunk.length - 200);
    revoked ||= tail.includes(`["key","key_${'0'.repeat(16)}"]`);
    position = /"ready":true,"position":"([^"]+)"/.exec(tail)?.[1] ?? '';
    if (position !== '') break;
  }
  leaving.abort();
  return { bytes, revoked, position };
}

test('A node of many keys: its start, and all revocations', async () => {
  using directory = temporaryDirectory();
  const { data, args } = prepared(directory.path);
  using registry = openRegistry(data, { create: true });
  addKeys(registry, KEYS);
  const request = { account: 'ann@example.com', name: undefined, tier: undefined, requestsPerMinute: undefined };
  const created = Array.from({ length: REVOCATIONS }, () => createKey(registry, Date.now(), request));
  await using home = await startServer(data, args);
  const begunMs = performance.now();
  const begunBytes = residentBytes(process.pid);
  await using node = startNode(home.origin, { clock: Date.now });
  await node.link.ready;
  const readyMs = performance.now() - begunMs;
  const latencies: number[] = [];
  for (const { key, apiKey } of created) {
    expect(node.tierOf(key)).toBe('free');
    revokeKey({ registry, nowMs: Date.now() }, apiKey.id);
    const committedMs = performance.now();
    expect(await becomes(() => node.tierOf(key), undefined)).toBeUndefined();
    latencies.push(performance.now() - committedMs);
  }
  const bytes = residentBytes(process.pid) - begunBytes;
  console.log(
    `a node is ready after ${Math.round(readyMs)} ms, and has ${Math.round(bytes / 1e6)} MB more; ${latencies.length} of ${created.length} revocations after ${Math.round(median(latencies))} ms (median), ${Math.round(Math.max(...latencies))} ms (last)`,
  );
}, 600_000);

test('Feeds that are not read take no memory at home, and are cut', async () => {
  using directory = temporaryDirectory();
  const { data, args } = prepared(directory.path);
  using registry = openRegistry(data, { create: true });
  addKeys(registry, UNREAD_KEYS);
  await using home = await startServer(data, args);
  const { hostname, port } = new URL(home.origin);
  let closed = 0;
  const open = () =>
    Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => {
          socket.write(`GET /node/feed HTTP/1.1\r\nHost: a\r\nAuthorization: Node ${SECRET}\r\n\r\n`);
          socket.pause();
        },
        data: () => undefined,
        close: () => {
          closed += 1;
        },
        error: () => undefined,
      },
    });
  const sockets = await Promise.all(Array.from({ length: UNREAD_FEEDS }, open));
  await Bun.sleep(3000);
  const bytes = residentBytes(home.pid);
  for (let i = 0; i < 100; i += 1) {
    registry.database.write(() => {
      for (let at = 0; at < 50; at += 1)
        registry.apiKeys.removeName(`key_${(i * 50 + at).toString(16).padStart(16, '0')}`);
    });
    await Bun.sleep(20);
  }
  const more = residentBytes(home.pid) - bytes;
  // All of them together would be 15 MB each.
  expect(more).toBeLessThan(60e6);
  const connections = () =>
    readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .filter((line) => isTo(line, Number(port)));
  expect(connections()).toHaveLength(UNREAD_FEEDS);
  expect(await becomes(() => connections().length, 0)).toBe(0);
  console.log(`${UNREAD_FEEDS} feeds that are not read: ${Math.round(more / 1e6)} MB`);
  for (const socket of sockets) socket.terminate();
  // A feed that is read is served as before.
  await using node = startNode(home.origin, { clock: Date.now });
  await node.link.ready;
  expect(closed).toBeLessThanOrEqual(UNREAD_FEEDS);
}, 600_000);

/** An established connection of the server's side to this port, see proc(5). */
function isTo(line: string, port: number): boolean {
  const fields = line.trim().split(/\s+/);
  return fields[1]?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, '0')}`) === true && fields[3] === '01';
}
