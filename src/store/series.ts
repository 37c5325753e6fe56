import type { Outcome } from '../domain/outcome.ts';
import type { Database } from './database.ts';

/** Recorded and derived records of one kind are two series: which one is served is decided when reading. */
export type MarketSeriesKind = 'book' | 'quote' | 'derived-quote' | 'mid' | 'derived-mid' | 'trade';

/** One time series of a market. */
export interface MarketSeries {
  readonly outcome: Outcome;
  readonly kind: MarketSeriesKind;
  readonly seriesId: number;
}

export const FIND_SERIES = 'SELECT series_id FROM series WHERE market_key = ? AND outcome = ? AND kind = ?';
export const FIND_COIN_SERIES = 'SELECT series_id, source FROM series WHERE symbol = ? ORDER BY source';

/** Which time series exist, and under which id their segments stand. */
export class SeriesCatalog {
  readonly #find;
  readonly #add;
  readonly #ofCoin;
  readonly #addCoin;

  constructor(database: Database) {
    this.#find = database.query<{ series_id: number }, [number, Outcome, MarketSeriesKind]>(FIND_SERIES);
    this.#add = database.query<{ series_id: number }, [number, Outcome, MarketSeriesKind]>(
      'INSERT INTO series (market_key, outcome, kind) VALUES (?, ?, ?) RETURNING series_id',
    );
    this.#ofCoin = database.query<{ series_id: number; source: string }, [string]>(FIND_COIN_SERIES);
    this.#addCoin = database.query<{ series_id: number }, [string, string]>(
      "INSERT INTO series (kind, symbol, source) VALUES ('coin-price', ?, ?) RETURNING series_id",
    );
  }

  find(marketKey: number, outcome: Outcome, kind: MarketSeriesKind): number | undefined {
    return this.#find.get(marketKey, outcome, kind)?.series_id;
  }

  /** The series of the first of `kinds` that the outcome has, if any: one or none. */
  firstOf(marketKey: number, outcome: Outcome, ...kinds: readonly MarketSeriesKind[]): MarketSeries[] {
    for (const kind of kinds) {
      const seriesId = this.find(marketKey, outcome, kind);
      if (seriesId !== undefined) return [{ outcome, kind, seriesId }];
    }
    return [];
  }

  ensure(marketKey: number, outcome: Outcome, kind: MarketSeriesKind): number {
    return this.find(marketKey, outcome, kind) ?? this.#add.get(marketKey, outcome, kind)!.series_id;
  }

  /** A coin's price series, one per source, by source. */
  ofCoin(symbol: string): { seriesId: number; source: string }[] {
    return this.#ofCoin.all(symbol).map((row) => ({ seriesId: row.series_id, source: row.source }));
  }

  ensureCoin(symbol: string, source: string): number {
    const known = this.ofCoin(symbol).find((series) => series.source === source);
    return known?.seriesId ?? this.#addCoin.get(symbol, source)!.series_id;
  }
}
