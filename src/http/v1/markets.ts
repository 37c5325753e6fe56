import { Elysia } from 'elysia';
import { Type } from 'typebox';
import type { InstantMs } from '../../domain/instant.ts';
import { MarketResource, MarketWithCounts, marketResource } from '../../domain/market.ts';
import { marketResourceAsOf } from '../../domain/market-as-of.ts';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { recordedSeconds } from '../../domain/recorded-time.ts';
import type { Archive } from '../../store/archive.ts';
import type { ListPosition, MarketFilter, StoredMarket } from '../../store/markets.ts';
import { dataOf, described } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { type EntityTag, type Format, type Negotiated, negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { answerAboutMarket, COIN_PATH, type ControllerDeps, MARKET_PATH } from './controller.ts';
import { MarketList, type MarketListQuery } from './market-list.ts';
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

/** Skipping this number of markets takes a few milliseconds. A longer skip takes several steps. */
const SKIPPED_AT_ONCE_MAX = 50_000;
/** The same with `asOf`, where each skipped market is read. */
const SKIPPED_AT_ONCE_AS_OF = 5000;
/** Filtering this number of markets takes a few milliseconds. */
const WALKED_AT_ONCE = 2000;
/** The same where the segments of each market before an instant are counted. */
const COUNTED_AT_ONCE_AS_OF = 100;

/** The state of a walk through a list. */
interface Walked {
  /** At most one more than requested. */
  readonly data: readonly object[];
  /** Number of markets that are still to be skipped. */
  readonly left: number;
  readonly after: ListPosition | undefined;
  /** The markets that the filter takes, if the whole list is counted. */
  readonly totals: { readonly total: number; readonly recorded: number };
  /** The state of the archive when the walk began. */
  readonly state: number | undefined;
}

const NONE: Walked['totals'] = { total: 0, recorded: 0 };

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { access, archive, lookup, responder, nextTurn } = deps;
  const { database, markets } = archive;
  const listIn = (format: Format) => new MarketList(archive, format, (value) => responder.encode(value, format));
  const lists: Readonly<Record<Format, MarketList>> = { json: listIn('json'), msgpack: listIn('msgpack') };

  /** The list from the state `walked` on. Each step of the walk is a separate view of the archive. */
  const answerList = (
    exchange: Exchange,
    coinText: string,
    requested: MarketListQuery,
    walked: Walked = { data: [], left: requested.skip, after: undefined, totals: NONE, state: undefined },
  ): Response | Promise<Response> =>
    database.readShared(() => {
      const { limit, skip, filter, hasCounts, hasTotals, asOfMs } = requested;
      const { timeframe } = filter;
      const coin = lookup.coin(coinText, asOfMs);
      const negotiated = negotiate(exchange);
      const { format } = negotiated;
      const cached = responder.cached(negotiated);
      if (cached !== undefined) return cached;
      const isWhole = !isFiltered(filter);
      if (isWhole && !hasCounts && !hasTotals && asOfMs === undefined && skip <= SKIPPED_AT_ONCE_MAX)
        return responder.respond(lists[format].write(coin, { timeframe, limit, skip }), negotiated);
      const { state = database.state } = walked;
      const proceed = async (next: Omit<Walked, 'state'>) => {
        await nextTurn(exchange.keyId);
        return await answerList(exchange, coinText, requested, { ...next, state });
      };
      const answer = (found: readonly object[], totals = NONE) => {
        const count = Math.min(limit, found.length);
        const pagination = { limit, skip, count, hasMore: found.length > limit, ...(hasTotals && totals) };
        const document = { data: found.slice(0, limit), pagination };
        return responder.respond(responder.encode(document, format), negotiated, undefined, state);
      };
      let { left, after } = walked;
      const isOfRecorded = asOfMs === undefined && isOfRecordedOnly(filter);
      if ((isWhole || isOfRecorded) && left > 0 && !hasTotals) {
        const count = Math.min(left, asOfMs === undefined ? SKIPPED_AT_ONCE_MAX : SKIPPED_AT_ONCE_AS_OF);
        after = isOfRecorded
          ? markets.skipRecorded(coin, count, after ?? endOf(filter))
          : markets.skip(coin, timeframe, count, after, asOfMs);
        left -= count;
        // The list is shorter than the skip.
        if (after === undefined) return answer([]);
        if (left > 0) return proceed({ ...walked, left, after });
      }
      const atOnce = hasCounts && asOfMs !== undefined ? COUNTED_AT_ONCE_AS_OF : WALKED_AT_ONCE;
      // Often the first markets match the filter.
      const count = (isWhole || after === undefined) && !hasTotals ? Math.min(left + limit + 1, atOnce) : atOnce;
      const { keys, recorded, last } = markets.walk(coin, filter, count, after, asOfMs);
      const totals = { total: walked.totals.total + keys.length, recorded: walked.totals.recorded + recorded };
      // One more than requested shows whether more follow.
      const wanted = keys.slice(left, left + limit + 1 - walked.data.length);
      const data = [...walked.data, ...wanted.map((key) => resourceOf(archive, markets.byKey(key)!, requested))];
      if (last === undefined || (data.length > limit && !hasTotals)) return answer(data, totals);
      return proceed({ data, left: Math.max(0, left - keys.length), after: last, totals });
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

/** Returns true if the list differs from that of all markets of a timeframe, the latest first. */
function isFiltered({ fromMs, toMs, timeframe: _, sort, ...others }: MarketFilter): boolean {
  const isOfAnyTime = fromMs === 0 && toMs === Number.MAX_SAFE_INTEGER;
  return !isOfAnyTime || sort !== '-window' || Object.values(others).some((value) => value !== undefined);
}

/** Returns true for the recorded markets of all timeframes, also of one day, the latest first: an index has them alone. */
function isOfRecordedOnly(filter: MarketFilter): boolean {
  const isOfAll = !isFiltered({ ...filter, recorded: undefined, begins: undefined });
  return filter.recorded === true && filter.timeframe === undefined && isOfAll;
}

/** The position before the latest window that the filter takes. */
function endOf({ begins }: MarketFilter): ListPosition | undefined {
  return begins && { startMs: begins.toMs + 1, conditionId: '' };
}

function resourceOf(
  archive: Archive,
  market: StoredMarket,
  { asOfMs, hasCounts }: Pick<MarketListQuery, 'asOfMs' | 'hasCounts'>,
): MarketResource | MarketWithCounts {
  if (hasCounts) return marketWithCounts(archive, market, asOfMs);
  return asOfMs === undefined ? marketResource(market) : marketResourceAsOf(market, asOfMs);
}

/** A market with what is recorded of it, and null where a volume or a liquidity is unknown. */
export function marketWithCounts(
  { snapshotTotals, recordedTimes }: Archive,
  market: StoredMarket,
  asOfMs: InstantMs | undefined,
): MarketWithCounts {
  const { volume = null, liquidity = null } = market.stated;
  return {
    ...(asOfMs === undefined ? { ...marketResource(market), volume, liquidity } : marketResourceAsOf(market, asOfMs)),
    snapshotCount: snapshotTotals.count(market.key, asOfMs),
    ...recordedSeconds(market, recordedTimes.ofMarket(market.key, asOfMs)),
  };
}
