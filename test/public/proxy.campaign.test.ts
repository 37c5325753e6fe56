import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { bodyOf, parse } from '../contract/raw-http.ts';
import { until } from '../fault/served.ts';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { LIGHT_CONDITION_ID } from '../support/light-recording.ts';
import { API, archiveIn, lacking, PROXIES, type Proxied, REPLAY, startProxied } from './proxied.ts';

const EXPORT = `/v1/btc/markets/${LIGHT_CONDITION_ID}/export`;
/** An export of many times the bytes that the kernel keeps for the three connections of client, proxy and bookreel. */
const LARGE = { snapshots: 4000, levels: 200 } as const;
const SLOW_CLIENTS = 200;
const TRICKLE_MS = 500;
const TOTAL_MAX = 512;
const PER_ADDRESS_MAX = 64;
const ESTABLISHED = '01';
/** Longer than 240 s. */
const STALLED_WITHIN_MS = 400_000;
const REST_MS = 150;
/** The slow reader pauses after each, so that an export takes longer than the 10 s that headers and bodies may take. */
const SLOW_READER_BYTES = 65_536;

for (const name of PROXIES) {
  const lacks = lacking(name);
  describe.skipIf(lacks !== undefined)(
    `with ${name} as in the manual${lacks === undefined ? '' : ` (needs ${lacks})`}`,
    () => {
      test('clients that send headers or bodies slowly are closed, and others are served meanwhile', async () => {
        await using proxied = await startProxied(name);
        const begun = `POST /v1/btc/markets HTTP/1.1\r\nHost: ${API}\r\n`;
        const stalled = ['', begun, `${begun}X-A: `, `${begun}Content-Length: 1000\r\n\r\nabc`];
        // nginx limits the time between two parts of a body, Caddy the time of a body.
        const trickling = name === 'nginx' ? stalled.slice(1, 3) : stalled.slice(1);
        const clients = await Promise.all([
          ...Array.from({ length: SLOW_CLIENTS }, (_, index) => proxied.sent(stalled[index % 3]!)),
          ...stalled.slice(3).map(async (text) => await proxied.sent(text)),
        ]);
        const tricklers = await Promise.all(trickling.map(async (text) => await proxied.sent(text)));
        const timer = setInterval(() => {
          for (const { socket, isOpen } of tricklers) if (isOpen) socket.write('a');
        }, TRICKLE_MS);
        try {
          for (let request = 0; request < 8; request += 1) {
            expect((await proxied.ask('/v1/btc/markets')).status).toBe(200);
          }
          expect(clients.filter(({ isOpen }) => isOpen)).toHaveLength(clients.length);
          await until('they are closed', () => [...clients, ...tricklers].every(({ isOpen }) => !isOpen));
        } finally {
          clearInterval(timer);
        }
        expect((await proxied.ask('/v1/btc/markets')).status).toBe(200);
      });

      test(`${TOTAL_MAX} sockets are open at once, and further requests are refused until one is closed`, async () => {
        await using proxied = await startProxied(name, {
          replayArguments: ['--paused', '--max-sockets', String(4 * TOTAL_MAX + 4)],
        });
        const open = async (number: number) => {
          const from = `127.0.1.${1 + Math.floor(number / PER_ADDRESS_MAX)}`;
          const connection = await proxied.connected({ host: REPLAY, from });
          return await RawSocket.open(
            `wss://${REPLAY}/ws/market`,
            [`Authorization: Bearer ${proxied.key}`],
            connection,
          );
        };
        const sockets: RawSocket[] = [];
        while (sockets.length < TOTAL_MAX) {
          const opening = Array.from({ length: PER_ADDRESS_MAX }, (_, index) => open(sockets.length + index));
          sockets.push(...(await Promise.all(opening)));
        }
        const refused = name === 'nginx' ? '429' : '503';
        await expect(open(TOTAL_MAX)).rejects.toThrow(refused);
        expect((await proxied.ask('/time', { host: REPLAY })).status).toBe(Number(refused));
        expect((await fetch(`${proxied.origin}/healthz`)).status).toBe(200);
        // nginx counts for both host names together, Caddy for each.
        expect((await proxied.ask('/healthz')).status).toBe(name === 'nginx' ? 429 : 200);
        sockets[0]!.leave();
        await until('a request is served', async () => (await proxied.ask('/time', { host: REPLAY })).status === 200);
        for (const socket of sockets) socket.leave();
      });
    },
  );
}

const usable = PROXIES.filter((name) => lacking(name) === undefined);
const missing = PROXIES.flatMap((name) => lacking(name) ?? []);
const needs = missing.length === 0 ? '' : ` (needs ${missing.join(' and ')})`;

describe.skipIf(usable.length === 0)(`an export through ${usable.join(' and ')} as in the manual${needs}`, () => {
  const directory = temporaryDirectory();
  let archive: string;
  beforeAll(async () => {
    archive = await archiveIn(directory.path, LARGE);
  });
  afterAll(() => directory[Symbol.dispose]());

  // They mostly wait.
  test.concurrent(
    'is whole for a slow reader',
    async () => {
      await Promise.all(
        usable.map(async (name) => {
          await using proxied = await startProxied(name, { archive });
          const authorization = `Bearer ${proxied.key}`;
          const whole = await (await fetch(`${proxied.origin}${EXPORT}`, { headers: { authorization } })).text();
          const client = await proxied.sent(exportRequest(proxied));
          readSlowly(client.socket);
          await until('it is complete', () => !client.isOpen, STALLED_WITHIN_MS);
          const { text, rest } = bodyOf(parse(client.text));
          expect({ name, rest, isWhole: text === whole }).toEqual({ name, rest: '', isWhole: true });
        }),
      );
    },
    STALLED_WITHIN_MS + 60_000,
  );

  test.concurrent(
    'is cut off by bookreel and by nginx if the client reads nothing',
    async () => {
      await Promise.all(
        usable.map(async (name) => {
          await using proxied = await startProxied(name, { archive });
          const client = await stalledReader(proxied);
          await until('bookreel has closed', () => established(portOf(proxied)) === 0, STALLED_WITHIN_MS);
          // Caddy 2.6 keeps the connection, and ends the answer as if it were complete, as the page says.
          if (name === 'nginx') {
            await until('nginx has closed', () => established(proxied.port) === 0, STALLED_WITHIN_MS);
            await expectCut(client);
          }
          client.socket.destroy();
        }),
      );
    },
    STALLED_WITHIN_MS + 60_000,
  );

  test.concurrent.skipIf(!usable.includes('caddy'))('is cut off by Caddy after the time in `write`', async () => {
    await using proxied = await startProxied('caddy', { archive, edits: [['write 6h', 'write 5s']] });
    const client = await stalledReader(proxied);
    await until('Caddy has closed', () => established(proxied.port) === 0);
    await expectCut(client);
  });
});

type Client = Awaited<ReturnType<Proxied['sent']>>;

async function stalledReader(proxied: Proxied): Promise<Client> {
  const client = await proxied.sent(exportRequest(proxied));
  await until('it has begun', () => client.text !== '');
  client.socket.pause();
  expect([established(portOf(proxied)), established(proxied.port)]).toEqual([1, 1]);
  return client;
}

/** Reads the rest of an answer that is cut off. */
async function expectCut(client: Client): Promise<void> {
  client.socket.resume();
  await until('it is closed', () => !client.isOpen);
  expect(client.text).toStartWith('HTTP/1.1 200 ');
  expect(client.text.endsWith('\r\n0\r\n\r\n')).toBe(false);
}

function exportRequest({ key }: Proxied): string {
  return `GET ${EXPORT} HTTP/1.1\r\nHost: ${API}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
}

function readSlowly(socket: TLSSocket): void {
  let bytes = 0;
  socket.on('data', (chunk: string) => {
    bytes += chunk.length;
    if (bytes < SLOW_READER_BYTES) return;
    bytes = 0;
    socket.pause();
    setTimeout(() => socket.resume(), REST_MS);
  });
}

function portOf({ origin }: Proxied): number {
  return Number(new URL(origin).port);
}

/** The number of a server's open connections, as the kernel lists them (proc(5)). */
function established(port: number): number {
  const rows = ['tcp', 'tcp6'].flatMap((family) => readFileSync(`/proc/net/${family}`, 'utf8').split('\n').slice(1));
  const localPort = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return rows.filter((row) => {
    const [, local, , state] = row.trim().split(/\s+/);
    return local?.endsWith(localPort) === true && state === ESTABLISHED;
  }).length;
}
