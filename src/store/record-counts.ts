import type { Database } from './database.ts';

/** The number of stored records of each kind, without the quotes and midpoints that are derived from snapshots. */
export interface RecordCounts {
  readonly snapshots: number;
  readonly quotes: number;
  readonly prices: number;
  readonly lastTradePrices: number;
  readonly coinPrices: number;
}

/** Returns a function that counts the records; it reads the row of each segment, which is nearly the whole file. */
export function recordCounter(database: Database): () => RecordCounts {
  const counts = database.query<{ kind: string; records: number }, []>(
    `SELECT kind, SUM(records) AS records FROM (
       SELECT series_id, records FROM segments UNION ALL SELECT series_id, records FROM sealed_series
     ) JOIN series USING (series_id) GROUP BY kind`,
  );
  return () => {
    const rows = new Map(counts.all().map(({ kind, records }) => [kind, records]));
    const of = (kind: string) => rows.get(kind) ?? 0;
    return {
      snapshots: of('book'),
      quotes: of('quote'),
      prices: of('mid') + of('trade'),
      lastTradePrices: of('last-trade'),
      coinPrices: of('coin-price'),
    };
  };
}
