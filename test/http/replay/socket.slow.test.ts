import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { Elysia } from 'elysia';
import { refusePlainGet, SOCKET_OPTIONS, type SocketSession, Sockets } from '../../../src/http/replay/socket.ts';
import type { Connection } from '../../../src/replay/connection.ts';
import { RawSocket } from './raw-socket.ts';

const SOCKETS_MAX = 3;
const NOTHING: SocketSession = { received: () => undefined, drained: () => undefined, closed: () => undefined };

/** A server whose sockets have the sessions of `opener`. */
function serverOf(opener: (connection: Connection) => Partial<SocketSession> | undefined) {
  const log: string[] = [];
  const sockets = new Sockets(SOCKETS_MAX, (line) => log.push(line));
  const app = new Elysia({ websocket: SOCKET_OPTIONS })
    .onError(({ error }) => new Response(String(error), { status: 400 }))
    .ws(
      '/socket',
      sockets.hooks((connection) => ({ ...NOTHING, ...opener(connection) })),
    )
    .get('/socket', refusePlainGet);
  app.listen({ hostname: '127.0.0.1', port: 0 });
  return {
    sockets,
    log,
    url: `ws://127.0.0.1:${app.server!.port}/socket`,
    [Symbol.asyncDispose]: async () => void (await app.stop(true)),
  };
}

/** The most bytes that the system itself may hold of one connection: some machines allow 8 MiB, others 36. */
function heldBySystem(): number {
  const names = ['tcp_wmem', 'tcp_rmem'].map((name) => `/proc/sys/net/ipv4/${name}`);
  const largest = (path: string) => Number(readFileSync(path, 'utf8').trim().split(/\s+/)[2]);
  return names.map((path) => (existsSync(path) ? largest(path) : 4 * 1024 * 1024)).reduce((sum, size) => sum + size, 0);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(2);
}

describe('a client that does not read', () => {
  test('makes its sender wait until it has read everything', async () => {
    const text = 'x'.repeat(60_000);
    let connection: Connection | undefined;
    let drains = 0;
    await using server = serverOf((opened) => {
      connection = opened;
      return {
        drained: () => {
          drains += 1;
        },
      };
    });
    const client = await RawSocket.open(server.url);
    client.stopReading();
    await until(() => connection !== undefined);
    let sent = 1;
    while (connection!.send(text)) sent += 1;
    expect(drains).toBe(0);
    client.readOn();
    await until(() => drains > 0);
    await until(() => client.messages.texts.length === sent);
    expect(drains).toBe(1);
    expect(connection!.send('more')).toBe(true);
    await until(() => client.messages.texts.length === sent + 1);
    client.leave();
  });

  test('gets no more until it has read everything that waits, however slowly it reads', async () => {
    const system = heldBySystem();
    const text = 'x'.repeat(system + 12 * 1024 * 1024);
    let drainedAt: number | undefined;
    let client: RawSocket | undefined;
    await using server = serverOf((connection) => {
      connection.send(text);
      return {
        drained: () => {
          drainedAt ??= client!.receivedBytes;
        },
      };
    });
    client = await RawSocket.open(server.url);
    while (drainedAt === undefined) {
      client.stopReading();
      await Bun.sleep(2);
      client.readOn();
      await Bun.sleep(1);
    }
    // The system's own buffers hold the rest, and the client's those of a few reads.
    expect(text.length - drainedAt).toBeLessThan(system + 1024 * 1024);
    client.leave();
  });

  test('A client that does not read stops only its own messages, and is closed when 16 MiB would wait for it.', async () => {
    const text = 'x'.repeat(1024 * 1024);
    let connection: Connection | undefined;
    let closes = 0;
    await using server = serverOf((opened) => {
      connection = opened;
      return {
        closed: () => {
          closes += 1;
        },
      };
    });
    const client = await RawSocket.open(server.url);
    client.stopReading();
    await until(() => connection !== undefined);
    let sent = 0;
    while (closes === 0 && sent < 1000) {
      connection!.send(text);
      sent += 1;
      await Bun.sleep(0);
    }
    // The bytes that wait here, and those in the system's own buffers.
    expect(sent).toBeLessThan(16 + heldBySystem() / text.length + 12);
    expect(server.sockets.count).toBe(0);
    client.leave();
  });
});

test('a message larger than the maximum that may wait reaches a client that reads', async () => {
  const text = 'y'.repeat(40 * 1024 * 1024);
  await using server = serverOf((connection) => {
    connection.send(text);
    return undefined;
  });
  const client = await RawSocket.open(server.url);
  await until(() => client.receivedBytes > text.length);
  expect(client.messages.texts).toEqual([text]);
  client.leave();
});

test('a socket beyond the maximum is refused, until another one leaves', async () => {
  await using server = serverOf(() => ({}));
  const clients = await Promise.all(Array.from({ length: SOCKETS_MAX }, () => RawSocket.open(server.url)));
  await expect(RawSocket.open(server.url)).rejects.toThrow('HTTP/1.1 400');
  clients.pop()!.leave();
  await until(() => server.sockets.count === SOCKETS_MAX - 1);
  clients.push(await RawSocket.open(server.url));
  for (const client of clients) client.leave();
});

test('a request that cannot become a socket is refused, and takes no room', async () => {
  await using server = serverOf(() => ({}));
  for (let i = 0; i <= SOCKETS_MAX; i += 1) {
    // A plain one, and one without the key that the protocol needs.
    for (const headers of [{}, { connection: 'Upgrade', upgrade: 'websocket' }]) {
      const response = await fetch(server.url.replace('ws:', 'http:'), { headers });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('this path is a WebSocket');
    }
  }
  const client = await RawSocket.open(server.url);
  client.leave();
});

test('A socket gets each frame of its client exactly as it was sent, also if it is JSON.', async () => {
  const frames = [
    ...['PING', '"PING"', '12345678901234567890123', '007', '1e3', 'true', 'null', '', ' ', '{', '[1,', '"open'],
    ...['{"assets_ids":[12345678901234567890123]}', ' {"a": 1,  "a": 2}', '/x', 'Grüße \u0000 😀'],
  ];
  const received: unknown[] = [];
  await using server = serverOf(() => ({ received: (text) => void received.push(text) }));
  const client = await RawSocket.open(server.url);
  for (const frame of frames) client.send(frame);
  await until(() => received.length === frames.length);
  expect(received).toEqual(frames);
  client.leave();
});

test('a socket that its session closes at once is not counted', async () => {
  await using server = serverOf((connection) => {
    connection.close(1000, 'enough');
    return undefined;
  });
  for (let i = 0; i <= SOCKETS_MAX; i += 1) {
    const client = await RawSocket.open(server.url);
    await client.closed;
  }
  expect(server.sockets.count).toBe(0);
});

test('a session that fails closes its socket with 1011, and the others continue', async () => {
  await using server = serverOf(() => ({
    received: (text) => {
      if (text === 'fail') throw new Error('it failed');
    },
  }));
  const [failing, other] = await Promise.all([RawSocket.open(server.url), RawSocket.open(server.url)]);
  failing.send('fail');
  await until(() => failing.messages.closeCode !== undefined);
  expect(failing.messages.closeCode).toBe(1011);
  expect(server.log).toHaveLength(1);
  expect(server.log[0]).toContain('it failed');
  expect(server.sockets.count).toBe(1);
  other.leave();
});

test('a frame of 512 KiB is read, a larger one closes its socket with 1009', async () => {
  const lengths: number[] = [];
  await using server = serverOf(() => ({ received: (text) => void lengths.push(text.length) }));
  const client = await RawSocket.open(server.url);
  client.send('a'.repeat(512 * 1024));
  await until(() => lengths.length === 1);
  client.send('a'.repeat(512 * 1024 + 1));
  await client.closed;
  expect(lengths).toEqual([512 * 1024]);
});
