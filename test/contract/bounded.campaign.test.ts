import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { STREAMED_FORMATS } from '../../src/export/format.ts';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { residentBytes } from '../fault/machine.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { marketStatement } from '../support/markets.ts';
import { type Service, serviceOf } from '../support/service.ts';

setDefaultTimeout(300_000);

/** Limits of memory and time of one request, for any recording and any speed of the reader. */

const MB = 1024 * 1024;
const MARKET = marketStatement(0);
const PATH = `/btc/markets/${MARKET.conditionId}`;
const LEVELS = 999;

/** Snapshots by turns of up and down, of which every level gets another size: as many bytes in every form as books can be. */
function addDeepBooks(archive: Archive, count: number): void {
  const { database, markets, snapshots } = archive;
  const prices = Array.from({ length: LEVELS }, (_, level) => (level + 1) / 1000);
  const sizes = (seed: number) =>
    prices.map((_, level) => (10 ** 14 + (((seed * LEVELS + level) * 7919) % 10 ** 14)) / 1e6);
  database.write(() => {
    const { market } = markets.put(MARKET, NOW_MS);
    for (const [shift, outcome] of (['up', 'down'] as const).entries()) {
      const records = Array.from({ length: count / 2 }, (_, nth) => ({
        timestampMs: market.startMs + 2 * nth + shift,
        id: 2 * nth + shift + 1,
        book: { bidPrices: [], bidSizes: [], askPrices: prices, askSizes: sizes(2 * nth + shift) },
      }));
      snapshots.add(market, outcome, records);
    }
  });
}

/** Waits until all open requests wait for their readers. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    await nextTurn();
    await Bun.sleep(10);
  }
}

describe('an export that nobody reads', () => {
  const held = temporaryArchive();
  let service: Service;
  beforeAll(() => {
    addDeepBooks(held.archive, 1600);
    service = serviceOf(held.archive);
  });
  afterAll(() => held[Symbol.dispose]());

  /** Cuts off exports: bytes that follow were made before. */
  const change = () => {
    const { database, markets } = held.archive;
    database.write(() => markets.touch(markets.findByConditionId(MARKET.conditionId)!.key));
  };
  const opened = async (format: string, encoding: string) => {
    const headers = { authorization: `Bearer ${service.key}`, 'accept-encoding': encoding };
    const url = `http://localhost/v1${PATH}/export?format=${format}`;
    const answer = await service.app.handle(new Request(url, { headers }));
    expect(answer.status).toBe(200);
    return answer.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  };
  /** The bytes until the export is cut off. Fails if it is not. */
  const restOf = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const next = await reader.read().catch(() => undefined);
      if (next === undefined) return chunks;
      expect(next.done).toBe(false);
      chunks.push(next.value!);
    }
  };

  test.each(STREAMED_FORMATS)('as %s is one step ahead, which is small', async (format) => {
    const reader = await opened(format, 'identity');
    const first = await reader.read();
    await settle();
    change();
    const ahead = await restOf(reader);
    expect(ahead.length).toBeLessThanOrEqual(1);
    for (const chunk of [first.value!, ...ahead]) expect(chunk.length).toBeLessThan(2 * STEP_BYTES);
  });

  test.each([
    ['zstd', createZstdDecompress],
    ['gzip', createGunzip],
  ] as const)('as %s is a few steps ahead', async (encoding, unpackerOf) => {
    const reader = await opened('ndjson', encoding);
    const first = await reader.read();
    await settle();
    change();
    const unpacker = unpackerOf();
    let bytes = 0;
    unpacker.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    // It ends in the middle.
    const ended = new Promise<void>((resolve) => unpacker.once('error', () => resolve()).once('end', () => resolve()));
    for (const chunk of [first.value!, ...(await restOf(reader))]) unpacker.write(chunk);
    unpacker.end();
    await ended;
    expect(bytes).toBeGreaterThan(0);
    // The whole of it is more than 50 MB.
    expect(bytes).toBeLessThan(8 * STEP_BYTES);
  });
});

describe('a list of markets', () => {
  const COUNT = 160_000;
  const held = temporaryArchive();
  let service: Service;
  beforeAll(() => {
    const { database, markets } = held.archive;
    database.write(() => {
      markets.put(marketStatement(0, { startMs: 0, endMs: 1 }), NOW_MS);
      // Separate statements would take many times as long.
      database
        .query<never, [number]>(
          `WITH RECURSIVE nth (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM nth WHERE i < ? - 1)
           INSERT INTO markets (condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
             down_asset_id, start_ms, end_ms, created_ms, updated_ms, revision)
           SELECT printf('0x%x', i), '0', '0', 'm-' || i, symbol, timeframe, '0', '0', i * 1000, i * 1000 + 1, created_ms,
             updated_ms, i FROM nth, markets`,
        )
        .run(COUNT);
    });
    service = serviceOf(held.archive);
  });
  afterAll(() => held[Symbol.dispose]());

  /** Number of turns of other requests while the list was made. */
  const turnsDuring = async (skip: number) => {
    let turns = 0;
    let isMade = false;
    const count = () => {
      if (isMade) return;
      turns += 1;
      setImmediate(count);
    };
    setImmediate(count);
    const answer = await service.get(`/btc/markets?limit=1&skip=${skip}`);
    isMade = true;
    const { data } = (await answer.json()) as { data: { startTime: string }[] };
    expect(data.map(({ startTime }) => Date.parse(startTime) / 1000)).toEqual([COUNT - 1 - skip]);
    return turns;
  };

  test('serves other requests more often, the more is skipped', async () => {
    expect(await turnsDuring(0)).toBe(0);
    expect(await turnsDuring(60_000)).toBeGreaterThanOrEqual(1);
    expect(await turnsDuring(159_999)).toBeGreaterThanOrEqual(3);
  });
});

describe.skipIf(!existsSync('/proc/self/status'))('memory of the executable (needs /proc)', () => {
  const directory = temporaryDirectory();
  let server: RunningServer;
  let key: string;
  const resident = () => residentBytes(server.pid);
  const headers = () => ({ authorization: `Bearer ${key}`, 'accept-encoding': 'identity' });
  /** Pages of almost the same records, and yet other pages. */
  const askPage = async (nth: number) => {
    const path = `/v1${PATH}/snapshots?limit=1000&from=${MARKET.startMs + nth}`;
    const answer = await fetch(`${server.origin}${path}`, { headers: headers() });
    expect(answer.status).toBe(200);
    return (await answer.arrayBuffer()).byteLength;
  };
  beforeAll(async () => {
    const archive = openArchive(directory.path, NOW_MS, { create: true });
    addDeepBooks(archive, 1000);
    archive.database.close();
    ({ key } = await issueKey(directory.path));
    server = await startServer(directory.path);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('does not grow with the number of pages that many clients read', async () => {
    const pages = Math.ceil((sized(450, 700) * MB) / (await askPage(0)));
    let most = 0;
    // Everything twice: what is asked for again and again may be kept, and must not be all.
    for (let round = 0; round < 2; round += 1) {
      for (let first = 0; first < pages; first += 8) {
        await Promise.all(Array.from({ length: 8 }, (_, nth) => askPage(first + nth)));
        most = Math.max(most, resident());
      }
    }
    expect(most).toBeLessThan(400 * MB);
  });

  test('holds one answer for a reader that does not read', async () => {
    await askPage(0);
    const before = resident();
    const readers: Socket[] = [];
    const { hostname, port } = new URL(server.origin);
    const lines = Object.entries({ host: 'localhost', ...headers() }).map(([name, value]) => `${name}: ${value}\r\n`);
    try {
      for (let nth = 0; nth < 32; nth += 1) {
        const socket = connect({ host: hostname, port: Number(port) });
        readers.push(socket);
        const answered = new Promise((resolve) => socket.once('data', resolve));
        socket.write(`GET /v1${PATH}/snapshots?limit=1000 HTTP/1.1\r\n${lines.join('')}\r\n`);
        await answered;
        socket.pause();
      }
      await settle();
      expect(resident() - before).toBeLessThan(32 * 16 * MB);
    } finally {
      for (const socket of readers) socket.destroy();
    }
  });
});
