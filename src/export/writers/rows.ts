import { FLAT_COLUMNS, type FlatRow } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { divisorOf } from '../../segment/scale.ts';
import type { ReadBook } from './export-writer.ts';
import { FlatWriter } from './flat-writer.ts';
import type { Cell, EncoderOf, TableColumn, TableEncoder } from './table-encoder.ts';

/** Rows of one group, which are in memory until it is written. */
const GROUP_ROWS = 16_384;
/** The first groups are smaller and grow by GROUP_GROWTH, because code is slow until it is compiled. */
const FIRST_GROUP_ROWS = 1024;
const GROUP_GROWTH = 2;

const ROW_COLUMNS: readonly TableColumn[] = FLAT_COLUMNS.map(({ name, type }) => ({
  name,
  type,
  isRequired: name === 'type',
}));

/** Writes the rows of the flat schema as a table. */
export class RowsWriter extends FlatWriter {
  readonly out: ByteBuffer;
  /** Every write of a few columns takes long enough to be a step. */
  readonly stepBytes = 1;
  readonly #encoder: TableEncoder;
  /** The cells of the current group, by column. The first group is small, so that an export that is abandoned early takes little memory. */
  #columns = emptyColumns(FIRST_GROUP_ROWS);
  readonly #used = new Set<number>();
  #groupRows = FIRST_GROUP_ROWS;
  #rows = 0;
  /** True while a complete group is encoded. */
  #isEncoding = false;
  #isClosed = false;
  #isEnding = false;

  /** For `depth` see Sampling. The encoder writes to `out`. */
  constructor(out: ByteBuffer, depth: number | undefined, encoderOf: EncoderOf) {
    super(depth);
    this.out = out;
    this.#encoder = encoderOf(ROW_COLUMNS);
  }

  protected row(row: FlatRow): void {
    this.#put(cellsOf(row));
  }

  protected levels(row: FlatRow, { bids, asks, priceScale, sizeScale }: ReadBook, from: number): number {
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
    if (this.#rows > 0) this.#encode();
    this.#isClosed = true;
  }

  override continueWriting(): boolean {
    if (this.#encoder.continueWriting()) return true;
    if (this.#isEncoding) this.#startGroup();
    if (!this.#isClosed) return super.continueWriting();
    if (this.#isEnding) return false;
    this.#isEnding = true;
    this.#encoder.end();
    return true;
  }

  /** Completes the current row. `continueWriting` encodes a group once it has its last row. */
  #put(cells: readonly PlacedCell[]): void {
    for (const { column, value } of cells) this.#set(column, value);
    this.#rows += 1;
    if (this.#rows === this.#groupRows) this.#encode();
  }

  #set(column: number, value: Cell): void {
    this.#columns[column]![this.#rows] = value;
    this.#used.add(column);
  }

  #encode(): void {
    this.#isEncoding = true;
    const isFull = this.#rows === this.#groupRows;
    const columns = this.#columns.map((cells) => ({ values: isFull ? cells : cells.slice(0, this.#rows) }));
    this.#encoder.add(this.#rows, columns);
  }

  #startGroup(): void {
    this.#isEncoding = false;
    const rowsMax = Math.min(GROUP_ROWS, Math.floor(this.#encoder.valuesMax / ROW_COLUMNS.length));
    const grown = Math.min(rowsMax, this.#groupRows * GROUP_GROWTH);
    if (grown > this.#groupRows) this.#columns = emptyColumns(grown);
    else for (const column of this.#used) this.#columns[column]!.fill(undefined);
    this.#groupRows = grown;
    this.#used.clear();
    this.#rows = 0;
  }
}

function emptyColumns(rows: number): Cell[][] {
  return FLAT_COLUMNS.map(() => new Array<Cell>(rows).fill(undefined));
}

interface PlacedCell {
  readonly column: number;
  readonly value: Cell;
}

const COLUMNS: ReadonlyMap<string, number> = new Map(FLAT_COLUMNS.map(({ name }, column) => [name, column]));
const columnOf = (name: (typeof FLAT_COLUMNS)[number]['name']) => COLUMNS.get(name)!;
const SIDE = columnOf('side');
const LEVEL = columnOf('level');
const PRICE = columnOf('price');
const SIZE = columnOf('size');

function cellsOf(row: FlatRow): PlacedCell[] {
  return Object.entries(row).flatMap(([name, value]) =>
    value === undefined ? [] : [{ column: COLUMNS.get(name)!, value }],
  );
}
