import { expect, test } from 'bun:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import pl from 'nodejs-polars';
import { ParquetGroups } from '../../src/export/writers/parquet-groups.ts';
import type { ColumnValues, TableColumn } from '../../src/export/writers/table-encoder.ts';
import { ByteBuffer } from '../../src/segment/byte-buffer.ts';

const COMPRESSORS = { ZSTD: (page: Uint8Array) => new Uint8Array(Bun.zstdDecompressSync(Uint8Array.from(page))) };
const TIMESTAMP: TableColumn = { name: 'timestamp', type: 'instant', isRequired: true };

/** A file of these columns after one of timestamps, and its rows as two readers give them. */
async function fileOf(columns: readonly TableColumn[], rows: number, values: readonly ColumnValues[]) {
  const out = new ByteBuffer();
  const groups = new ParquetGroups(out, [TIMESTAMP, ...columns]);
  groups.add(rows, [{ values: Array.from({ length: rows }, (_, row) => 1000 + row) }, ...values]);
  while (groups.continueWriting());
  groups.end();
  while (groups.continueWriting());
  const bytes = Buffer.from(out.view());
  const file = Uint8Array.from(bytes).buffer;
  const encodings = parquetMetadata(file).row_groups[0]!.columns.map(({ meta_data: chunk }) => chunk!.encodings);
  const read = await parquetReadObjects({ file, compressors: COMPRESSORS });
  return { encodings: encodings.slice(1), read, frame: pl.readParquet(bytes) };
}

const item = (name: string): TableColumn => ({ name, type: 'decimal', isRequired: true });

test.each([1, 2, 255, 256, 257, 65_536, 65_537])(
  'a list whose items have %d different numbers is read as it was written',
  async (distinct) => {
    const numbers = Array.from({ length: distinct }, (_, index) => index / 4);
    const items = [...numbers, ...numbers.toReversed(), 0];
    const counts: number[] = [0];
    for (let rest = items.length; rest > 0; ) {
      const count = Math.min(rest, counts.length % 13);
      counts.push(count, 0);
      rest -= count;
    }
    const prices = { values: numbers, codes: Uint32Array.from(items, (value) => 4 * value), counts };
    // Each once: the codes would take more space than they save.
    const sizes = { values: items, codes: Uint32Array.from(items.keys()), counts };
    const column = { ...item('bids'), items: [item('price'), item('size')] };
    const { encodings, read, frame } = await fileOf([column], counts.length, [prices, sizes]);
    expect(encodings.map((all) => all.includes('RLE_DICTIONARY'))).toEqual([distinct <= 65_536, false]);
    let next = 0;
    const expected = counts.map((count) => {
      next += count;
      return items.slice(next - count, next).map((value) => ({ price: value, size: value }));
    });
    expect(read.map(({ bids }) => bids as unknown)).toEqual(expected);
    expect(
      frame
        .getColumn('bids')
        .toArray()
        .map((list) => [...(list as Iterable<unknown>)]),
    ).toEqual(expected);
  },
);

test.each([1, 7, 8, 9, 1000])('%d rows of every type are read as they were written, with their nulls', async (rows) => {
  const made = <T>(cellOf: (row: number) => T) => Array.from({ length: rows }, (_, row) => cellOf(row));
  const types = {
    repeated: ['text', made((row) => (row % 3 === 0 ? undefined : `é${row % 5}`))],
    different: ['text', made((row) => (row % 4 === 1 ? undefined : `text ${row}`))],
    whole: ['whole', made((row) => (row % 5 === 0 ? undefined : 2 ** 53 - 1 - (row % 2)))],
    level: ['small', made((row) => (row % 2 === 0 ? undefined : -row))],
    price: ['decimal', made((row) => (row % 7 === 0 ? undefined : row / 8))],
    flag: ['flag', made((row) => (row % 3 === 1 ? undefined : row % 2 === 0))],
    nothing: ['text', made(() => undefined)],
  } as const;
  const entries = Object.entries(types);
  const columns = entries.map(([name, [type]]): TableColumn => ({ name, type, isRequired: false }));
  const { read, frame } = await fileOf(
    columns,
    rows,
    entries.map(([, [, values]]) => ({ values })),
  );
  const expected = made((row) => Object.fromEntries(entries.map(([name, [, values]]) => [name, values[row] ?? null])));
  const numbers = (found: readonly Record<string, unknown>[]) =>
    found.map(({ timestamp: _, ...cells }) =>
      Object.fromEntries(
        Object.entries(cells).map(([name, value]) => [
          name,
          typeof value === 'bigint' ? Number(value) : (value ?? null),
        ]),
      ),
    );
  expect(numbers(read)).toEqual(expected);
  expect(numbers(frame.toRecords())).toEqual(expected);
});
