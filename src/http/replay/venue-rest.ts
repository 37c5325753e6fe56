import { Elysia } from 'elysia';
import { isFields, parsedJson } from '../../record/fields.ts';
import { type HistoryWindow, priceHistory } from '../../replay/clob/price-history.ts';
import { type BookSide, VenueQuotes } from '../../replay/clob/venue-quotes.ts';
import { bodyOf } from '../request-body.ts';
import {
  clobRefusal,
  type VenueAnswer,
  type VenueContext,
  type VenueDeps,
  type VenueQuestion,
  type VenueRefusal,
  venueAnswers,
} from './venue-answer.ts';
import { clobMarket, marketByToken, marketsPage, oneMarket } from './venue-markets.ts';
import { liveActivity } from './venue-trades.ts';

type Answer = (question: VenueQuestion) => VenueAnswer;
type AnswerOfAsset = (quotes: VenueQuotes, assetId: string, question: VenueQuestion) => object;
type AnswerOfMany = (quotes: VenueQuotes, items: readonly RequestedAsset[]) => VenueAnswer;

/** The CLOB's own host has the paths at its root; here they also have a prefix, to separate them from Gamma's. */
const PREFIXES = ['', '/clob'] as const;

/**
 * The venue's REST interface for market data (docs.polymarket.com, CLOB) at the replay's instant: paths, bodies, statuses and
 * error texts are the venue's. An asset without an order book at that instant is unknown, see VenueQuotes. Fields that were not
 * recorded are not sent: a trade without a recorded side has an empty one, and without a recorded fee the rate is not found.
 *
 * `/markets` and `/markets/{condition_id}` are under /clob; at the root Gamma has paths of that name, and answers both.
 */
export function venueRestController(deps: VenueDeps) {
  const app = new Elysia({ name: 'venue-rest' });
  const { now } = venueAnswers(deps);
  const get = (path: string, answer: Answer) => app.get(path, now(answer));
  for (const prefix of PREFIXES) {
    get(`${prefix}/ok`, () => JSON.stringify('OK'));
    get(`${prefix}/time`, ({ replay, nowMs }) => String(Math.floor((nowMs + replay.shiftMs) / 1000)));
    get(`${prefix}/book`, (question) => orNoBook(quotesOf(question).book(assetIn(question))));
    get(`${prefix}/prices-history`, history);
    get(`${prefix}/clob-markets/:conditionId`, (question) => clobMarket(question, question.params.conditionId ?? ''));
    for (const path of ['/live-activity/events', '/markets/live-activity']) {
      get(`${prefix}${path}/:conditionId`, (question) => liveActivity(question, question.params.conditionId ?? ''));
    }
    get(`${prefix}/markets-by-token/:assetId`, (question) => marketByToken(question, question.params.assetId ?? ''));
    for (const [path, answer] of Object.entries(OF_ASSET)) get(`${prefix}${path}`, ofAsset(answer));
    for (const [path, answer] of Object.entries(OF_MARKET)) {
      get(`${prefix}${path}`, ofAsset(answer));
      get(`${prefix}${path}/:assetId`, ofAsset(answer));
    }
    for (const [path, answer] of Object.entries(OF_MANY)) {
      get(`${prefix}${path}`, (question) => answer(quotesOf(question), itemsInQuery(question.query)));
      app.post(
        `${prefix}${path}`,
        async (context: VenueContext) => {
          const itemsIn = await itemsInBody(context.request);
          return now((question) => answer(quotesOf(question), itemsIn()))(context);
        },
        // The venue accepts any content type.
        { parse: 'none' },
      );
    }
    for (const list of ['', 'simplified-', 'sampling-', 'sampling-simplified-'] as const) {
      if (list === '' && prefix === '') continue;
      get(`${prefix}/${list}markets`, (question) => marketsPage(question, list));
    }
  }
  get('/clob', () => JSON.stringify('OK'));
  get('/clob/markets/:conditionId', (question) => oneMarket(question, question.params.conditionId ?? ''));
  return app;
}

function ofAsset(answer: AnswerOfAsset): Answer {
  return (question) => answer(quotesOf(question), assetIn(question), question);
}

function history(question: VenueQuestion): object {
  const assetId = question.query.get('market') ?? '';
  if (assetId === '') throw invalidAsset();
  const window = historyWindow(question);
  return { history: priceHistory(question.replay, assetId, window, question.nowMs) };
}

const OF_ASSET: Readonly<Record<string, AnswerOfAsset>> = {
  '/midpoint': (quotes, assetId) => ({ mid: orNoBook(quotes.midpoint(assetId)) }),
  '/price': (quotes, assetId, { query }) => ({ price: orNoBook(quotes.price(assetId, sideIn(query.get('side')))) }),
  '/spread': (quotes, assetId) => ({ spread: orNoBook(quotes.spread(assetId)) }),
  '/last-trade-price': (quotes, assetId) => {
    const trade = quotes.lastTrade(assetId);
    // The venue's answer before the first trade.
    return { price: trade?.price ?? '0.5', side: trade?.side ?? '' };
  },
};

/** Paths about the market of an asset, which may also be in the path. */
const OF_MARKET: Readonly<Record<string, AnswerOfAsset>> = {
  '/tick-size': (quotes, assetId) => ({ minimum_tick_size: Number(tickSizeOf(quotes, assetId)) }),
  '/neg-risk': (quotes, assetId) => {
    tickSizeOf(quotes, assetId);
    // Negative risk is for several markets that exclude each other; up-or-down markets do not.
    return { neg_risk: false };
  },
  '/fee-rate': (quotes, assetId) => {
    const base_fee = quotes.feeRate(assetId);
    if (base_fee === undefined) throw clobRefusal(404, 'fee rate not found for market');
    return { base_fee };
  },
};

/** Paths about many assets. Those without an order book are left out. */
const OF_MANY: Readonly<Record<string, AnswerOfMany>> = {
  '/books': (quotes, items) => `[${items.flatMap(({ assetId }) => quotes.book(assetId) ?? []).join(',')}]`,
  '/midpoints': (quotes, items) => byAsset(items, ({ assetId }) => quotes.midpoint(assetId)),
  '/spreads': (quotes, items) => byAsset(items, ({ assetId }) => quotes.spread(assetId)),
  '/prices': (quotes, items) => {
    const prices: Record<string, Record<string, string>> = {};
    // Without a side the venue answers with the best ask.
    for (const { assetId, side = 'SELL' } of items) {
      const price = quotes.price(assetId, side);
      if (price !== undefined) prices[assetId] = { ...prices[assetId], [side]: price };
    }
    return prices;
  },
  '/last-trades-prices': (quotes, items) => {
    return items.flatMap(({ assetId }) => {
      const trade = quotes.lastTrade(assetId);
      return trade === undefined ? [] : { token_id: assetId, price: trade.price, side: trade.side ?? '' };
    });
  },
};

function byAsset(items: readonly RequestedAsset[], answerOf: (item: RequestedAsset) => string | undefined): object {
  return Object.fromEntries(items.map((item) => [item.assetId, answerOf(item)]));
}

function tickSizeOf(quotes: VenueQuotes, assetId: string): string {
  const tickSize = quotes.tickSize(assetId);
  if (tickSize === undefined) throw clobRefusal(404, 'market not found');
  return tickSize;
}

function quotesOf({ replay, nowMs }: VenueQuestion): VenueQuotes {
  return new VenueQuotes(replay, nowMs);
}

/** The asset id in the path or the query; any text is accepted, since an unknown asset has no order book. */
function assetIn({ query, params }: VenueQuestion): string {
  const assetId = params.assetId ?? query.get('token_id') ?? '';
  if (assetId === '') throw invalidAsset();
  return assetId;
}

function orNoBook(text: string | undefined): string {
  if (text === undefined) throw clobRefusal(404, 'No orderbook exists for the requested token id');
  return text;
}

function invalidAsset(): VenueRefusal {
  return clobRefusal(400, 'Invalid token id');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The venue refuses longer windows between two times. */
const WINDOW_MS_MAX = 15 * DAY_MS;

/** The length of each interval, and the minimum minutes between its points. `1m` is a month. */
const INTERVALS: ReadonlyMap<string, { readonly reachMs: number; readonly fidelityMin: number }> = new Map([
  ['1h', { reachMs: HOUR_MS, fidelityMin: 1 }],
  ['6h', { reachMs: 6 * HOUR_MS, fidelityMin: 1 }],
  ['1d', { reachMs: DAY_MS, fidelityMin: 1 }],
  ['1w', { reachMs: 7 * DAY_MS, fidelityMin: 5 }],
  ['1m', { reachMs: 30 * DAY_MS, fidelityMin: 10 }],
  ['max', { reachMs: 31 * DAY_MS, fidelityMin: 1 }],
  ['all', { reachMs: 31 * DAY_MS, fidelityMin: 1 }],
]);
const INTERVAL_NAMES = [...INTERVALS.keys()].join(', ');
const WHOLE = /^[1-9]\d{0,5}$/;
const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/;

/**
 * The requested window of `/prices-history`: `startTs`, `endTs` (Unix seconds) or an `interval` that ends now; `fidelity` in
 * minutes, 1 by default. Times are in shifted time, see Replay.shiftMs. Rules and refusals are the venue's.
 */
function historyWindow({ query, replay, nowMs }: VenueQuestion): HistoryWindow {
  const fidelity = query.get('fidelity') ?? '1';
  if (!WHOLE.test(fidelity)) throw invalid("'fidelity' must be a whole number of minutes");
  const name = query.get('interval') ?? undefined;
  const interval = name === undefined ? undefined : INTERVALS.get(name);
  if (name !== undefined && interval === undefined) throw invalid(`'interval' must be one of ${INTERVAL_NAMES}`);
  if (interval !== undefined && Number(fidelity) < interval.fidelityMin) {
    throw invalid(`minimum 'fidelity' for '${name}' range is ${interval.fidelityMin}`);
  }
  const stepMs = Number(fidelity) * MINUTE_MS;
  const startMs = secondsIn(query, 'startTs', replay.shiftMs);
  const endMs = secondsIn(query, 'endTs', replay.shiftMs);
  if (startMs === undefined) {
    if (endMs !== undefined || interval === undefined) throw invalid("'startTs' or 'interval' is missing");
    return { fromMs: Math.max(0, nowMs - interval.reachMs), toMs: nowMs, stepMs };
  }
  const toMs = endMs ?? nowMs;
  if (toMs < startMs) throw invalid("'startTs' must not be later than 'endTs'");
  if (toMs - startMs > WINDOW_MS_MAX) throw invalid("'startTs' and 'endTs' interval is too long");
  return { fromMs: Math.max(0, startMs), toMs, stepMs };
}

/** Undefined if it is missing. */
function secondsIn(query: URLSearchParams, name: string, shiftMs: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!SECONDS.test(text)) throw invalid(`'${name}' must be a Unix time in seconds`);
  return Math.floor(Number(text) * 1000) - shiftMs;
}

function invalid(what: string): VenueRefusal {
  return clobRefusal(400, `invalid filters: ${what}`);
}

/** One asset of a request for several. */
interface RequestedAsset {
  readonly assetId: string;
  readonly side: BookSide | undefined;
}

/** The venue's maximum (docs.polymarket.com). */
const ITEMS_MAX = 500;
/** Ten times the usual size of a body with ITEMS_MAX items. */
const ITEMS_BYTES_MAX = 1024 * 1024;

/** Reads BUY or SELL, in upper or lower case. */
function sideIn(text: string | null): BookSide {
  const side = text?.toUpperCase();
  if (side === 'BUY' || side === 'SELL') return side;
  throw clobRefusal(400, 'Invalid side');
}

/** The items of a request with a body: `[{"token_id": "…", "side": "BUY"}, …]`, or `{"token_ids": ["…", …]}`, which many programs send. */
async function itemsInBody(request: Request): Promise<() => RequestedAsset[]> {
  const text = (await bodyOf(request, ITEMS_BYTES_MAX))?.toString();
  return () => {
    const body = text === undefined ? undefined : parsedJson(text);
    if (Array.isArray(body)) return checked(body.map(itemOf));
    if (!isFields(body) || !Array.isArray(body.token_ids) || body.token_ids.length === 0) throw invalidPayload();
    return checked(body.token_ids.map((token_id) => itemOf({ token_id })));
  };
}

/** The items of a request without one: `token_ids=A,B`, and `sides=BUY,SELL` in the same order. */
function itemsInQuery(query: URLSearchParams): RequestedAsset[] {
  const listOf = (name: string) => query.getAll(name).flatMap((list) => list.split(','));
  const sides = listOf('sides');
  const assetIds = listOf('token_ids').filter((assetId) => assetId !== '');
  if (assetIds.length === 0) throw invalidPayload();
  const sideAt = (index: number) => (sides[index] === undefined ? undefined : sideIn(sides[index]));
  return checked(assetIds.map((assetId, index) => ({ assetId, side: sideAt(index) })));
}

function checked(items: RequestedAsset[]): RequestedAsset[] {
  if (items.length > ITEMS_MAX) throw clobRefusal(400, 'Payload exceeds the limit');
  return items;
}

function itemOf(item: unknown): RequestedAsset {
  if (!isFields(item) || typeof item.token_id !== 'string') throw invalidPayload();
  const { token_id: assetId, side } = item;
  if (side === undefined || side === null || side === '') return { assetId, side: undefined };
  if (typeof side !== 'string') throw invalidPayload();
  return { assetId, side: sideIn(side) };
}

function invalidPayload(): VenueRefusal {
  return clobRefusal(400, 'Invalid payload');
}
