import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetReadObjects,
  type RowGroup,
  snappyUncompress,
} from 'hyparquet';
import type { Fields } from '../../record/fields.ts';
import { unreadable } from '../source.ts';
import { KeptBytes } from './kept-bytes.ts';
import { decompressLz4Block } from './lz4-block.ts';

/** Maximum number of rows in a group: the reader allocates memory for the number of rows that the file states. */
const GROUP_ROWS_MAX = 4_194_304n;

/** Uncompressed bytes of the columns that are read at a time, by the sizes that the file states. */
const READ_BYTES = 4 * 1024 * 1024;
/** A row group is read in at most this number of ranges: column chunks that are not kept are read again for each. */
const RANGES_PER_GROUP_MAX = 64;
/** Bytes of the file that are kept: consecutive ranges of rows are mostly in the same column chunks. */
const KEPT_SLICES_BYTES = 32 * 1024 * 1024;
/** Decompressed pages that are kept: those larger than READ_BYTES, which have rows of several ranges. */
const KEPT_PAGES_BYTES = 64 * 1024 * 1024;

/** All stop at the size that the page states. */
const COMPRESSORS = {
  SNAPPY: (bytes, outputLength) => {
    const output = new Uint8Array(outputLength);
    snappyUncompress(bytes, output);
    return output;
  },
  GZIP: (bytes, outputLength) => gunzipSync(bytes, { maxOutputLength: outputLength }),
  ZSTD: (bytes, outputLength) => zstdDecompressSync(bytes, { maxOutputLength: outputLength }),
  BROTLI: (bytes, outputLength) => brotliDecompressSync(bytes, { maxOutputLength: outputLength }),
  LZ4_RAW: decompressLz4Block,
} satisfies Compressors;

/** For codecs that read texts and JSON as bytes, which take no memory besides their page. */
export const TEXT_AS_BYTES: Partial<ParquetParsers> = {
  stringFromBytes: (bytes) => bytes,
  jsonFromBytes: (bytes) => bytes,
};

/** Rows from `start`, inclusive, to `end`, exclusive; the first row is 0. */
export interface RowRange {
  readonly start: number;
  readonly end: number;
}

interface ReadOptions {
  readonly parsers?: Partial<ParquetParsers>;
  /** Reads only the pages that have the rows, if the file has an offset index. */
  readonly useOffsetIndex?: boolean;
  /** The file's metadata with another schema, for values as they are stored. */
  readonly metadata?: FileMetaData;
  /** True to read byte arrays as texts even if the schema does not call them texts; true by default. */
  readonly utf8?: boolean;
}

/** A Parquet file. Its methods throw DomainError 'unreadable' if it is damaged or claims impossible sizes. */
export class ParquetFile {
  readonly metadata: FileMetaData;
  readonly #path: string;
  readonly #file: AsyncBuffer;
  readonly #compressors = keepingPages();

  private constructor(path: string, file: AsyncBuffer, metadata: FileMetaData) {
    this.#path = path;
    this.#file = file;
    this.metadata = metadata;
  }

  /** `copy`: where the bytes are, if not at `path`. */
  static async open(path: string, copy = path): Promise<ParquetFile> {
    return await readable(path, async () => {
      const file = keepingSlices(Bun.file(copy));
      const metadata = await parquetMetadataAsync(file);
      for (const { num_rows: rows } of metadata.row_groups) {
        if (rows < 0n) throw new Error(`a group of ${rows} rows`);
        if (rows > GROUP_ROWS_MAX) throw new Error('row group of too many rows');
      }
      return new ParquetFile(path, file, metadata);
    });
  }

  /** All rows in ranges of about READ_BYTES of `columns` and at most `rowsMax` rows. No range has rows of two row groups. */
  ranges(columns: readonly string[], rowsMax: number): RowRange[] {
    return this.piecesOf({ start: 0, end: Number(this.metadata.num_rows) }, columns, rowsMax);
  }

  /** The same for the rows of `range`. */
  piecesOf({ start, end }: RowRange, columns: readonly string[], rowsMax: number): RowRange[] {
    let first = 0;
    return this.metadata.row_groups.flatMap((group) => {
      const rows = Number(group.num_rows);
      const from = Math.max(start, first);
      first += rows;
      const to = Math.min(end, first);
      const fitting = Math.max(READ_BYTES / bytesOfRow(group, columns), rows / RANGES_PER_GROUP_MAX);
      const step = Math.max(1, Math.min(rowsMax, Math.floor(fitting)));
      const pieces: RowRange[] = [];
      for (let at = from; at < to; at += step) pieces.push({ start: at, end: Math.min(to, at + step) });
      return pieces;
    });
  }

  async read({ start, end }: RowRange, columns: string[], options: ReadOptions = {}): Promise<Fields[]> {
    const [file, metadata] = [this.#file, this.metadata];
    const reading = {
      file,
      metadata,
      columns,
      rowStart: start,
      rowEnd: end,
      compressors: this.#compressors,
      ...options,
    };
    return await readable(this.#path, () => parquetReadObjects(reading));
  }
}

/** The mean size of the columns in a row of the group, before compression; at least 1. */
function bytesOfRow({ columns: chunks, num_rows: rows }: RowGroup, columns: readonly string[]): number {
  const sizes = chunks.map(({ meta_data: chunk }) =>
    chunk !== undefined && columns.includes(chunk.path_in_schema[0]!) ? Number(chunk.total_uncompressed_size) : 0,
  );
  return Math.max(1, sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, Number(rows)));
}

/** Reads each slice at once: hyparquet's own reader opens a stream for each, and joins its pieces. */
function keepingSlices(file: Bun.BunFile): AsyncBuffer {
  const kept = new KeptBytes<ArrayBuffer>(KEPT_SLICES_BYTES);
  return {
    byteLength: file.size,
    slice: async (start, end) => {
      const name = `${start} ${end}`;
      return kept.get(name) ?? kept.add(name, await file.slice(start, end).arrayBuffer());
    },
  };
}

function keepingPages(): Compressors {
  const kept = new KeptBytes<Uint8Array>(KEPT_PAGES_BYTES);
  /** A number for each slice that has compressed pages. */
  const slices = new WeakMap<ArrayBufferLike, number>();
  let count = 0;
  const decompressor = (decompress: (bytes: Uint8Array, outputLength: number) => Uint8Array) => {
    return (bytes: Uint8Array, outputLength: number) => {
      if (outputLength <= READ_BYTES) return decompress(bytes, outputLength);
      if (!slices.has(bytes.buffer)) {
        count += 1;
        slices.set(bytes.buffer, count);
      }
      const name = `${slices.get(bytes.buffer)} ${bytes.byteOffset}`;
      return kept.get(name) ?? kept.add(name, decompress(bytes, outputLength));
    };
  };
  return Object.fromEntries(Object.entries(COMPRESSORS).map(([name, decompress]) => [name, decompressor(decompress)]));
}

/** Runs `read`; its errors become DomainError 'unreadable'. */
async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw unreadable(`'${path}' cannot be read as Parquet: ${reasonOf(String(error))}`, error);
  }
}

function reasonOf(message: string): string {
  const codec = /unsupported compression codec: (\w+)/.exec(message)?.[1];
  if (codec !== undefined) return `its compression ${codec} is not supported`;
  const tooMany = /(page|row group) of too many (values|rows)/.exec(message);
  if (tooMany === null) return 'it is damaged or cut off';
  const limit = tooMany[1] === 'page' ? '8,388,608 values' : '4,194,304 rows';
  return `a ${tooMany[1]} has more than ${limit}: write it with smaller row groups`;
}
