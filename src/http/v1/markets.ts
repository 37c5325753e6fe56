import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { MarketResource, MarketWithCounts } from '../../domain/market.ts';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { dataOf, described } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { type EntityTag, type Format, type Negotiated, negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { answerAboutMarket, COIN_PATH, type ControllerDeps, MARKET_PATH } from './controller.ts';
import { MarketList, type MarketListQuery } from './market-list.ts';
import { isWrittenAtOnce, type ListWalk, walkBegun, walkOn } from './market-list-walk.ts';
import { resourceOf } from './market-resource.ts';
import { refused, windowOf } from './pagination.ts';

const {
  tf,
  limit,
  skip,
  search,
  recorded,
  closed,
  from,
  to,
  date,
  winner,
  gaps,
  volumeMin,
  sort,
  include,
  totals,
  asOf,
} = QUERY;

const MarketOfEither = Type.Union([MarketResource, MarketWithCounts], {
  description: 'With snapshotCount, recordedSeconds and windowSeconds if the request has include=counts.',
});
const MarketListAnswer = Type.Object(
  {
    data: Type.Array(MarketOfEither, { maxItems: PAGE_LIMIT_MAX, description: 'The markets.' }),
    pagination: Type.Object(
      {
        limit: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, description: 'As requested.' }),
        skip: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'As requested.' }),
        count: Type.Integer({ minimum: 0, maximum: PAGE_LIMIT_MAX, description: 'Number of markets in this answer.' }),
        hasMore: Type.Boolean({ description: 'True if more markets follow.' }),
        total: Type.Optional(
          Type.Integer({ minimum: 0, description: 'With totals=true: number of markets of the whole list.' }),
        ),
        recorded: Type.Optional(
          Type.Integer({ minimum: 0, description: 'With totals=true: number of those with snapshots.' }),
        ),
      },
      { description: 'The position of this answer in the whole list.' },
    ),
  },
  { $id: 'MarketList', description: 'Markets of a coin, the latest window first.' },
);
const MarketAnswer = dataOf('MarketAnswer', 'One market.', MarketOfEither);

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { access, archive, lookup, responder, nextTurn } = deps;
  const { database } = archive;
  const listIn = (format: Format) => new MarketList(archive, format, (value) => responder.encode(value, format));
  const lists: Readonly<Record<Format, MarketList>> = { json: listIn('json'), msgpack: listIn('msgpack') };

  /** The list from `walked` on. Each step of the walk is a separate view of the archive. */
  const answerList = (
    exchange: Exchange,
    coinText: string,
    requested: MarketListQuery,
    walked?: ListWalk,
  ): Response | Promise<Response> =>
    database.readShared(() => {
      const { limit, skip, filter, hasTotals } = requested;
      const coin = lookup.coin(coinText, requested.asOfMs);
      const negotiated = negotiate(exchange);
      const { format } = negotiated;
      const cached = responder.cached(negotiated);
      if (cached !== undefined) return cached;
      if (isWrittenAtOnce(requested)) {
        return responder.respond(lists[format].write(coin, { timeframe: filter.timeframe, limit, skip }), negotiated);
      }
      const { state, ...next } = walkOn(archive, coin, requested, walked ?? walkBegun(skip, database.state));
      if (!next.isOver) {
        return nextTurn(exchange.keyId).then(() => answerList(exchange, coinText, requested, { ...next, state }));
      }
      const { data, totals } = next;
      const count = Math.min(limit, data.length);
      const pagination = { limit, skip, count, hasMore: data.length > limit, ...(hasTotals && totals) };
      const document = { data: data.slice(0, limit), pagination };
      return responder.respond(responder.encode(document, format), negotiated, undefined, state);
    });

  return new Elysia({ name: 'markets' })
    .use(access)
    .get(
      '/v1/:coin/markets',
      ({ params, query, exchange, asOfMs }) => {
        const { limit, skip, sort, volumeMin } = query;
        if (asOfMs !== undefined && !/window$|^books$/.test(sort))
          throw refused('sort', 'must be window, -window or books with asOf');
        if (asOfMs !== undefined && volumeMin !== undefined) throw refused('volumeMin', 'cannot be used with asOf');
        const filter = {
          timeframe: query.tf,
          search: query.search,
          recorded: query.recorded,
          closed: query.closed,
          begins: query.date,
          winner: query.winner,
          gaps: query.gaps,
          volumeMin,
          sort,
          ...windowOf(query),
        };
        const hasCounts = query.include === 'counts';
        const requested = { limit, skip, filter, hasCounts, hasTotals: query.totals === true, asOfMs };
        return answerList(exchange, params.coin, requested);
      },
      {
        grant: 'markets',
        params: COIN_PATH,
        query: parameters({
          ...{ tf, limit, skip, search, recorded, closed, from, to, date, winner, gaps },
          ...{ volumeMin, sort, include, totals, asOf },
        }),
        detail: described('markets', {
          summary: 'Markets of a coin',
          description:
            'By default the latest window is first; markets with equal windows are by conditionId, descending. sort has other orders. tf, search, recorded, closed, date, winner, gaps, volumeMin, from and to are filters: from and to, both inclusive, keep the markets whose window overlaps this range.',
          answer: MarketListAnswer,
          examples: {
            list: '/v1/btc/markets?tf=5m&limit=1&skip=1',
            asOf: '/v1/btc/markets?limit=1&asOf=2026-01-08T10:31:40Z',
            recorded: '/v1/btc/markets?limit=1&recorded=true&closed=true&include=counts',
            search: '/v1/btc/markets?limit=1&search=5m-1767868&sort=books&totals=true',
            sorted: '/v1/btc/markets?limit=1&date=2026-01&winner=up&gaps=false&volumeMin=1000&sort=-snapshots',
          },
        }),
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId',
      ({ params, query, exchange, asOfMs }) => {
        const requested = { asOfMs, hasCounts: query.include === 'counts' };
        const prepare = (market: StoredMarket) => (answered: { negotiated: Negotiated; etag: EntityTag | undefined }) =>
          responder.respondDocument(
            { data: resourceOf(archive, market, requested) },
            answered.negotiated,
            answered.etag,
          );
        // The records known at an instant are counted in the books.
        return answerAboutMarket(deps, exchange, params, asOfMs, prepare, asOfMs !== undefined);
      },
      {
        grant: 'markets',
        params: MARKET_PATH,
        query: parameters({ include, asOf }),
        detail: described('market', {
          summary: 'One market',
          description: 'By conditionId or slug. Several markets may have one slug: it means the latest one.',
          answer: MarketAnswer,
          examples: { resolved: EXAMPLE_MARKET },
        }),
      },
    );
}
