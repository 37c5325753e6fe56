import { Database as Sqlite, type Statement } from 'bun:sqlite';
import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import { divisorOf } from '../../segment/scale.ts';
import type { StoredMarket } from '../../store/markets.ts';
import {
  bookSeries,
  type ExportWriter,
  type ReadBook,
  type ReadSide,
  type SeriesLabels,
  type SeriesWriter,
  valueSeries,
} from './export-writer.ts';

/** Tables and their columns. Times are Unix milliseconds, flags 0 or 1, level 1 is the best. NULL: no recording stated it. */
const TABLES = {
  markets: `
    condition_id TEXT PRIMARY KEY, slug TEXT NOT NULL, symbol TEXT NOT NULL, timeframe TEXT NOT NULL,
    up_asset_id TEXT NOT NULL, down_asset_id TEXT NOT NULL, market_id TEXT, event_id TEXT, active INTEGER, closed INTEGER,
    winner TEXT, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, volume REAL, liquidity REAL, resolved_ms INTEGER,
    price_start REAL, price_end REAL, created_ms INTEGER NOT NULL, updated_ms INTEGER
  `,
  gaps: `
    condition_id TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, reason TEXT NOT NULL
  `,
  snapshots: `
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    mirrored INTEGER NOT NULL, received_ms INTEGER
  `,
  levels: `
    snapshot_id INTEGER NOT NULL, side TEXT NOT NULL, level INTEGER NOT NULL, price REAL NOT NULL, size REAL NOT NULL
  `,
  quotes: `
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    bid_price REAL, bid_size REAL, ask_price REAL, ask_size REAL, received_ms INTEGER
  `,
  prices: `
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    kind TEXT NOT NULL, price REAL NOT NULL, size REAL, side TEXT, fee_rate_bps INTEGER, transaction_hash TEXT,
    received_ms INTEGER
  `,
  last_trade_prices: `
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    price REAL NOT NULL
  `,
  coin_prices: `
    id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, source TEXT NOT NULL, timestamp_ms INTEGER NOT NULL, price REAL NOT NULL,
    size REAL, side TEXT, received_ms INTEGER
  `,
} as const;
type Table = keyof typeof TABLES;
type Value = string | number | null;
const INDEXES = [
  'CREATE INDEX snapshots_by_time ON snapshots (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX levels_by_snapshot ON levels (snapshot_id)',
  'CREATE INDEX quotes_by_time ON quotes (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX prices_by_time ON prices (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX last_trade_prices_by_time ON last_trade_prices (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX coin_prices_by_time ON coin_prices (symbol, timestamp_ms)',
];

/** The page size of most file systems. It is fixed so that equal exports have equal bytes. */
const PAGE_BYTES = 4096;

/**
 * Writes an export as a SQLite database of plain tables, in one transaction and without a journal: the same rows in the same
 * order give the same bytes. Writes to its file, not to `out`.
 */
export class SqliteWriter implements ExportWriter, Disposable {
  readonly out = new ByteBuffer();
  readonly stepBytes = Number.POSITIVE_INFINITY;
  readonly #sqlite: Sqlite;
  readonly #inserts: Readonly<Record<Table, Statement<never, Value[]>>>;

  readonly #depth: number | undefined;

  /** `path` must not exist. For `depth` see Sampling. */
  constructor(path: string, depth: number | undefined) {
    this.#depth = depth;
    this.#sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true });
    for (const pragma of [`page_size = ${PAGE_BYTES}`, 'journal_mode = OFF', 'synchronous = OFF']) {
      this.#sqlite.run(`PRAGMA ${pragma}`);
    }
    this.#sqlite.run('BEGIN');
    const tables = Object.entries(TABLES).map(([name, columns]) => {
      this.#sqlite.run(`CREATE TABLE ${name} (${columns}) STRICT`);
      const values = columns.split(',').map(() => '?');
      return [name, this.#sqlite.query(`INSERT INTO ${name} VALUES (${values.join()})`)];
    });
    this.#inserts = Object.fromEntries(tables);
  }

  market(market: MarketAsOf): void {
    const { conditionId, slug, symbol, timeframe, clobTokenIds, marketId, eventId, stated, startMs, endMs } = market;
    this.#inserts.markets.run(
      ...[conditionId, slug, symbol, timeframe, ...clobTokenIds],
      ...[marketId === '0' ? null : marketId, eventId === '0' ? null : eventId],
      ...[bit(stated.active), bit(stated.closed), market.winner ?? null, startMs, endMs],
      ...[stated.volume ?? null, stated.liquidity ?? null, market.resolvedMs ?? null],
      ...[market.priceStart ?? null, market.priceEnd ?? null, market.createdMs ?? null, market.statedUpdatedMs ?? null],
    );
  }

  gap({ conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): void {
    this.#inserts.gaps.run(conditionId, fromMs, toMs, reason);
  }

  series(labels: SeriesLabels): SeriesWriter {
    const { snapshots, levels, quotes, prices, last_trade_prices: lastTradePrices } = this.#inserts;
    const { coin_prices: coinPrices } = this.#inserts;
    if (labels.type === 'snapshot') {
      return bookSeries(this.#depth, (book) => {
        const { head, index, receivedMs = null, bids, asks } = book;
        const id = head.ids[index]!;
        const mirrored = Number(labels.mirrored === true);
        snapshots.run(id, labels.conditionId, labels.outcome, head.timestamps[index]!, mirrored, receivedMs);
        forLevels(bids, book, (position, price, size) => levels.run(id, 'bid', position, price, size));
        forLevels(asks, book, (position, price, size) => levels.run(id, 'ask', position, price, size));
      });
    }
    return valueSeries(labels.type, (record) => {
      const { id, timestampMs, receivedMs = null } = record;
      if (labels.type === 'coinPrice') {
        if (!('price' in record)) return;
        const { size = null, side = null } = record.trade ?? {};
        coinPrices.run(id, labels.symbol, labels.source, timestampMs, record.price, size, side, receivedMs);
        return;
      }
      const start = [id, labels.conditionId, labels.outcome, timestampMs];
      if ('quote' in record) {
        const { bidPrice = null, bidSize = null, askPrice = null, askSize = null } = record.quote;
        quotes.run(...start, bidPrice, bidSize, askPrice, askSize, receivedMs);
      } else if (labels.type === 'lastTradePrice') lastTradePrices.run(...start, record.price);
      else if (labels.type === 'price') {
        const { size = null, side = null, feeRateBps = null, transactionHash = null } = record.trade ?? {};
        prices.run(...start, labels.kind, record.price, size, side, feeRateBps, transactionHash, receivedMs);
      }
    });
  }

  close(): void {
    for (const index of INDEXES) this.#sqlite.run(index);
    this.#sqlite.run('COMMIT');
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}

function bit(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

/** Calls `add` for each level of one side, best first. */
function forLevels(
  { values, length }: ReadSide,
  { priceScale, sizeScale }: ReadBook,
  add: (level: number, price: number, size: number) => void,
): void {
  const [priceDivisor, sizeDivisor] = [divisorOf(priceScale), divisorOf(sizeScale)];
  for (let i = 0; i < length; i += 1) add(i + 1, values[2 * i]! / priceDivisor, values[2 * i + 1]! / sizeDivisor);
}
