import { OUTCOMES } from '../../domain/outcome.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import { bookFields, conditionIdField, instantField, isFields, numericField, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarkets } from '../known-markets.ts';
import { ParquetFile } from '../parse/parquet.ts';

/** The message as it was received: everything is taken from it. */
const MESSAGE = 'raw_data';
/** Rows, with their messages, that are in memory at a time. */
const READ_ROWS = 16_384;

/**
 * A scraper's Parquet of the venue's `book` messages, in the order of arrival: one row a message, with columns timestamp (receive
 * time, Unix s), slug, asset_id, bids, asks and raw_data: {market, asset_id, timestamp (Unix ms as a string), bids, asks, hash,
 * event_type}, best level last. A file that is named brings along the `markets.ndjson` beside it (source.ts).
 */
export function parquetBooks(): Codec {
  return {
    format: 'Parquet of book messages',
    input: "Parquet of the venue's book messages (column `raw_data`)",
    becomes: 'Snapshots, one a row. A `markets.ndjson` in the same directory is read first.',
    // Of a damaged file nothing is known; reading it says so.
    recognises: ({ columns }) => columns !== undefined && (columns.size === 0 || columns.has(MESSAGE)),
    read: async ({ path }, sink) => {
      const file = await ParquetFile.open(path);
      for (const range of file.ranges(READ_ROWS)) {
        const rows = await file.read(range, [MESSAGE]);
        for (const [index, row] of rows.entries()) {
          sink.take('book', range.start + index + 1, () => [snapshotOf(row[MESSAGE], sink.markets)]);
        }
      }
    },
  };
}

/** Which outcome an asset is, is never guessed: a market record has to say it. */
function snapshotOf(raw: unknown, markets: KnownMarkets): RecordedItem {
  if (typeof raw !== 'string') throw rejected('raw_data is empty');
  const message = parseJsonExactly(raw);
  if (!isFields(message)) throw rejected('raw_data is not a JSON object');
  if (message.event_type !== 'book') throw rejected('raw_data is not a message of the type book');
  const conditionId = conditionIdField(message, 'market');
  const assetId = numericField(message, 'asset_id');
  const timestampMs = instantField(message, 'timestamp');
  const sides = bookFields(message);
  const index = markets.byConditionId(conditionId)?.clobTokenIds.indexOf(assetId);
  const outcome = index === undefined ? undefined : OUTCOMES[index];
  if (outcome === undefined) {
    throw rejected(
      `no market record says which outcome asset ${assetId} of market ${conditionId} is: put a markets.ndjson beside the file or name one with --markets`,
    );
  }
  return { type: 'snapshot', conditionId, outcome, timestampMs, id: undefined, assetId, ...sides };
}
