import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { bucketStartMs } from '../domain/interval.ts';
import type { Archive } from '../store/archive.ts';
import { firstRecordMs } from './export.ts';
import { type ExportSelection, marketsOf } from './selection.ts';

/** The directories into which an export may be divided. */
export const PARTITIONS = ['date'] as const;
export const DAY_MS = 86_400_000;
const DATE_CHARS = 'YYYY-MM-DD'.length;
const FILE_NAME = 'bookreel.parquet';

/** The records of one UTC day of the markets of a coin and a timeframe. */
export interface MarketDay {
  /** In Hive's style, which readers take as columns: `coin=btc/tf=5m/date=2026-04-16/bookreel.parquet`. */
  readonly path: string;
  readonly coin: string;
  readonly startMs: InstantMs;
  /** The markets with records of the day, ascending by (startMs, conditionId). */
  readonly marketKeys: readonly number[];
}

/** The days of a selection of one type of records, by path. It must have a table. Reads a segment of each series a day. */
export function marketDaysOf(archive: Archive, selection: ExportSelection): readonly MarketDay[] {
  const days = new Map<string, MarketDay & { readonly marketKeys: number[] }>();
  for (const coin of selection.coins) {
    for (const market of marketsOf(archive, selection, coin)) {
      let fromMs: InstantMs | undefined = selection.fromMs;
      for (;;) {
        fromMs = firstRecordMs(archive, { ...selection, fromMs }, market);
        if (fromMs === undefined) break;
        const startMs = bucketStartMs(fromMs, DAY_MS);
        const path = `coin=${coin}/tf=${market.timeframe}/date=${formatInstant(startMs).slice(0, DATE_CHARS)}/${FILE_NAME}`;
        const day = days.get(path) ?? { path, coin, startMs, marketKeys: [] };
        day.marketKeys.push(market.key);
        days.set(path, day);
        fromMs = startMs + DAY_MS;
      }
    }
  }
  return [...days.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The records of one day of a selection. */
export function selectionOfDay({ markets }: Archive, selection: ExportSelection, day: MarketDay): ExportSelection {
  const { coin, startMs, marketKeys } = day;
  return {
    ...selection,
    coins: [coin],
    // The first market after the key before its own.
    markets: marketKeys.map((key) => markets.afterKey(key - 1)!),
    fromMs: Math.max(startMs, selection.fromMs),
    toMs: Math.min(startMs + DAY_MS - 1, selection.toMs),
  };
}
