import { Database as Sqlite } from 'bun:sqlite';
import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { BookReader } from '../../segment/book-segment.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Ladder } from '../../segment/ladder.ts';
import { type PriceRecord, priceCodec } from '../../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../../segment/quote-segment.ts';
import { divisorOf } from '../../segment/scale.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { BookSeries, DecodedSeries, type ExportWriter, type SeriesWriter } from './export-writer.ts';

/** Times are Unix milliseconds, flags 0 or 1, NULL is what nobody stated. Level 1 of a side is its best. */
const TABLES = [
  `CREATE TABLE markets (
    condition_id TEXT PRIMARY KEY, slug TEXT NOT NULL, symbol TEXT NOT NULL, timeframe TEXT NOT NULL,
    up_asset_id TEXT NOT NULL, down_asset_id TEXT NOT NULL, market_id TEXT, event_id TEXT, active INTEGER, closed INTEGER,
    winner TEXT, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, volume REAL, liquidity REAL, resolved_ms INTEGER,
    price_start REAL, price_end REAL, created_ms INTEGER NOT NULL, updated_ms INTEGER
  ) STRICT`,
  `CREATE TABLE gaps (
    condition_id TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, reason TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    mirrored INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE levels (
    snapshot_id INTEGER NOT NULL, side TEXT NOT NULL, level INTEGER NOT NULL, price REAL NOT NULL, size REAL NOT NULL
  ) STRICT`,
  `CREATE TABLE quotes (
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    bid_price REAL, bid_size REAL, ask_price REAL, ask_size REAL
  ) STRICT`,
  `CREATE TABLE prices (
    id INTEGER PRIMARY KEY, condition_id TEXT NOT NULL, outcome TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    kind TEXT NOT NULL, price REAL NOT NULL, size REAL, side TEXT, fee_rate_bps INTEGER, transaction_hash TEXT
  ) STRICT`,
  `CREATE TABLE coin_prices (
    id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, source TEXT NOT NULL, timestamp_ms INTEGER NOT NULL, price REAL NOT NULL
  ) STRICT`,
];
const INDEXES = [
  'CREATE INDEX snapshots_by_time ON snapshots (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX levels_by_snapshot ON levels (snapshot_id)',
  'CREATE INDEX quotes_by_time ON quotes (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX prices_by_time ON prices (condition_id, outcome, timestamp_ms)',
  'CREATE INDEX coin_prices_by_time ON coin_prices (symbol, timestamp_ms)',
];

/** Pages of the size that most file systems have; the same for every export, or its bytes would differ. */
const PAGE_BYTES = 4096;

/**
 * An export as a SQLite database of plain tables. It is made in a file of its own, in one transaction, without a journal:
 * the same rows in the same order give the same bytes. Nothing goes through `out`.
 */
export class SqliteWriter implements ExportWriter, Disposable {
  readonly out = new ByteBuffer();
  readonly stepBytes = Number.POSITIVE_INFINITY;
  readonly #sqlite: Sqlite;
  readonly #statements;

  /** `path` must not exist. */
  constructor(path: string) {
    this.#sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true });
    for (const pragma of [`page_size = ${PAGE_BYTES}`, 'journal_mode = OFF', 'synchronous = OFF']) {
      this.#sqlite.run(`PRAGMA ${pragma}`);
    }
    this.#sqlite.run('BEGIN');
    for (const table of TABLES) this.#sqlite.run(table);
    this.#statements = statementsOf(this.#sqlite);
  }

  market(market: MarketAsOf): void {
    const { conditionId, slug, symbol, timeframe, clobTokenIds, marketId, eventId, stated, startMs, endMs } = market;
    this.#statements.market.run(
      ...[conditionId, slug, symbol, timeframe, ...clobTokenIds],
      ...[marketId === '0' ? null : marketId, eventId === '0' ? null : eventId],
      ...[bit(stated.active), bit(stated.closed), market.winner ?? null, startMs, endMs],
      ...[stated.volume ?? null, stated.liquidity ?? null, market.resolvedMs ?? null],
      ...[market.priceStart ?? null, market.priceEnd ?? null, market.createdMs ?? null, market.statedUpdatedMs ?? null],
    );
  }

  gap({ conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): void {
    this.#statements.gap.run(conditionId, fromMs, toMs, reason);
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    const { snapshot, level } = this.#statements;
    return new BookSeries((reader) => {
      const { head, index, bids, asks } = reader;
      const id = head.ids[index]!;
      snapshot.run(id, conditionId, outcome, head.timestamps[index]!, Number(mirrored));
      forLevels(bids, reader, (position, price, size) => level.run(id, 'bid', position, price, size));
      forLevels(asks, reader, (position, price, size) => level.run(id, 'ask', position, price, size));
    });
  }

  quotes({ conditionId }: StoredMarket, outcome: Outcome): SeriesWriter {
    return new DecodedSeries(quoteCodec, ({ id, timestampMs, quote }: QuoteRecord) => {
      const { bidPrice = null, bidSize = null, askPrice = null, askSize = null } = quote;
      this.#statements.quote.run(id, conditionId, outcome, timestampMs, bidPrice, bidSize, askPrice, askSize);
    });
  }

  prices({ conditionId }: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return new DecodedSeries(priceCodec, ({ id, timestampMs, price, trade }: PriceRecord) => {
      const { size = null, side = null, feeRateBps = null, transactionHash = null } = trade ?? {};
      const details = [size, side, feeRateBps, transactionHash] as const;
      this.#statements.price.run(id, conditionId, outcome, timestampMs, kind, price, ...details);
    });
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return new DecodedSeries(priceCodec, ({ id, timestampMs, price }: PriceRecord) =>
      this.#statements.coinPrice.run(id, symbol, source, timestampMs, price),
    );
  }

  close(): void {
    for (const index of INDEXES) this.#sqlite.run(index);
    this.#sqlite.run('COMMIT');
  }

  goOn(): boolean {
    return false;
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}

type Value = string | number | null;

function statementsOf(sqlite: Sqlite) {
  return {
    market: sqlite.query<never, Value[]>(
      'INSERT INTO markets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    gap: sqlite.query<never, Value[]>('INSERT INTO gaps VALUES (?, ?, ?, ?)'),
    snapshot: sqlite.query<never, Value[]>('INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)'),
    level: sqlite.query<never, Value[]>('INSERT INTO levels VALUES (?, ?, ?, ?, ?)'),
    quote: sqlite.query<never, Value[]>('INSERT INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
    price: sqlite.query<never, Value[]>('INSERT INTO prices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    coinPrice: sqlite.query<never, Value[]>('INSERT INTO coin_prices VALUES (?, ?, ?, ?, ?)'),
  };
}

function bit(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

/** The levels of one side, best one first. */
function forLevels(
  { values, length }: Ladder,
  { priceScale, sizeScale }: BookReader,
  add: (level: number, price: number, size: number) => void,
): void {
  const [priceDivisor, sizeDivisor] = [divisorOf(priceScale), divisorOf(sizeScale)];
  for (let i = 0; i < length; i += 1) add(i + 1, values[2 * i]! / priceDivisor, values[2 * i + 1]! / sizeDivisor);
}
