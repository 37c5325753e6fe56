import type { ParquetParsers, SchemaElement } from 'hyparquet';
import { powerOfTen, SIGNIFICANT_DIGITS_MAX } from '../../domain/decimal.ts';
import { arrivalMs } from '../../record/arrival-field.ts';
import { parseFrameJson } from '../../record/exact-json.ts';
import { type Fields, refusal, rejected } from '../../record/fields.ts';
import { bookKind } from '../../venue/book-message-parser.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarkets } from '../known-markets.ts';
import { ParquetFile, type RowRange, TEXT_AS_BYTES } from '../parse/parquet.ts';
import { takeChannelMessage } from '../rebuild/channel-reader.ts';
import type { RecordSink } from '../record-sink.ts';

/**
 * The columns of PMXT's hourly archives of the whole venue (`polymarket_orderbook_YYYY-MM-DDTHH.parquet`): one row per event of one
 * asset, sorted by market, asset and time of receipt.
 *
 *   timestamp_received, timestamp   UTC, milliseconds; `timestamp` is the venue's
 *   market                          the condition id, 66 bytes of ASCII
 *   event_type                      book, price_change, last_trade_price, tick_size_change
 *   asset_id
 *   bids, asks                      of a book: JSON, [["price","size"], …]
 *   price, size, side               of a change (the new size at the price) and of a trade; DECIMAL(9,4), DECIMAL(18,6)
 *   best_bid, best_ask, old_tick_size, new_tick_size, fee_rate_bps, transaction_hash
 */
const ASSET = 'asset_id';
const RECOGNISED_BY = ['event_type', ASSET, 'market', 'timestamp_received', 'bids', 'asks'];
const COLUMNS = [
  ...['timestamp_received', 'timestamp', 'market', 'event_type', ASSET, 'bids', 'asks'],
  ...['price', 'size', 'side', 'best_bid', 'best_ask', 'new_tick_size', 'fee_rate_bps', 'transaction_hash'],
];
/** An archive has every market of the venue: rows of markets that are not known are skipped. */
const UNKNOWN_ROWS = 'row of an unknown market';
/** Maximum number of rows whose assets are read at a time: mostly a whole row group. */
const SEARCHED_ROWS = 1_048_576;
/** Maximum number of rows with all columns in memory at a time. */
const READ_ROWS = 131_072;
/** Maximum number of ranges of rows of known assets. With more, the rows between them are read too. */
const RANGES_MAX = 32;
/** A larger unscaled decimal may have been rounded. */
const UNSCALED_MAX = powerOfTen(SIGNIFICANT_DIGITS_MAX);

export function pmxtParquet(): Codec {
  return {
    format: 'PMXT Parquet',
    input: 'Hourly Parquet of PMXT (`polymarket_orderbook_YYYY-MM-DDTHH.parquet`)',
    becomes: 'The same records as venue frames. Rows of markets without a market record are skipped and counted.',
    skipsUnknown: true,
    recognises: ({ columns }) => columns !== undefined && RECOGNISED_BY.every((name) => columns.has(name)),
    read: async ({ path, copy }, sink) => readRows(await ParquetFile.open(path, copy), sink),
  };
}

async function readRows(file: ParquetFile, sink: RecordSink): Promise<void> {
  const { schema, num_rows: rows } = file.metadata;
  const scales = decimalScales(schema);
  const stated = new Set(schema.map(({ name }) => name));
  const columns = COLUMNS.filter((name) => stated.has(name));
  const options = { parsers: PARSERS, useOffsetIndex: true };
  const searching = { useOffsetIndex: true };
  const isKnown = assetCheck(sink.markets);
  let hasKnownRows = rows === 0n;
  for (const searched of file.ranges([ASSET], SEARCHED_ROWS)) {
    const assets = await file.read(searched, [ASSET], searching);
    const known = knownRanges(searched, assets, isKnown, sink);
    hasKnownRows ||= known.length > 0;
    for (const range of known.flatMap((rows) => file.piecesOf(rows, columns, READ_ROWS))) {
      const read = await file.read(range, columns, options);
      for (const [index, row] of read.entries()) {
        if (isKnown(textOf(row[ASSET]))) take(row, range.start + index + 1, scales, sink);
      }
    }
  }
  if (hasKnownRows) return;
  // An import that stores nothing must not look like a success.
  sink.reject(
    sink.item('file', 1),
    `none of the ${rows} rows belongs to a known market: import the market records that you want first, or name a file with them (--markets)`,
  );
}

/** A function that checks whether an asset's market is known, with one look-up for consecutive rows of one asset. */
function assetCheck(markets: KnownMarkets): (id: unknown) => boolean {
  let last: unknown;
  let isKnown = false;
  return (id) => {
    if (id !== last) isKnown = typeof id === 'string' && markets.byAsset(id) !== undefined;
    last = id;
    return isKnown;
  };
}

/** The rows whose assets are known; counts the others as skipped. */
function knownRanges(
  { start }: RowRange,
  assets: readonly Fields[],
  isKnown: (id: unknown) => boolean,
  sink: RecordSink,
): RowRange[] {
  const ranges: { start: number; end: number }[] = [];
  for (const [index, { asset_id }] of assets.entries()) {
    if (!isKnown(asset_id)) {
      sink.ignore(UNKNOWN_ROWS);
      continue;
    }
    const row = start + index;
    const last = ranges.at(-1);
    if (last !== undefined && (last.end === row || ranges.length >= RANGES_MAX)) last.end = row + 1;
    else ranges.push({ start: row, end: row + 1 });
  }
  return ranges;
}

function take(row: Fields, number: number, scales: ReadonlyMap<string, number>, sink: RecordSink): void {
  try {
    if (takeChannelMessage(frameOf(row, scales), number, sink, arrivalMs(row.timestamp_received))) return;
    throw rejected(`event_type ${JSON.stringify(String(textOf(row.event_type)).slice(0, 40))} is unknown`);
  } catch (error) {
    sink.reject(
      sink.item(bookKind({ event_type: textOf(row.event_type) }) ?? 'unknown', number),
      refusal(error).message,
    );
  }
}

/** The scale of each decimal column: its number of decimals. */
function decimalScales(schema: readonly SchemaElement[]): ReadonlyMap<string, number> {
  const decimals = schema.filter(({ converted_type }) => converted_type === 'DECIMAL');
  return new Map(decimals.map(({ name, scale }) => [name, scale ?? 0]));
}

const decoder = new TextDecoder();

/** Times become Unix milliseconds. */
const PARSERS: Partial<ParquetParsers> = {
  ...TEXT_AS_BYTES,
  timestampFromMilliseconds: (milliseconds: bigint) => Number(milliseconds),
  timestampFromMicroseconds: (microseconds: bigint) => Number(microseconds / 1000n),
  timestampFromNanoseconds: (nanoseconds: bigint) => Number(nanoseconds / 1_000_000n),
};

function textOf(value: unknown): unknown {
  return value instanceof Uint8Array ? decoder.decode(value) : value;
}

/** The row as a message of the venue. */
function frameOf(row: Fields, scales: ReadonlyMap<string, number>): Fields {
  const decimal = (name: string) => exactDecimal(row[name], scales.get(name), name);
  const frame = {
    event_type: textOf(row.event_type),
    market: textOf(row.market),
    asset_id: textOf(row[ASSET]),
    timestamp: timeOf(row.timestamp) ?? timeOf(row.timestamp_received),
  };
  if (frame.event_type === 'book') {
    return { ...frame, bids: levelsOf(row.bids, 'bids'), asks: levelsOf(row.asks, 'asks') };
  }
  const best = { best_bid: decimal('best_bid'), best_ask: decimal('best_ask') };
  const trade = { price: decimal('price'), size: decimal('size'), side: textOf(row.side) };
  if (frame.event_type === 'price_change') return { ...frame, ...best, ...trade };
  const fee_rate_bps = typeof row.fee_rate_bps === 'bigint' ? Number(row.fee_rate_bps) : textOf(row.fee_rate_bps);
  const transaction_hash = textOf(row.transaction_hash);
  return { ...frame, ...best, ...trade, fee_rate_bps, transaction_hash, new_tick_size: decimal('new_tick_size') };
}

function timeOf(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : (value ?? undefined);
}

/**
 * The reader returns a decimal as integer · 10^-scale in floating point. Rounding gives the integer back if it is below
 * UNSCALED_MAX; divided by the exact power of ten, it is the double nearest to the decimal.
 */
function exactDecimal(value: unknown, scale: number | undefined, name: string): unknown {
  if (scale === undefined || typeof value !== 'number') return textOf(value);
  const unscaled = Math.round(value * powerOfTen(scale));
  if (Math.abs(unscaled) >= UNSCALED_MAX)
    throw rejected(`${name} ${value} has more than ${SIGNIFICANT_DIGITS_MAX} digits`);
  return unscaled / powerOfTen(scale);
}

/** The levels `[["0.48","30"], …]`. */
function levelsOf(value: unknown, name: string): unknown {
  const levels = value instanceof Uint8Array ? parsed(decoder.decode(value), name) : value;
  if (!Array.isArray(levels)) throw rejected(`${name} is missing or not an array`);
  return levels;
}

function parsed(text: string, name: string): unknown {
  try {
    return parseFrameJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw rejected(`${name} is not JSON`);
    throw error;
  }
}
