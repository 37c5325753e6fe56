import { Elysia } from 'elysia';
import { priceHistory } from '../../replay/clob/price-history.ts';
import { VenueQuotes } from '../../replay/clob/quotes.ts';
import { GammaCatalog } from '../../replay/gamma/catalog.ts';
import type { Replays } from '../../replay/replays.ts';
import { answerAsVenue, type VenueContext, type VenueQuestion, VenueRefusal } from './venue-answer.ts';
import { historyWindow } from './venue-history.ts';
import { type AskedItem, itemsInBody, itemsInQuery, sideIn } from './venue-items.ts';
import { marketsPage, oneMarket } from './venue-markets.ts';

type Tell = (question: VenueQuestion) => string;
type TellMany = (quotes: VenueQuotes, items: readonly AskedItem[]) => string;

/** The venue has its paths at the root of a host of their own; beside Gamma's they have a prefix too. */
const PREFIXES = ['', '/clob'] as const;

/**
 * The venue's REST interface for market data (docs.polymarket.com, CLOB) as at the replay's instant: paths, bodies, statuses and
 * error texts are the venue's. An asset without an order book then is one that the venue does not know, see VenueQuotes. What was
 * not recorded is not told: a trade without a side was taken by neither BUY nor SELL, without its fee no rate is found.
 *
 * `/markets` and `/markets/{condition_id}` stand under /clob; at the root Gamma has paths of that name, and answers both.
 */
export function venueRestController({ replays }: { readonly replays: Replays }) {
  const app = new Elysia({ name: 'venue-rest' });
  const catalog = new GammaCatalog();
  const get = (path: string, tell: Tell) =>
    app.get(path, (context: VenueContext) => answerAsVenue(replays, context, tell));
  for (const prefix of PREFIXES) {
    for (const [path, tell] of Object.entries(PATHS)) get(`${prefix}${path}`, tell);
    for (const [path, tell] of Object.entries(BATCHES)) {
      get(`${prefix}${path}`, (question) => tell(quotesOf(question), itemsInQuery(question.query)));
      app.post(
        `${prefix}${path}`,
        async (context: VenueContext) => {
          const itemsIn = await itemsInBody(context.request);
          return answerAsVenue(replays, context, (question) => tell(quotesOf(question), itemsIn()));
        },
        // Whatever its content type.
        { parse: 'none' },
      );
    }
    for (const form of ['', 'simplified-', 'sampling-', 'sampling-simplified-'] as const) {
      if (form === '' && prefix === '') continue;
      get(`${prefix}/${form}markets`, (question) => marketsPage(question, catalog, form));
    }
  }
  get('/clob', () => JSON.stringify('OK'));
  get('/clob/markets/:conditionId', (question) => oneMarket(question, question.params.conditionId ?? ''));
  return app;
}

/** Paths about one asset, and about none. */
const PATHS: Readonly<Record<string, Tell>> = {
  '/time': ({ replay, nowMs }) => String(Math.floor((nowMs + replay.shiftMs) / 1000)),
  '/book': (question) => orNoBook(quotesOf(question).book(assetIn(question))),
  '/midpoint': (question) => JSON.stringify({ mid: orNoBook(quotesOf(question).midpoint(assetIn(question))) }),
  '/price': (question) => {
    const assetId = assetIn(question);
    const side = sideIn(question.query.get('side'));
    return JSON.stringify({ price: orNoBook(quotesOf(question).price(assetId, side)) });
  },
  '/spread': (question) => JSON.stringify({ spread: orNoBook(quotesOf(question).spread(assetIn(question))) }),
  '/last-trade-price': (question) => {
    const trade = quotesOf(question).lastTrade(assetIn(question));
    // What the venue says before the first trade.
    return JSON.stringify({ price: trade?.price ?? '0.5', side: trade?.side ?? '' });
  },
  '/tick-size': tellTickSize,
  '/tick-size/:assetId': tellTickSize,
  '/neg-risk': tellNegRisk,
  '/neg-risk/:assetId': tellNegRisk,
  '/fee-rate': tellFeeRate,
  '/fee-rate/:assetId': tellFeeRate,
  '/prices-history': (question) => {
    const assetId = question.query.get('market') ?? '';
    if (assetId === '') throw invalidAsset();
    const window = historyWindow(question);
    return JSON.stringify({ history: priceHistory(question.replay, assetId, window, question.nowMs) });
  },
};

/** Paths about many assets. Those without an order book are left out. */
const BATCHES: Readonly<Record<string, TellMany>> = {
  '/books': (quotes, items) => `[${items.flatMap(({ assetId }) => quotes.book(assetId) ?? []).join(',')}]`,
  '/midpoints': (quotes, items) => byAsset(items, ({ assetId }) => quotes.midpoint(assetId)),
  '/spreads': (quotes, items) => byAsset(items, ({ assetId }) => quotes.spread(assetId)),
  '/prices': (quotes, items) => {
    const told: Record<string, Record<string, string>> = {};
    // Without a side the venue tells that of the sellers.
    for (const { assetId, side = 'SELL' } of items) {
      const price = quotes.price(assetId, side);
      if (price !== undefined) told[assetId] = { ...told[assetId], [side]: price };
    }
    return JSON.stringify(told);
  },
  '/last-trades-prices': (quotes, items) => {
    const told = items.flatMap(({ assetId }) => {
      const trade = quotes.lastTrade(assetId);
      return trade === undefined ? [] : { token_id: assetId, price: trade.price, side: trade.side ?? '' };
    });
    return JSON.stringify(told);
  },
};

function byAsset(items: readonly AskedItem[], tell: (item: AskedItem) => string | undefined): string {
  return JSON.stringify(Object.fromEntries(items.map((item) => [item.assetId, tell(item)])));
}

function tellTickSize(question: VenueQuestion): string {
  const tickSize = quotesOf(question).tickSize(assetIn(question));
  if (tickSize === undefined) throw marketNotFound();
  return JSON.stringify({ minimum_tick_size: Number(tickSize) });
}

/** No up-or-down market is one of several that exclude each other. */
function tellNegRisk(question: VenueQuestion): string {
  if (quotesOf(question).tickSize(assetIn(question)) === undefined) throw marketNotFound();
  return JSON.stringify({ neg_risk: false });
}

/** What the last trade was charged: markets do not change that. */
function tellFeeRate(question: VenueQuestion): string {
  const base_fee = quotesOf(question).lastTrade(assetIn(question))?.feeRateBps;
  if (base_fee === undefined) throw new VenueRefusal(404, { error: 'fee rate not found for market' });
  return JSON.stringify({ base_fee });
}

function quotesOf({ replay, nowMs }: VenueQuestion): VenueQuotes {
  return new VenueQuotes(replay, nowMs);
}

/** The asset that the path or the query names; one that is none has no order book. */
function assetIn({ query, params }: VenueQuestion): string {
  const assetId = params.assetId ?? query.get('token_id') ?? '';
  if (assetId === '') throw invalidAsset();
  return assetId;
}

function orNoBook(told: string | undefined): string {
  if (told === undefined) throw new VenueRefusal(404, { error: 'No orderbook exists for the requested token id' });
  return told;
}

function invalidAsset(): VenueRefusal {
  return new VenueRefusal(400, { error: 'Invalid token id' });
}

function marketNotFound(): VenueRefusal {
  return new VenueRefusal(404, { error: 'market not found' });
}
