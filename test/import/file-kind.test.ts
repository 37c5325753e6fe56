import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';

const MARKET = `0x${'5'.repeat(64)}`;
const FRAME = JSON.stringify({
  ...{ event_type: 'book', market: MARKET, asset_id: '1234567890123', timestamp: '1776808414710', hash: '' },
  ...{ bids: [{ price: '0.48', size: '30' }], asks: [{ price: '0.52', size: '25' }] },
});

/** A database with a venue frame in each row, as bytes. */
function framesInSqlite(directory: string): Uint8Array {
  const path = join(directory, 'made.db');
  using database = new Database(path);
  database.run('CREATE TABLE frames (payload TEXT)');
  for (let row = 0; row < 50; row += 1) database.run('INSERT INTO frames VALUES (?)', [`\n${FRAME}\n`]);
  return readFileSync(path);
}

describe('a file that is not text is refused by its format, and not searched for records', () => {
  const kinds: readonly (readonly [string, (directory: string) => Uint8Array, string])[] = [
    [
      'frames.jsonl',
      framesInSqlite,
      "it is a SQLite database: describe it with a mapping, 'bookreel inspect' prints one to start from",
    ],
    ['frames.db.gz', (directory) => gzipSync(framesInSqlite(directory)), 'it is a SQLite database'],
    ['frames.7z', () => Buffer.from('7z\u00bc\u00af\u0027\u001c', 'latin1'), 'it is a 7z file: unpack it'],
    [
      'redirected.jsonl',
      () => Buffer.from(`\ufeff${FRAME}\r\n`, 'utf16le'),
      'it is a text in UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8',
    ],
    ['redirected.csv', () => Buffer.from(`\ufeff${FRAME}\r\n`, 'utf16le').swap16(), 'it is a text in UTF-16'],
    ['frames.bz2', () => Buffer.from('BZh91AY&SY'), 'it is compressed with bzip2'],
    [
      'frames.arrow',
      () => Buffer.from('ARROW1\0\0'),
      'it is an Arrow file: convert it to Parquet, CSV or lines of JSON',
    ],
    [
      'stream.arrow',
      () => tableToIPC(tableFromArrays({ price: Float64Array.of(0.5) }), 'stream'),
      'it is an Arrow stream: convert it to Parquet, CSV or lines of JSON',
    ],
    [
      'deltas.parquet',
      () =>
        new Uint8Array(
          parquetWriteBuffer({
            columnData: ['action', 'side', 'price', 'size', 'order_id', 'flags', 'sequence', 'ts_event', 'ts_init'].map(
              (name) => ({ name, data: [1n], type: 'INT64' }),
            ),
          }),
        ),
      'it is part of a catalog of NautilusTrader, whose prices are binary: convert it to Parquet, CSV or lines of JSON',
    ],
    [
      'books.parquet',
      () => {
        const names = [
          'symbol',
          'timeframe',
          'slug',
          'conditionId',
          'outcome',
          'timestamp',
          'receivedAt',
          'id',
          'price',
        ];
        return new Uint8Array(
          parquetWriteBuffer({ columnData: names.map((name) => ({ name, data: [1n], type: 'INT64' })) }),
        );
      },
      'it is a table of one type of records, without their markets: export it without --shape and --type',
    ],
    ['frames.npy', () => Buffer.from('\u0093NUMPY\u0001\0', 'latin1'), 'it is a NumPy array'],
  ];

  test.each(kinds)('%s', async (name, content, sentence) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, name);
    writeFileSync(path, content(directory.path));
    expect(importPaths(place.archive, path)).rejects.toThrow(
      `'${path}' cannot be imported as it is, because ${sentence}`,
    );
  });

  test('A binary file is refused by the name of its format, and skipped in a directory with the same sentence.', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'a.arrow'), `ARROW1\0\0\n${FRAME}\n`);
    writeFileSync(join(directory.path, 'b.jsonl'), FRAME);
    const { files, skipped, notes } = await importPaths(place.archive, directory.path);
    expect(files.map(({ read }) => read)).toEqual([1]);
    expect(skipped).toEqual([join(directory.path, 'a.arrow')]);
    expect(notes[0]).toContain('it is an Arrow file: convert it to Parquet, CSV or lines of JSON');
  });
});
