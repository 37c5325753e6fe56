import type { Archive } from '../../store/archive.ts';
import type { ListPosition, MarketFilter } from '../../store/markets.ts';
import type { MarketListQuery } from './market-list.ts';
import { resourceOf } from './market-resource.ts';

/** Skipping this number of markets takes a few milliseconds. A longer skip takes several steps. */
const SKIPPED_AT_ONCE_MAX = 50_000;
/** The same with `asOf`, where each skipped market is read. */
const SKIPPED_AT_ONCE_AS_OF = 5000;
/** Filtering this number of markets takes a few milliseconds. */
const WALKED_AT_ONCE = 2000;
/** The same where the segments of each market before an instant are counted. */
const COUNTED_AT_ONCE_AS_OF = 100;

/** A walk through a list, up to now. */
export interface ListWalk {
  /** At most one more than requested. */
  readonly data: readonly object[];
  /** Number of markets that are still to be skipped. */
  readonly left: number;
  readonly after: ListPosition | undefined;
  /** The markets that the filter takes, if the whole list is counted. */
  readonly totals: { readonly total: number; readonly recorded: number };
  /** The state of the archive when the walk began. */
  readonly state: number;
  /** True if `data` has what was requested, or the list has ended. */
  readonly isOver: boolean;
}

export function walkBegun(skip: number, state: number): ListWalk {
  return { data: [], left: skip, after: undefined, totals: { total: 0, recorded: 0 }, state, isOver: false };
}

/** Returns true for a list in its own order, without counts, whose start is found in one step: a walk is not needed. */
export function isWrittenAtOnce({ filter, hasCounts, hasTotals, asOfMs, skip }: MarketListQuery): boolean {
  return !isFiltered(filter) && !hasCounts && !hasTotals && asOfMs === undefined && skip <= SKIPPED_AT_ONCE_MAX;
}

/** The walk after its next step, which takes a few milliseconds. Reads. */
export function walkOn(archive: Archive, coin: string, requested: MarketListQuery, walked: ListWalk): ListWalk {
  const skipped = skipOn(archive, coin, requested, walked);
  return skipped.isOver || (skipped !== walked && skipped.left > 0)
    ? skipped
    : filterOn(archive, coin, requested, skipped);
}

/** Skips markets that need not be looked at; returns `walked` itself if there are none. */
function skipOn({ markets }: Archive, coin: string, requested: MarketListQuery, walked: ListWalk): ListWalk {
  const { filter, hasTotals, asOfMs } = requested;
  const isOfRecorded = asOfMs === undefined && isOfRecordedOnly(filter);
  if (walked.left === 0 || hasTotals || (isFiltered(filter) && !isOfRecorded)) return walked;
  const count = Math.min(walked.left, asOfMs === undefined ? SKIPPED_AT_ONCE_MAX : SKIPPED_AT_ONCE_AS_OF);
  const after = isOfRecorded
    ? markets.skipRecorded(coin, count, walked.after ?? endOf(filter))
    : markets.skip(coin, filter.timeframe, count, walked.after, asOfMs);
  // Without a position the list is shorter than the skip.
  return { ...walked, left: walked.left - count, after, isOver: after === undefined };
}

function filterOn(archive: Archive, coin: string, requested: MarketListQuery, walked: ListWalk): ListWalk {
  const { limit, filter, hasCounts, hasTotals, asOfMs } = requested;
  const { left, after } = walked;
  const atOnce = hasCounts && asOfMs !== undefined ? COUNTED_AT_ONCE_AS_OF : WALKED_AT_ONCE;
  // Often the first markets match the filter.
  const isShort = (after === undefined || !isFiltered(filter)) && !hasTotals;
  const count = isShort ? Math.min(left + limit + 1, atOnce) : atOnce;
  const { keys, recorded, last } = archive.markets.walk(coin, filter, count, after, asOfMs);
  const totals = { total: walked.totals.total + keys.length, recorded: walked.totals.recorded + recorded };
  // One more than requested shows whether more follow.
  const wanted = keys.slice(left, left + limit + 1 - walked.data.length);
  const found = wanted.map((key) => resourceOf(archive, archive.markets.byKey(key)!, requested));
  const data = [...walked.data, ...found];
  const isOver = last === undefined || (data.length > limit && !hasTotals);
  return { ...walked, data, left: Math.max(0, left - keys.length), after: last, totals, isOver };
}

/** Returns true if the list differs from that of all markets of a timeframe, the latest first. */
function isFiltered({ fromMs, toMs, timeframe: _, sort, ...others }: MarketFilter): boolean {
  const isOfAnyTime = fromMs === 0 && toMs === Number.MAX_SAFE_INTEGER;
  return !isOfAnyTime || sort !== '-window' || Object.values(others).some((value) => value !== undefined);
}

/** Returns true for the recorded markets of all timeframes, also of one day, the latest first: an index has them alone. */
function isOfRecordedOnly(filter: MarketFilter): boolean {
  const isOfAll = !isFiltered({ ...filter, recorded: undefined, begins: undefined });
  return filter.recorded === true && filter.timeframe === undefined && isOfAll;
}

/** The position before the latest window that the filter takes. */
function endOf({ begins }: MarketFilter): ListPosition | undefined {
  return begins && { startMs: begins.toMs + 1, conditionId: '' };
}
