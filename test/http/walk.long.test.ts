import { describe, expect, test } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Packr } from 'msgpackr';
import { PAGE_BYTES_MAX } from '../../src/http/response/snapshot-page-writer.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { START_MS, sampleMarket, sampleQuote, sampleSnapshot } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const MARKET = '/btc/markets/btc-updown-5m-1776323400';

interface Page {
  readonly data: readonly { readonly timestamp: string; readonly bids: readonly unknown[] }[];
  readonly nextCursor: string | null;
}

test('A client that is paging through derived quotes gets a 400 when an import has replaced them by recorded ones.', async () => {
  using held = temporaryArchive();
  const snapshots = Array.from({ length: 30 }, (_, i) =>
    sampleSnapshot({ timestamp: START_MS + i, bids: [{ price: 0.5, size: i + 1 }] }),
  );
  await importRecords(held.archive, [sampleMarket(), ...snapshots]);
  const { get } = serviceOf(held.archive);
  for (const series of ['quotes', 'prices']) {
    expect((await get(`${MARKET}/${series}`)).status).toBe(200);
  }
  const first = (await (await get(`${MARKET}/quotes?limit=10`)).json()) as Page;
  const second = (await (await get(`${MARKET}/quotes?limit=10&cursor=${first.nextCursor}`)).json()) as Page;
  expect(second.data).toHaveLength(10);
  await importRecords(held.archive, [sampleQuote({ timestamp: START_MS + 5 })]);
  expect((await get(`${MARKET}/quotes?limit=10&cursor=${second.nextCursor}`)).status).toBe(400);
  expect(((await (await get(`${MARKET}/quotes`)).json()) as Page).data).toHaveLength(1);
});

describe('pages of enormous books', () => {
  const count = 40;
  /** Among them are small ones. */
  const isSmall = (nth: number) => nth % 7 === 6 || nth === count - 1;
  const levels = (shift: number) =>
    Array.from({ length: 10_000 }, (_, i) => ({ price: (i + 1) / 1_000_000, size: ((i + shift) % 900) + 1 }));
  const packr = new Packr({ useRecords: false });
  const forms = [
    ['application/json', (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())],
    ['application/msgpack', (bytes: Uint8Array): unknown => packr.unpack(bytes)],
  ] as const;

  test.each([
    ['the same levels', (_: number) => 0, 2],
    ['other sizes each time', (nth: number) => nth, 5],
  ])('A page ends early at 6 MiB or 40,000 changed levels. (%s)', async (_, shift, pagesMin) => {
    using held = temporaryArchive();
    const books = Array.from({ length: count }, (_, i) =>
      sampleSnapshot({
        outcome: i % 3 === 0 ? 'down' : 'up',
        timestamp: START_MS + i,
        bids: [...(isSmall(i) ? [] : levels(shift(i))), { price: 0.9, size: i + 1 }],
        asks: [],
      }),
    );
    await importRecords(held.archive, [sampleMarket(), ...books]);
    const { app, key } = serviceOf(held.archive);
    const everything = Array.from({ length: count }, (_, i) => START_MS + i);
    for (const [accept, decode] of forms) {
      for (const [order, limit] of [
        ['asc', 1000],
        ['desc', 14],
      ] as const) {
        const timestamps: number[] = [];
        let pages = 0;
        for (let cursor: string | null = ''; cursor !== null; pages += 1) {
          const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
          const url = `http://localhost/v1${MARKET}/snapshots?limit=${limit}&order=${order}${after}`;
          const answer = await app.handle(new Request(url, { headers: { authorization: `Bearer ${key}`, accept } }));
          const bytes = new Uint8Array(await answer.arrayBuffer());
          const page = decode(bytes) as Page;
          // The record that takes a page past the bound is its last one.
          expect(bytes.length).toBeLessThan(PAGE_BYTES_MAX + 2_000_000);
          for (const { timestamp, bids } of page.data) {
            timestamps.push(Date.parse(timestamp));
            expect(bids).toHaveLength(isSmall(timestamps.at(-1)! - START_MS) ? 1 : 10_001);
          }
          cursor = page.nextCursor;
        }
        expect(pages).toBeGreaterThanOrEqual(pagesMin);
        expect(timestamps).toEqual(order === 'asc' ? everything : everything.toReversed());
      }
    }
  });
});

describe('a list of very many markets', () => {
  test('is the same for any number of skipped markets', async () => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    const count = 101_000;
    database.write(() => {
      markets.put(marketStatement(0, { timeframe: '15m', startMs: 0, endMs: 1 }), START_MS);
      // Separate statements would take many times as long.
      database
        .query<never, [number]>(
          `WITH RECURSIVE nth (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM nth WHERE i < ? - 1)
           INSERT INTO markets (condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
             down_asset_id, start_ms, end_ms, created_ms, updated_ms, revision)
           SELECT printf('0x%x', i), '0', '0', 'm-' || i, symbol, iif(i < 400, '15m', '5m'), '0', '0', i * 1000,
             i * 1000 + 1, created_ms, updated_ms, i FROM nth, markets`,
        )
        .run(count);
    });
    const { get } = serviceOf(held.archive);
    const list = async (query: string) =>
      (await (await get(`/btc/markets?${query}`)).json()) as {
        data: { startTime: string }[];
        pagination: { limit: number; skip: number; count: number; hasMore: boolean };
      };
    for (const skip of [
      0, 49_990, 50_000, 50_001, 99_999, 100_000, 100_001, 100_990, 101_000, 150_001, 9_000_000_000,
    ]) {
      const { data, pagination } = await list(`limit=20&skip=${skip}`);
      const expected = Array.from({ length: 20 }, (_, i) => count - 1 - skip - i).filter((nth) => nth >= 0);
      expect(data.map(({ startTime }) => Date.parse(startTime) / 1000)).toEqual(expected);
      expect(pagination).toEqual({ limit: 20, skip, count: expected.length, hasMore: count - skip > 20 });
    }
    const { data, pagination } = await list('limit=20&skip=100590&tf=5m');
    expect(data.map(({ startTime }) => Date.parse(startTime) / 1000)).toEqual([
      409, 408, 407, 406, 405, 404, 403, 402, 401, 400,
    ]);
    expect(pagination).toEqual({ limit: 20, skip: 100_590, count: 10, hasMore: false });
    expect((await get('/xrp/markets?skip=60000')).status).toBe(404);
    // An answer whose skip read two states of the archive is not cached.
    const path = '/btc/markets?limit=1&skip=100500';
    const asked = [get(path), get(path)];
    await nextTurn();
    database.write(() => {
      const startMs = (count + 1) * 1000;
      markets.put(marketStatement(count + 1, { startMs, endMs: startMs + 1 }), START_MS);
    });
    await Promise.all(asked);
    for (let again = 0; again < 3; again += 1) {
      const { data: later } = (await (await get(path)).json()) as { data: { startTime: string }[] };
      expect(later.map(({ startTime }) => Date.parse(startTime) / 1000)).toEqual([count - 100_500]);
    }
  });
});

test('a large answer that another thread compresses is complete, and not mixed with later ones', async () => {
  using held = temporaryArchive();
  const bids = Array.from({ length: 900 }, (_, i) => ({ price: (i + 1) / 1000, size: (100 + i) / 100 }));
  const books = Array.from({ length: 100 }, (_, i) =>
    sampleSnapshot({ timestamp: START_MS + i, bids, asks: [{ price: 0.95, size: i + 1 }] }),
  );
  await importRecords(held.archive, [sampleMarket(), ...books]);
  const { app, key, get } = serviceOf(held.archive);
  const paths = Array.from({ length: 6 }, (_, i) => `${MARKET}/snapshots?from=${START_MS + i}`);
  const plain = await Promise.all(paths.map(async (path) => Buffer.from(await (await get(path)).arrayBuffer())));
  expect(plain[0]!.length).toBeGreaterThan(2 * 1024 * 1024);
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' };
  for (let round = 0; round < 3; round += 1) {
    const asked = paths.map(async (path) => await app.handle(new Request(`http://localhost/v1${path}`, { headers })));
    for (const [i, answer] of (await Promise.all(asked)).entries()) {
      expect(answer.headers.get('content-encoding')).toBe('gzip');
      expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull();
      expect(Buffer.from(Bun.gunzipSync(await answer.arrayBuffer())).equals(plain[i]!)).toBe(true);
    }
  }
});
