import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import { bookFields, conditionIdField, instantField, isFields, numericField, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarkets } from '../known-markets.ts';
import { BookScanner } from '../parse/book-scanner.ts';
import { ParquetFile, TEXT_AS_BYTES } from '../parse/parquet.ts';
import { decodedText, EXACT_UTF8 } from '../parse/utf8.ts';

/** The column with the message as it was received, the only one that is read. */
const MESSAGE = 'raw_data';
/** Maximum number of rows in memory at a time. */
const READ_ROWS = 16_384;

/**
 * Parquet files of the venue's `book` messages, one per row in the order of arrival. Columns: timestamp (receive time, Unix seconds),
 * slug, asset_id, bids, asks, and raw_data: {market, asset_id, timestamp (Unix ms as text), bids, asks, hash, event_type}, best
 * level last. A named file also imports the `markets.ndjson` of its directory (source.ts).
 */
export function parquetBooks(): Codec {
  return {
    format: 'Parquet of book messages',
    input: "Parquet of the venue's book messages (column `raw_data`)",
    becomes: 'Snapshots, one a row. A `markets.ndjson` in the same directory is read first.',
    // A damaged file has no known columns; reading it reports the damage.
    recognises: ({ columns }) => columns !== undefined && (columns.size === 0 || columns.has(MESSAGE)),
    read: async ({ path }, sink) => {
      const file = await ParquetFile.open(path);
      const scanner = BookScanner.ofMessages();
      for (const range of file.ranges([MESSAGE], READ_ROWS)) {
        const rows = await file.read(range, [MESSAGE], { parsers: TEXT_AS_BYTES });
        for (const [index, row] of rows.entries()) {
          sink.take('book', range.start + index + 1, () => [snapshotOf(row[MESSAGE], scanner, sink.markets)]);
        }
      }
    },
  };
}

/** Messages that the scanner declines are parsed as JSON. */
function snapshotOf(raw: unknown, scanner: BookScanner, markets: KnownMarkets): RecordedItem {
  if (!(raw instanceof Uint8Array)) throw rejected('raw_data is empty');
  const scanned = scanner.scan({ bytes: raw, start: 0, end: raw.length });
  if (scanned?.assetId !== undefined) {
    return { ...scanned, outcome: outcomeOf(scanned.conditionId, scanned.assetId, markets) };
  }
  const message = parseJsonExactly(decodedText(EXACT_UTF8, raw, 'raw_data is not UTF-8'));
  if (!isFields(message)) throw rejected('raw_data is not a JSON object');
  if (message.event_type !== 'book') throw rejected('raw_data is not a book message');
  const conditionId = conditionIdField(message, 'market');
  const assetId = numericField(message, 'asset_id');
  const timestampMs = instantField(message, 'timestamp');
  const sides = bookFields(message);
  const outcome = outcomeOf(conditionId, assetId, markets);
  return { type: 'snapshot', conditionId, outcome, timestampMs, id: undefined, assetId, ...sides };
}

/** The outcome of an asset is never guessed: a market record must state it. */
function outcomeOf(conditionId: string, assetId: string, markets: KnownMarkets): Outcome {
  const index = markets.byConditionId(conditionId)?.clobTokenIds.indexOf(assetId);
  const outcome = index === undefined ? undefined : OUTCOMES[index];
  if (outcome !== undefined) return outcome;
  markets.addMissing(conditionId);
  throw rejected(
    `no market record states the outcome of asset ${assetId} of market ${conditionId}: put a markets.ndjson next to the file or name one with --markets`,
  );
}
