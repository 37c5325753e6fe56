import { type InstantMs, parseIso } from '../../domain/instant.ts';
import { type Bounds, CATALOG_ORDERS, type CatalogOrder, type CatalogQuery } from '../../replay/gamma/gamma-catalog.ts';
import { type VenueQuestion, VenueRefusal } from './venue-answer.ts';

/** A stretch of a list. */
export interface Stretch {
  readonly limit: number;
  readonly offset: number;
}

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 500;
const WHOLE = /^\d{1,9}$/;

/** What `/markets` and `/events` are asked for; parameters that are unknown, or about what no recording keeps, are ignored. */
export function catalogQuery({ query, run }: VenueQuestion, idOf: 'market' | 'event'): CatalogQuery {
  const ids = listIn(query, 'id');
  return {
    marketIds: idOf === 'market' ? ids : [],
    eventIds: idOf === 'event' ? ids : [],
    slugs: listIn(query, 'slug'),
    conditionIds: listIn(query, 'condition_ids'),
    assetIds: listIn(query, 'clob_token_ids'),
    seriesIds: listIn(query, 'series_id'),
    seriesSlugs: listIn(query, 'series_slug'),
    closed: flagIn(query, 'closed'),
    startDate: boundsIn(query, 'start_date', run.shiftMs),
    endDate: boundsIn(query, 'end_date', run.shiftMs),
    startTime: boundsIn(query, 'start_time', run.shiftMs),
    // Each once: behind itself it decides nothing more.
    order: [...new Set(listIn(query, 'order').flatMap((name) => ordersCalled(name)))],
    ascending: flagIn(query, 'ascending') ?? true,
  };
}

/** Whether what every listed market is would be asked away. */
export function asksForNothing({ query }: VenueQuestion): boolean {
  return flagIn(query, 'active') === false || flagIn(query, 'archived') === true;
}

export function stretchIn({ query }: VenueQuestion): Stretch {
  const limit = wholeIn(query, 'limit') ?? LIMIT_DEFAULT;
  return { limit: Math.min(limit, LIMIT_MAX), offset: wholeIn(query, 'offset') ?? 0 };
}

/** The values of a parameter, which may come several times, or several in one. */
export function listIn(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((list) => list.split(',').filter((value) => value !== ''));
}

function flagIn(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalid(name);
}

/** `startDate`, as objects have it, and `start_date`, as parameters do. */
function ordersCalled(name: string): CatalogOrder[] {
  const plain = name.replaceAll('_', '').toLowerCase();
  const called = plain === 'eventstarttime' ? 'starttime' : plain;
  return CATALOG_ORDERS.filter((order) => order.toLowerCase() === called);
}

function wholeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!WHOLE.test(text)) throw invalid(name);
  return Number(text);
}

/** Times are those that are told, see ReplayRun.shiftMs. */
function boundsIn(query: URLSearchParams, name: string, shiftMs: number): Bounds {
  return { minMs: instantIn(query, `${name}_min`, shiftMs), maxMs: instantIn(query, `${name}_max`, shiftMs) };
}

function instantIn(query: URLSearchParams, name: string, shiftMs: number): InstantMs | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  // A plus sign that was not escaped is a blank by now.
  const instantMs = parseIso(text.replace(' ', '+'));
  if (instantMs === undefined) throw invalid(name);
  return instantMs - shiftMs;
}

function invalid(name: string): VenueRefusal {
  return new VenueRefusal(422, { type: 'validation error', error: `${name} is invalid` });
}
