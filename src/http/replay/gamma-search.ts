import type { CatalogEntry, CatalogQuery } from '../../replay/gamma/catalog.ts';
import { listedMarket, listedObject } from '../../replay/listed-market.ts';
import { gammaEventWithMarkets } from '../../venue/gamma-writer.ts';
import { flagIn, invalid, listIn, ordersCalled, pageOf } from './gamma-query.ts';
import type { VenueQuestion } from './venue-answer.ts';

const PER_TYPE_DEFAULT = 10;
const NO_WORD = /[^a-z0-9]+/;
/** `closed` of the events with a status. */
const STATUSES = new Map([
  ['active', false],
  ['closed', true],
  ['resolved', true],
]);

/**
 * Gamma's `/public-search`: the listed events with each word of `q` in their title or slug, where a word may be the beginning of
 * a longer one. Without `sort` open ones come first, then those that were closed last. A replay has no tags and no profiles.
 */
export class GammaSearch {
  /** Words between spaces, with a space before each. An entry of the catalog is a new one if its texts have changed. */
  readonly #texts = new WeakMap<CatalogEntry, string>();

  /** In steps of one event each; the first search reads the texts of all. Call each step within Database.readShared. */
  *answer(question: VenueQuestion): Generator<undefined, object> {
    const { replay, nowMs, query, catalog } = question;
    const wanted = wordsOf(query.get('q') ?? '');
    if (wanted.length === 0) throw invalid('q is invalid');
    const found: CatalogEntry[] = [];
    for (const entry of catalog.select(replay, queryOf(query), nowMs)) {
      const text = this.#textOf(entry, question);
      if (wanted.every((word) => text.includes(` ${word}`))) found.push(entry);
      yield undefined;
    }
    // No event has a tag.
    const events = listIn(query, 'events_tag').length > 0 ? [] : found;
    const { fromIndex, toIndex } = pageOf(query, 'limit_per_type', PER_TYPE_DEFAULT);
    const objects = events
      .slice(fromIndex, toIndex)
      .flatMap(({ key }) => replay.marketByKey(key) ?? [])
      .map((market) => listedObject(replay, market, nowMs, gammaEventWithMarkets));
    const pagination = { hasMore: toIndex < events.length, totalResults: events.length };
    return { events: objects, tags: [], profiles: [], pagination };
  }

  #textOf(entry: CatalogEntry, { replay, nowMs }: VenueQuestion): string {
    const known = this.#texts.get(entry);
    if (known !== undefined) return known;
    const market = replay.marketByKey(entry.key);
    // Deleted since the search began.
    if (market === undefined) return '';
    const { title, slug } = listedMarket(replay, market, nowMs);
    const text = ['', ...wordsOf(title), ...wordsOf(slug)].join(' ');
    this.#texts.set(entry, text);
    return text;
  }
}

function queryOf(query: URLSearchParams): CatalogQuery {
  const order = ordersCalled(query.get('sort') ?? '');
  const closed = STATUSES.get(query.get('events_status') ?? '');
  const ascending = flagIn(query, 'ascending') ?? false;
  return order.length > 0 ? { closed, order, ascending } : { closed, order: ['closedTime'], ascending: false };
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(NO_WORD)
    .filter((word) => word !== '');
}
