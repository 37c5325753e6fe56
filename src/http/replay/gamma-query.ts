import { type InstantMs, parseIso } from '../../domain/instant.ts';
import { type Bounds, CATALOG_ORDERS, type CatalogOrder, type CatalogQuery } from '../../replay/gamma/catalog.ts';
import { type VenueQuestion, VenueRefusal } from './venue-answer.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 500;
const NOTHING: CatalogQuery = { endDate: { maxMs: -1 } };
const WHOLE = /^\d{1,9}$/;

/** What `/markets` and `/events` are asked for; parameters that are unknown, or about what no recording keeps, are ignored. */
export function catalogQuery({ query, replay }: VenueQuestion, idOf: 'market' | 'event'): CatalogQuery {
  // What every listed market is, is asked away.
  if (flagIn(query, 'active') === false || flagIn(query, 'archived') === true) return NOTHING;
  return {
    [`${idOf}Ids`]: listIn(query, 'id'),
    slugs: listIn(query, 'slug'),
    conditionIds: listIn(query, 'condition_ids'),
    assetIds: listIn(query, 'clob_token_ids'),
    seriesIds: listIn(query, 'series_id'),
    seriesSlugs: listIn(query, 'series_slug'),
    closed: flagIn(query, 'closed'),
    startDate: boundsIn(query, 'start_date', replay.shiftMs),
    endDate: boundsIn(query, 'end_date', replay.shiftMs),
    startTime: boundsIn(query, 'start_time', replay.shiftMs),
    // Each once: behind itself it decides nothing more.
    order: [...new Set(listIn(query, 'order').flatMap((name) => ordersCalled(name)))],
    ascending: flagIn(query, 'ascending') ?? true,
  };
}

/** What is wanted of a list. */
export function stretchOf<T>(list: readonly T[], { query }: VenueQuestion): T[] {
  const limit = Math.min(wholeIn(query, 'limit') ?? LIMIT_DEFAULT, LIMIT_MAX);
  const offset = wholeIn(query, 'offset') ?? 0;
  return list.slice(offset, offset + limit);
}

/** The values of a parameter, which may come several times, or several in one. */
export function listIn(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((list) => list.split(',').filter((value) => value !== ''));
}

function flagIn(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalid(`${name} is invalid`);
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
  if (!WHOLE.test(text)) throw invalid(`${name} is invalid`);
  return Number(text);
}

/** Times are those that are told, see Replay.shiftMs. */
function boundsIn(query: URLSearchParams, name: string, shiftMs: number): Bounds {
  return { minMs: instantIn(query, `${name}_min`, shiftMs), maxMs: instantIn(query, `${name}_max`, shiftMs) };
}

function instantIn(query: URLSearchParams, name: string, shiftMs: number): InstantMs | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  // A plus sign that was not escaped is a blank by now.
  const instantMs = parseIso(text.replace(' ', '+'));
  if (instantMs === undefined) throw invalid(`${name} is invalid`);
  return instantMs - shiftMs;
}

/** What Gamma refuses a parameter with. */
export function invalid(error: string): VenueRefusal {
  return new VenueRefusal(422, { type: 'validation error', error });
}
