import * as arrow from 'apache-arrow';
import type { FlatType } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { STEP_BYTES } from './export-writer.ts';
import {
  type ColumnValues,
  DECIMAL_DIGITS,
  decimalUnits,
  type TableColumn,
  type TableEncoder,
} from './table-encoder.ts';

/** Values that take a few milliseconds. */
const BATCH_VALUES = 65_536;
const DECIMAL_BITS = 128;
const TYPES: Readonly<Record<FlatType, arrow.DataType>> = {
  text: new arrow.Utf8(),
  whole: new arrow.Int64(),
  small: new arrow.Int32(),
  decimal: new arrow.Float64(),
  flag: new arrow.Bool(),
  instant: new arrow.TimestampMillisecond('UTC'),
};
const encoder = new TextEncoder();
type Values = ColumnValues['values'];

/**
 * Writes an Arrow IPC stream (https://arrow.apache.org/docs/format/Columnar.html): a record batch for each group, made at once, not
 * compressed. A step writes at most STEP_BYTES of it.
 */
export class ArrowBatches implements TableEncoder {
  readonly valuesMax = BATCH_VALUES;
  readonly #out: ByteBuffer;
  readonly #columns: readonly TableColumn[];
  readonly #schema: arrow.Schema;
  readonly #queue = new ByteQueue();
  readonly #writer = new arrow.RecordBatchStreamWriter();

  constructor(out: ByteBuffer, columns: readonly TableColumn[]) {
    this.#out = out;
    this.#columns = columns;
    this.#schema = new arrow.Schema(columns.map(fieldOf));
    this.#writer.reset(this.#queue, this.#schema);
  }

  add(rows: number, columns: readonly ColumnValues[]): void {
    let next = 0;
    const children = this.#columns.map((column, index) => {
      const { counts } = columns[next]!;
      const data = (column.items ?? [column]).map((leaf) => dataOf(leaf, columns[next++]!));
      return counts === undefined ? data[0]! : listOf(this.#schema.fields[index]!.type, data, counts);
    });
    const data = arrow.makeData({ type: new arrow.Struct(this.#schema.fields), length: rows, nullCount: 0, children });
    this.#writer.write(new arrow.RecordBatch(this.#schema, data));
  }

  end(): void {
    this.#writer.finish();
  }

  continueWriting(): boolean {
    const { chunks } = this.#queue;
    const isEmpty = chunks.length === 0;
    for (let left = STEP_BYTES; left > 0 && chunks.length > 0; ) {
      const chunk = chunks.shift()!;
      this.#out.append(chunk.subarray(0, left));
      if (chunk.length > left) chunks.unshift(chunk.subarray(left));
      left -= chunk.length;
    }
    return !isEmpty;
  }
}

/** Keeps what the library writes until it is taken. */
class ByteQueue extends arrow.AsyncByteQueue {
  readonly chunks: Uint8Array[] = [];

  override write(bytes: Uint8Array): void {
    this.chunks.push(bytes);
  }
}

function fieldOf({ name, type, isRequired, scale, items }: TableColumn): arrow.Field {
  const exact = scale === undefined ? TYPES[type] : new arrow.Decimal(scale, DECIMAL_DIGITS, DECIMAL_BITS);
  const item = items && new arrow.Field('item', new arrow.Struct(items.map(fieldOf)), false);
  return new arrow.Field(name, item === undefined ? exact : new arrow.List(item), !isRequired);
}

function listOf(type: arrow.DataType, children: arrow.Data[], counts: readonly number[]): arrow.Data {
  const valueOffsets = new Int32Array(counts.length + 1);
  for (const [row, count] of counts.entries()) valueOffsets[row + 1] = valueOffsets[row]! + count;
  const [item] = (type as arrow.List).children;
  const child = arrow.makeData({
    type: item!.type as arrow.Struct,
    length: valueOffsets.at(-1)!,
    nullCount: 0,
    children,
  });
  return arrow.makeData({ type: type as arrow.List, length: counts.length, nullCount: 0, valueOffsets, child });
}

/** A column of one group. A null has a bit in the bitmap that is 0, and any value. */
function dataOf(column: TableColumn, { values, codes }: ColumnValues): arrow.Data {
  const length = (codes ?? values).length;
  const { type } = fieldOf(column);
  const nulls = codes === undefined && values.includes(undefined);
  const props = {
    length,
    ...(nulls ? { nullBitmap: bitmapOf(values, (value) => value !== undefined) } : { nullCount: 0 }),
  };
  if (type instanceof arrow.Utf8) return arrow.makeData({ type, ...props, ...textsOf(values) });
  if (type instanceof arrow.Bool)
    return arrow.makeData({ type, ...props, data: bitmapOf(values, (value) => value === true) });
  const numbers = values as readonly (number | undefined)[];
  if (type instanceof arrow.Decimal) {
    const units = BigInt64Array.from(numbers, (value) => (value === undefined ? 0n : decimalUnits(value, column)));
    // Non-negative: the upper 64 bits are 0.
    const data = new BigInt64Array(2 * length);
    for (let i = 0; i < length; i += 1) data[2 * i] = units[codes === undefined ? i : codes[i]!]!;
    return arrow.makeData({ type, ...props, data: new Uint32Array(data.buffer) });
  }
  const integers = () => BigInt64Array.from(numbers, (value = 0) => BigInt(value));
  if (type instanceof arrow.Int64) return arrow.makeData({ type, ...props, data: integers() });
  if (type instanceof arrow.TimestampMillisecond) return arrow.makeData({ type, ...props, data: integers() });
  if (type instanceof arrow.Int32)
    return arrow.makeData({ type, ...props, data: Int32Array.from(numbers as readonly number[]) });
  return arrow.makeData({
    type: type as arrow.Float64,
    ...props,
    data: doublesOf(numbers as readonly number[], codes),
  });
}

function doublesOf(values: readonly number[], codes: Uint32Array | undefined): Float64Array {
  const all = Float64Array.from(values);
  if (codes === undefined) return all;
  const doubles = new Float64Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) doubles[i] = all[codes[i]!]!;
  return doubles;
}

function bitmapOf(values: Values, isSet: (value: Values[number]) => boolean): Uint8Array {
  const bits = new Uint8Array((values.length + 7) >> 3);
  for (let i = 0; i < values.length; i += 1) if (isSet(values[i])) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

/** The bytes of texts, of which most repeat, one after the other. */
function textsOf(values: Values): { readonly valueOffsets: Int32Array; readonly data: Uint8Array } {
  const known = new Map<unknown, Uint8Array>([[undefined, new Uint8Array()]]);
  const valueOffsets = new Int32Array(values.length + 1);
  const texts = values.map((value, row) => {
    const text = known.get(value) ?? encoder.encode(String(value));
    known.set(value, text);
    valueOffsets[row + 1] = valueOffsets[row]! + text.length;
    return text;
  });
  const data = new Uint8Array(valueOffsets.at(-1)!);
  for (const [row, text] of texts.entries()) data.set(text, valueOffsets[row]);
  return { valueOffsets, data };
}
