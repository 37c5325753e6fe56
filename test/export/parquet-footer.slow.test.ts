import { expect, test } from 'bun:test';
import { parquetMetadata, type SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import { ParquetFooter } from '../../src/export/writers/parquet-footer.ts';

const CREATED_BY = 'another library';
const COLUMNS = Array.from({ length: 20 }, (_, index) => `column-${index}`);
const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: COLUMNS.length },
  ...COLUMNS.map((name) => ({ name, repetition_type: 'OPTIONAL' as const, type: 'DOUBLE' as const })),
];

/** A file of this number of groups of one row each, written by the library alone. */
function written(groups: number): { writer: ParquetWriter; bytes: ByteWriter } {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({ writer: bytes, schema: SCHEMA, codec: 'UNCOMPRESSED', createdBy: CREATED_BY });
  const data = Array.from({ length: groups }, (_, row) => row / 4);
  const columnData = COLUMNS.map((name, index) => ({ name, data, statistics: index === 3 }));
  if (groups > 0) writer.write({ columnData, rowGroupSize: 1 });
  return { writer, bytes };
}

test.each([0, 1, 2, 14, 15, 127, 128, 1500])('of %d groups equals the library’s', (groups) => {
  const { writer, bytes } = written(groups);
  const footer = new ParquetFooter(SCHEMA, CREATED_BY);
  for (const group of writer.row_groups) footer.add(group);
  const from = bytes.index;
  writer.finish();
  const expected = Buffer.from(bytes.getBytes().slice(from));
  const pieces = [...footer.pieces()];
  expect(Buffer.concat(pieces).equals(expected)).toBe(true);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(STEP_BYTES);
  expect(parquetMetadata(bytes.getBuffer()).row_groups.length).toBe(groups);
  if (groups === 1500) expect(expected.length).toBeGreaterThan(STEP_BYTES);
});
