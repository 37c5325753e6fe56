import { Elysia } from 'elysia';
import { type CatalogEntry, type CatalogQuery, GammaCatalog, listedSeries } from '../../replay/gamma/catalog.ts';
import { listedObject } from '../../replay/listed-market.ts';
import type { Replays } from '../../replay/replays.ts';
import { gammaEventWithMarkets, gammaMarketWithEvents } from '../../venue/gamma-writer.ts';
import { catalogQuery, invalid, listIn, sliceOf } from './gamma-query.ts';
import { answerAsVenue, type VenueContext, type VenueQuestion, VenueRefusal } from './venue-answer.ts';
import { marketsPage, oneMarket } from './venue-markets.ts';

/** Gamma's own host has the paths at its root; here they also have a prefix, to separate them from the CLOB's. */
const PREFIXES = ['', '/gamma'] as const;
const CONDITION_ID = /^0x/i;
const NUMERIC_ID = /^\d{1,18}$/;
const CURSOR_DIGITS = /^\d{1,15}$/;

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
 * Gamma's filters and objects, see gamma-writer.ts. Repeated parameters are lists; unknown ones are ignored.
 *
 * The CLOB's `/markets` is at the root as well: a condition id or a `next_cursor` selects it.
 */
export function gammaController({ replays }: { readonly replays: Replays }) {
  const app = new Elysia({ name: 'gamma' });
  const catalog = new GammaCatalog();
  const get = (path: string, answer: (question: VenueQuestion) => string) =>
    app.get(path, (context: VenueContext) => answerAsVenue(replays, context, answer));
  for (const prefix of PREFIXES) {
    for (const noun of NOUNS) {
      const base = `${prefix}/${noun.name}s`;
      get(base, (question) => {
        if (base === '/markets' && question.query.has('next_cursor')) return marketsPage(question, catalog, '');
        const found = catalog.select(question.replay, queryOf(question, noun), question.nowMs);
        return JSON.stringify(objectsOf(question, noun, sliceOf(found, question)));
      });
      get(`${base}/keyset`, (question) => keyset(question, catalog, noun));
      get(`${base}/slug/:slug`, (question) => {
        return one(question, catalog, noun, 'slug', { slugs: [question.params.slug ?? ''] });
      });
      get(`${base}/:id`, (question) => {
        const id = question.params.id ?? '';
        if (base === '/markets' && CONDITION_ID.test(id)) return oneMarket(question, id);
        if (!NUMERIC_ID.test(id)) throw invalid('id is invalid');
        return one(question, catalog, noun, 'id', { [`${noun.name}Ids`]: [id] });
      });
      get(`${base}/:id/tags`, (question) => {
        const id = question.params.id ?? '';
        if (!NUMERIC_ID.test(id)) throw invalid('id is invalid');
        one(question, catalog, noun, 'id', { [`${noun.name}Ids`]: [id] });
        // Recordings are imported without tags.
        return '[]';
      });
    }
    get(`${prefix}/series`, (question) => {
      const slugs = listIn(question.query, 'slug');
      const found = seriesIn(question, catalog).filter(({ slug }) => slugs.length === 0 || slugs.includes(slug));
      return JSON.stringify(sliceOf(found, question).map(({ object }) => object()));
    });
    get(`${prefix}/series/:id`, (question) => {
      const found = seriesIn(question, catalog).find(({ id }) => id === question.params.id);
      if (found === undefined) throw notFound('id');
      return JSON.stringify(found.object());
    });
  }
  return app;
}

function seriesIn({ replay, nowMs }: VenueQuestion, catalog: GammaCatalog) {
  return listedSeries(replay, catalog.select(replay, {}, nowMs), nowMs);
}

function queryOf(question: VenueQuestion, noun: Noun): CatalogQuery {
  const query = catalogQuery(question, noun.name);
  return { ...query, closed: query.closed ?? noun.closed };
}

/** A page of a list, after the market of `after_cursor`: no market is missed or repeated while others are added or closed. */
function keyset(question: VenueQuestion, catalog: GammaCatalog, noun: Noun): string {
  if (question.query.has('offset')) throw invalid('offset is not allowed on keyset endpoints');
  const { replay, nowMs } = question;
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
  return JSON.stringify({ [`${noun.name}s`]: objectsOf(question, noun, entries), next_cursor });
}

function one(question: VenueQuestion, catalog: GammaCatalog, noun: Noun, by: string, query: CatalogQuery): string {
  const entries = catalog.select(question.replay, query, question.nowMs);
  // Several markets may share a slug: the latest one is the answer.
  const entry = entries.toSorted((a, b) => a.startMs - b.startMs).at(-1);
  if (entry === undefined) throw notFound(by);
  return JSON.stringify(objectsOf(question, noun, [entry])[0]);
}

function objectsOf({ replay, nowMs }: VenueQuestion, { objectOf }: Noun, entries: readonly CatalogEntry[]): object[] {
  return entries.map(({ key }) => listedObject(replay, replay.marketByKey(key)!, nowMs, objectOf));
}

function notFound(by: string): VenueRefusal {
  return new VenueRefusal(404, { type: 'not found error', error: `${by} not found` });
}
