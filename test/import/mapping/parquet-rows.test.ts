import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import { columnNames, parquetRows } from '../../../src/import/mapping/parquet-rows.ts';
import { csvRows } from '../../../src/import/mapping/text-rows.ts';
import { ParquetFile } from '../../../src/import/parse/parquet.ts';
import type { Fields } from '../../../src/record/fields.ts';
import { temporaryDirectory } from '../../support/archive.ts';

/** The rows of a file with these columns. */
async function rowsOf(columnData: ColumnSource[], schema: SchemaElement[] | undefined, names: readonly string[]) {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'rows.parquet');
  const options = { columnData, rowGroupSize: 2, ...(schema === undefined ? {} : { schema }) };
  writeFileSync(path, Buffer.from(parquetWriteBuffer(options)));
  const rows: (readonly [number, Fields])[] = [];
  const source = parquetRows(path);
  await source.read(names, ({ number, fields }) => rows.push([number, fields()]));
  const { schema: stored } = (await ParquetFile.open(path)).metadata;
  return { columns: columnNames(stored), rows };
}

const ROOT = (count: number): SchemaElement => ({ name: 'root', num_children: count });
const leaf = (name: string, rest: Partial<SchemaElement>): SchemaElement => ({
  name,
  repetition_type: 'OPTIONAL',
  ...rest,
});

describe('the rows of Parquet', () => {
  test('A 32-bit float in Parquet is read as its shortest decimal.', async () => {
    const { columns, rows } = await rowsOf(
      [
        { name: 'n', data: [1n, 9007199254740993n, -3n], type: 'INT64' },
        { name: 'x', data: [0.1, 1e-7, null], type: 'DOUBLE', nullable: true },
        { name: 's', data: ['a', 'é', '[["0.4","5"]]'], type: 'STRING' },
        { name: 'f', data: [0.48, 0.1, 16777217], type: 'FLOAT' },
        { name: 'b', data: [true, false, true], type: 'BOOLEAN' },
      ],
      undefined,
      ['s', 'n', 'x', 'f', 'b'],
    );
    expect(columns).toEqual(['n', 'x', 's', 'f', 'b']);
    expect(rows).toEqual([
      [1, { s: 'a', n: 1, x: 0.1, f: 0.48, b: true }],
      [2, { s: 'é', n: '9007199254740993', x: 1e-7, f: 0.1, b: false }],
      [3, { s: '[["0.4","5"]]', n: -3, x: undefined, f: 16_777_216, b: true }],
    ]);
  });

  test('may lack columns that are optional, as those of CSV may', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'rows.parquet');
    const columnData: ColumnSource[] = [{ name: 'a', data: ['1'], type: 'STRING' }];
    writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData })));
    const bytes = async function* () {
      yield Buffer.from('a\n1\n');
    };
    for (const source of [parquetRows(path), csvRows({ path, name: 'rows.csv', isJsonLines: false, bytes })]) {
      const rows: Fields[] = [];
      await source.read(['b', 'a'], ({ fields }) => rows.push(fields()), ['b']);
      expect(rows).toEqual([{ b: undefined, a: '1' }]);
      await expect(source.read(['b', 'a'], () => {})).rejects.toThrow('b');
    }
  });

  test('Instants of Parquet have Z only if the file says that they are UTC.', async () => {
    const logical = (unit: 'MILLIS' | 'MICROS' | 'NANOS', isAdjustedToUTC: boolean) =>
      ({ type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC, unit } }) as const;
    const { rows } = await rowsOf(
      [
        { name: 'ms', data: [1_713_250_000_123n, -1n] },
        { name: 'us', data: [1_713_250_000_123_456n, 0n] },
        { name: 'ns', data: [1_713_250_000_123_456_789n, 1n] },
      ],
      [
        ROOT(3),
        leaf('ms', { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }),
        leaf('us', logical('MICROS', false)),
        leaf('ns', logical('NANOS', true)),
      ],
      ['ms', 'us', 'ns'],
    );
    expect(rows.map(([, row]) => row)).toEqual([
      { ms: '2024-04-16T06:46:40.123Z', us: '2024-04-16T06:46:40.123456', ns: '2024-04-16T06:46:40.123456789Z' },
      { ms: '1969-12-31T23:59:59.999Z', us: '1970-01-01T00:00:00.000000', ns: '1970-01-01T00:00:00.000000001Z' },
    ]);
  });

  test('have decimals as texts with all of their digits', async () => {
    const { rows } = await rowsOf(
      [
        { name: 'p', data: [0.48, -0.0001] },
        { name: 'q', data: [123_456_789_012_345_678n, 5n] },
      ],
      [
        ROOT(2),
        leaf('p', { type: 'INT32', converted_type: 'DECIMAL', scale: 4, precision: 9 }),
        leaf('q', { type: 'INT64', converted_type: 'DECIMAL', scale: 6, precision: 18 }),
      ],
      ['p', 'q'],
    );
    expect(rows.map(([, row]) => row)).toEqual([
      { p: '0.4800', q: '123456789012.345678' },
      { p: '-0.0001', q: '0.000005' },
    ]);
  });

  test('have lists of groups as arrays of objects', async () => {
    const { rows } = await rowsOf(
      [
        {
          name: 'bids',
          data: [
            [
              { p: 0.4, s: 5n },
              { p: 0.39, s: 9007199254740993n },
            ],
            [],
          ],
        },
      ],
      [
        ROOT(1),
        leaf('bids', { converted_type: 'LIST', num_children: 1 }),
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        leaf('element', { num_children: 2 }),
        leaf('p', { type: 'DOUBLE' }),
        leaf('s', { type: 'INT64' }),
      ],
      ['bids'],
    );
    expect(rows.map(([, row]) => row)).toEqual([
      {
        bids: [
          { p: 0.4, s: 5 },
          { p: 0.39, s: '9007199254740993' },
        ],
      },
      { bids: [] },
    ]);
  });

  test('have a map as a list of its keys and values, exact ones', async () => {
    const { rows } = await rowsOf(
      [
        {
          name: 'bids',
          data: [
            [
              { key: 0.48, value: 9007199254740993n },
              { key: 0.4, value: null },
            ],
            [],
            null,
          ],
        },
      ],
      [
        ROOT(1),
        leaf('bids', { converted_type: 'MAP', num_children: 1 }),
        { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
        { name: 'key', repetition_type: 'REQUIRED', type: 'INT32', converted_type: 'DECIMAL', scale: 4, precision: 9 },
        leaf('value', { type: 'INT64' }),
      ],
      ['bids'],
    );
    expect(rows.map(([, row]) => row)).toEqual([
      {
        bids: [
          { key: '0.4800', value: '9007199254740993' },
          { key: '0.4000', value: undefined },
        ],
      },
      { bids: [] },
      { bids: undefined },
    ]);
  });

  test('of a file without a column are refused in a sentence that names those it has', async () => {
    const columns: ColumnSource[] = [{ name: 'a', data: [1], type: 'DOUBLE' }];
    expect(rowsOf(columns, undefined, ['b'])).rejects.toThrow("rows.parquet' has no column b: it has a");
  });
});
