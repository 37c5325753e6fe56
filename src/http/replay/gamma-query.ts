import { parseIso } from '../../domain/instant.ts';
import { CATALOG_ORDERS, type CatalogOrder, type CatalogQuery } from '../../replay/gamma/catalog.ts';
import { type VenueQuestion, VenueRefusal } from './venue-answer.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 500;
const NOTHING: CatalogQuery = { endDate: { maxMs: -1 } };
const FLAGS = new Map(Object.entries({ true: true, false: false }));
const WHOLE = /^\d{1,9}$/;

/**
 * The query of `/markets` and `/events`. Unknown parameters, and those about fields that no recording has, are ignored. Times
 * are in shifted time, see Replay.shiftMs.
 */
export function catalogQuery(
  { query, replay }: Pick<VenueQuestion, 'query' | 'replay'>,
  idOf: 'market' | 'event',
): CatalogQuery {
  // Every listed market is active and not archived.
  if (flagIn(query, 'active') === false || flagIn(query, 'archived') === true) return NOTHING;
  const instantIn = (name: string) => {
    // The query parser turns an unescaped plus sign into a space.
    const instantMs = valueIn(query, name, (text) => parseIso(text.replace(' ', '+')));
    return instantMs === undefined ? undefined : instantMs - replay.shiftMs;
  };
  const boundsIn = (name: string) => ({ minMs: instantIn(`${name}_min`), maxMs: instantIn(`${name}_max`) });
  return {
    [`${idOf}Ids`]: listIn(query, 'id'),
    slugs: listIn(query, 'slug'),
    conditionIds: listIn(query, 'condition_ids'),
    assetIds: listIn(query, 'clob_token_ids'),
    seriesIds: listIn(query, 'series_id'),
    seriesSlugs: listIn(query, 'series_slug'),
    closed: flagIn(query, 'closed'),
    startDate: boundsIn('start_date'),
    endDate: boundsIn('end_date'),
    startTime: boundsIn('start_time'),
    // Each once: a repetition has no effect.
    order: [...new Set(listIn(query, 'order').flatMap((name) => ordersCalled(name)))],
    ascending: flagIn(query, 'ascending') ?? true,
  };
}

export function sliceOf<T>(list: readonly T[], { query }: VenueQuestion): T[] {
  const limit = Math.min(wholeIn(query, 'limit') ?? LIMIT_DEFAULT, LIMIT_MAX);
  const offset = wholeIn(query, 'offset') ?? 0;
  return list.slice(offset, offset + limit);
}

/** The part of a list that `page` shows, of `limit` elements each; the first page is 1. */
export function pageOf(query: URLSearchParams, limit: string, limitDefault: number) {
  const length = Math.min(wholeIn(query, limit) ?? limitDefault, LIMIT_MAX);
  const fromIndex = (Math.max(wholeIn(query, 'page') ?? 1, 1) - 1) * length;
  return { fromIndex, toIndex: fromIndex + length };
}

/** The values of a parameter, which may be repeated, or have several values with commas between them. */
export function listIn(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((list) => list.split(',').filter((value) => value !== ''));
}

export function flagIn(query: URLSearchParams, name: string): boolean | undefined {
  return valueIn(query, name, (text) => FLAGS.get(text.toLowerCase()));
}

/** Takes `startDate`, as in objects, and `start_date`, as in parameters. */
export function ordersCalled(name: string): CatalogOrder[] {
  const plain = name.replaceAll('_', '').toLowerCase();
  const called = plain === 'eventstarttime' ? 'starttime' : plain;
  return CATALOG_ORDERS.filter((order) => order.toLowerCase() === called);
}

function wholeIn(query: URLSearchParams, name: string): number | undefined {
  return valueIn(query, name, (text) => (WHOLE.test(text) ? Number(text) : undefined));
}

/** Undefined if it is missing or empty; refused if `read` gives undefined. */
function valueIn<T>(query: URLSearchParams, name: string, read: (text: string) => T | undefined): T | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const value = read(text);
  if (value === undefined) throw invalid(`${name} is invalid`);
  return value;
}

export function invalid(error: string): VenueRefusal {
  return new VenueRefusal(422, { type: 'validation error', error });
}
