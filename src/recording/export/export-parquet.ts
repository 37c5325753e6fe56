import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { BookReader } from '../../book/book-segment.ts';
import type { ByteBuffer } from '../../book/byte-buffer.ts';
import type { Ladder } from '../../book/ladder.ts';
import { divisorOf } from '../../book/scale.ts';
import type { FlatTable } from './export-flat.ts';
import { FLAT_COLUMNS, type FlatRow, type FlatType } from './flat.ts';

/** Rows of one group: what is held in memory, and what is encoded without a pause. */
const GROUP_ROWS = 16_384;
/** The first groups are smaller, each this many times the one before: code that has not run yet is slow. */
const FIRST_GROUP_ROWS = 1024;
const GROUP_GROWTH = 2;
const ZSTD_LEVEL = 3;

type Cell = string | number | bigint | boolean | undefined;

const SCHEMA: readonly SchemaElement[] = [
  { name: 'root', num_children: FLAT_COLUMNS.length },
  ...FLAT_COLUMNS.map(({ name, type }) => ({
    name,
    repetition_type: name === 'type' ? ('REQUIRED' as const) : ('OPTIONAL' as const),
    ...elementOf(type),
  })),
];

/** The flat schema as Parquet: instants are TIMESTAMP(ms, UTC), pages are compressed with zstd. */
export class ParquetTable implements FlatTable {
  readonly out: ByteBuffer;
  /** A group takes long enough: every one is a step. */
  readonly stepBytes = 1;
  readonly #bytes = new ByteWriter();
  readonly #writer = new ParquetWriter({
    writer: this.#bytes,
    schema: [...SCHEMA],
    codec: 'ZSTD',
    compressors: { ZSTD: (page) => Bun.zstdCompressSync(Uint8Array.from(page), { level: ZSTD_LEVEL }) },
    createdBy: 'bookreel',
  });
  readonly #columns = FLAT_COLUMNS.map(() => new Array<Cell>(GROUP_ROWS).fill(undefined));
  /** Columns with a value in the group under way. */
  readonly #used = new Set<number>();
  #groupRows = FIRST_GROUP_ROWS;
  #rows = 0;

  constructor(out: ByteBuffer) {
    this.out = out;
  }

  row(row: FlatRow): void {
    this.#put(cellsOf(row));
  }

  levels(row: FlatRow, { bids, asks, priceScale, sizeScale }: BookReader): void {
    const cells = cellsOf(row);
    this.#side('bid', cells, bids, divisorOf(priceScale), divisorOf(sizeScale));
    this.#side('ask', cells, asks, divisorOf(priceScale), divisorOf(sizeScale));
  }

  close(): void {
    if (this.#rows > 0) this.#endGroup();
    this.#writer.finish();
    this.#passOn();
  }

  #side(name: string, cells: readonly PlacedCell[], side: Ladder, priceDivisor: number, sizeDivisor: number): void {
    for (let i = 0; i < side.length; i += 1) {
      this.#set(SIDE, name);
      this.#set(LEVEL, i + 1);
      this.#set(PRICE, side.values[2 * i]! / priceDivisor);
      this.#set(SIZE, side.values[2 * i + 1]! / sizeDivisor);
      this.#put(cells);
    }
  }

  /** Completes the row under way. */
  #put(cells: readonly PlacedCell[]): void {
    for (const { column, value } of cells) this.#set(column, value);
    this.#rows += 1;
    if (this.#rows === this.#groupRows) this.#endGroup();
  }

  #set(column: number, value: Cell): void {
    this.#columns[column]![this.#rows] = value;
    this.#used.add(column);
  }

  #endGroup(): void {
    const rows = this.#rows;
    const columnData = FLAT_COLUMNS.map(({ name }, column) => ({
      name,
      data: rows === GROUP_ROWS ? this.#columns[column]! : this.#columns[column]!.slice(0, rows),
      // What readers pass groups over by; of every column it would take longer than the rest.
      statistics: name === 'timestamp',
    }));
    // A group is one page of each column.
    this.#writer.write({ columnData, rowGroupSize: GROUP_ROWS, pageSize: 0 });
    for (const column of this.#used) this.#columns[column]!.fill(undefined);
    this.#used.clear();
    this.#rows = 0;
    this.#groupRows = Math.min(GROUP_ROWS, this.#groupRows * GROUP_GROWTH);
    this.#passOn();
  }

  /** Hands over what the library has written; it goes on counting from there. */
  #passOn(): void {
    this.out.append(this.#bytes.getBytes());
    this.#bytes.index = 0;
  }
}

interface PlacedCell {
  readonly column: number;
  readonly value: Cell;
}

const SIDE = columnOf('side');
const LEVEL = columnOf('level');
const PRICE = columnOf('price');
const SIZE = columnOf('size');

function columnOf(wanted: (typeof FLAT_COLUMNS)[number]['name']): number {
  return FLAT_COLUMNS.findIndex(({ name }) => name === wanted);
}

/** A row's cells as the library takes them: 64 bits are bigints. */
function cellsOf(row: FlatRow): PlacedCell[] {
  return FLAT_COLUMNS.flatMap(({ name, type }, column) => {
    const value = row[name];
    if (value === undefined) return [];
    const is64Bits = typeof value === 'number' && (type === 'whole' || type === 'instant');
    return [{ column, value: is64Bits ? BigInt(value) : value }];
  });
}

function elementOf(type: FlatType): Omit<SchemaElement, 'name'> {
  switch (type) {
    case 'text':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    case 'whole':
      return { type: 'INT64' };
    case 'small':
      return { type: 'INT32' };
    case 'decimal':
      return { type: 'DOUBLE' };
    case 'flag':
      return { type: 'BOOLEAN' };
    case 'instant':
      return {
        type: 'INT64',
        converted_type: 'TIMESTAMP_MILLIS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      };
  }
}
