import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type GammaSeries, seriesOf } from '../../venue/gamma-series.ts';
import type { Replay } from '../replay.ts';

/** What markets are found by. */
export interface CatalogEntry
  extends Pick<
    StoredMarket,
    'key' | 'marketId' | 'eventId' | 'conditionId' | 'slug' | 'clobTokenIds' | 'startMs' | 'endMs'
  > {
  readonly series: GammaSeries;
  readonly listedMs: InstantMs;
  /** Infinity where that is not known. */
  readonly resolvedMs: InstantMs;
}

/** Which markets are asked for; what is left out, undefined or an empty list, does not restrict. Bounds are inclusive. */
export interface CatalogQuery {
  readonly marketIds?: readonly string[];
  readonly eventIds?: readonly string[];
  readonly slugs?: readonly string[];
  readonly conditionIds?: readonly string[];
  readonly assetIds?: readonly string[];
  readonly seriesIds?: readonly string[];
  readonly seriesSlugs?: readonly string[];
  readonly closed?: boolean | undefined;
  readonly startDate?: Bounds;
  readonly endDate?: Bounds;
  readonly startTime?: Bounds;
  /** By what they are ordered, the first decides; none: by their ids. */
  readonly order?: readonly CatalogOrder[];
  readonly ascending?: boolean;
}

export interface Bounds {
  readonly minMs?: InstantMs | undefined;
  readonly maxMs?: InstantMs | undefined;
}

export const CATALOG_ORDERS = ['id', 'slug', 'startDate', 'endDate', 'startTime', 'closedTime'] as const;
export type CatalogOrder = (typeof CATALOG_ORDERS)[number];

/** The markets of replays as Gamma is asked for them. What is held of each is read once, and again when the archive changes. */
export class GammaCatalog {
  readonly #held = new WeakMap<Replay, { readonly state: number; readonly entries: readonly CatalogEntry[] }>();

  /** Those listed at `nowMs` that the query takes, in its order. Within Database.readShared. */
  select(replay: Replay, query: CatalogQuery, nowMs: InstantMs): CatalogEntry[] {
    return this.#entriesOf(replay).filter(filterOf(query, nowMs)).sort(orderOf(query, nowMs));
  }

  /**
   * What of such a list comes behind the market with `key`, which may have left it; undefined where no market that is listed
   * has that key.
   */
  selectBehind(key: number, replay: Replay, query: CatalogQuery, nowMs: InstantMs): CatalogEntry[] | undefined {
    const last = this.#entriesOf(replay).find((entry) => entry.key === key && entry.listedMs <= nowMs);
    if (last === undefined) return undefined;
    const compare = orderOf(query, nowMs);
    return this.select(replay, query, nowMs).filter((entry) => compare(entry, last) > 0);
  }

  #entriesOf(replay: Replay): readonly CatalogEntry[] {
    const { state } = replay.archive.database;
    const held = this.#held.get(replay);
    if (held?.state === state) return held.entries;
    const entries = replay.listedAt(INSTANT_MAX_MS).map((market) => entryOf(market, replay.listedMsOf(market)));
    this.#held.set(replay, { state, entries });
    return entries;
  }
}

function entryOf(market: StoredMarket, listedMs: InstantMs): CatalogEntry {
  const { key, marketId, eventId, conditionId, slug, clobTokenIds, startMs, endMs, resolvedMs = Infinity } = market;
  const series = seriesOf(market.symbol, market.timeframe);
  return { key, marketId, eventId, conditionId, slug, clobTokenIds, startMs, endMs, resolvedMs, series, listedMs };
}

function filterOf(query: CatalogQuery, nowMs: InstantMs): (entry: CatalogEntry) => boolean {
  const oneOf = (wanted: readonly string[] = []) => {
    const set = new Set(wanted);
    return (value: string | undefined) => set.size === 0 || (value !== undefined && set.has(value));
  };
  const lowerCase = (texts: readonly string[] = []) => texts.map((text) => text.toLowerCase());
  const marketId = oneOf(query.marketIds);
  const eventId = oneOf(query.eventIds);
  const slug = oneOf(lowerCase(query.slugs));
  const conditionId = oneOf(lowerCase(query.conditionIds));
  const seriesId = oneOf(query.seriesIds);
  const seriesSlug = oneOf(query.seriesSlugs);
  const assetId = oneOf(query.assetIds);
  return (entry) =>
    entry.listedMs <= nowMs &&
    (query.closed === undefined || query.closed === entry.resolvedMs <= nowMs) &&
    isWithin(query.startDate, entry.listedMs) &&
    isWithin(query.endDate, entry.endMs) &&
    isWithin(query.startTime, entry.startMs) &&
    slug(entry.slug) &&
    conditionId(entry.conditionId) &&
    marketId(entry.marketId) &&
    eventId(entry.eventId) &&
    seriesId(entry.series.id) &&
    seriesSlug(entry.series.slug) &&
    entry.clobTokenIds.some(assetId);
}

function isWithin({ minMs = -Infinity, maxMs = Infinity }: Bounds = {}, instantMs: InstantMs): boolean {
  return instantMs >= minMs && instantMs <= maxMs;
}

type Compare = (a: CatalogEntry, b: CatalogEntry) => number;

function orderOf({ order = [], ascending = true }: CatalogQuery, nowMs: InstantMs): Compare {
  const compare = order.map((name) => COMPARE[name](nowMs));
  return (a, b) => {
    for (const by of compare) {
      const found = by(a, b);
      if (found !== 0) return ascending ? found : -found;
    }
    return compareIds(a, b);
  };
}

/** When one was closed counts once it is. */
const COMPARE: Readonly<Record<CatalogOrder, (nowMs: InstantMs) => Compare>> = {
  id: () => (a, b) => compareNumbers(a.marketId, b.marketId),
  slug: () => (a, b) => compareTexts(a.slug, b.slug),
  startDate: () => (a, b) => a.listedMs - b.listedMs,
  endDate: () => (a, b) => a.endMs - b.endMs,
  startTime: () => (a, b) => a.startMs - b.startMs,
  closedTime: (nowMs) => {
    const closedMs = ({ resolvedMs }: CatalogEntry) => (resolvedMs <= nowMs ? resolvedMs : INSTANT_MAX_MS);
    return (a, b) => closedMs(a) - closedMs(b);
  },
};

/** By id, the venue's order; those whose id nobody knew come first, by the start of their windows. */
function compareIds(a: CatalogEntry, b: CatalogEntry): number {
  return compareNumbers(a.marketId, b.marketId) || a.startMs - b.startMs || compareTexts(a.conditionId, b.conditionId);
}

/** Of any length. */
function compareNumbers(a: string, b: string): number {
  return a.length - b.length || compareTexts(a, b);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
