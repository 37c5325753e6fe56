import { type ColumnChunk, parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import type { FlatType } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { STEP_BYTES } from './export-writer.ts';
import { ParquetColumnWriter } from './parquet-column.ts';
import { ParquetFooter } from './parquet-footer.ts';
import { type ColumnValues, DECIMAL_DIGITS, leavesOf, type TableColumn, type TableEncoder } from './table-encoder.ts';

/** Columns, and values of them, that are encoded in one step: at least one column. */
const [COLUMNS_AT_ONCE, VALUES_AT_ONCE] = [4, 65_536];
const CREATED_BY = 'bookreel';
const MAGIC = new TextEncoder().encode('PAR1');

const ELEMENTS: Readonly<Record<FlatType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  whole: { type: 'INT64' },
  small: { type: 'INT32' },
  decimal: { type: 'DOUBLE' },
  flag: { type: 'BOOLEAN' },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/**
 * Writes a Parquet file group by group, each a few columns in a step, see parquet-column.ts. Columns are flat, or required leaves in a required list. Only timestamps have statistics, by which readers skip groups: those of
 * all columns would take longer than everything else.
 */
export class ParquetGroups implements TableEncoder {
  readonly valuesMax = Number.MAX_SAFE_INTEGER;
  readonly #out: ByteBuffer;
  readonly #bytes = new ByteWriter();
  readonly #columns = new ParquetColumnWriter(this.#bytes);
  readonly #footer: ParquetFooter;
  readonly #leaves: readonly TableColumn[];
  /** The elements from the root to each leaf. */
  readonly #paths: readonly (readonly SchemaElement[])[];
  /** The leaf of timestamps, which has no nulls. */
  readonly #timestamp: number;
  #steps: (() => void)[] = [];
  #ending: Generator<Uint8Array> | undefined;

  constructor(out: ByteBuffer, columns: readonly TableColumn[]) {
    const schema = [{ name: 'root', num_children: columns.length }, ...columns.flatMap(elementsOf)];
    this.#out = out;
    this.#footer = new ParquetFooter(schema, CREATED_BY);
    this.#leaves = leavesOf(columns);
    this.#paths = pathsOf(schema);
    this.#timestamp = this.#leaves.findIndex(({ name }) => name === 'timestamp');
    // Not to `out` yet, which may be cleared before the first step.
    this.#bytes.appendBytes(MAGIC);
  }

  add(rows: number, columns: readonly ColumnValues[]): void {
    const written: ColumnChunk[] = [];
    let taken: number[] = [];
    let values = 0;
    for (const [index, column] of columns.entries()) {
      taken.push(index);
      values += (column.codes ?? column.values).length;
      const isFull = taken.length === COLUMNS_AT_ONCE || values >= VALUES_AT_ONCE;
      if (!isFull && index < columns.length - 1) continue;
      const indexes = taken;
      this.#steps.push(() => {
        for (const one of indexes)
          written.push(this.#columns.write(this.#paths[one]!, this.#leaves[one]!, columns[one]!));
      });
      [taken, values] = [[], 0];
    }
    this.#steps.push(() => {
      const [min_value, max_value] = spanOf(columns[this.#timestamp]!.values as readonly number[]);
      written[this.#timestamp]!.meta_data!.statistics = { min_value, max_value, null_count: 0n };
      const sum = (part: 'total_uncompressed_size' | 'total_compressed_size') =>
        written.reduce((total, { meta_data: chunk }) => total + chunk![part], 0n);
      this.#footer.add({
        columns: written,
        total_byte_size: sum('total_uncompressed_size'),
        num_rows: BigInt(rows),
        total_compressed_size: sum('total_compressed_size'),
      });
    });
  }

  end(): void {
    this.#takeBytes();
    this.#ending = this.#footer.pieces();
  }

  /** Writes the next columns, or the next piece of the footer. */
  continueWriting(): boolean {
    const step = this.#steps.shift();
    if (step !== undefined) {
      step();
      this.#takeBytes();
      return true;
    }
    if (this.#ending === undefined) return false;
    const before = this.#out.length;
    // Not a for loop: leaving one early would end the generator.
    for (let piece = this.#ending.next(); piece.done !== true; piece = this.#ending.next()) {
      this.#out.append(piece.value);
      if (this.#out.length >= STEP_BYTES) break;
    }
    return this.#out.length > before;
  }

  /** Moves what the library has written; it keeps its own count of the file's bytes. */
  #takeBytes(): void {
    this.#out.append(this.#bytes.getBytes());
    this.#bytes.index = 0;
  }
}

/** The smallest and the largest of at least one number. */
function spanOf(values: readonly number[]): readonly [bigint, bigint] {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return [BigInt(min), BigInt(max)];
}

function pathsOf(schema: readonly SchemaElement[]): (readonly SchemaElement[])[] {
  const leaves: (readonly SchemaElement[])[] = [];
  const visit = ({ element, children }: SchemaTree, above: readonly SchemaElement[]) => {
    const path = [...above, element];
    if (children.length === 0) leaves.push(path);
    for (const child of children) visit(child, path);
  };
  visit(parquetSchema({ schema: [...schema] }), []);
  return leaves;
}

function elementsOf({ name, type, isRequired, scale, items }: TableColumn): SchemaElement[] {
  if (items === undefined) {
    const element = scale === undefined ? ELEMENTS[type] : decimalElement(scale);
    return [{ name, repetition_type: isRequired ? 'REQUIRED' : 'OPTIONAL', ...element }];
  }
  // A required list of required groups (apache/parquet-format, LogicalTypes.md).
  return [
    { name, repetition_type: 'REQUIRED', num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED', num_children: items.length },
    ...items.flatMap(elementsOf),
  ];
}

function decimalElement(scale: number): Omit<SchemaElement, 'name'> {
  const precision = DECIMAL_DIGITS;
  const logical = { type: 'DECIMAL', precision, scale } as const;
  return { type: 'INT64', converted_type: 'DECIMAL', precision, scale, logical_type: logical };
}
