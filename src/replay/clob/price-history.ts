import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { complement } from '../../domain/mirrored-book.ts';
import { type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { PAGE_LIMIT_MAX, type PageQuery } from '../../domain/page.ts';
import type { OutcomePrice } from '../../store/prices.ts';
import type { MarketSeries } from '../../store/series.ts';
import type { Replay } from '../replay.ts';

/** A range of an asset's prices, both ends inclusive, and their distance. */
export interface HistoryWindow {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly stepMs: number;
}

/** A point as the venue has it: Unix seconds, and the price. */
export interface HistoryPoint {
  readonly t: number;
  readonly p: number;
}

/**
 * The answer of the venue's `/prices-history`: midpoints, carried on where nothing changed. Points are at the multiples of the
 * step within the window (times as they were recorded), each the last midpoint before it; the last point is the midpoint in
 * force at the end: the end of the window, the clock's instant, or the resolution, whichever is first. None are before the
 * first midpoint. Of recorded midpoints, else of derived ones, else of the other outcome's. Within Database.readShared.
 */
export function priceHistory(
  replay: Replay,
  assetId: string,
  { fromMs, toMs, stepMs }: HistoryWindow,
  nowMs: InstantMs,
): HistoryPoint[] {
  const source = midsOf(replay, assetId, nowMs);
  if (source === undefined) return [];
  const endMs = Math.min(toMs, nowMs, source.resolvedMs ?? Infinity);
  if (endMs < fromMs) return [];
  const records = source.within({ fromMs, toMs: endMs, intervalMs: stepMs });
  const points: HistoryPoint[] = [];
  let price = source.lastBefore(fromMs);
  let next = 0;
  const push = (instantMs: InstantMs) => {
    if (price !== undefined) points.push({ t: Math.floor((instantMs + replay.shiftMs) / 1000), p: price });
  };
  for (let instantMs = Math.ceil(fromMs / stepMs) * stepMs; instantMs < endMs; instantMs += stepMs) {
    for (; next < records.length && records[next]!.timestampMs < instantMs; next += 1) price = records[next]!.price;
    if (price === undefined && next < records.length) {
      // No points before the first midpoint: straight to it.
      instantMs = Math.floor(records[next]!.timestampMs / stepMs) * stepMs;
      continue;
    }
    if (price === undefined) break;
    push(instantMs);
  }
  price = records.at(-1)?.price ?? price;
  push(endMs);
  return points;
}

/** The midpoints of an asset, as its own: undefined where there are none by now. */
function midsOf(replay: Replay, assetId: string, nowMs: InstantMs) {
  const found = replay.findByAsset(assetId, nowMs);
  if (found === undefined) return undefined;
  const { market, outcome } = found;
  const { prices } = replay.archive;
  const sourcesOf = (each: Outcome): MarketSeries[] =>
    prices.sources(market, [each], nowMs).filter(({ kind }) => kind !== 'trade');
  const own = sourcesOf(outcome);
  const sources = own.length > 0 ? own : sourcesOf(otherOutcome(outcome));
  if (sources.length === 0) return undefined;
  const asOwn = (record: OutcomePrice): OutcomePrice =>
    record.outcome === outcome ? record : { ...record, price: complement(record.price) };
  const pageOf = (query: Partial<PageQuery>) =>
    prices.page(sources, { fromMs: 0, toMs: nowMs, order: 'asc', after: undefined, limit: PAGE_LIMIT_MAX, ...query });
  return {
    resolvedMs: marketAsOf(market, nowMs).resolvedMs,
    lastBefore: (instantMs: InstantMs): number | undefined => {
      if (instantMs <= 0) return undefined;
      return pageOf({ toMs: instantMs - 1, order: 'desc', limit: 1 }).records.map(asOwn)[0]?.price;
    },
    within: (query: Partial<PageQuery>): OutcomePrice[] => {
      const records: OutcomePrice[] = [];
      for (let after: PageQuery['after']; ; ) {
        const page = pageOf({ ...query, after });
        for (const record of page.records) records.push(asOwn(record));
        if (page.next === undefined) return records;
        after = page.next;
      }
    },
  };
}
