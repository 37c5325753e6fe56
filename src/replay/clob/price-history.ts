import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { complement } from '../../domain/mirrored-book.ts';
import { type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { PAGE_LIMIT_MAX, type PageQuery } from '../../domain/page.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomePrice } from '../../store/prices.ts';
import type { Replay } from '../replay.ts';

/** A range of time, both ends inclusive, and the time between two points. */
export interface HistoryWindow {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly stepMs: number;
}

/** A point in the venue's format: Unix seconds, and the price. */
export interface HistoryPoint {
  readonly t: number;
  readonly p: number;
}

/**
 * The answer of the venue's `/prices-history`. From the first midpoint on there is a point at each multiple of the step within
 * the window (in recorded time), with the last midpoint before it. The last point has the midpoint at the end of the window, at
 * the clock's instant, or at the resolution, whichever is first. It uses recorded midpoints, else derived ones, else those of
 * the other outcome. Call it within Database.readShared.
 */
export function priceHistory(
  replay: Replay,
  assetId: string,
  { fromMs, toMs, stepMs }: HistoryWindow,
  nowMs: InstantMs,
): HistoryPoint[] {
  const found = replay.findByAsset(assetId, nowMs);
  if (found === undefined) return [];
  const endMs = Math.min(toMs, nowMs, marketAsOf(found.market, nowMs).resolvedMs ?? Infinity);
  if (endMs < fromMs) return [];
  const midsOf = (query: Partial<PageQuery>) => mids(replay.archive, found.market, found.outcome, nowMs, query);
  const records = [...midsOf({ fromMs, toMs: endMs, intervalMs: stepMs })];
  const points: HistoryPoint[] = [];
  let price = fromMs > 0 ? midsOf({ toMs: fromMs - 1, order: 'desc', limit: 1 }).next().value?.price : undefined;
  let next = 0;
  const push = (instantMs: InstantMs) => {
    if (price !== undefined) points.push({ t: Math.floor((instantMs + replay.shiftMs) / 1000), p: price });
  };
  for (let instantMs = Math.ceil(fromMs / stepMs) * stepMs; instantMs < endMs; instantMs += stepMs) {
    for (; next < records.length && records[next]!.timestampMs < instantMs; next += 1) price = records[next]!.price;
    if (price === undefined && next < records.length) {
      // Skips to the first midpoint: there are no points before it.
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

/** The midpoints of an outcome; if it has none up to `nowMs`, the complements of the other one's. */
function* mids(
  { prices }: Pick<Archive, 'prices'>,
  market: StoredMarket,
  outcome: Outcome,
  nowMs: InstantMs,
  query: Partial<PageQuery>,
): Generator<OutcomePrice, undefined> {
  const sources = [outcome, otherOutcome(outcome)]
    .map((each) => prices.sources(market, [each], nowMs).filter(({ kind }) => kind !== 'trade'))
    .find(({ length }) => length > 0);
  const all = { fromMs: 0, toMs: nowMs, order: 'asc', limit: PAGE_LIMIT_MAX } as const;
  for (let after: PageQuery['after']; sources !== undefined; ) {
    const page = prices.page(sources, { ...all, ...query, after });
    for (const record of page.records)
      yield record.outcome === outcome ? record : { ...record, price: complement(record.price) };
    if (page.next === undefined) return;
    after = page.next;
  }
}
