import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';
import { messagesAfterStart } from '../support/logged.ts';

const LISTENING = /serves '.*' on (http:\/\/\S+) /;
const EXPORT = `/v1/btc/markets/${LIGHT_CONDITION_ID}/export?format=ndjson`;
const WAITING = { level: 'info', message: 'stopping: waiting for the requests under way' };
const CUTTING = { level: 'warn', message: 'stopping: closing the connections with requests under way' };
/** Enough that their export is many times larger than the socket buffers. */
const SNAPSHOTS = 4000;
const LEVELS = 100;
const POLL_MS = 5;

let directory: ReturnType<typeof temporaryDirectory>;
let data: string;
let key: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  data = join(directory.path, 'data');
  const recording = join(directory.path, 'wide.ndjson');
  const records = [LIGHT_MARKET, ...Array.from({ length: SNAPSHOTS }, (_, index) => lightSnapshot(index, LEVELS))];
  writeFileSync(recording, records.map((record) => JSON.stringify(record)).join('\n'));
  expect((await runExecutable(['import', recording, '--data', data])).code).toBe(0);
  const created = await runExecutable(['key', 'create', '--tier', 'enterprise', '--data', data]);
  key = created.stdout.trim();
});

afterAll(() => directory[Symbol.dispose]());

/** A connection whose test decides which bytes to send and when to read. */
class Connection {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];

  constructor(origin: string) {
    const { hostname, port } = new URL(origin);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  ask(path: string, ...headers: string[]): this {
    return this.send(`GET ${path} HTTP/1.1\r\n${['Host: localhost', ...headers, '', ''].join('\r\n')}`);
  }

  send(text: string): this {
    this.#socket.write(text);
    return this;
  }

  /** Waits until this number of bytes has arrived, then stops reading. */
  async readOnly(bytes: number): Promise<void> {
    while (this.received.length < bytes) await Bun.sleep(POLL_MS);
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  leave(): void {
    this.#socket.destroy();
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/** The body of a chunked answer. Throws if the last chunk is missing. */
function dechunked(answer: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = answer.indexOf('\r\n', at);
    if (lineEnd < 0) throw new Error('the answer was cut off');
    const size = Number.parseInt(answer.toString('latin1', at, lineEnd), 16);
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(answer.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

async function serve(...args: string[]): Promise<{ server: Child; origin: string }> {
  const server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', data, ...args]);
  const [, origin] = await server.said(LISTENING);
  return { server, origin: origin! };
}

async function saidToStop(server: Child): Promise<void> {
  while (!server.stderr().includes(WAITING.message)) await Bun.sleep(POLL_MS);
}

test('an export under way is sent completely, idle connections are closed, and new ones are refused', async () => {
  const { server, origin } = await serve();
  await using _ = server;
  const authorization = `Authorization: Bearer ${key}`;
  const whole = await (await fetch(`${origin}${EXPORT}`, { headers: { authorization: `Bearer ${key}` } })).bytes();
  const idle = new Connection(origin).ask('/healthz');
  await idle.readOnly(1);
  idle.readOn();
  const slow = new Connection(origin).ask(EXPORT, authorization);
  await slow.readOnly(1000);
  server.kill('SIGTERM');
  await saidToStop(server);
  await idle.closed;
  const late = new Connection(origin).ask('/healthz');
  await late.closed;
  expect(late.received.length).toBe(0);
  expect(server.code).toBeUndefined();
  slow.readOn();
  await slow.closed;
  expect(Buffer.compare(dechunked(slow.received), whole)).toBe(0);
  expect(await server.exited).toBe(0);
  expect(messagesAfterStart(server.stderr())).toEqual([WAITING]);
});

test('After a signal the server finishes the answers to all requests that have begun, and /readyz says that it is stopping.', async () => {
  const { server, origin } = await serve();
  await using _ = server;
  const begun = new Connection(origin).send('GET /readyz HTTP/1.1\r\nHost: localhost\r\n');
  // When a later connection is answered, the bytes of the first one have arrived too.
  await (await fetch(`${origin}/healthz`)).text();
  server.kill('SIGTERM');
  await saidToStop(server);
  begun.send('\r\n');
  await begun.closed;
  expect(begun.received.toString()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\{"status":"draining"\}$/);
  expect(await server.exited).toBe(0);
});

test('a client that reads nothing delays the end by --drain-seconds at most', async () => {
  const { server, origin } = await serve('--drain-seconds', '1');
  await using _ = server;
  const stuck = new Connection(origin).ask(EXPORT, `Authorization: Bearer ${key}`);
  await stuck.readOnly(1000);
  const dribble = new Connection(origin).send('GET / HTTP/1.1\r\n');
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  expect(messagesAfterStart(server.stderr())).toEqual([WAITING, CUTTING]);
  stuck.readOn();
  await stuck.closed;
  // A client can see that the answer is not complete.
  expect(() => dechunked(stuck.received)).toThrow('cut off');
  dribble.leave();
});

test('A second signal ends the server at once with exit code 1.', async () => {
  const { server, origin } = await serve('--drain-seconds', '3600');
  await using _ = server;
  const stuck = new Connection(origin).ask(EXPORT, `Authorization: Bearer ${key}`);
  await stuck.readOnly(1000);
  server.kill('SIGTERM');
  await saidToStop(server);
  server.kill('SIGINT');
  expect(await server.exited).toBe(1);
  expect(messagesAfterStart(server.stderr())).toEqual([WAITING, CUTTING]);
  stuck.leave();
});
