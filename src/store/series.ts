import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Database } from './database.ts';
import { VersionedCache } from './versioned-cache.ts';

/** Recorded and derived records of one kind are two series; readers choose the one to serve. */
export type MarketSeriesKind =
  | 'book'
  | 'quote'
  | 'derived-quote'
  | 'mid'
  | 'derived-mid'
  | 'trade'
  | 'last-trade'
  | 'statement';

export interface MarketSeries {
  readonly outcome: Outcome;
  readonly kind: MarketSeriesKind;
  readonly seriesId: number;
}

export const FIND_SERIES = 'SELECT series_id FROM series WHERE market_key = ? AND outcome = ? AND kind = ?';
const FIND_BOOKS = `SELECT series_id AS seriesId, IFNULL(recorded_from_ms, 9e999) AS recordedFromMs FROM series
  WHERE market_key = ? AND outcome = ? AND kind = 'book'`;
export const FIND_COIN_SERIES = 'SELECT series_id AS seriesId, source FROM series WHERE symbol = ? ORDER BY source';

/** The books of an outcome: before `recordedFromMs` (Infinity if none was recorded) they were made from the other outcome's. */
export interface BookSeries {
  readonly seriesId: number;
  readonly recordedFromMs: InstantMs;
}

/** The number of series ids. */
const CACHED_MAX = 4096;

export class SeriesCatalog {
  readonly #sql;
  readonly #cached: VersionedCache<number>;

  constructor(database: Database) {
    this.#cached = new VersionedCache(database, CACHED_MAX);
    this.#sql = {
      find: database.query<{ series_id: number }, [number, Outcome, MarketSeriesKind]>(FIND_SERIES),
      add: database.query<{ series_id: number }, [number, Outcome, MarketSeriesKind]>(
        'INSERT INTO series (market_key, outcome, kind) VALUES (?, ?, ?) RETURNING series_id',
      ),
      findBooks: database.query<BookSeries, [number, Outcome]>(FIND_BOOKS),
      setRecordedFrom: database.query<never, [number, number]>(
        'UPDATE series SET recorded_from_ms = ? WHERE series_id = ?',
      ),
      ofCoin: database.query<{ seriesId: number; source: string }, [string]>(FIND_COIN_SERIES),
      addCoin: database.query<{ series_id: number }, [string, string]>(
        "INSERT INTO series (kind, symbol, source) VALUES ('coin-price', ?, ?) RETURNING series_id",
      ),
      coins: database.query<{ symbol: string }, []>(
        'SELECT DISTINCT symbol FROM series WHERE symbol IS NOT NULL ORDER BY symbol',
      ),
    };
  }

  find(marketKey: number, outcome: Outcome, kind: MarketSeriesKind): number | undefined {
    return this.#cached.find(
      `${marketKey} ${outcome} ${kind}`,
      () => this.#sql.find.get(marketKey, outcome, kind)?.series_id,
    );
  }

  /** The series of the first of `kinds` that the outcome has and `isKnown` accepts: one or none. */
  firstOf(
    marketKey: number,
    outcome: Outcome,
    kinds: readonly MarketSeriesKind[],
    isKnown: (seriesId: number) => boolean = () => true,
  ): MarketSeries[] {
    for (const kind of kinds) {
      const seriesId = this.find(marketKey, outcome, kind);
      if (seriesId !== undefined && isKnown(seriesId)) return [{ outcome, kind, seriesId }];
    }
    return [];
  }

  ensure(marketKey: number, outcome: Outcome, kind: MarketSeriesKind): number {
    return this.find(marketKey, outcome, kind) ?? this.#sql.add.get(marketKey, outcome, kind)!.series_id;
  }

  books(marketKey: number, outcome: Outcome): BookSeries | undefined {
    return this.#sql.findBooks.get(marketKey, outcome) ?? undefined;
  }

  ensureBooks(marketKey: number, outcome: Outcome): BookSeries {
    this.ensure(marketKey, outcome, 'book');
    return this.books(marketKey, outcome)!;
  }

  setRecordedFrom(seriesId: number, recordedFromMs: InstantMs): void {
    this.#sql.setRecordedFrom.run(recordedFromMs, seriesId);
  }

  /** A coin's price series, one per source, by source. */
  ofCoin(symbol: string): { seriesId: number; source: string }[] {
    return this.#sql.ofCoin.all(symbol);
  }

  /** Coins that have price series, by name. */
  coins(): string[] {
    return this.#sql.coins.all().map((row) => row.symbol);
  }

  findCoin(symbol: string, source: string): number | undefined {
    return this.ofCoin(symbol).find((series) => series.source === source)?.seriesId;
  }

  ensureCoin(symbol: string, source: string): number {
    return this.findCoin(symbol, source) ?? this.#sql.addCoin.get(symbol, source)!.series_id;
  }
}
