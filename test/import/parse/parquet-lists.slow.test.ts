import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { ParquetFile } from '../../../src/import/parse/parquet.ts';
import { temporaryDirectory } from '../../support/archive.ts';

/** A row for each list, written in pages of `pageSize` bytes. */
function writeLists(path: string, lists: number[][], pageSize: number): void {
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 1 },
    { name: 'bids', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL', type: 'DOUBLE' },
  ];
  writeFileSync(
    path,
    Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'bids', data: lists }], schema, pageSize })),
  );
}

test.each([64, 1_000_000])('each range of rows has its lists, of pages of %d bytes', async (pageSize) => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'lists.parquet');
  const lists = Array.from({ length: 60 }, (_, row) =>
    Array.from({ length: (row * 7) % 13 }, (_, level) => row + level),
  );
  writeLists(path, lists, pageSize);
  const file = await ParquetFile.open(path);
  for (let start = 0; start < lists.length; start += 7) {
    const rows = await file.read({ start, end: start + 7 }, ['bids']);
    expect(rows).toEqual(lists.slice(start, start + 7).map((bids) => ({ bids })));
  }
});

test('a page of three million levels, as DuckDB writes, is read in ranges of rows', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'lists.parquet');
  const levels = Array.from({ length: 100_000 }, (_, level) => level % 100);
  writeLists(path, Array<number[]>(30).fill(levels), 100_000_000);
  const file = await ParquetFile.open(path);
  expect(await file.read({ start: 29, end: 30 }, ['bids'])).toEqual([{ bids: levels }]);
});

test('a page of more values than are read is refused in a sentence that says what to do', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'lists.parquet');
  const levels = Array<number>(100_000).fill(0.5);
  writeLists(path, Array<number[]>(84).fill(levels), 100_000_000);
  const file = await ParquetFile.open(path);
  await expect(file.read({ start: 0, end: 1 }, ['bids'])).rejects.toThrow(
    `'${path}' cannot be read as Parquet: a page has more than 8,388,608 values: write it with smaller row groups`,
  );
});

test('a row group of more rows than are read is refused in a sentence that says what to do', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'rows.parquet');
  const columnData = [{ name: 'up', data: new Uint8Array(4_194_305), type: 'INT32' as const }];
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 5_000_000 })));
  await expect(ParquetFile.open(path)).rejects.toThrow(
    `'${path}' cannot be read as Parquet: a row group has more than 4,194,304 rows: write it with smaller row groups`,
  );
});
