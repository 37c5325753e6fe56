import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { complement } from '../../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { PAGE_LIMIT_MAX, type PageQuery } from '../../domain/page.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomePrice } from '../../store/prices.ts';
import { bestPricesOf, midpointOf } from '../../venue/best-prices.ts';
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

/** The market and outcome of an asset. */
interface FoundAsset {
  readonly market: StoredMarket;
  readonly outcome: Outcome;
}

/** The midpoint in force at an instant; undefined before the first one. Instants must ascend. */
type MidpointAt = (instantMs: InstantMs) => number | undefined;

/**
 * The answer of the venue's `/prices-history`. From the first midpoint on there is a point at each multiple of the step within
 * the window (in recorded time), with the last midpoint before it. The last point has the midpoint at the end of the window, at
 * the clock's instant, or at the resolution, whichever is first. Midpoints are those of `/midpoint`; a market without books has
 * its recorded ones, else those of the other outcome. Call it within Database.readShared.
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
  const hasBooks = replay.bookAt(found.market, found.outcome, nowMs) !== undefined;
  const midpointAt = hasBooks ? ofBooks(replay, found) : ofRecords(replay, found, { fromMs, endMs, stepMs }, nowMs);
  const points: HistoryPoint[] = [];
  const push = (instantMs: InstantMs, price: number | undefined) => {
    if (price !== undefined) points.push({ t: Math.floor((instantMs + replay.shiftMs) / 1000), p: price });
  };
  for (let instantMs = Math.ceil(fromMs / stepMs) * stepMs; instantMs < endMs; instantMs += stepMs) {
    push(instantMs, midpointAt(instantMs - 1));
  }
  push(endMs, midpointAt(endMs));
  return points;
}

/** Midpoints of books. A book is looked up only when the time of the next one is reached. */
function ofBooks(replay: Replay, { market, outcome }: FoundAsset): MidpointAt {
  const { snapshots } = replay.archive;
  let midpoint: number | undefined;
  let nextMs = 0;
  return (instantMs) => {
    if (instantMs < nextMs) return midpoint;
    const known = replay.bookAt(market, outcome, instantMs);
    midpoint = known && midpointOf(bestPricesOf(known.book));
    nextMs = Math.min(
      ...OUTCOMES.map((each) => {
        const next = snapshots.nearest(market, each, instantMs + 1, 'after');
        return next === undefined ? Infinity : next.head.timestamps[next.index]!;
      }),
    );
    return midpoint;
  };
}

function ofRecords(
  { archive }: Replay,
  { market, outcome }: FoundAsset,
  { fromMs, endMs, stepMs }: { readonly fromMs: InstantMs; readonly endMs: InstantMs; readonly stepMs: number },
  nowMs: InstantMs,
): MidpointAt {
  const midsOf = (query: Partial<PageQuery>) => mids(archive, market, outcome, nowMs, query);
  const records = [...midsOf({ fromMs, toMs: endMs, intervalMs: stepMs })];
  let price = fromMs > 0 ? midsOf({ toMs: fromMs - 1, order: 'desc', limit: 1 }).next().value?.price : undefined;
  let next = 0;
  return (instantMs) => {
    for (; next < records.length && records[next]!.timestampMs <= instantMs; next += 1) price = records[next]!.price;
    return price;
  };
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
