import { describe, expect, test } from 'bun:test';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { ImportReport } from '../../src/import/report.ts';
import { exported } from '../export/exported.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf } from '../support/imported.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { CONDITION_ID, sampleMarket, UP_ASSET } from '../support/sample-records.ts';
import { at, book, type Frame } from './rebuild/venue-messages.ts';

/** Books without changes, with a repeat at the same time, an unchanged repeat later, and two books in one millisecond. */
const BOOKS = [
  book(0, '0.4:10 0.48:30', '0.6:5 0.52:7.25'),
  book(0, '0.4:10 0.48:30', '0.6:5 0.52:7.25'),
  book(4000, '0.4:10', '0.52:7.25'),
  book(9000, '0.4:10', '0.52:7.25'),
  book(9000, '0.4:11', ''),
  book(9001, '', ''),
];
const STORED_OFFSETS_MS = [0, 4000, 9000, 9000, 9001];

function lines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

function messagesParquet(frames: readonly Frame[]): Uint8Array {
  const data = frames.map((frame) => JSON.stringify(frame));
  return new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'raw_data', data, type: 'STRING' }] }));
}

function pmxtParquet(frames: readonly Frame[]): Uint8Array {
  const pairs = (side: unknown) =>
    JSON.stringify((side as { price: string; size: string }[]).map(({ price, size }) => [price, size]));
  const texts = {
    event_type: () => 'book',
    asset_id: () => UP_ASSET,
    market: () => CONDITION_ID,
    bids: ({ bids }: Frame) => pairs(bids),
    asks: ({ asks }: Frame) => pairs(asks),
  };
  const times = ['timestamp_received', 'timestamp'].map((name) => ({
    ...{ name, type: 'INT64' as const, data: frames.map(({ timestamp }) => BigInt(String(timestamp))) },
  }));
  const columns = Object.entries(texts).map(([name, cell]) => ({
    ...{ name, type: 'STRING' as const, data: frames.map(cell) },
  }));
  return new Uint8Array(parquetWriteBuffer({ columnData: [...times, ...columns] }));
}

/** The name and the bytes of one file per format. */
const FORMATS: Readonly<Record<string, readonly [name: string, bytes: string | Uint8Array]>> = {
  'Parquet of book messages': ['books.parquet', messagesParquet(BOOKS)],
  'venue frames': ['frames.jsonl', lines(BOOKS)],
  'frames in wrappers': ['frames.jsonl', lines(BOOKS.map((frame) => ({ ts: 1, payload: JSON.stringify([frame]) })))],
  'answers of REST': [
    'rest.jsonl',
    lines(BOOKS.map((frame) => ({ ...frame, event_type: undefined, min_order_size: '5' }))),
  ],
  'rows of market, asset and book': [
    'rows.jsonl',
    lines(BOOKS.map(({ market, asset_id, bids, asks, timestamp }) => ({ market, asset_id, bids, asks, timestamp }))),
  ],
  'PMXT Parquet': ['polymarket_orderbook_2026-04-16T07.parquet', pmxtParquet(BOOKS)],
};

interface Imported {
  readonly report: ImportReport;
  readonly books: Omit<ReturnType<typeof booksOf>[number], 'receivedMs'>[];
  readonly gaps: number;
}

async function imported(files: readonly (readonly [name: string, bytes: string | Uint8Array])[]): Promise<Imported> {
  using directory = temporaryDirectory();
  using place = temporaryArchive();
  writeFileSync(join(directory.path, 'markets.ndjson'), lines([sampleMarket()]));
  for (const [name, bytes] of files) writeFileSync(join(directory.path, name), bytes);
  const report = await importPaths(place.archive, directory.path);
  const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
  // One of the formats states arrivals.
  const books = booksOf(place.archive, market.slug, 'up').map(({ receivedMs: _, ...record }) => record);
  return { report, books, gaps: place.archive.gaps.list(market.key).length };
}

describe('full books without changes', () => {
  const expected = imported([FORMATS['Parquet of book messages']!]);

  test.each(Object.keys(FORMATS))('Full books without changes are all kept, and open no gap. (%s)', async (format) => {
    const { report, books, gaps } = await imported([FORMATS[format]!]);
    expect(report.rejections).toEqual([]);
    expect(gaps).toBe(0);
    expect(books.map(({ timestampMs }) => timestampMs)).toEqual(
      STORED_OFFSETS_MS.map((offsetMs) => Number(at(offsetMs))),
    );
    expect(books).toEqual((await expected).books);
  });

  test('are duplicates in every other format', async () => {
    const { report, books } = await imported(
      Object.entries(FORMATS).map(([, [name, bytes]], index) => [`${index}-${name}`, bytes]),
    );
    expect(report.rejections).toEqual([]);
    expect(books).toEqual((await expected).books);
  });
});

test.skipIf(REAL_BOOKS === undefined)(
  'real books are exported alike whether they were imported as Parquet or as one message a line',
  async () => {
    using asParquet = temporaryDirectory();
    using asLines = temporaryDirectory();
    const files = ['btc-updown-5m-1776323400_1776338436.parquet', 'btc-updown-5m-1776323700_1776338436.parquet'];
    for (const directory of [asParquet, asLines]) {
      copyFileSync(join(REAL_BOOKS!, 'markets.ndjson'), join(directory.path, 'markets.ndjson'));
    }
    for (const file of files) {
      copyFileSync(join(REAL_BOOKS!, file), join(asParquet.path, file));
      const source = { file: await asyncBufferFromFile(join(REAL_BOOKS!, file)), columns: ['raw_data', 'timestamp'] };
      const rows = await parquetReadObjects(source);
      const messages = rows.map(({ raw_data: payload, timestamp: received_at }) => ({ received_at, payload }));
      writeFileSync(join(asLines.path, `${file}.jsonl`), lines(messages));
    }
    const [parquet, frames] = await Promise.all([exportOf(asParquet.path), exportOf(asLines.path)]);
    expect(frames).toBe(parquet);
    expect(frames).toContain('"snapshot"');
    expect(frames).toContain('"receivedAt"');
    expect(frames).not.toContain('"gap"');
  },
);

/** The NDJSON export of a new archive with the recordings of a directory. */
async function exportOf(directory: string): Promise<string> {
  using place = temporaryArchive();
  await importPaths(place.archive, directory);
  return (await exported(place.archive, 'ndjson')).bytes.toString();
}
