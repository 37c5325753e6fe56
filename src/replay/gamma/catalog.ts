import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type GammaSeries, seriesOf } from '../../venue/gamma-series.ts';
import { venueIdsOf } from '../../venue/stand-in-id.ts';
import type { Replay } from '../replay.ts';

/** A series is listed with this number of its last events: three and a half days of a series of five minutes. */
const SERIES_EVENTS_MAX = 1000;

/** The fields of a market that queries filter and order by. */
export interface CatalogEntry
  extends Pick<StoredMarket, 'key' | 'marketId' | 'conditionId' | 'slug' | 'clobTokenIds' | 'startMs' | 'endMs'> {
  /** The ids that are sent, see `venueIdsOf`. */
  readonly venueIds: ReturnType<typeof venueIdsOf>;
  readonly series: GammaSeries;
  readonly listedMs: InstantMs;
  /** Infinity if it is not known. */
  readonly resolvedMs: InstantMs;
}

/** A filter of markets; a field that is missing, undefined or an empty list does not restrict. Bounds are inclusive. */
export interface CatalogQuery extends Partial<Readonly<Record<keyof typeof VALUES, readonly string[]>>> {
  readonly closed?: boolean | undefined;
  readonly startDate?: Bounds;
  readonly endDate?: Bounds;
  readonly startTime?: Bounds;
  /** Each order breaks the ties of the one before it; the id breaks the last ties. */
  readonly order?: readonly CatalogOrder[];
  readonly ascending?: boolean;
}

/** An entry matches if one of these values is among those that a query names. */
const VALUES = {
  slugs: ({ slug }: CatalogEntry) => [slug],
  conditionIds: ({ conditionId }: CatalogEntry) => [conditionId],
  marketIds: ({ venueIds }: CatalogEntry) => [venueIds.marketId],
  eventIds: ({ venueIds }: CatalogEntry) => [venueIds.eventId],
  seriesIds: ({ series }: CatalogEntry) => [series.id],
  seriesSlugs: ({ series }: CatalogEntry) => [series.slug],
  assetIds: ({ clobTokenIds }: CatalogEntry) => clobTokenIds,
} satisfies Readonly<Record<string, (entry: CatalogEntry) => readonly (string | undefined)[]>>;
/** Compared in lower case. */
const LOWER_CASE: readonly string[] = ['slugs', 'conditionIds'];

interface Bounds {
  readonly minMs?: InstantMs | undefined;
  readonly maxMs?: InstantMs | undefined;
}

export const CATALOG_ORDERS = ['id', 'slug', 'startDate', 'endDate', 'startTime', 'closedTime'] as const;
export type CatalogOrder = (typeof CATALOG_ORDERS)[number];

/** The markets of replays as Gamma lists them. Entries are cached until the archive changes or the replay is moved. */
export class GammaCatalog {
  readonly #cached = new WeakMap<
    Replay,
    { readonly state: number; readonly shiftMs: number; readonly entries: readonly CatalogEntry[] }
  >();

  /** The markets that are listed at `nowMs` and match the query, in its order. Call it within Database.readShared. */
  select(replay: Replay, query: CatalogQuery, nowMs: InstantMs): CatalogEntry[] {
    return this.#entriesOf(replay).filter(filterOf(query, nowMs)).sort(orderOf(query, nowMs));
  }

  /** The one with the latest window: several markets may share a slug. Undefined if none matches. */
  latest(replay: Replay, query: CatalogQuery, nowMs: InstantMs): CatalogEntry | undefined {
    return this.select(replay, query, nowMs)
      .toSorted((a, b) => a.startMs - b.startMs)
      .at(-1);
  }

  /** The part of that list after the market with `key`, which need not match the query; undefined if that market is not listed. */
  selectAfter(key: number, replay: Replay, query: CatalogQuery, nowMs: InstantMs): CatalogEntry[] | undefined {
    const last = this.#entriesOf(replay).find((entry) => entry.key === key && entry.listedMs <= nowMs);
    if (last === undefined) return undefined;
    const compare = orderOf(query, nowMs);
    return this.select(replay, query, nowMs).filter((entry) => compare(entry, last) > 0);
  }

  #entriesOf(replay: Replay): readonly CatalogEntry[] {
    const { state } = replay.archive.database;
    const cached = this.#cached.get(replay);
    const { shiftMs } = replay;
    if (cached?.state === state && cached.shiftMs === shiftMs) return cached.entries;
    const entries = replay.listedAt(INSTANT_MAX_MS).map((market) => {
      return entryOf({ ...market, slug: replay.asSent(market).slug }, replay.listedMsOf(market));
    });
    this.#cached.set(replay, { state, shiftMs, entries });
    return entries;
  }
}

function entryOf(market: StoredMarket, listedMs: InstantMs): CatalogEntry {
  const { key, marketId, conditionId, slug, clobTokenIds, startMs, endMs, resolvedMs = Infinity } = market;
  const series = seriesOf(market.symbol, market.timeframe);
  const venueIds = venueIdsOf(market);
  return { key, marketId, venueIds, conditionId, slug, clobTokenIds, startMs, endMs, resolvedMs, series, listedMs };
}

/** The series of markets, by slug, each with its last events by start. */
export function seriesIn(entries: readonly CatalogEntry[]) {
  return [...Map.groupBy(entries, ({ series }) => series.slug).values()]
    .map((members) => ({
      ...members[0]!.series,
      events: members.toSorted((a, b) => a.startMs - b.startMs).slice(-SERIES_EVENTS_MAX),
    }))
    .sort((a, b) => compareTexts(a.slug, b.slug));
}

function filterOf(query: CatalogQuery, nowMs: InstantMs): (entry: CatalogEntry) => boolean {
  const named = (Object.keys(VALUES) as (keyof typeof VALUES)[]).flatMap((name) => {
    const wanted = query[name] ?? [];
    if (wanted.length === 0) return [];
    const values = new Set<string | undefined>(
      LOWER_CASE.includes(name) ? wanted.map((text) => text.toLowerCase()) : wanted,
    );
    return [(entry: CatalogEntry) => VALUES[name](entry).some((value) => values.has(value))];
  });
  return (entry) =>
    entry.listedMs <= nowMs &&
    (query.closed === undefined || query.closed === entry.resolvedMs <= nowMs) &&
    isWithin(query.startDate, entry.listedMs) &&
    isWithin(query.endDate, entry.endMs) &&
    isWithin(query.startTime, entry.startMs) &&
    named.every((isNamed) => isNamed(entry));
}

function isWithin({ minMs = -Infinity, maxMs = Infinity }: Bounds = {}, instantMs: InstantMs): boolean {
  return instantMs >= minMs && instantMs <= maxMs;
}

function orderOf(
  { order = [], ascending = true }: CatalogQuery,
  nowMs: InstantMs,
): (a: CatalogEntry, b: CatalogEntry) => number {
  return (a, b) => {
    for (const name of order) {
      const found = COMPARE[name](a, b, nowMs);
      if (found !== 0) return ascending ? found : -found;
    }
    return compareIds(a, b);
  };
}

const COMPARE: Readonly<Record<CatalogOrder, (a: CatalogEntry, b: CatalogEntry, nowMs: InstantMs) => number>> = {
  id: (a, b) => compareNumbers(a.marketId, b.marketId),
  slug: (a, b) => compareTexts(a.slug, b.slug),
  startDate: (a, b) => a.listedMs - b.listedMs,
  endDate: (a, b) => a.endMs - b.endMs,
  startTime: (a, b) => a.startMs - b.startMs,
  closedTime: (a, b, nowMs) => closedMs(a, nowMs) - closedMs(b, nowMs),
};

/** Before its resolution a market sorts after all resolved ones. */
function closedMs({ resolvedMs }: CatalogEntry, nowMs: InstantMs): InstantMs {
  return resolvedMs <= nowMs ? resolvedMs : INSTANT_MAX_MS;
}

/** By id, as the venue does; markets without a known id come first, by the start of their windows. */
function compareIds(a: CatalogEntry, b: CatalogEntry): number {
  return compareNumbers(a.marketId, b.marketId) || a.startMs - b.startMs || compareTexts(a.conditionId, b.conditionId);
}

/** Compares numbers of any length, as digits. */
function compareNumbers(a: string, b: string): number {
  return a.length - b.length || compareTexts(a, b);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
