import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { DomainError } from '../../domain/errors.ts';
import { OUTCOMES } from '../../domain/outcome.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import {
  bookFields,
  conditionIdField,
  type Fields,
  instantField,
  isFields,
  numericField,
  rejected,
} from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import type { Codec } from '../codec.ts';
import type { RecordSink } from '../record-sink.ts';

/**
 * A scraper's Parquet of the venue's `book` messages: one row a message, with columns timestamp (receive time, Unix s),
 * slug, asset_id, bids, asks and raw_data. Everything is taken from raw_data, the message as it was received:
 * {market, asset_id, timestamp (Unix ms as a string), bids, asks, hash, event_type}, best level last.
 * Rows stand in the order of arrival.
 */
const COLUMNS = ['raw_data'];
/** Rows, with their messages, that are in memory at a time. */
const READ_ROWS = 16_384;
/** Memory is given to all rows of a group that its file claims to have; what wrote it held them as well. */
const GROUP_ROWS_MAX = 4_194_304n;

/** Beside snappy, which the reader brings along. Both stop at the size that the page states. */
export const COMPRESSORS: Compressors = {
  GZIP: (bytes, outputLength) => gunzipSync(bytes, { maxOutputLength: outputLength }),
  ZSTD: (bytes, outputLength) => zstdDecompressSync(bytes, { maxOutputLength: outputLength }),
};

/** The format; a file that is named brings along the `markets.ndjson` beside it (source.ts). */
export function parquetBooks(): Codec {
  return {
    format: 'Parquet of book messages',
    statesMarkets: false,
    // Of a damaged file nothing is known; reading it says so.
    recognises: ({ columns }) =>
      columns !== undefined && (columns.size === 0 || COLUMNS.every((name) => columns.has(name))),
    read: async ({ path }, intake) => {
      for await (const row of parquetRows(path)) {
        intake.take('book', row.number, () => [snapshot(intake, row.parse())]);
      }
    },
  };
}

/** Which outcome an asset is, is never guessed: a market record has to say it. */
function snapshot(
  intake: RecordSink,
  { conditionId, assetId, timestampMs, book, droppedLevels }: VenueBook,
): RecordedItem {
  const market = intake.markets.byConditionId(conditionId);
  const outcome = market === undefined ? undefined : OUTCOMES[market.clobTokenIds.indexOf(assetId)];
  if (market === undefined || outcome === undefined) {
    throw rejected(
      `no market record says which outcome asset ${assetId} of market ${conditionId} is: put a markets.ndjson beside the file or name one with --markets`,
    );
  }
  return { type: 'snapshot', conditionId, outcome, timestampMs, id: undefined, assetId, book, droppedLevels };
}

/** A book message; whose outcome it is, the recording does not say. */
interface VenueBook {
  readonly conditionId: string;
  readonly assetId: string;
  readonly timestampMs: number;
  readonly book: ReturnType<typeof bookFields>['book'];
  readonly droppedLevels: number;
}

interface ParquetRow {
  /** Counted from 1. */
  readonly number: number;
  /** Throws DomainError 'rejected-record' when the row is not a book message that can be kept. */
  readonly parse: () => VenueBook;
}

/** The names of a Parquet file's columns. Throws 'unreadable' when it is damaged. */
export async function parquetColumns(path: string): Promise<ReadonlySet<string>> {
  const file = await readable(path, () => asyncBufferFromFile(path));
  const metadata = await parquetMetadata(path, file);
  return new Set(metadata.schema.map((column) => column.name));
}

/** What the end of a Parquet file says of it. Throws 'unreadable' when it is damaged, or claims what nobody writes. */
export async function parquetMetadata(path: string, file: AsyncBuffer): Promise<FileMetaData> {
  return await readable(path, async () => {
    const metadata = await parquetMetadataAsync(file);
    for (const { num_rows: rows } of metadata.row_groups) {
      if (rows < 0n || rows > GROUP_ROWS_MAX) throw new Error(`a group of ${rows} rows`);
    }
    return metadata;
  });
}

/** The rows of a file, READ_ROWS in memory at a time. Throws 'unreadable' when it is damaged. */
async function* parquetRows(path: string): AsyncGenerator<ParquetRow> {
  const file = await readable(path, () => asyncBufferFromFile(path));
  const metadata = await parquetMetadata(path, file);
  let groupStart = 0;
  for (const group of metadata.row_groups) {
    const groupEnd = groupStart + Number(group.num_rows);
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += READ_ROWS) {
      const rowEnd = Math.min(groupEnd, rowStart + READ_ROWS);
      const rows = await readable(path, () =>
        parquetReadObjects({ file, metadata, columns: COLUMNS, rowStart, rowEnd, compressors: COMPRESSORS }),
      );
      for (const [index, row] of rows.entries()) {
        yield { number: rowStart + index + 1, parse: () => venueBook(row) };
      }
    }
    groupStart = groupEnd;
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

/** Errors of reading a Parquet file as DomainError 'unreadable'. */
export async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const codec = /unsupported compression codec: (\w+)/.exec(String(error))?.[1];
    const reason = codec === undefined ? 'it is damaged or cut off' : `its compression ${codec} is not known here`;
    throw new DomainError('unreadable', `'${path}' cannot be read as Parquet: ${reason}`, { cause: error });
  }
}
