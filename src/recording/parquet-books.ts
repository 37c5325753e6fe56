import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { asyncBufferFromFile, type Compressors, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { DomainError } from '../domain/errors.ts';
import { bookFields, conditionIdField, type Fields, instantField, isFields, numericField, rejected } from './fields.ts';
import { parseJsonExactly } from './ndjson.ts';

/**
 * A scraper's Parquet of the venue's `book` messages: one row a message, with columns timestamp (receive time, Unix s),
 * slug, asset_id, bids, asks and raw_data. Everything is taken from raw_data, the message as it was received:
 * {market, asset_id, timestamp (Unix ms as a string), bids, asks, hash, event_type}, best level last.
 * Rows stand in the order of arrival.
 */
const COLUMNS = ['raw_data'];

/** Beside snappy, which the reader brings along. Both stop at the size that the page states. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes, outputLength) => gunzipSync(bytes, { maxOutputLength: outputLength }),
  ZSTD: (bytes, outputLength) => zstdDecompressSync(bytes, { maxOutputLength: outputLength }),
};

/** A book message; whose outcome it is, the recording does not say. */
export interface VenueBook {
  readonly conditionId: string;
  readonly assetId: string;
  readonly timestampMs: number;
  readonly book: ReturnType<typeof bookFields>['book'];
  readonly droppedLevels: number;
}

export interface ParquetRow {
  /** Counted from 1. */
  readonly number: number;
  /** Throws DomainError 'rejected-record' when the row is not a book message that can be kept. */
  readonly parse: () => VenueBook;
}

/** The rows of a file, one row group in memory at a time. Throws 'unreadable' when it is damaged or of another kind. */
export async function* parquetRows(path: string): AsyncGenerator<ParquetRow> {
  const file = await asyncBufferFromFile(path);
  const metadata = await readable(path, () => parquetMetadataAsync(file));
  const names = new Set(metadata.schema.map((column) => column.name));
  const missing = COLUMNS.filter((name) => !names.has(name));
  if (missing.length > 0) {
    throw new DomainError(
      'unreadable',
      `'${path}' is a Parquet file without the column ${missing.join(', ')}: it is not a recording of book messages`,
    );
  }
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await readable(path, () =>
      parquetReadObjects({ file, metadata, columns: COLUMNS, rowStart, rowEnd, compressors: COMPRESSORS }),
    );
    for (const [index, row] of rows.entries()) {
      yield { number: rowStart + index + 1, parse: () => venueBook(row) };
    }
    rowStart = rowEnd;
  }
}

function venueBook(row: Fields): VenueBook {
  const raw = row.raw_data;
  if (typeof raw !== 'string') throw rejected('raw_data is empty');
  const message = parseJsonExactly(raw);
  if (!isFields(message)) throw rejected('raw_data is not a JSON object');
  if (message.event_type !== 'book') throw rejected('raw_data is not a message of the type book');
  return {
    conditionId: conditionIdField(message, 'market'),
    assetId: numericField(message, 'asset_id'),
    timestampMs: instantField(message, 'timestamp'),
    ...bookFields(message),
  };
}

async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const codec = /unsupported compression codec: (\w+)/.exec(String(error))?.[1];
    const reason = codec === undefined ? 'it is damaged or cut off' : `its compression ${codec} is not known here`;
    throw new DomainError('unreadable', `'${path}' cannot be read as Parquet: ${reason}`, { cause: error });
  }
}
