import { describe, expect, test } from 'bun:test';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type ConnectionLimits, Doorkeeper } from '../../src/http/doorkeeper.ts';

const LIMITS: ConnectionLimits = {
  connectionsMax: 1000,
  connectionsPerAddressMax: 1000,
  requestMs: 10_000,
  headBytesMax: 16_384,
  targetBytesMax: 8192,
  bodyBytesMax: 65_536,
  idleMs: 30_000,
  readBytesPerSecondMin: 1024,
};

/** More than all buffers on the way hold. */
const LARGE_BYTES = 48 * 1024 * 1024;
const FLOOD_BYTES = 64 * 1024 * 1024;
const HUGE_BYTES = 400 * 1024 * 1024;
const POLL_MS = 5;

interface Guarded extends AsyncDisposable {
  readonly doorkeeper: Doorkeeper;
  readonly port: number;
  /** The paths that came to the server behind, in their order. */
  readonly served: readonly string[];
  /** Requests that the server behind has not answered. */
  readonly pending: () => number;
  /** Bytes of /huge that the server behind has made. */
  readonly produced: () => number;
  /** Lets the clock say that so much time has gone by. */
  passTime(ms: number): void;
  /** Lets the requests for /held be answered. */
  release(): void;
  /** Stops the server behind, whatever it is at. */
  breakOff(): Promise<void>;
}

/** A doorkeeper in front of a real server, with a clock that stands. */
function guard(limits: Partial<ConnectionLimits> = {}, isShared: (address: string) => boolean = () => false): Guarded {
  const served: string[] = [];
  let produced = 0;
  const held = Promise.withResolvers<void>();
  let monotonicMs = 1000;
  const clients: { of?: (port: number) => string | undefined } = {};
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request, self) {
      // Without a Host, as HTTP/1.0 allows, the URL is a path.
      const { pathname } = new URL(request.url, 'http://localhost');
      served.push(pathname);
      if (pathname === '/large') return new Response(new Uint8Array(LARGE_BYTES));
      if (pathname === '/streamed') return new Response(streamOf(LARGE_BYTES, () => undefined));
      if (pathname === '/huge') return new Response(streamOf(HUGE_BYTES, (bytes) => (produced += bytes)));
      if (pathname === '/cut') return new Response(cutStream());
      if (pathname === '/held') await held.promise;
      if (pathname === '/body') return new Response(await request.text());
      if (pathname === '/who') return new Response(clients.of?.(self.requestIP(request)!.port) ?? 'nobody');
      return new Response(`answer to ${pathname}`);
    },
  });
  const doorkeeper = new Doorkeeper({
    hostname: '127.0.0.1',
    port: 0,
    inner: { hostname: '127.0.0.1', port: server.port! },
    limits: { ...LIMITS, ...limits },
    siteOf: (address) => address,
    isShared,
    budgetOf: (_, charges) => ({ 'x-budget': charges ? 'charged' : 'told' }),
    clocks: () => ({ monotonicMs, wallMs: 1_776_323_400_000 }),
  });
  clients.of = (port) => doorkeeper.clientOf(port);
  return {
    doorkeeper,
    port: doorkeeper.port,
    served,
    pending: () => server.pendingRequests,
    produced: () => produced,
    passTime(ms) {
      monotonicMs += ms;
    },
    release: held.resolve,
    breakOff: () => server.stop(true),
    async [Symbol.asyncDispose]() {
      doorkeeper.stop();
      await server.stop(true);
    },
  };
}

function streamOf(bytes: number, count: (bytes: number) => void): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const step = Math.min(left, 100_000);
      controller.enqueue(new Uint8Array(step));
      count(step);
      left -= step;
      if (left === 0) controller.close();
    },
  });
}

function cutStream(): ReadableStream<Uint8Array> {
  let steps = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      steps += 1;
      await Bun.sleep(1);
      if (steps < 4) controller.enqueue(new Uint8Array(1000));
      else controller.error();
    },
  });
}

/** A client that sends what it is told to, byte for byte. */
class RawClient {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];

  constructor(port: number, localAddress = '127.0.0.1') {
    this.#socket = connect({ port, host: '127.0.0.1', localAddress });
    this.#socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  send(text: string): this {
    this.#socket.write(text, 'latin1');
    return this;
  }

  stopReading(): this {
    this.#socket.pause();
    return this;
  }

  readOn(): this {
    this.#socket.resume();
    return this;
  }

  get received(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  /** Waits until what was received matches. */
  async got(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.#socket.destroyed) throw new Error(`closed without ${pattern}: ${this.received.slice(0, 500)}`);
      await Bun.sleep(POLL_MS);
    }
    return this.received;
  }

  leave(): void {
    this.#socket.destroy();
  }
}

const request = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: localhost', ...headers].map((line) => `${line}\r\n`).join('')}\r\n`;

/** What the doorkeeper answers by itself. */
function expectRefusal(received: string, status: number): void {
  expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  const [head = '', body = ''] = received.split('\r\n\r\n');
  for (const line of ['Connection: close', 'Content-Type: application/problem+json', 'Cache-Control: no-store']) {
    expect(head).toContain(line);
  }
  const problem = JSON.parse(body) as Record<string, unknown>;
  expect(problem.status).toBe(status);
  expect(problem.error).toBe(problem.detail);
  expect(head).toContain(`X-Request-Id: ${problem.requestId}`);
  expect(head).toContain(`Content-Length: ${body.length}`);
  expect(head).toContain(status === 503 ? 'x-budget: told' : 'x-budget: charged');
  expect(head.includes('Retry-After: 5')).toBe(status === 503);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(POLL_MS);
}

describe('connections', () => {
  test('of one address are limited, those of another are not, and one that closes makes room', async () => {
    await using guarded = guard({ connectionsPerAddressMax: 3 });
    const { port, doorkeeper } = guarded;
    const let3 = [1, 2, 3].map(() => new RawClient(port));
    await until(() => doorkeeper.connections === 3);
    const fourth = new RawClient(port).send(request('/'));
    await fourth.closed;
    expectRefusal(fourth.received, 503);
    const elsewhere = new RawClient(port, '127.0.0.2').send(request('/b'));
    expect(await elsewhere.got(/answer to \/b/)).toContain('200 OK');
    let3[0]!.leave();
    await until(() => doorkeeper.connections === 3);
    const fifth = new RawClient(port).send(request('/c'));
    expect(await fifth.got(/answer to \/c/)).toContain('200 OK');
    expect(guarded.served).toEqual(['/b', '/c']);
  });

  test('in all are limited, whoever opens them', async () => {
    await using guarded = guard({ connectionsMax: 3, connectionsPerAddressMax: 2 });
    const { port, doorkeeper } = guarded;
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) new RawClient(port, address);
    await until(() => doorkeeper.connections === 3);
    const further = new RawClient(port, '127.0.0.5').send(request('/'));
    await further.closed;
    expectRefusal(further.received, 503);
    expect(guarded.served).toEqual([]);
  });

  test('of an address that many clients share are limited only in all', async () => {
    await using guarded = guard(
      { connectionsMax: 4, connectionsPerAddressMax: 1 },
      (address) => address === '127.0.0.9',
    );
    const { port, doorkeeper } = guarded;
    const four = [1, 2, 3, 4].map(() => new RawClient(port, '127.0.0.9'));
    await until(() => doorkeeper.connections === 4);
    const fifth = new RawClient(port, '127.0.0.9');
    await fifth.closed;
    expectRefusal(fifth.received, 503);
    for (const client of four) client.leave();
  });

  test('by the thousand are turned away without being kept', async () => {
    await using guarded = guard({ connectionsPerAddressMax: 1 });
    const first = new RawClient(guarded.port);
    await until(() => guarded.doorkeeper.connections === 1);
    const crowd = Array.from({ length: 1000 }, () => new RawClient(guarded.port));
    await Promise.all(crowd.map((client) => client.closed));
    expect(guarded.doorkeeper.connections).toBe(1);
    expect(await first.send(request('/still')).got(/answer to \/still/)).toContain('200 OK');
  });

  test('tell the server behind whose they are, and each one only its own', async () => {
    await using guarded = guard();
    for (const address of ['127.0.0.7', '127.0.0.8']) {
      const client = new RawClient(guarded.port, address).send(request('/who'));
      expect((await client.got(/127\.0/)).endsWith(address)).toBe(true);
    }
  });
});

describe('time', () => {
  test.each([
    ['nothing', '', false],
    ['half a request line', 'GET / HT', true],
    ['headers without an end', 'GET / HTTP/1.1\r\nHost: a\r\n', true],
    ['a body without an end', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234', true],
  ])('to send a request runs out on %s', async (_, sent, isAnswered) => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(sent);
    await until(() => guarded.doorkeeper.connections === 1);
    // Read, so that what follows is the clock's doing.
    await Bun.sleep(50);
    guarded.passTime(LIMITS.requestMs);
    await client.closed;
    if (isAnswered) expectRefusal(client.received, 408);
    else expect(client.received).toBe('');
    expect(guarded.served).toEqual([]);
  });

  test('is not won by sending a byte now and then', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send('GET / HTTP/1.1\r\nHost: a\r\n');
    await until(() => guarded.doorkeeper.connections === 1);
    for (let step = 0; step < 5; step += 1) {
      guarded.passTime(LIMITS.requestMs / 5);
      client.send('X: a\r\n');
      await Bun.sleep(20);
    }
    await client.closed;
    expectRefusal(client.received, 408);
  });

  test('runs anew with each request of a connection, and between them is the longer one of idle connections', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port);
    for (const path of ['/1', '/2', '/3']) {
      client.send(request(path));
      await client.got(new RegExp(`answer to ${path}`));
      guarded.passTime(LIMITS.idleMs - 1);
      await Bun.sleep(600);
    }
    expect(guarded.served).toEqual(['/1', '/2', '/3']);
    guarded.passTime(1);
    await client.closed;
    expect(client.received.match(/HTTP\/1\.1 /g)).toHaveLength(3);
  });

  test('that the server behind takes is nobody’s fault', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(request('/held'));
    await until(() => guarded.served.length === 1);
    guarded.passTime(1_000_000);
    await Bun.sleep(1200);
    guarded.release();
    expect(await client.got(/answer to \/held/)).toContain('200 OK');
  });
});

describe('a reader', () => {
  test.each(['/large', '/streamed'])(
    'of %s that takes nothing is cut off, and the server behind is rid of it',
    async (path) => {
      await using guarded = guard();
      const client = new RawClient(guarded.port).stopReading().send(request(path));
      await until(() => guarded.served.length === 1);
      await Bun.sleep(300);
      // Two periods of 30 s: what the kernel took at the beginning may be enough for one.
      for (let period = 0; period < 2; period += 1) {
        guarded.passTime(30_000);
        await Bun.sleep(600);
      }
      await until(() => guarded.doorkeeper.connections === 0);
      await until(() => guarded.pending() === 0);
      client.readOn();
      await client.closed;
      expect(client.received.length).toBeLessThan(LARGE_BYTES);
    },
  );

  test('that takes nothing is not read ahead for', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).stopReading().send(request('/huge'));
    await until(() => guarded.served.length === 1);
    for (let before = -1; before !== guarded.produced(); ) {
      before = guarded.produced();
      await Bun.sleep(300);
    }
    // Two connections' buffers in the kernel, and a read in between.
    expect(guarded.produced()).toBeLessThan(HUGE_BYTES / 4);
    client.leave();
  });

  test('that takes enough has as long as it likes, and gets every byte', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).stopReading().send(request('/large', 'Connection: close'));
    await until(() => guarded.served.length === 1);
    for (let turn = 0; turn < 8; turn += 1) {
      client.readOn();
      await Bun.sleep(20);
      client.stopReading();
      guarded.passTime(20_000);
      await Bun.sleep(550);
    }
    client.readOn();
    await client.closed;
    const { received } = client;
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(LARGE_BYTES);
  }, 60_000);

  test('has as long as it likes where no rate is asked', async () => {
    await using guarded = guard({ readBytesPerSecondMin: 0 });
    const client = new RawClient(guarded.port).stopReading().send(request('/large', 'Connection: close'));
    await until(() => guarded.served.length === 1);
    await Bun.sleep(300);
    guarded.passTime(1_000_000);
    await Bun.sleep(1200);
    client.readOn();
    await client.closed;
    expect(client.received.length).toBeGreaterThan(LARGE_BYTES);
  });
});

describe('size', () => {
  const padded = (bytes: number) => {
    const bare = request('/', 'X: ');
    return request('/', `X: ${'a'.repeat(bytes - bare.length)}`);
  };

  test.each([
    ['a head of the largest size', padded(16_384), 200],
    ['a head of one byte more', padded(16_385), 431],
    ['a head without an end', `${request('/').slice(0, -2)}X: ${'a'.repeat(100_000)}`, 431],
    ['a hundred fields', request('/', ...Array.from({ length: 99 }, (_, i) => `X-${i}: a`)), 200],
    ['one field more', request('/', ...Array.from({ length: 100 }, (_, i) => `X-${i}: a`)), 431],
    ['the longest target', request(`/${'a'.repeat(8191)}`), 200],
    ['a target of one byte more', request(`/${'a'.repeat(8192)}`), 414],
    ['a target without an end', `GET /${'a'.repeat(100_000)}`, 414],
    ['a body', `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello`, 200],
    ['a body that is too large', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n`, 413],
    ['a body without a length', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 411],
    ['an expectation', `POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n`, 417],
    ['another version', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['two Hosts', request('/', 'Host: b'), 400],
    ['a method that nobody knows', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a whole URL', 'GET HTTP://b/ HTTP/1.1\r\nHost: a\r\n\r\n', 200],
    ['a tunnel', 'CONNECT b:80 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a target that is no path', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ])('of %s: %#', async (_, sent, status) => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(sent);
    const received = await client.got(/\r\n\r\n(?:.|\n)/);
    if (status === 200) {
      expect(received).toStartWith('HTTP/1.1 200 OK');
      client.leave();
      return;
    }
    await client.closed;
    expectRefusal(client.received, status);
    expect(guarded.served).toEqual([]);
  });
});

describe('messages', () => {
  test('that come at once are served one after the other, in their order, also byte by byte', async () => {
    await using guarded = guard();
    const sent = [request('/1'), 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nGET', request('/2')].join(
      '',
    );
    for (const pieces of [[sent], [...sent], [sent.slice(0, 40), sent.slice(40)]]) {
      const client = new RawClient(guarded.port);
      for (const piece of pieces) {
        client.send(piece);
        if (pieces.length > 2) await Bun.sleep(0);
      }
      const received = await client.got(/answer to \/2/);
      expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
      expect(received).toMatch(/answer to \/1HTTP[\s\S]*\r\n\r\nGETHTTP[\s\S]*answer to \/2$/);
      client.leave();
    }
    expect(guarded.served).toEqual(Array.from({ length: 3 }, () => ['/1', '/body', '/2']).flat());
  });

  test('that come while one is under way are not taken in without end', async () => {
    await using guarded = guard();
    let taken = 0;
    const more = Buffer.from(request('/more').repeat(1000));
    const fill = (socket: { write(bytes: Buffer): number }) => {
      let written = more.length;
      while (written === more.length && taken < FLOOD_BYTES) {
        written = Math.max(0, socket.write(more));
        taken += written;
      }
    };
    const flood = await Bun.connect({
      hostname: '127.0.0.1',
      port: guarded.port,
      socket: { open: (socket) => void socket.write(request('/held')), data: () => undefined, drain: fill },
    });
    await until(() => guarded.served.length === 1);
    fill(flood);
    for (let before = -1; before !== taken; ) {
      before = taken;
      await Bun.sleep(300);
    }
    // What was taken is with the kernel, and one read of it here.
    expect(taken).toBeLessThan(FLOOD_BYTES / 2);
    flood.terminate();
  });

  test.each(METHODS)('with %s, which the server behind knows, are answered, and so is what follows', async (method) => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(request('/1').replace('GET', method) + request('/2'));
    await client.got(/answer to \/2/);
    expect(guarded.served).toEqual(['/1', '/2']);
    client.leave();
  });

  test('that the server behind says nothing to are answered all the same', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(request('/held'));
    await until(() => guarded.served.length === 1);
    void guarded.breakOff();
    await client.closed;
    expectRefusal(client.received, 503);
  });

  test('behind one that is refused are not read', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(
      `${request('/1')}GET / HTTP/1.1\r\nHost : a\r\n\r\n${request('/2')}`,
    );
    await client.closed;
    expect(guarded.served).toEqual(['/1']);
    expect(client.received).toMatch(/answer to \/1HTTP\/1\.1 400 /);
  });

  test.each([
    ['Connection: close', request('/', 'Connection: close')],
    ['Connection: close among others', request('/', 'Connection: keep-alive, Close')],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
  ])('with %s are the last of their connection', async (_, sent) => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(sent + request('/2'));
    await client.closed;
    expect(guarded.served).toEqual(['/']);
    expect(client.received).toEndWith('answer to /');
  });

  test('to HEAD have no body, and the next one begins behind the head', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(request('/1').replace('GET', 'HEAD') + request('/2'));
    const received = await client.got(/answer to \/2/);
    expect(received).not.toContain('answer to /1');
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test('that the server behind breaks off are seen to be broken off', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).send(request('/cut'));
    await client.closed;
    expect(client.received).toContain('Transfer-Encoding: chunked');
    expect(client.received).not.toContain('\r\n0\r\n\r\n');
  });

  test('of a client that has left are not worked on', async () => {
    await using guarded = guard();
    const client = new RawClient(guarded.port).stopReading().send(request('/streamed'));
    await until(() => guarded.pending() === 1);
    client.leave();
    await until(() => guarded.pending() === 0);
    expect(guarded.doorkeeper.connections).toBe(0);
  });
});

describe('draining', () => {
  test('takes nobody in, lets idle connections go, and answers what is under way or has begun', async () => {
    await using guarded = guard();
    const { port, doorkeeper } = guarded;
    const idle = new RawClient(port).send(request('/idle'));
    await idle.got(/answer to \/idle/);
    const fresh = new RawClient(port);
    const held = new RawClient(port).send(request('/held'));
    const begun = new RawClient(port).send('GET /begun HTTP/1.1\r\nHost: a\r\n');
    await until(() => doorkeeper.connections === 4 && guarded.served.length === 2);
    await Bun.sleep(50);
    let isDrained = false;
    const drained = doorkeeper.drain().then(() => {
      isDrained = true;
    });
    await Promise.all([idle.closed, fresh.closed]);
    const late = new RawClient(port);
    await late.closed;
    expect(late.received).toBe('');
    begun.send('\r\n');
    await begun.closed;
    expect(begun.received).toContain('answer to /begun');
    expect(isDrained).toBe(false);
    guarded.release();
    await held.closed;
    expect(held.received).toContain('answer to /held');
    await drained;
  });
});
