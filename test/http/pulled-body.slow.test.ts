import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { pulledBody, READER_SECONDS } from '../../src/http/response/pulled-body.ts';

/** Factor by which the server's timers run faster. Timeouts below 8 s could end early: timers have steps of 4 s. */
const TIMES_FASTER = 30;
const CUT_AFTER_MS = (READER_SECONDS / TIMES_FASTER) * 1000;
const STEP_BYTES = 100_000;
/** More than the socket buffers of both sides. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;
/** Ends a complete body. */
const LAST_CHUNK = '\r\n0\r\n\r\n';
/** Durations of reading and of pausing of a steady reader. */
const READ_MS = 2;
const PAUSE_MS = 100;

/** The end of a body, if it ended. */
interface Ended {
  readonly atMs: number;
  readonly error: unknown;
}

const ended = new Map<string, Ended>();
let server: Bun.Server<undefined>;

const BODIES: Record<string, () => AsyncGenerator<Uint8Array>> = {
  async *endless() {
    for (;;) yield new Uint8Array(STEP_BYTES);
  },
  async *large() {
    for (;;) yield new Uint8Array(10 * STEP_BYTES);
  },
  async *silent() {
    yield new Uint8Array(1);
    await Bun.sleep(CUT_AFTER_MS + 2000);
    yield new Uint8Array(1);
  },
  async *broken() {
    yield new Uint8Array(STEP_BYTES);
    throw new Error('no more');
  },
};

beforeAll(() => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // With this timeout alone no body here would be sent completely.
    idleTimeout: 1,
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const faster = {
        timeout: (asked: Request, seconds: number) => server.timeout(asked, Math.ceil(seconds / TIMES_FASTER)),
      };
      const body = pulledBody(BODIES[pathname.slice(1)]!, { request, server: faster }, (error) => {
        if (ended.has(search)) throw new Error(`${search} ended twice`);
        ended.set(search, { atMs: performance.now(), error });
      });
      return new Response(body);
    },
  });
});
afterAll(async () => {
  await server.stop(true);
});

/** A client that reads on command. `name` identifies it. */
async function reader(path: string, name: string) {
  const socket: Socket = connect(server.port!, '127.0.0.1');
  let received = 0;
  let tail = '';
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const begun = new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      received += bytes.length;
      tail = `${tail}${bytes.subarray(-LAST_CHUNK.length).toString('latin1')}`.slice(-LAST_CHUNK.length);
      resolve();
    });
  });
  socket.write(`GET ${path}?${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await begun;
  return { socket, closed, received: () => received, isWhole: () => tail === LAST_CHUNK };
}

async function endOf(name: string): Promise<Ended> {
  for (;;) {
    const end = ended.get(`?${name}`);
    if (end !== undefined) return end;
    await Bun.sleep(20);
  }
}

test.concurrent.each(['/endless', '/large'])('a reader that keeps reading %s slowly is never cut off', async (path) => {
  const { socket, received } = await reader(path, `steady${path}`);
  const deadlineMs = performance.now() + CUT_AFTER_MS + 2000;
  while (performance.now() < deadlineMs) {
    socket.pause();
    await Bun.sleep(PAUSE_MS);
    const before = received();
    socket.resume();
    await Bun.sleep(READ_MS);
    while (received() === before) await Bun.sleep(READ_MS);
  }
  expect(ended.has(`?steady${path}`)).toBe(false);
  socket.destroy();
  expect((await endOf(`steady${path}`)).error).toBeUndefined();
});

test.concurrent('A client may read as slowly as it likes, and is closed when it has read nothing for 240 s.', async () => {
  const { socket, closed, received } = await reader('/endless', 'stalled');
  const beganMs = performance.now();
  socket.pause();
  const { atMs, error } = await endOf('stalled');
  expect(error).toBeUndefined();
  // `endOf` waits for it: a loaded machine may be late.
  expect(atMs - beganMs).toBeGreaterThan(CUT_AFTER_MS / 2 - 500);
  socket.resume();
  await closed;
  expect(received()).toBeLessThan(HELD_BYTES_MAX);
});

test.concurrent('a reader that waits for us is not cut off, however long that takes, and its connection takes the next request', async () => {
  const { socket, closed, isWhole } = await reader('/silent', 'silent');
  expect((await endOf('silent')).error).toBeUndefined();
  while (!isWhole()) await Bun.sleep(READ_MS);
  socket.write('GET /broken?after HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect((await endOf('after')).error).toMatchObject({ message: 'no more' });
  await closed;
  expect(isWhole()).toBe(false);
});

test.concurrent('a body that breaks off is cut off', async () => {
  const { closed, isWhole } = await reader('/broken', 'broken');
  await closed;
  expect((await endOf('broken')).error).toMatchObject({ message: 'no more' });
  expect(isWhole()).toBe(false);
});

test.each(['never begun', 'in a step', 'between two steps'])(
  'a body that is cancelled %s ends after its last step',
  async (when) => {
    const { promise: step, resolve: finishStep } = Promise.withResolvers<void>();
    const events: string[] = [];
    async function* steps(left: AbortSignal) {
      try {
        for (;;) {
          events.push('step');
          if (when === 'in a step') await step;
          yield new Uint8Array(1);
          if (left.aborted) return;
        }
      } finally {
        events.push('last step');
      }
    }
    const request = new Request('http://localhost/');
    const body = pulledBody(steps, { request, server: null }, () => events.push('ended'));
    const taking = body.getReader();
    const first = when === 'never begun' ? undefined : taking.read();
    if (when === 'between two steps') await first;
    while (when === 'in a step' && events.length === 0) await new Promise(setImmediate);
    const cancelled = taking.cancel();
    if (when === 'in a step') {
      await new Promise(setImmediate);
      expect(events).toEqual(['step']);
      finishStep();
    }
    await cancelled;
    expect(events.at(-1)).toBe('ended');
    expect(events.filter((event) => event === 'ended')).toHaveLength(1);
    expect(events.indexOf('step') === -1).toBe(events.indexOf('last step') === -1);
  },
);
