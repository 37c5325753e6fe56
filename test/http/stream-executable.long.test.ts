import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { STREAMS_PER_KEY_MAX } from '../../src/http/v1/stream.ts';
import { residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { EventReader, eventsOf } from '../support/event-stream.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, LIGHT_START_MS, lightSnapshot } from '../support/light-recording.ts';

setDefaultTimeout(120_000);

const MARKET = `/v1/btc/markets/${LIGHT_CONDITION_ID}`;
const STREAM = `${MARKET}/stream`;
/** As a stream it is many times larger than the buffers of sockets. */
const SNAPSHOTS = 9000;
const LEVELS = 220;
/** After all others, and after a silence of this length. */
const SILENCE_MS = 4000;
const LAST_MS = LIGHT_START_MS + SNAPSHOTS * 10 + SILENCE_MS;
const MB = 1024 * 1024;

const directory = temporaryDirectory();
const data = join(directory.path, 'data');
let key: string;

beforeAll(async () => {
  const path = join(directory.path, 'large.ndjson');
  const records = [
    LIGHT_MARKET,
    ...Array.from({ length: SNAPSHOTS }, (_, index) => lightSnapshot(index, LEVELS)),
    { ...lightSnapshot(SNAPSHOTS), timestamp: LAST_MS },
  ];
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  await outputOf(['import', path, '--data', data]);
  ({ key } = await issueKey(data));
});
afterAll(() => directory[Symbol.dispose]());

/** A client that reads on command, and counts the bytes. */
function connected(server: RunningServer, query: string) {
  const { hostname, port } = new URL(server.origin);
  const socket: Socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  let received = 0;
  const begun = new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length;
      resolve();
    });
  });
  socket.write(`GET ${STREAM}${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  return { socket, begun, received: () => received };
}

const get = async (server: RunningServer, path: string, headers = {}) =>
  await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } });

let server: RunningServer;
beforeAll(async () => {
  server = await startServer(data, ['--idle-seconds', '1', '--drain-seconds', '100']);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

test('A silent stream is not cut off: a comment comes every 15 s; it is never compressed and has no ETag.', async () => {
  const from = LIGHT_START_MS + (SNAPSHOTS - 1) * 10;
  const events = eventsOf(await (await get(server, `${STREAM}?from=${from}&depth=1`)).text());
  expect(events.map(({ event }) => event)).toEqual(['snapshot', 'snapshot', 'end']);
});

test('a silent stream is released when its reader leaves', async () => {
  const query = `?from=${LIGHT_START_MS + (SNAPSHOTS - 1) * 10}&speed=0.1`;
  const readers = Array.from({ length: STREAMS_PER_KEY_MAX }, () => connected(server, query));
  for (const { begun } of readers) await begun;
  expect((await get(server, STREAM)).status).toBe(429);
  for (const { socket } of readers) socket.destroy();
  for (let status = 429; status !== 200; ) {
    const answer = await get(server, STREAM);
    ({ status } = answer);
    await answer.body!.cancel();
  }
});

test('The connection takes another request after its stream.', async () => {
  const { socket } = connected(server, `?from=${LAST_MS}`);
  let text = '';
  socket.on('data', (bytes) => {
    text += String(bytes);
  });
  while (!text.endsWith('\r\n0\r\n\r\n')) await Bun.sleep(20);
  expect(text).not.toMatch(/^connection: close/im);
  text = '';
  socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  expect(text).toStartWith('HTTP/1.1 200 ');
});

test('events are sent immediately', async () => {
  const from = LIGHT_START_MS + (SNAPSHOTS - 100) * 10;
  const answer = await get(server, `${STREAM}?from=${from}&depth=1&speed=0.5`);
  const reader = new EventReader();
  const body = answer.body!.getReader();
  let pieces = 0;
  while (reader.events.length < 30) {
    const { value } = await body.read();
    reader.read(new TextDecoder().decode(value));
    pieces += 1;
  }
  await body.cancel();
  // All at once they are in one or two; a busy machine reads several events together.
  expect(pieces).toBeGreaterThan(3);
});

test('at speed max it has every event once, while another client reads slowly', async () => {
  const slow = connected(server, '?speed=max');
  await slow.begun;
  slow.socket.pause();
  const reader = new EventReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  const times: number[] = [];
  for await (const chunk of (await get(server, `${STREAM}?speed=max`)).body!) {
    bytes += chunk.length;
    reader.read(decoder.decode(chunk, { stream: true }));
    for (const { data: text } of reader.events.splice(0)) {
      const { timestamp } = JSON.parse(text) as { timestamp?: string };
      if (timestamp !== undefined) times.push(Date.parse(timestamp));
      else expect(text).toBe(`{"snapshots":${SNAPSHOTS + 1},"gaps":0}`);
    }
  }
  expect(bytes).toBeGreaterThan(100 * MB);
  expect(times).toEqual([...Array.from({ length: SNAPSHOTS }, (_, index) => LIGHT_START_MS + index * 10), LAST_MS]);
  expect(slow.received()).toBeLessThan(30 * MB);
  slow.socket.destroy();
});

test.skipIf(!existsSync('/proc/self/status'))('holds little for readers that do not read (needs /proc)', async () => {
  const rss = () => residentBytes(server.pid);
  await (await get(server, `${STREAM}?speed=max`)).arrayBuffer();
  const before = rss();
  const readers = Array.from({ length: 20 }, () => connected(server, '?speed=max'));
  for (const { begun, socket } of readers) {
    await begun;
    socket.pause();
  }
  await Bun.sleep(1000);
  expect((await get(server, '/healthz')).status).toBe(200);
  expect(rss() - before).toBeLessThan(20 * 6 * MB);
  for (const { socket } of readers) socket.destroy();
});

test.skipIf(Bun.which('curl') === null)('curl -N shows events as they come (needs curl)', async () => {
  const from = LIGHT_START_MS + (SNAPSHOTS - 1) * 10;
  const url = `${server.origin}${STREAM}?from=${from}&depth=1&speed=0.1`;
  const curl = Bun.spawn(['curl', '-sN', '-H', `Authorization: Bearer ${key}`, url], { stdout: 'pipe' });
  const reader = new EventReader();
  for await (const chunk of curl.stdout) {
    reader.read(new TextDecoder().decode(chunk));
    if (reader.events.length > 0) break;
  }
  curl.kill();
  await curl.exited;
  // The next one is forty seconds away.
  expect(reader.events.map(({ event }) => event)).toEqual(['snapshot']);
});

test('SIGTERM ends a stream within a second, between two events and without end, so a client that reconnects loses nothing.', async () => {
  const answer = await get(server, `${STREAM}?speed=0.1&depth=1`);
  const body = answer.body!.getReader();
  const reader = new EventReader();
  // The bytes before the first event may be a separate chunk.
  while (reader.events.length === 0) reader.read(new TextDecoder().decode((await body.read()).value));
  const code = server.stop('SIGTERM');
  for (let next = await body.read(); !next.done; next = await body.read()) {
    reader.read(new TextDecoder().decode(next.value));
  }
  expect(await code).toBe(0);
  expect(reader.events.length).toBeGreaterThan(0);
  expect(reader.events.every(({ event }) => event === 'snapshot')).toBe(true);
  server = await startServer(data);
  const rest = await get(server, `${STREAM}?speed=max&depth=1`, { 'last-event-id': reader.events.at(-1)!.id });
  const events = eventsOf(await rest.text());
  expect(events.length - 1).toBe(SNAPSHOTS + 1 - reader.events.length);
});
