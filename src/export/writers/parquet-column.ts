import type { ColumnChunk, Encoding, PageHeader, ParquetType, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writePlain } from 'hyparquet-writer/src/plain.js';
import { type Cell, type ColumnValues, decimalUnits, type TableColumn } from './table-encoder.ts';

/** Higher levels take longer, and make files of books 1 % smaller. */
const ZSTD_LEVEL = 1;
/** Levels are 0 or 1: one bit. */
const LEVELS = { definition_level_encoding: 'RLE', repetition_level_encoding: 'RLE' } as const;
/** Maximum number of values in a dictionary: polars reads codes of four bytes as 0. */
const DICTIONARY_MAX = 2 ** 16;
/** Values that are packed together (Encodings.md). */
const PACKED_AT_ONCE = 8;

/**
 * Writes the values of a column of a group: a data page, and before it a dictionary if that is small and has at most half as many values
 * (apache/parquet-format: README.md, Encodings.md). Codes take whole bytes: these are written and compressed several times as fast as codes
 * in the fewest bits, and become smaller.
 */
export class ParquetColumnWriter {
  readonly #writer: ByteWriter;
  /** One page for all columns: fresh memory for each takes as long as its compression. */
  readonly #page = new ByteWriter();

  constructor(writer: ByteWriter) {
    this.#writer = writer;
  }

  /** `path` has the elements from the root to the column, of which only a list is repeated. */
  write(path: readonly SchemaElement[], column: TableColumn, cells: ColumnValues): ColumnChunk {
    const [writer, page] = [this.#writer, this.#page];
    const { type = 'BYTE_ARRAY', repetition_type } = path.at(-1)!;
    const { values, codes } = packedOf(cells, type, repetition_type === 'REQUIRED');
    const unitsOf = (value: Cell) =>
      column.scale === undefined ? BigInt(value!) : decimalUnits(Number(value), column);
    const plain = type === 'INT64' ? values.map(unitsOf) : [...values];
    const startsAt = writer.offset;
    let uncompressed = 0;
    if (codes !== undefined) {
      this.#startPage();
      writePlain(page, plain, type, undefined);
      const header = { num_values: values.length, encoding: 'PLAIN' } as const;
      uncompressed += writePage(writer, page, { type: 'DICTIONARY_PAGE', dictionary_page_header: header });
    }
    const dataAt = writer.offset;
    this.#startPage();
    let count = cells.values.length;
    if (cells.counts !== undefined) count = writeListLevels(page, cells.counts);
    else if (repetition_type === 'OPTIONAL') {
      writeLevels(
        page,
        count,
        [...cells.values.keys()].filter((row) => cells.values[row] === undefined),
      );
    }
    if (codes === undefined) writePlain(page, plain, type, undefined);
    else writeCodes(page, codes, values.length);
    const encoding: Encoding = codes === undefined ? 'PLAIN' : 'RLE_DICTIONARY';
    const header = { num_values: count, encoding, ...LEVELS };
    uncompressed += writePage(writer, page, { type: 'DATA_PAGE', data_page_header: header });
    return {
      file_offset: BigInt(startsAt),
      meta_data: {
        type,
        encodings: codes === undefined ? ['PLAIN', 'RLE'] : ['PLAIN', 'RLE', encoding],
        path_in_schema: path.slice(1).map(({ name }) => name),
        codec: 'ZSTD',
        num_values: BigInt(count),
        total_compressed_size: BigInt(writer.offset - startsAt),
        total_uncompressed_size: BigInt(uncompressed),
        data_page_offset: BigInt(dataAt),
        ...(codes !== undefined && { dictionary_page_offset: BigInt(startsAt) }),
      },
    };
  }

  #startPage(): void {
    this.#page.index = 0;
    this.#page.offset = 0;
  }
}

/** The values without nulls; each once, with codes, if a dictionary saves bytes. Booleans may have none. */
function packedOf(
  { values, codes: given }: ColumnValues,
  type: ParquetType,
  isRequired: boolean,
): Pick<ColumnValues, 'values' | 'codes'> {
  const saves = (distinct: number, all: number) => 2 * distinct <= all && distinct <= DICTIONARY_MAX;
  if (given !== undefined) {
    return saves(values.length, given.length)
      ? { values, codes: given }
      : { values: Array.from(given, (code) => values[code]) };
  }
  const all = isRequired ? values : values.filter((value) => value !== undefined);
  if (type === 'BOOLEAN' || all.length === 0) return { values: all };
  const known = new Map<Cell, number>();
  const codes = new Uint32Array(all.length);
  let [before, code]: [Cell, number] = [undefined, 0];
  for (const [at, value] of all.entries()) {
    // Most values of most columns are that of the row before.
    if (value !== before) code = known.getOrInsert(value, known.size);
    [codes[at], before] = [code, value];
    if (!saves(known.size, all.length)) return { values: all };
  }
  return { values: [...known.keys()], codes };
}

/** Writes the repetition and definition levels of required lists with these numbers of items. Returns the number of levels: an empty list has one. */
function writeListLevels(page: ByteWriter, counts: readonly number[]): number {
  const [starts, empty]: [number[], number[]] = [[], []];
  let next = 0;
  for (const count of counts) {
    starts.push(next);
    if (count === 0) empty.push(next);
    next += Math.max(1, count);
  }
  writeLevels(page, next, starts);
  writeLevels(page, next, empty);
  return next;
}

/** Writes levels that are 1, except those at `zeros`. */
function writeLevels(page: ByteWriter, count: number, zeros: readonly number[]): void {
  const run = new ByteWriter();
  if (zeros.length === 0) {
    run.appendVarInt(count << 1);
    run.appendUint8(1);
  } else {
    const bits = new Uint8Array(Math.ceil(count / PACKED_AT_ONCE)).fill(0xff);
    for (const at of zeros) bits[at >> 3]! &= ~(1 << (at & 7));
    run.appendVarInt((bits.length << 1) | 1);
    run.appendBytes(bits);
  }
  page.appendUint32(run.offset);
  page.appendBytes(run.getBytes());
}

/** Writes codes into the page itself: copies of millions of codes take as long as their compression. */
function writeCodes(page: ByteWriter, codes: Uint32Array, distinct: number): void {
  const groups = Math.ceil(codes.length / PACKED_AT_ONCE);
  const bytes = distinct <= 2 ** 8 ? 1 : 2;
  page.appendUint8(8 * bytes);
  page.appendVarInt((groups << 1) | 1);
  const length = bytes * PACKED_AT_ONCE * groups;
  page.ensure(length);
  const packed = new DataView(page.buffer, page.index, length);
  if (bytes === 1) for (let i = 0; i < codes.length; i += 1) packed.setUint8(i, codes[i]!);
  else for (let i = 0; i < codes.length; i += 1) packed.setUint16(2 * i, codes[i]!, true);
  new Uint8Array(page.buffer, page.index, length).fill(0, bytes * codes.length);
  page.index += length;
  page.offset += length;
}

/** Returns the number of bytes of the page before its compression, with its header. */
function writePage(
  writer: ByteWriter,
  page: ByteWriter,
  header: Omit<PageHeader, 'uncompressed_page_size' | 'compressed_page_size'>,
): number {
  const compressed = Bun.zstdCompressSync(page.getBytes(), { level: ZSTD_LEVEL });
  const [from, sizes] = [
    writer.offset,
    { uncompressed_page_size: page.offset, compressed_page_size: compressed.length },
  ];
  writePageHeader(writer, { ...header, ...sizes });
  const headerBytes = writer.offset - from;
  writer.appendBytes(compressed);
  return headerBytes + page.offset;
}
