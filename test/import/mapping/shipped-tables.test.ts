import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { mappingChange, readMapping } from '../../../src/cli/mapping-file.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import { priceCodec } from '../../../src/segment/price-segment.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, coinPricesOf, countsOf, marketOf } from '../../support/imported.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';

const SLUG = sampleMarket().slug;

/** Imports what `write` writes with a shipped mapping and what `--set` states, next to a market that is known. */
async function importShipped(archive: Archive, name: string, set: readonly string[], write: (path: string) => void) {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'recording');
  write(path);
  const changes = set.reduce<ReturnType<typeof mappingChange>>((before, one) => mappingChange(one, before), []);
  await importRecords(archive, [sampleMarket()]);
  const importer = new Importer(archive, { clock: () => NOW_MS, mapping: readMapping(name, changes) });
  return await importer.run(sourcesOf([path]));
}

function midsOf(archive: Archive, outcome: Outcome): (readonly [number, number])[] {
  const slices = archive.prices.slices(marketOf(archive, SLUG), outcome, 'mid', 0, Number.MAX_SAFE_INTEGER);
  return [...slices]
    .flatMap(({ payload, from, to }) => priceCodec.decode(payload).slice(from, to))
    .map(({ timestampMs, price }) => [timestampMs - START_MS, price] as const);
}

const bookOf = (archive: Archive, outcome: Outcome) =>
  booksOf(archive, SLUG, outcome).map(({ timestampMs, book }) => [timestampMs - START_MS, book] as const);

const BOOK = { bidPrices: [0.51, 0.5], bidSizes: [120.5, 3], askPrices: [0.52], askSizes: [44.000001] };

describe('orderbook-snapshots', () => {
  const write =
    (bids: string, asks: string) =>
    (path: string): void => {
      using database = new Database(path);
      database.run(
        'CREATE TABLE orderbook_snapshots (id INTEGER PRIMARY KEY, token_id TEXT, timestamp INTEGER, bids TEXT, asks TEXT, outcome TEXT)',
      );
      const insert = database.prepare('INSERT INTO orderbook_snapshots VALUES (NULL, ?, ?, ?, ?, ?)');
      insert.run(UP_ASSET, START_MS + 1, bids, asks, 'Up');
      insert.run(DOWN_ASSET, START_MS + 2, '[]', asks, 'Down');
      insert.run(DOWN_ASSET, START_MS + 3, bids, asks, 'Up');
      insert.run('123', START_MS + 4, bids, asks, 'Up');
    };

  test.each([
    [
      'objects',
      [],
      '[{"price":"0.5","size":"3"},{"price":"0.51","size":"120.5"}]',
      '[{"price":0.52,"size":44.000001}]',
    ],
    [
      'pairs',
      ['books.bids.price=0', 'books.bids.size=1', 'books.asks.price=0', 'books.asks.size=1'],
      '[["0.50","3"],["0.51","120.5"]]',
      '[[0.52,44.000001]]',
    ],
  ])('gives the books of %s of both outcomes, and refuses other tokens', async (_, set, bids, asks) => {
    using place = temporaryArchive();
    const report = await importShipped(
      place.archive,
      'orderbook-snapshots',
      ['time.unit=ms', ...set],
      write(bids, asks),
    );
    expect(countsOf(report.total)).toEqual({ read: 4, stored: 2, duplicate: 0, rejected: 2, ignored: 0 });
    expect(report.rejections.map(({ line }) => line)).toEqual([3, 4]);
    expect(bookOf(place.archive, 'up')).toEqual([[1, BOOK]]);
    expect(bookOf(place.archive, 'down')).toEqual([[2, { ...BOOK, bidPrices: [], bidSizes: [] }]]);
  });

  test('is refused without the unit of its times', async () => {
    using place = temporaryArchive();
    await expect(importShipped(place.archive, 'orderbook-snapshots', [], write('[]', '[]'))).rejects.toThrow(
      'time.unit is not stated',
    );
  });
});

describe('a database with snapshots and candles', () => {
  const write = (path: string): void => {
    using database = new Database(path);
    database.run(
      'CREATE TABLE snapshots (slug TEXT, timestamp REAL, up_best_bid REAL, up_best_ask REAL, down_best_bid REAL, down_best_ask REAL)',
    );
    const insert = database.prepare('INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)');
    insert.run(SLUG, START_MS / 1000 + 0.25, 0.51, 0.52, 0.48, 0.49);
    insert.run(SLUG, START_MS / 1000 + 1, 0.515, 0.52, 0, 0.49);
    insert.run(SLUG, START_MS / 1000 + 2, null, null, null, null);
    database.run('CREATE TABLE candles (timestamp INTEGER, open REAL, high REAL, low REAL, close REAL)');
    const candle = database.prepare('INSERT INTO candles VALUES (?, ?, 1, 1, 1)');
    candle.run(START_MS / 1000, 65_000.25);
    candle.run(START_MS / 1000 + 60, 65_001);
  };

  test('gives quotes of unknown sizes and their midpoints by best-price-snapshots', async () => {
    using place = temporaryArchive();
    const set = ['time.unit=s', 'market.slug=slug'];
    const report = await importShipped(place.archive, 'best-price-snapshots', set, write);
    expect(countsOf(report.total)).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0, ignored: 1 });
    expect(midsOf(place.archive, 'up')).toEqual([
      [250, 0.515],
      [1000, 0.5175],
    ]);
    expect(midsOf(place.archive, 'down')).toEqual([[250, 0.485]]);
  });

  test('gives the prices of the coin by candles', async () => {
    using place = temporaryArchive();
    const set = ['time.unit=s', 'coin_prices.coin.value=btc', 'coin_prices.source.value=binance'];
    const report = await importShipped(place.archive, 'candles', set, write);
    expect(report.rejections).toEqual([]);
    expect(coinPricesOf(place.archive, 'btc', 'binance')).toEqual([
      [START_MS, 65_000.25],
      [START_MS + 60_000, 65_001],
    ]);
  });

  test.each([
    ['best-price-snapshots', ['time.unit=s'], 'market is not stated'],
    ['candles', ['time.unit=s'], 'coin_prices.coin is not stated'],
  ])('is refused by %s with %j: %s', async (name, set, sentence) => {
    using place = temporaryArchive();
    await expect(importShipped(place.archive, name, set, write)).rejects.toThrow(sentence);
  });
});

describe('pmxt-v1', () => {
  const snapshot = (market: string, token: string, offsetMs: number, side: string) =>
    `{"update_type":"book_snapshot","market_id":"${market}","token_id":"${token}","side":"${side}","best_bid":"0.51","best_ask":"0.52","timestamp":${Math.floor((START_MS + offsetMs) / 1000)}.${String(offsetMs % 1000).padStart(3, '0')}4567,"bids":[["0.5","3"],["0.51","120.5"]],"asks":[["0.52","44.000001"]]}`;
  const change = `{"update_type":"price_change","market_id":"${CONDITION_ID}","token_id":"${UP_ASSET}","side":"YES","best_bid":"0.51","best_ask":"0.52","timestamp":1776155953.6701021,"change_price":"0.51","change_size":"42.6","change_side":"BUY"}`;
  const OTHER = `0x${'9'.repeat(64)}`;

  const write =
    (rows: readonly (readonly [string, string, string])[]) =>
    (path: string): void => {
      const text = (name: string, data: readonly string[]) => ({ name, data: [...data], type: 'STRING' as const });
      const time = (name: string) => ({ name, data: rows.map(() => new Date(START_MS)), type: 'TIMESTAMP' as const });
      const columnData = [
        time('timestamp_received'),
        time('timestamp_created_at'),
        text(
          'market_id',
          rows.map(([market]) => market),
        ),
        text(
          'update_type',
          rows.map(([, type]) => type),
        ),
        text(
          'data',
          rows.map(([, , data]) => data),
        ),
      ];
      writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData })));
    };

  test('PMXT’s first version is read for its books only, and rows of unknown markets are counted.', async () => {
    using place = temporaryArchive();
    const report = await importShipped(
      place.archive,
      'pmxt-v1',
      [],
      write([
        [OTHER, 'book_snapshot', snapshot(OTHER, '5', 1, 'YES')],
        [CONDITION_ID, 'book_snapshot', snapshot(CONDITION_ID, UP_ASSET, 5123, 'YES')],
        [CONDITION_ID, 'price_change', change],
        [CONDITION_ID, 'book_snapshot', snapshot(CONDITION_ID, DOWN_ASSET, 6001, 'NO')],
      ]),
    );
    expect(countsOf(report.total)).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0, ignored: 2 });
    expect(report.missingMarkets).toEqual([]);
    expect(bookOf(place.archive, 'up')).toEqual([[5123, BOOK]]);
    expect(bookOf(place.archive, 'down')).toEqual([[6001, BOOK]]);
  });

  test('says that no market of a file is known', async () => {
    using place = temporaryArchive();
    const rows = write([[OTHER, 'book_snapshot', snapshot(OTHER, '5', 1, 'YES')]]);
    const report = await importShipped(place.archive, 'pmxt-v1', [], rows);
    expect(report.rejections.map(({ reason }) => reason)).toEqual([
      'none of the 1 rows has a record of a known market: import the market records that you want first, or name a file with them (--markets)',
    ]);
  });
});
