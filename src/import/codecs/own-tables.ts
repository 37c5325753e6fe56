import type { Codec } from '../codec.ts';
import { parquetRows } from '../mapping/parquet-rows.ts';
import type { RowSource } from '../mapping/row-source.ts';
import { sqliteRows } from '../mapping/sqlite-rows.ts';
import { csvRows } from '../mapping/text-rows.ts';
import { hasColumns } from '../parse/csv.ts';
import { isSqlite, SqliteFile } from '../parse/sqlite.ts';
import type { RecordSink } from '../record-sink.ts';
import type { RecordingFile } from '../recording-file.ts';
import { FIRST_NAMES, FLAT_NAMES, FlatRecords, WITHOUT_DETAILS } from './flat-records.ts';

const BECOMES =
  'Every type of record, with the ids that they had; markets without texts and fees. The rows of a book are one snapshot.';

/** bookreel's own exports as CSV, one row per level (flat-columns.ts). */
export function bookreelCsv(): Codec {
  return ownTable('bookreel CSV export', 'An [export](#export) as CSV', {
    recognises: (sample) => hasColumns(sample, FIRST_NAMES),
    sources: (file, sink) => [
      { source: csvRows(file, { onHeader: () => sink.ignore('header') }), columns: FLAT_NAMES },
    ],
  });
}

/** bookreel's own exports as Parquet, with the same rows. */
export function bookreelParquet(): Codec {
  return ownTable('bookreel Parquet export', 'An [export](#export) as Parquet', {
    recognises: ({ columns }) => columns !== undefined && FIRST_NAMES.every((name) => columns.has(name)),
    sources: ({ path }) => [{ source: parquetRows(path), columns: FLAT_NAMES }],
  });
}

/** bookreel's own exports as SQLite: a table per type of record, and one of the levels of books. */
export function bookreelSqlite(): Codec {
  return {
    ...ownTable('bookreel SQLite export', 'An [export](#export) as SQLite', {
      recognises: ({ head }) => isSqlite(head) && hasOwnTables(head),
      sources: ({ path, copy }) => {
        using database = SqliteFile.open(path, copy);
        const queries = queriesOf(database.columnsOf({ table: 'snapshots' }).includes('received_ms'));
        return queries.map(({ query, columns }) => ({ source: sqliteRows(path, { query }, copy), columns }));
      },
    }),
    readsBinary: true,
  };
}

interface OwnTable extends Pick<Codec, 'recognises'> {
  readonly sources: (
    file: RecordingFile,
    sink: RecordSink,
  ) => readonly { readonly source: RowSource; readonly columns: readonly string[] }[];
}

function ownTable(format: string, input: string, { recognises, sources }: OwnTable): Codec {
  let hasMarkets = false;
  return {
    format,
    input,
    becomes: BECOMES,
    // An export has the market record before the records of the market.
    holdsMarkets: () => true,
    recognises,
    read: async (file, sink) => {
      const records = new FlatRecords(sink);
      for (const { source, columns } of sources(file, sink)) await records.read(source, columns);
      hasMarkets ||= records.hasMarkets;
    },
    notes: () => (hasMarkets ? [`a ${format} ${WITHOUT_DETAILS}`] : []),
  };
}

/** Returns true if the schema has those of our tables that another program's database hardly has, by their first columns. */
function hasOwnTables(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1');
  return OWN_TABLES.every((table) => text.includes(table));
}

const OWN_TABLES = [
  'CREATE TABLE snapshots (\n    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL',
  'CREATE TABLE levels (\n    snapshot_id INTEGER NOT NULL, side TEXT NOT NULL, level INTEGER NOT NULL',
  'CREATE TABLE coin_prices (\n    id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, source TEXT NOT NULL',
];

interface TableQuery {
  readonly query: string;
  readonly columns: readonly string[];
}

/** A query for the rows of one type. `columns`: by the name of the flat schema, the expression. */
function rowsOf(type: string, from: string, columns: Readonly<Record<string, string>>): TableQuery {
  const named = Object.entries({ type: `'${type}'`, ...columns }).map(([name, value]) => `${value} AS ${name}`);
  return { query: `SELECT ${named.join(', ')} FROM ${from}`, columns: ['type', ...Object.keys(columns)] };
}

const OF_OUTCOME = { conditionId: 'condition_id', outcome: 'outcome', timestamp: 'timestamp_ms', id: 'id' };
/** The order of the records within their series; an index has this order. */
const BY_SERIES = 'ORDER BY condition_id, outcome, timestamp_ms, id';

/** Exports of earlier versions have no arrivals. */
function queriesOf(hasArrivals: boolean): readonly TableQuery[] {
  const arrival: Readonly<Record<string, string>> = hasArrivals ? { receivedAt: 'received_ms' } : {};
  return [
    rowsOf('market', 'markets', {
      ...{ conditionId: 'condition_id', slug: 'slug', symbol: 'symbol', timeframe: 'timeframe' },
      ...{ clobTokenIds: "up_asset_id || ';' || down_asset_id", marketId: 'market_id', eventId: 'event_id' },
      ...{ active: 'active', closed: 'closed', winner: 'winner', timestamp: 'start_ms', endTime: 'end_ms' },
      ...{ volume: 'volume', liquidity: 'liquidity', resolvedAt: 'resolved_ms', priceStart: 'price_start' },
      ...{ priceEnd: 'price_end', createdAt: 'created_ms', updatedAt: 'updated_ms' },
    }),
    rowsOf('gap', 'gaps', { conditionId: 'condition_id', timestamp: 'from_ms', endTime: 'to_ms', reason: 'reason' }),
    rowsOf('snapshot', `snapshots LEFT JOIN levels ON snapshot_id = id ${BY_SERIES}`, {
      ...OF_OUTCOME,
      ...arrival,
      ...{ mirrored: 'mirrored', side: 'side', level: 'level', price: 'price', size: 'size' },
    }),
    rowsOf('quote', `quotes ${BY_SERIES}`, {
      ...OF_OUTCOME,
      ...arrival,
      ...{ bidPrice: 'bid_price', bidSize: 'bid_size', askPrice: 'ask_price', askSize: 'ask_size' },
    }),
    rowsOf('price', `prices ${BY_SERIES}`, {
      ...OF_OUTCOME,
      ...arrival,
      ...{ kind: 'kind', price: 'price', size: 'size', side: 'side' },
      ...{ feeRateBps: 'fee_rate_bps', transactionHash: 'transaction_hash' },
    }),
    rowsOf('lastTradePrice', `last_trade_prices ${BY_SERIES}`, { ...OF_OUTCOME, price: 'price' }),
    rowsOf('coinPrice', 'coin_prices ORDER BY symbol, timestamp_ms, id', {
      ...{ symbol: 'symbol', source: 'source', timestamp: 'timestamp_ms', id: 'id' },
      ...{ price: 'price', size: 'size', side: 'side' },
      ...arrival,
    }),
  ];
}
