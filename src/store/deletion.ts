import type { InstantMs } from '../domain/instant.ts';
import { isSimulated, SIMULATED } from '../domain/publisher.ts';
import { priceCodec } from '../segment/price-segment.ts';
import type { Archive } from './archive.ts';
import { LOG_PAGES } from './database.ts';
import type { StoredMarket } from './markets.ts';
import { discard } from './on-disk.ts';

/** Selects what to delete; an undefined field does not restrict, and all others must match. */
export interface DeletionFilter {
  /** Keys of markets, ascending. If given, no coin prices are deleted. */
  readonly marketKeys: readonly number[] | undefined;
  /** In lower case. */
  readonly coins: readonly string[] | undefined;
  /** Coin prices of these sources; with 'simulated' the simulated markets too, otherwise no markets. */
  readonly sources: readonly string[] | undefined;
  /**
   * Markets whose window ended by then, with all their records; a coin's prices before that instant, or before the start
   * of its first market that ends later; the last price until there is kept, since it is the price at that instant.
   */
  readonly beforeMs: InstantMs | undefined;
}

/** The number of markets, records and bytes that a deletion removes. */
export interface DeletionTotals {
  markets: number;
  /** Recorded and mirrored snapshots, quotes, prices and gaps of the markets; not what is derived from snapshots. */
  records: number;
  coinPrices: number;
  /** The bytes of the stored segments, also those of derived records. */
  bytes: number;
}

/** The totals of a deletion for one coin. */
export interface CoinDeletion extends DeletionTotals {
  readonly symbol: string;
  /** Start of the first window and end of the last one; undefined without markets. */
  firstMs: InstantMs | undefined;
  lastMs: InstantMs | undefined;
}

interface PriceSeries {
  readonly symbol: string;
  readonly source: string;
  readonly seriesId: number;
  /** Prices before this instant are deleted. */
  readonly untilMs: InstantMs;
}

interface Size {
  readonly records: number | null;
  readonly bytes: number | null;
}

/**
 * Limits of one transaction: markets examined, and bytes of segments deleted from bookreel.db. A market is never split between two. `logPages`:
 * see Database.beginBulkChanges.
 */
export interface StepLimits {
  readonly markets: number;
  readonly bytes: number;
  readonly logPages: number;
}

/**
 * About 200 ms. Ids, volumes and counts of markets are in random pages of their indexes: 2,000 markets of a large archive change far fewer
 * pages than they change in twenty transactions of 100.
 */
const STEP: StepLimits = { markets: 2000, bytes: 8 * 1024 * 1024, logPages: 8192 };
/** About 30 ms, for a process that does other work too. */
export const BRIEF_STEP: StepLimits = { markets: 100, bytes: 4 * 1024 * 1024, logPages: LOG_PAGES };
/** The limits on a disk that is almost full: the log of a step needs space before it is freed. */
export const SHORT_STEP: StepLimits = { markets: 4, bytes: 128 * 1024, logPages: LOG_PAGES };
/** Maximum number of segments of coin prices that one transaction deletes: no more bytes than for markets. */
const SEGMENTS_PER_STEP = 2048;

export const MARKET_SIZE = `SELECT SUM(IIF(kind IN ('derived-quote', 'derived-mid'), 0, records)) AS records,
  SUM(bytes) AS bytes FROM (
    SELECT kind, records, LENGTH(payload) AS bytes FROM series JOIN segments USING (series_id) WHERE series.market_key = ?1
    UNION ALL SELECT kind, records, bytes FROM series JOIN sealed_series USING (market_key, series_id) WHERE market_key = ?1
  )`;
export const PRICES_SIZE = 'SELECT SUM(LENGTH(payload)) AS bytes FROM segments WHERE series_id = ? AND last_ms < ?';
export const DELETE_PRICES = `DELETE FROM segments WHERE segment_id IN (
    SELECT segment_id FROM segments WHERE series_id = ? AND last_ms < ? ORDER BY last_ms, last_id LIMIT ${SEGMENTS_PER_STEP}
  ) RETURNING records, LENGTH(payload) AS bytes`;
const DELETE_EMPTY_SERIES = `DELETE FROM series WHERE series_id = ?1
  AND NOT EXISTS (SELECT 1 FROM segments WHERE series_id = ?1)`;
export const DELETE_MARKET_SEGMENTS =
  'DELETE FROM segments WHERE series_id IN (SELECT series_id FROM series WHERE market_key = ?)';
export const DELETE_MARKET_SERIES = 'DELETE FROM series WHERE market_key = ?';
export const DELETE_GAPS = 'DELETE FROM gaps WHERE market_key = ?';
export const DELETE_MARKET = 'DELETE FROM markets WHERE market_key = ?';
const KEEP_KEY = `INSERT INTO deleted_markets (only_row, last_key) VALUES (1, ?)
  ON CONFLICT (only_row) DO UPDATE SET last_key = MAX(last_key, excluded.last_key)`;

/** Deletes the rows of a market that is not in the catalog of sealed ones; its key is not given again. Each takes the key. */
export const DELETE_MARKET_ROWS = [DELETE_MARKET_SEGMENTS, DELETE_MARKET_SERIES, DELETE_GAPS, DELETE_MARKET, KEEP_KEY];

/**
 * Deletes markets with all their records, and prices of coins. Each transaction takes whole markets, and gives the disk space back:
 * whenever a deletion is killed, each market is there or gone, and no page of the file stays empty. Ids of records are not given
 * again.
 */
export class Deletion {
  readonly #archive: Archive;
  readonly #filter: DeletionFilter;
  readonly #sql;
  /** The sources of coin prices in the archive, each once. */
  readonly sources: readonly string[];
  readonly #prices: readonly PriceSeries[];
  /** False if the file keeps its free pages, see Database.giveBack. */
  #givesBack = true;

  constructor(archive: Archive, filter: DeletionFilter) {
    const { database, series, recordedCoins } = archive;
    this.#archive = archive;
    this.#filter = filter;
    this.#sql = {
      marketSize: database.query<Size, [number]>(MARKET_SIZE),
      pricesSize: database.query<Pick<Size, 'bytes'>, [number, number]>(PRICES_SIZE),
      firstKept: database.query<{ startMs: InstantMs | null }, [string, number]>(
        'SELECT MIN(start_ms) AS startMs FROM markets WHERE symbol = ? AND end_ms > ?',
      ),
      // At most one market more than `count` found.
      rest: database.query<{ markets: number; prices: number }, [number]>(
        `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM markets LIMIT ? + 1)) AS markets,
          (SELECT COUNT(*) FROM series WHERE symbol IS NOT NULL) AS prices`,
      ),
      ofMarket: DELETE_MARKET_ROWS.map((sql) => database.query<never, [number]>(sql)),
      prices: database.query<{ records: number; bytes: number }, [number, number]>(DELETE_PRICES),
      emptySeries: database.query<never, [number]>(DELETE_EMPTY_SERIES),
    };
    const recorded = database.read(() =>
      recordedCoins
        .symbols()
        .flatMap((symbol) =>
          series
            .ofCoin(symbol)
            .map((prices) => ({ symbol, ...prices, untilMs: this.#untilMs(symbol, prices.seriesId) })),
        ),
    );
    this.sources = [...new Set(recorded.map(({ source }) => source))].sort();
    const { marketKeys, coins, sources } = filter;
    this.#prices = recorded.filter(
      ({ symbol, source }) =>
        marketKeys === undefined && (coins?.includes(symbol) ?? true) && (sources?.includes(source) ?? true),
    );
  }

  /** Counts what would be deleted, by coin. `isEverything`: no market would be left, or without markets no price. */
  count(): { readonly coins: readonly CoinDeletion[]; readonly isEverything: boolean } {
    const coins = new Map<string, CoinDeletion>();
    let markets = 0;
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      after = this.#archive.database.read(() =>
        this.#walk(from, STEP, (market) => {
          markets += 1;
          const { records, bytes } = this.#sizeOf(market);
          const coin = coinIn(coins, market.symbol);
          add(coin, { markets: 1, records, coinPrices: 0, bytes });
          coin.firstMs = Math.min(coin.firstMs ?? Infinity, market.startMs);
          coin.lastMs = Math.max(coin.lastMs ?? 0, market.endMs);
          return bytes;
        }),
      );
    }
    let emptied = 0;
    for (const { symbol, seriesId, untilMs } of this.#prices) {
      const { coinPrices, bytes, isAll } = this.#archive.database.read(() => this.#sizeOfPrices(seriesId, untilMs));
      if (isAll) emptied += 1;
      if (coinPrices > 0) add(coinIn(coins, symbol), { markets: 0, records: 0, coinPrices, bytes });
    }
    const rest = this.#archive.database.read(() => this.#sql.rest.get(markets)!);
    const isEverything = markets === rest.markets && (markets > 0 || emptied === rest.prices);
    return { coins: [...coins.values()].sort((a, b) => (a.symbol < b.symbol ? -1 : 1)), isEverything };
  }

  /**
   * Deletes in order: markets as they were stored, then prices from the oldest on. After each transaction it yields what was deleted
   * so far. Others may write between two of them.
   */
  *run(limits: StepLimits = STEP): Generator<Readonly<DeletionTotals>> {
    using _ = this.#archive.database.beginBulkChanges(limits.logPages);
    const done: DeletionTotals = { markets: 0, records: 0, coinPrices: 0, bytes: 0 };
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      const files: string[] = [];
      after = this.#step(done, (step) =>
        this.#walk(from, limits, (market) => {
          const { records, bytes } = this.#sizeOf(market);
          add(step, { markets: 1, records, coinPrices: 0, bytes });
          const sealed = this.#archive.sealed.byKey(market.key);
          if (sealed !== undefined) {
            files.push(this.#archive.sealed.placeOf(sealed));
            this.#archive.sealed.forget(market.key);
          }
          for (const statement of this.#sql.ofMarket) statement.run(market.key);
          return sealed === undefined ? bytes : 0;
        }),
      );
      // After the commit: a file that a kill leaves here is deleted later, see Sealing.sweep.
      for (const file of files) discard(file);
      yield done;
    }
    for (const prices of this.#prices) {
      while (this.#step(done, (step) => this.#deletePrices(prices, step))) yield done;
      yield done;
    }
  }

  /** True if the file gave back the space of everything that `run` deleted, see Database.giveBack. */
  get givesBack(): boolean {
    return this.#givesBack;
  }

  /** Runs `work` in one transaction, and adds its totals to `done` after the commit. */
  #step<T>(done: DeletionTotals, work: (step: DeletionTotals) => T): T {
    const step: DeletionTotals = { markets: 0, records: 0, coinPrices: 0, bytes: 0 };
    const result = this.#archive.database.write(() => {
      const worked = work(step);
      if (step.markets + step.coinPrices > 0) this.#givesBack = this.#archive.database.giveBack();
      return worked;
    });
    add(done, step);
    return result;
  }

  /**
   * Calls `take` for the markets of the filter among the next ones after the key `after`; it returns the bytes to count of each.
   * Returns the last key, or undefined at the end.
   */
  #walk(after: number, limits: StepLimits, take: (market: StoredMarket) => number): number | undefined {
    let key = after;
    let bytes = 0;
    for (let examined = 0; examined < limits.markets && bytes < limits.bytes; examined += 1) {
      const market = this.#next(key);
      if (market === undefined) return undefined;
      key = market.key;
      if (this.#matches(market)) bytes += take(market);
    }
    return key;
  }

  #next(after: number): StoredMarket | undefined {
    const { marketKeys } = this.#filter;
    if (marketKeys === undefined) return this.#archive.markets.afterKey(after);
    for (const key of marketKeys) {
      const market = key > after ? this.#archive.markets.byKey(key) : undefined;
      // Another command may have deleted it.
      if (market !== undefined) return market;
    }
    return undefined;
  }

  #matches(market: StoredMarket): boolean {
    const { coins, sources, beforeMs } = this.#filter;
    if (coins !== undefined && !coins.includes(market.symbol)) return false;
    if (sources !== undefined && !(sources.includes(SIMULATED) && isSimulated(market))) return false;
    return beforeMs === undefined || market.endMs <= beforeMs;
  }

  #sizeOf({ key }: StoredMarket): { readonly records: number; readonly bytes: number } {
    const { records, bytes } = this.#sql.marketSize.get(key)!;
    return { records: (records ?? 0) + this.#archive.gaps.count(key, Number.MAX_SAFE_INTEGER), bytes: bytes ?? 0 };
  }

  #sizeOfPrices(seriesId: number, untilMs: InstantMs) {
    const { bytes } = this.#sql.pricesSize.get(seriesId, untilMs)!;
    return {
      coinPrices: this.#archive.segments.until(seriesId, untilMs - 1).count,
      bytes: bytes ?? 0,
      isAll: this.#archive.segments.nearest(seriesId, untilMs, 'after') === undefined,
    };
  }

  /** False when nothing of the series is left to delete. */
  #deletePrices({ seriesId, untilMs }: PriceSeries, step: DeletionTotals): boolean {
    const deleted = this.#sql.prices.all(seriesId, untilMs);
    for (const { records, bytes } of deleted) add(step, { markets: 0, records: 0, coinPrices: records, bytes });
    if (deleted.length === SEGMENTS_PER_STEP) return true;
    // The rest is in the segment that contains the instant.
    step.coinPrices += this.#archive.segments.remove(seriesId, 0, untilMs, priceCodec);
    this.#sql.emptySeries.run(seriesId);
    return false;
  }

  #untilMs(symbol: string, seriesId: number): InstantMs {
    const { beforeMs } = this.#filter;
    if (beforeMs === undefined) return Number.MAX_SAFE_INTEGER;
    const { startMs } = this.#sql.firstKept.get(symbol, beforeMs)!;
    const untilMs = Math.min(beforeMs, startMs ?? Infinity);
    const last = this.#archive.segments.nearest(seriesId, untilMs, 'before');
    return last?.head.timestamps[last.index] ?? untilMs;
  }
}

function coinIn(coins: Map<string, CoinDeletion>, symbol: string): CoinDeletion {
  const none = { markets: 0, records: 0, coinPrices: 0, bytes: 0, firstMs: undefined, lastMs: undefined };
  return coins.getOrInsertComputed(symbol, () => ({ symbol, ...none }));
}

function add(totals: DeletionTotals, { markets, records, coinPrices, bytes }: DeletionTotals): void {
  totals.markets += markets;
  totals.records += records;
  totals.coinPrices += coinPrices;
  totals.bytes += bytes;
}
