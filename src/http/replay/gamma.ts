import { Elysia } from 'elysia';
import { type CatalogEntry, type CatalogQuery, seriesIn } from '../../replay/gamma/catalog.ts';
import { listedMarket, listedObject } from '../../replay/listed-market.ts';
import { seriesObject } from '../../venue/gamma-series.ts';
import { gammaEvent, gammaEventWithMarkets, gammaMarketWithEvents } from '../../venue/gamma-writer.ts';
import { catalogQuery, flagIn, invalid, listIn, ordersCalled, pageOf, sliceOf } from './gamma-query.ts';
import { type VenueDeps, type VenueQuestion, VenueRefusal, venueAnswers } from './venue-answer.ts';
import { marketsPage, oneMarket } from './venue-markets.ts';

/** Gamma's own host has the paths at its root; here they also have a prefix, to separate them from the CLOB's. */
const PREFIXES = ['', '/gamma'] as const;
const CLOB_HOST = 'clob.polymarket.com';
const GAMMA_HOST = 'gamma-api.polymarket.com';
const CONDITION_ID = /^0x/i;
const NUMERIC_ID = /^\d{1,18}$/;
const CURSOR_DIGITS = /^\d{1,15}$/;
/** Lists of objects that no recording has, and documents with such a list. Clients ask for a tag or a comment by its id or slug. */
const EMPTY: readonly (readonly [path: string, answer: string])[] = [
  ...['/tags', '/tags/:id/related-tags', '/tags/:id/related-tags/tags'].map((path) => [path, '[]'] as const),
  ...['/tags/slug/:slug/related-tags', '/tags/slug/:slug/related-tags/tags'].map((path) => [path, '[]'] as const),
  ...['/comments', '/comments/:id', '/comments/user_address/:address'].map((path) => [path, '[]'] as const),
  ...['/sports', '/teams', '/market-clarifications'].map((path) => [path, '[]'] as const),
  ['/sports/market-types', '{"marketTypes":[]}'],
];
/** Gamma's resources that no recording has, with their names in refusals. */
const MISSING: readonly (readonly [path: string, by: string])[] = [
  ['/tags/:id', 'id'],
  ['/tags/slug/:slug', 'slug'],
  ['/teams/:id', 'id'],
  ['/public-profile', 'profile'],
];

/** Markets or their events: the same queries, different objects. */
interface Noun {
  readonly name: 'market' | 'event';
  readonly objectOf: typeof gammaMarketWithEvents;
  /** The filter of a query without `closed`. */
  readonly closed: boolean | undefined;
}

const NOUNS: readonly Noun[] = [
  { name: 'market', objectOf: gammaMarketWithEvents, closed: false },
  { name: 'event', objectOf: gammaEventWithMarkets, closed: undefined },
];

/**
 * The venue's directory of markets, Gamma (gamma-api.polymarket.com), at the replay's instant: markets, events and series, with
 * Gamma's filters and objects, see gamma-writer.ts, and its search. Repeated parameters are lists; unknown ones are ignored.
 * Clients may ask for tags, comments, sports and profiles; there are none.
 *
 * The CLOB's `/markets` is at the root as well: its host selects it; at other hosts than Gamma's, a condition id or a `next_cursor`.
 */
export function gammaController(deps: VenueDeps) {
  const app = new Elysia({ name: 'gamma' });
  const search = new GammaSearch();
  const { now, inTurns } = venueAnswers(deps);
  const get = (path: string, answer: Parameters<typeof now>[0]) => app.get(path, now(answer));
  for (const prefix of PREFIXES) {
    for (const noun of NOUNS) {
      const base = `${prefix}/${noun.name}s`;
      get(base, (question) => {
        if (base === '/markets' && isOfClob(question, question.query.has('next_cursor')))
          return marketsPage(question, '');
        const found = question.catalog.select(question.replay, queryOf(question, noun), question.nowMs);
        return objectsOf(question, noun, sliceOf(found, question));
      });
      get(`${base}/keyset`, (question) => keyset(question, noun));
      get(`${base}/slug/:slug`, (question) => one(question, noun, 'slug', { slugs: [question.params.slug ?? ''] }));
      get(`${base}/:id`, (question) => {
        const id = question.params.id ?? '';
        if (base === '/markets' && isOfClob(question, CONDITION_ID.test(id))) return oneMarket(question, id);
        checkId(question.params);
        return one(question, noun, 'id', { [`${noun.name}Ids`]: [id] });
      });
      get(`${base}/:id/tags`, (question) => {
        checkId(question.params);
        one(question, noun, 'id', { [`${noun.name}Ids`]: [question.params.id ?? ''] });
        // Recordings are imported without tags.
        return [];
      });
    }
    app.get(`${prefix}/series`, inTurns(allSeries));
    app.get(`${prefix}/series/:id`, inTurns(oneSeries));
    app.get(
      `${prefix}/public-search`,
      inTurns((question) => search.answer(question)),
    );
    for (const [path, answer] of EMPTY) {
      get(`${prefix}${path}`, ({ params }) => {
        checkId(params);
        return answer;
      });
    }
    for (const [path, by] of MISSING) {
      get(`${prefix}${path}`, ({ params }) => {
        checkId(params);
        throw notFound(by);
      });
    }
  }
  return app;
}

/** Returns true if a question is one to the CLOB: by its host, else by its form. */
function isOfClob({ host }: VenueQuestion, hasItsForm: boolean): boolean {
  return host === CLOB_HOST || (host !== GAMMA_HOST && hasItsForm);
}

/** Refuses an id in the path that is not a number. */
function checkId({ id = '0' }: VenueQuestion['params']): void {
  if (!NUMERIC_ID.test(id)) throw invalid('id is invalid');
}

function* allSeries(question: VenueQuestion): Generator<undefined, object> {
  const slugs = listIn(question.query, 'slug');
  const found = listedSeries(question).filter(({ slug }) => slugs.length === 0 || slugs.includes(slug));
  const objects: object[] = [];
  for (const series of sliceOf(found, question)) objects.push(yield* seriesWithEvents(question, series));
  return objects;
}

function oneSeries(question: VenueQuestion): Generator<undefined, object> {
  const found = listedSeries(question).find(({ id }) => id === question.params.id);
  if (found === undefined) throw notFound('id');
  return seriesWithEvents(question, found);
}

function listedSeries({ replay, nowMs, catalog }: VenueQuestion) {
  return seriesIn(catalog.select(replay, {}, nowMs));
}

/** In steps of one event each. */
function* seriesWithEvents(
  { replay, nowMs }: VenueQuestion,
  { events, ...series }: ReturnType<typeof seriesIn>[number],
): Generator<undefined, object> {
  const objects: object[] = [];
  for (const { key } of events) {
    const market = replay.marketByKey(key);
    // Undefined if it was deleted since the answer began.
    if (market !== undefined) objects.push(gammaEvent(listedMarket(replay, market, nowMs)));
    yield undefined;
  }
  return { ...seriesObject(series), events: objects };
}

function queryOf(question: VenueQuestion, noun: Noun): CatalogQuery {
  const query = catalogQuery(question, noun.name);
  return { ...query, closed: query.closed ?? noun.closed };
}

/** A page of a list, after the market of `after_cursor`: no market is missed or repeated while others are added or closed. */
function keyset(question: VenueQuestion, noun: Noun): object {
  if (question.query.has('offset')) throw invalid('offset is not allowed on keyset endpoints');
  const { replay, nowMs, catalog } = question;
  const query = queryOf(question, noun);
  const cursor = question.query.get('after_cursor') ?? '';
  const digits = Buffer.from(cursor, 'base64url').toString();
  const key = CURSOR_DIGITS.test(digits) ? Number(digits) : -1;
  const rest = cursor === '' ? catalog.select(replay, query, nowMs) : catalog.selectAfter(key, replay, query, nowMs);
  if (rest === undefined) throw invalid('after_cursor is invalid');
  const entries = sliceOf(rest, question);
  const last = entries.at(-1);
  const hasMore = last !== undefined && entries.length < rest.length;
  const next_cursor = hasMore ? Buffer.from(String(last.key)).toString('base64url') : undefined;
  return { [`${noun.name}s`]: objectsOf(question, noun, entries), next_cursor };
}

function one(question: VenueQuestion, noun: Noun, by: string, query: CatalogQuery): object {
  const entry = question.catalog.latest(question.replay, query, question.nowMs);
  if (entry === undefined) throw notFound(by);
  return objectsOf(question, noun, [entry])[0]!;
}

function objectsOf({ replay, nowMs }: VenueQuestion, { objectOf }: Noun, entries: readonly CatalogEntry[]): object[] {
  return entries.map(({ key }) => listedObject(replay, replay.marketByKey(key)!, nowMs, objectOf));
}

function notFound(by: string): VenueRefusal {
  return new VenueRefusal(404, { type: 'not found error', error: `${by} not found` });
}

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
class GammaSearch {
  /** Words between spaces, with a space before each. An entry of the catalog is a new one if its texts have changed. */
  readonly #texts = new WeakMap<CatalogEntry, string>();

  /** In steps of one event each; the first search reads the texts of all. Call each step within Database.readShared. */
  *answer(question: VenueQuestion): Generator<undefined, object> {
    const { replay, nowMs, query, catalog } = question;
    const wanted = wordsOf(query.get('q') ?? '');
    if (wanted.length === 0) throw invalid('q is invalid');
    const found: CatalogEntry[] = [];
    for (const entry of catalog.select(replay, searchQuery(query), nowMs)) {
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

function searchQuery(query: URLSearchParams): CatalogQuery {
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
