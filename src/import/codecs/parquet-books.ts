import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import { arrivalMs } from '../../record/arrival-field.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import { conditionIdField, type Fields, isFields, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { type BookMessage, bookMessage } from '../../venue/book-message-parser.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarkets } from '../known-markets.ts';
import { BookScanner } from '../parse/book-scanner.ts';
import { ParquetFile, TEXT_AS_BYTES } from '../parse/parquet.ts';
import { decodedText, EXACT_UTF8 } from '../parse/utf8.ts';
import { LastTradePrices } from '../rebuild/last-trade-prices.ts';
import { UnknownName } from '../unknown-name.ts';

/** The column with the message as it was received, and the one with its arrival. */
const MESSAGE = 'raw_data';
const ARRIVAL = 'timestamp';
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
    becomes:
      'Snapshots, one a row, and the [price of the last trade](#the-price-of-the-last-trade) at each. A `markets.ndjson` in the same directory is read first.',
    // A damaged file has no known columns; reading it reports the damage.
    recognises: ({ columns }) => columns !== undefined && (columns.size === 0 || columns.has(MESSAGE)),
    read: async ({ path, copy }, sink) => {
      const file = await ParquetFile.open(path, copy);
      const scanner = BookScanner.ofMessages();
      const prices = new LastTradePrices();
      const columns = [MESSAGE, ARRIVAL].filter((column) => file.metadata.schema.some(({ name }) => name === column));
      for (const range of file.ranges(columns, READ_ROWS)) {
        const rows = await file.read(range, columns, { parsers: TEXT_AS_BYTES });
        for (const [index, row] of rows.entries()) {
          sink.take('book', range.start + index + 1, () => recordsOf(row, scanner, prices, sink.markets));
        }
      }
    },
  };
}

/** The snapshot of a message, and the price of the last trade if it is known. Messages that the scanner declines are parsed as JSON. */
function recordsOf(
  { [MESSAGE]: raw, [ARRIVAL]: received }: Fields,
  scanner: BookScanner,
  prices: LastTradePrices,
  markets: KnownMarkets,
): readonly RecordedItem[] {
  if (!(raw instanceof Uint8Array)) throw rejected('raw_data is empty');
  const scanned = scanner.scan({ bytes: raw, start: 0, end: raw.length });
  const { conditionId, assetId, claim, lastTradePrice, ...book } =
    scanned?.assetId === undefined ? parsed(raw) : { ...scanned, assetId: scanned.assetId, ...scanner.hashed() };
  const { timestampMs } = book;
  const labels = {
    conditionId,
    outcome: outcomeOf(conditionId, assetId, markets),
    timestampMs,
    id: undefined,
    assetId,
  };
  const price = prices.of(assetId, claim, lastTradePrice);
  const snapshot: RecordedItem = { ...book, type: 'snapshot', ...labels, receivedMs: arrivalMs(received) };
  return price === undefined ? [snapshot] : [snapshot, { type: 'lastTradePrice', ...labels, price }];
}

function parsed(raw: Uint8Array): Omit<BookMessage, 'market'> & { readonly conditionId: string } {
  const message = parseJsonExactly(decodedText(EXACT_UTF8, raw, 'raw_data is not UTF-8'));
  if (!isFields(message)) throw rejected('raw_data is not a JSON object');
  if (message.event_type !== 'book') throw rejected('raw_data is not a book message');
  const conditionId = conditionIdField(message, 'market');
  const { market: _, ...book } = bookMessage(message);
  return { conditionId, ...book };
}

/** The outcome of an asset is never guessed: a market record must state it. */
function outcomeOf(conditionId: string, assetId: string, markets: KnownMarkets): Outcome {
  const index = markets.byConditionId(conditionId)?.clobTokenIds.indexOf(assetId);
  const outcome = index === undefined ? undefined : OUTCOMES[index];
  if (outcome !== undefined) return outcome;
  markets.addMissing(conditionId);
  throw new UnknownName(
    assetId,
    `no market record states the outcome of asset ${assetId} of market ${conditionId}: put a markets.ndjson next to the file or name one with --markets`,
  );
}
