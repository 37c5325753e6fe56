import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { OUTCOMES } from '../../../src/domain/outcome.ts';
import { priceCodec } from '../../../src/segment/price-segment.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, marketOf } from '../../support/imported.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';
import { venueHash } from '../rebuild/venue-messages.ts';

const message = (asset: string, size: string) =>
  JSON.stringify({
    ...{ market: CONDITION_ID, asset_id: asset, timestamp: String(START_MS), event_type: 'book' },
    bids: [{ price: '0.4', size }],
    asks: [],
  });

test('only a market record states the outcome of an asset: without one its books are rejected', async () => {
  using directory = temporaryDirectory();
  const data = [message(UP_ASSET, '1'), message(DOWN_ASSET, '2'), message('7', '3')];
  const books = join(directory.path, 'books.parquet');
  writeFileSync(books, Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'raw_data', data, type: 'STRING' }] })));
  using place = temporaryArchive();
  const missing = `market ${CONDITION_ID}: put a markets.ndjson next to the file or name one with --markets`;
  const reasonOf = (asset: string) => `no market record states the outcome of asset ${asset} of ${missing}`;
  const without = await importPaths(place.archive, books);
  expect(without.rejections.map(({ reason }) => reason)).toEqual([UP_ASSET, DOWN_ASSET, '7'].map(reasonOf));
  expect(without.total.stored).toBe(0);
  writeFileSync(join(directory.path, 'markets.ndjson'), JSON.stringify(sampleMarket()));
  const known = await importPaths(place.archive, directory.path);
  expect(known.rejections.map(({ reason }) => reason)).toEqual([reasonOf('7')]);
  const sizes = OUTCOMES.map((outcome) =>
    booksOf(place.archive, sampleMarket().slug as string, outcome).map(({ book }) => book.bidSizes[0]),
  );
  expect(sizes).toEqual([[1], [2]]);
});

test('messages of any spelling are read alike, whether they are scanned as bytes or parsed', async () => {
  using directory = temporaryDirectory();
  const fields = { market: CONDITION_ID, asset_id: UP_ASSET, event_type: 'book' };
  const sides = { bids: [{ price: '0.4', size: '1.5' }], asks: [{ price: '0.9', size: '20' }] };
  const data = [
    JSON.stringify({ ...fields, timestamp: String(START_MS), hash: 'a', ...sides }),
    JSON.stringify({ ...sides, timestamp: String(START_MS + 1), ...fields, tick_size: '0.01', extra: { nested: [1] } }),
    JSON.stringify({ ...fields, timestamp: String(START_MS + 2), ...sides, note: 'ü"' }, null, 1),
    JSON.stringify({ ...fields, timestamp: START_MS + 3, bids: [{ size: 1.5, price: 0.4 }], asks: sides.asks }),
  ];
  const books = join(directory.path, 'books.parquet');
  writeFileSync(books, Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'raw_data', data, type: 'STRING' }] })));
  writeFileSync(join(directory.path, 'markets.ndjson'), JSON.stringify(sampleMarket()));
  using place = temporaryArchive();
  expect((await importPaths(place.archive, books)).rejections).toEqual([]);
  const stored = booksOf(place.archive, sampleMarket().slug as string, 'up');
  expect(stored.map(({ timestampMs }) => timestampMs - START_MS)).toEqual([0, 1, 2, 3]);
  for (const { book } of stored) {
    expect(book).toEqual({ bidPrices: [0.4], bidSizes: [1.5], askPrices: [0.9], askSizes: [20] });
  }
});

test('The price of the last trade of a book message is the one that its hash proves, else the one that it states, however spelled.', async () => {
  using directory = temporaryDirectory();
  const bids = [{ price: '0.4', size: '1.5' }];
  const head = { market: CONDITION_ID, asset_id: UP_ASSET };
  const hashed = (offsetMs: number, lastTrade: string) => {
    const frame = { ...head, timestamp: String(START_MS + offsetMs), bids, asks: [], event_type: 'book' };
    return { ...frame, hash: venueHash(frame, { lastTrade }) };
  };
  /** With white space only within the levels: those of the second such message equal the first one's byte for byte. */
  const spaced = (frame: object) => JSON.stringify(frame).replace('0.4","size"', '0.4", "size"');
  const data = [
    JSON.stringify(hashed(0, '0.490')),
    JSON.stringify({ ...hashed(1, '0.870'), note: 'ü' }),
    JSON.stringify(hashed(2, '0.130')).replaceAll(',', ', '),
    spaced(hashed(3, '0.140')),
    spaced(hashed(4, '0.150')),
    JSON.stringify({ ...hashed(5, '0.500'), tick_size: '0.01', last_trade_price: '0.500' }),
    JSON.stringify({ ...hashed(6, '0.510'), hash: 'ab', last_trade_price: '0.510' }),
    JSON.stringify({ ...hashed(7, ''), last_trade_price: '' }),
    JSON.stringify({ ...hashed(8, ''), hash: 'ab' }),
  ];
  const books = join(directory.path, 'books.parquet');
  writeFileSync(books, Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'raw_data', data, type: 'STRING' }] })));
  writeFileSync(join(directory.path, 'markets.ndjson'), JSON.stringify(sampleMarket()));
  using place = temporaryArchive();
  const { total, records } = await importPaths(place.archive, books);
  expect(total).toMatchObject({ stored: 10, rejected: 0 });
  expect(records).toMatchObject({ snapshot: 9, lastTradePrice: 7 });
  const market = marketOf(place.archive, sampleMarket().slug);
  const stored = [...place.archive.prices.slices(market, 'up', 'last-trade', 0, START_MS + 100)].flatMap(
    ({ payload, from, to }) => priceCodec.decode(payload).slice(from, to),
  );
  expect(stored.map(({ timestampMs, price }) => [timestampMs - START_MS, price])).toEqual([
    [0, 0.49],
    [1, 0.87],
    [2, 0.13],
    [3, 0.14],
    [4, 0.15],
    [5, 0.5],
    [6, 0.51],
  ]);
  expect((await importPaths(place.archive, books)).total).toMatchObject({ stored: 0, duplicate: 10 });
});

test('messages in a column of type JSON are read like those in a column of text', async () => {
  using directory = temporaryDirectory();
  const columnData = [{ name: 'raw_data', data: [JSON.parse(message(UP_ASSET, '1.5'))], type: 'JSON' as const }];
  writeFileSync(join(directory.path, 'books.parquet'), Buffer.from(parquetWriteBuffer({ columnData })));
  writeFileSync(join(directory.path, 'markets.ndjson'), JSON.stringify(sampleMarket()));
  using place = temporaryArchive();
  expect((await importPaths(place.archive, directory.path)).rejections).toEqual([]);
  expect(booksOf(place.archive, sampleMarket().slug as string, 'up')).toMatchObject([{ book: { bidSizes: [1.5] } }]);
});
