import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { FLAT_COLUMNS, type FlatRow, type FlatType } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { divisorOf } from '../../segment/scale.ts';
import { type ReadBook, STEP_BYTES } from './export-writer.ts';
import { FlatWriter } from './flat-writer.ts';
import { ParquetFooter } from './parquet-footer.ts';

/** Rows of one group, which are in memory until it is written. */
const GROUP_ROWS = 16_384;
/** The first groups are smaller and grow by GROUP_GROWTH, because code is slow until it is compiled. */
const FIRST_GROUP_ROWS = 1024;
const GROUP_GROWTH = 2;
/** Columns that are encoded in one step. */
const COLUMNS_AT_ONCE = 4;
const ZSTD_LEVEL = 3;
const CREATED_BY = 'bookreel';

type Cell = string | number | bigint | boolean | undefined;

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

const SCHEMA: readonly SchemaElement[] = [
  { name: 'root', num_children: FLAT_COLUMNS.length },
  ...FLAT_COLUMNS.map(({ name, type }) => ({
    name,
    repetition_type: name === 'type' ? ('REQUIRED' as const) : ('OPTIONAL' as const),
    ...ELEMENTS[type],
  })),
];

/** Writes Parquet: the rows of the flat schema, instants as TIMESTAMP(ms, UTC), pages compressed with zstd. */
export class ParquetRowsWriter extends FlatWriter {
  readonly out: ByteBuffer;
  /** Every write of a few columns takes long enough to be a step. */
  readonly stepBytes = 1;
  readonly #bytes = new ByteWriter();
  readonly #writer = new ParquetWriter({
    writer: this.#bytes,
    schema: [...SCHEMA],
    codec: 'ZSTD',
    compressors: { ZSTD: (page) => Bun.zstdCompressSync(Uint8Array.from(page), { level: ZSTD_LEVEL }) },
    createdBy: CREATED_BY,
  });
  readonly #footer = new ParquetFooter([...SCHEMA], CREATED_BY);
  /** The cells of the current group, by column. The first group is small, so that an export that is abandoned early takes little memory. */
  #columns = emptyColumns(FIRST_GROUP_ROWS);
  readonly #used = new Set<number>();
  #groupRows = FIRST_GROUP_ROWS;
  #rows = 0;
  /** The group's earliest and latest timestamp, Unix milliseconds. */
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** The next column to encode once the group is complete. */
  #column: number | undefined;
  #closed = false;
  #ending: Generator<Uint8Array> | undefined;

  constructor(out: ByteBuffer, depth: number | undefined) {
    super(depth);
    this.out = out;
  }

  protected row(row: FlatRow): void {
    this.#note(row);
    this.#put(cellsOf(row));
  }

  protected levels(row: FlatRow, { bids, asks, priceScale, sizeScale }: ReadBook, from: number): number {
    this.#note(row);
    const to = Math.min(from + this.#groupRows - this.#rows, bids.length + asks.length);
    const cells = cellsOf(row);
    const [priceDivisor, sizeDivisor] = [divisorOf(priceScale), divisorOf(sizeScale)];
    for (let i = from; i < to; i += 1) {
      const isBid = i < bids.length;
      const { values } = isBid ? bids : asks;
      const at = isBid ? i : i - bids.length;
      this.#set(SIDE, isBid ? 'bid' : 'ask');
      this.#set(LEVEL, at + 1);
      this.#set(PRICE, values[2 * at]! / priceDivisor);
      this.#set(SIZE, values[2 * at + 1]! / sizeDivisor);
      this.#put(cells);
    }
    return to;
  }

  close(): void {
    this.#closed = true;
    // The first bytes of a file without rows.
    this.#takeBytes();
    if (this.#rows > 0) this.#column = 0;
  }

  override continueWriting(): boolean {
    if (this.#column === undefined) return this.#closed ? this.#end() : super.continueWriting();
    this.#encode(this.#column);
    return true;
  }

  #note({ timestamp }: FlatRow): void {
    this.#firstMs = Math.min(this.#firstMs, timestamp);
    this.#lastMs = Math.max(this.#lastMs, timestamp);
  }

  /** Completes the current row. `continueWriting` encodes a group once it has its last row. */
  #put(cells: readonly PlacedCell[]): void {
    for (const { column, value } of cells) this.#set(column, value);
    this.#rows += 1;
    if (this.#rows === this.#groupRows) this.#column = 0;
  }

  #set(column: number, value: Cell): void {
    this.#columns[column]![this.#rows] = value;
    this.#used.add(column);
  }

  /** Encodes COLUMNS_AT_ONCE columns of the group, starting at `from`. The library treats them as a group. */
  #encode(from: number): void {
    const to = Math.min(from + COLUMNS_AT_ONCE, FLAT_COLUMNS.length);
    const columnData = FLAT_COLUMNS.slice(from, to).map(({ name }, index) => {
      const data = this.#columns[from + index]!;
      return { name, data: this.#rows === data.length ? data : data.slice(0, this.#rows), statistics: false };
    });
    // A group is one page of each column.
    this.#writer.write({ columnData, rowGroupSize: GROUP_ROWS, pageSize: 0 });
    this.#column = to;
    if (to === FLAT_COLUMNS.length) this.#endGroup();
    this.#takeBytes();
  }

  /** Moves what the library has written; it keeps its own count of the file's bytes. */
  #takeBytes(): void {
    this.out.append(this.#bytes.getBytes());
    this.#bytes.index = 0;
  }

  #endGroup(): void {
    const written = this.#writer.row_groups.splice(0);
    this.#writer.pendingIndexes.length = 0;
    const columns = written.flatMap((part) => part.columns);
    const sum = (part: 'total_byte_size' | 'total_compressed_size') =>
      written.reduce((total, group) => total + (group[part] ?? 0n), 0n);
    // Readers use it to skip groups. Statistics of all columns would take longer than everything else.
    columns[TIMESTAMP]!.meta_data!.statistics = {
      min_value: BigInt(this.#firstMs),
      max_value: BigInt(this.#lastMs),
      null_count: 0n,
    };
    this.#footer.add({
      columns,
      total_byte_size: sum('total_byte_size'),
      num_rows: BigInt(this.#rows),
      total_compressed_size: sum('total_compressed_size'),
    });
    const grown = Math.min(GROUP_ROWS, this.#groupRows * GROUP_GROWTH);
    if (grown > this.#groupRows) this.#columns = emptyColumns(grown);
    else for (const column of this.#used) this.#columns[column]!.fill(undefined);
    this.#groupRows = grown;
    this.#used.clear();
    this.#rows = 0;
    this.#firstMs = Number.POSITIVE_INFINITY;
    this.#lastMs = Number.NEGATIVE_INFINITY;
    this.#column = undefined;
  }

  /** Writes one step of the footer; false if nothing was left. */
  #end(): boolean {
    this.#ending ??= this.#footer.pieces();
    const before = this.out.length;
    // Not a for loop: leaving one early would end the generator.
    for (let piece = this.#ending.next(); piece.done !== true; piece = this.#ending.next()) {
      this.out.append(piece.value);
      if (this.out.length >= STEP_BYTES) break;
    }
    return this.out.length > before;
  }
}

function emptyColumns(rows: number): Cell[][] {
  return FLAT_COLUMNS.map(() => new Array<Cell>(rows).fill(undefined));
}

interface PlacedCell {
  readonly column: number;
  readonly value: Cell;
}

const COLUMNS: ReadonlyMap<string, { readonly column: number; readonly is64Bits: boolean }> = new Map(
  FLAT_COLUMNS.map(({ name, type }, column) => [name, { column, is64Bits: type === 'whole' || type === 'instant' }]),
);
const columnOf = (name: (typeof FLAT_COLUMNS)[number]['name']) => COLUMNS.get(name)!.column;
const TIMESTAMP = columnOf('timestamp');
const SIDE = columnOf('side');
const LEVEL = columnOf('level');
const PRICE = columnOf('price');
const SIZE = columnOf('size');

/** A row's cells as the library needs them: 64-bit integers are bigints. */
function cellsOf(row: FlatRow): PlacedCell[] {
  const cells: PlacedCell[] = [];
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined) continue;
    const { column, is64Bits } = COLUMNS.get(name)!;
    cells.push({ column, value: is64Bits ? BigInt(value) : value });
  }
  return cells;
}
