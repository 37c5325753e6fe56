import { Elysia } from 'elysia';
import { type CatalogEntry, type CatalogQuery, EVERY_MARKET, GammaCatalogs } from '../../replay/gamma/gamma-catalog.ts';
import { gammaEventWithMarkets, gammaMarketWithEvents } from '../../replay/gamma/gamma-market.ts';
import { listedSeries } from '../../replay/gamma/gamma-series-list.ts';
import { listedObject } from '../../replay/listed-market.ts';
import type { ReplayRuns } from '../../replay/replay-runs.ts';
import { asksForNothing, catalogQuery, listIn, type Stretch, stretchIn } from './gamma-query.ts';
import { answerAsVenue, type VenueContext, type VenueQuestion, VenueRefusal } from './venue-answer.ts';
import { marketsPage, oneMarket } from './venue-markets.ts';

/** Gamma has its paths at the root of a host of its own; beside the CLOB's they have a prefix too. */
const PREFIXES = ['', '/gamma'] as const;
const CONDITION_ID = /^0x/i;
const NUMERIC_ID = /^\d{1,18}$/;
const CURSOR_DIGITS = /^\d{1,15}$/;

/** Markets, or the events that they are in: found alike, and told in their own words. */
interface Noun {
  readonly path: '/markets' | '/events';
  readonly idOf: 'market' | 'event';
  readonly list: 'markets' | 'events';
  readonly objectOf: typeof gammaMarketWithEvents;
  /** What is listed where nothing is said about it. */
  readonly closed: boolean | undefined;
}

const MARKETS: Noun = {
  path: '/markets',
  idOf: 'market',
  list: 'markets',
  objectOf: gammaMarketWithEvents,
  closed: false,
};
const EVENTS: Noun = {
  path: '/events',
  idOf: 'event',
  list: 'events',
  objectOf: gammaEventWithMarkets,
  closed: undefined,
};

/**
 * The venue's directory of markets, Gamma (gamma-api.polymarket.com), as at the replay's instant: markets, events and series with
 * their filters, in its own shapes, see gamma-market.ts. Repeated parameters are lists; unknown ones are ignored.
 *
 * `/markets` of the CLOB stands at the root as well: there a condition id, or a `next_cursor`, asks for that.
 */
export function gammaController({ runs }: { readonly runs: ReplayRuns }) {
  const app = new Elysia({ name: 'gamma' });
  const catalogs = new GammaCatalogs();
  const get = (path: string, tell: (question: VenueQuestion) => string) =>
    app.get(path, (context: VenueContext) => answerAsVenue(runs, context, tell));
  for (const prefix of PREFIXES) {
    for (const noun of [MARKETS, EVENTS]) {
      const base = `${prefix}${noun.path}`;
      get(base, (question) => {
        if (base === '/markets' && question.query.has('next_cursor')) return marketsPage(question, catalogs, '');
        return JSON.stringify(objectsOf(question, noun, listed(question, catalogs, noun, stretchIn(question))));
      });
      get(`${base}/keyset`, (question) => keyset(question, catalogs, noun));
      get(`${base}/slug/:slug`, (question) => {
        const slugs = [question.params.slug ?? ''];
        return one(
          question,
          noun,
          catalogs.of(question.run).select({ ...EVERY_MARKET, slugs }, question.nowMs),
          'slug',
        );
      });
      get(`${base}/:id`, (question) => {
        const id = question.params.id ?? '';
        if (base === '/markets' && CONDITION_ID.test(id)) return oneMarket(question, id);
        if (!NUMERIC_ID.test(id)) throw new VenueRefusal(422, { type: 'validation error', error: 'id is invalid' });
        const ids = noun.idOf === 'market' ? { marketIds: [id] } : { eventIds: [id] };
        return one(question, noun, catalogs.of(question.run).select({ ...EVERY_MARKET, ...ids }, question.nowMs), 'id');
      });
    }
    get(`${prefix}/series`, (question) => {
      const slugs = listIn(question.query, 'slug');
      const { limit, offset } = stretchIn(question);
      const found = seriesIn(question, catalogs).filter(({ slug }) => slugs.length === 0 || slugs.includes(slug));
      return JSON.stringify(found.slice(offset, offset + limit).map(({ object }) => object()));
    });
    get(`${prefix}/series/:id`, (question) => {
      const found = seriesIn(question, catalogs).find(({ id }) => id === question.params.id);
      if (found === undefined) throw notFound('id');
      return JSON.stringify(found.object());
    });
  }
  return app;
}

function seriesIn({ run, nowMs }: VenueQuestion, catalogs: GammaCatalogs) {
  return listedSeries(run, catalogs.of(run).select(EVERY_MARKET, nowMs), nowMs);
}

/** What a list holds of what is asked for. */
function listed(question: VenueQuestion, catalogs: GammaCatalogs, noun: Noun, { limit, offset }: Stretch) {
  return found(question, catalogs, noun).slice(offset, offset + limit);
}

function found(question: VenueQuestion, catalogs: GammaCatalogs, noun: Noun): CatalogEntry[] {
  if (asksForNothing(question)) return [];
  return catalogs.of(question.run).select(queryOf(question, noun), question.nowMs);
}

function queryOf(question: VenueQuestion, noun: Noun): CatalogQuery {
  const query = catalogQuery(question, noun.idOf);
  return { ...query, closed: query.closed ?? noun.closed };
}

/**
 * A list whose pages hold together while markets are added, or closed: each goes on behind the market that `after_cursor`
 * names.
 */
function keyset(question: VenueQuestion, catalogs: GammaCatalogs, noun: Noun): string {
  if (question.query.has('offset')) {
    throw new VenueRefusal(422, { type: 'validation error', error: 'offset is not allowed on keyset endpoints' });
  }
  const rest = foundBehind(question.query.get('after_cursor') ?? '', question, catalogs, noun);
  const entries = rest.slice(0, stretchIn(question).limit);
  const last = entries.at(-1);
  const hasMore = last !== undefined && entries.length < rest.length;
  const next_cursor = hasMore ? cursorOf(last.key) : undefined;
  return JSON.stringify({ [noun.list]: objectsOf(question, noun, entries), next_cursor });
}

function foundBehind(cursor: string, question: VenueQuestion, catalogs: GammaCatalogs, noun: Noun): CatalogEntry[] {
  if (cursor === '' || asksForNothing(question)) return found(question, catalogs, noun);
  const digits = Buffer.from(cursor, 'base64url').toString();
  const rest = CURSOR_DIGITS.test(digits)
    ? catalogs.of(question.run).selectBehind(Number(digits), queryOf(question, noun), question.nowMs)
    : undefined;
  if (rest === undefined) {
    throw new VenueRefusal(422, { type: 'validation error', error: 'after_cursor is invalid' });
  }
  return rest;
}

function cursorOf(key: number): string {
  return Buffer.from(String(key)).toString('base64url');
}

function one(question: VenueQuestion, noun: Noun, entries: readonly CatalogEntry[], by: string): string {
  // Of several of one slug the latest.
  const entry = entries.toSorted((a, b) => a.startMs - b.startMs).at(-1);
  if (entry === undefined) throw notFound(by);
  return JSON.stringify(objectsOf(question, noun, [entry])[0]);
}

function objectsOf({ run, nowMs }: VenueQuestion, { objectOf }: Noun, entries: readonly CatalogEntry[]): object[] {
  return entries.map(({ key }) => listedObject(run, run.archive.markets.byKey(key), nowMs, objectOf));
}

function notFound(by: string): VenueRefusal {
  return new VenueRefusal(404, { type: 'not found error', error: `${by} not found` });
}
