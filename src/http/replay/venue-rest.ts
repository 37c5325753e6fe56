import { Elysia } from 'elysia';
import { priceHistory } from '../../replay/clob/price-history.ts';
import { VenueQuotes } from '../../replay/clob/venue-quotes.ts';
import {
  clobRefusal,
  type VenueAnswer,
  type VenueContext,
  type VenueDeps,
  type VenueQuestion,
  type VenueRefusal,
  venueAnswers,
} from './venue-answer.ts';
import { historyWindow } from './venue-history.ts';
import { itemsInBody, itemsInQuery, type RequestedAsset, sideIn } from './venue-items.ts';
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
