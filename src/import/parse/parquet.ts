import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { DomainError } from '../../domain/errors.ts';
import type { Fields } from '../../record/fields.ts';

/** Maximum number of rows in a group: the reader allocates memory for the number of rows that the file states. */
const GROUP_ROWS_MAX = 4_194_304n;

/** Compressions that the reader does not have itself. Both stop at the size that the page states. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes, outputLength) => gunzipSync(bytes, { maxOutputLength: outputLength }),
  ZSTD: (bytes, outputLength) => zstdDecompressSync(bytes, { maxOutputLength: outputLength }),
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
}

/** A Parquet file. Its methods throw DomainError 'unreadable' if it is damaged or claims impossible sizes. */
export class ParquetFile {
  readonly metadata: FileMetaData;
  readonly #path: string;
  readonly #file: AsyncBuffer;

  private constructor(path: string, file: AsyncBuffer, metadata: FileMetaData) {
    this.#path = path;
    this.#file = file;
    this.metadata = metadata;
  }

  static async open(path: string): Promise<ParquetFile> {
    return await readable(path, async () => {
      const file = await asyncBufferFromFile(path);
      const metadata = await parquetMetadataAsync(file);
      for (const { num_rows: rows } of metadata.row_groups) {
        if (rows < 0n || rows > GROUP_ROWS_MAX) throw new Error(`a group of ${rows} rows`);
      }
      return new ParquetFile(path, file, metadata);
    });
  }

  /** All rows in ranges of at most `rowsMax`. No range has rows of two row groups. */
  ranges(rowsMax: number): RowRange[] {
    let start = 0;
    return this.metadata.row_groups.flatMap((group) => {
      const range = { start, end: start + Number(group.num_rows) };
      start = range.end;
      return piecesOf(range, rowsMax);
    });
  }

  async read({ start, end }: RowRange, columns: string[], options: ReadOptions = {}): Promise<Fields[]> {
    const [file, metadata] = [this.#file, this.metadata];
    const reading = { file, metadata, columns, rowStart: start, rowEnd: end, compressors: COMPRESSORS, ...options };
    return await readable(this.#path, () => parquetReadObjects(reading));
  }
}

export function piecesOf({ start, end }: RowRange, rowsMax: number): RowRange[] {
  const pieces: RowRange[] = [];
  for (let from = start; from < end; from += rowsMax) pieces.push({ start: from, end: Math.min(end, from + rowsMax) });
  return pieces;
}

/** Runs `read`; its errors become DomainError 'unreadable'. */
async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const codec = /unsupported compression codec: (\w+)/.exec(String(error))?.[1];
    const reason = codec === undefined ? 'it is damaged or cut off' : `its compression ${codec} is not supported`;
    throw new DomainError('unreadable', `'${path}' cannot be read as Parquet: ${reason}`, { cause: error });
  }
}
