import { Elysia } from 'elysia';
import type { InstantMs } from '../../domain/instant.ts';
import { marketResource } from '../../domain/market.ts';
import { marketResourceAsOf } from '../../domain/market-as-of.ts';
import type { ListPosition, StoredMarket } from '../../store/markets.ts';
import { type Format, negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf, type Timed } from './controller.ts';
import { MarketList, type MarketListQuery } from './market-list.ts';

/** To skip so many markets takes a few milliseconds; more are skipped in several steps. */
const SKIPPED_AT_ONCE_MAX = 50_000;
/** With `asOf` every market that is skipped is read. */
const SKIPPED_AT_ONCE_AS_OF = 5000;

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { gate, archive, lookup, responder, nextTurn } = deps;
  const { database, markets } = archive;
  const listIn = (format: Format) => new MarketList(archive, format, (value) => responder.encode(value, format));
  const lists: Readonly<Record<Format, MarketList>> = { json: listIn('json'), msgpack: listIn('msgpack') };

  /** The list after the first `asked.skip - left` markets, the last of which is `after`; `state` see `Responder.give`. */
  const answerList = (
    exchange: Exchange,
    coinText: string,
    asked: MarketListQuery & Timed,
    left: number,
    after?: ListPosition,
    state?: number,
  ) =>
    database.readShared(() => {
      const { timeframe, limit, skip, asOfMs } = asked;
      const coin = lookup.coin(coinText, asOfMs);
      const negotiated = negotiate(exchange);
      const { format } = negotiated;
      const cached = responder.cached(negotiated);
      if (cached !== undefined) return cached;
      if (asOfMs === undefined && state === undefined)
        return responder.give(lists[format].write(coin, asked), negotiated);
      // With one more than asked for it is known whether more follow.
      const found = markets.list(coin, timeframe, limit + 1, left, after, asOfMs);
      const data = found.slice(0, limit).map((market) => resourceOf(market, asOfMs));
      const pagination = { limit, skip, count: data.length, hasMore: found.length > limit };
      return responder.give(responder.encode({ data, pagination }, format), negotiated, undefined, state);
    });

  const answerInSteps = async (
    exchange: Exchange,
    coinText: string,
    asked: MarketListQuery & Timed,
    skippedAtOnce: number,
  ) => {
    const { timeframe, asOfMs } = asked;
    const begun = database.readShared(() => ({ cached: responder.cached(negotiate(exchange)), state: database.state }));
    if (begun.cached !== undefined) return begun.cached;
    let after: ListPosition | undefined;
    let left = asked.skip;
    while (left > 0) {
      const [count, from] = [Math.min(left, skippedAtOnce), after];
      const next = database.readShared(() =>
        markets.skip(lookup.coin(coinText, asOfMs), timeframe, count, from, asOfMs),
      );
      // The list ends before: what follows finds nothing, whatever is left to be skipped.
      if (next === undefined) break;
      after = next;
      left -= count;
      await nextTurn();
    }
    return await answerList(exchange, coinText, asked, left, after, begun.state);
  };

  return new Elysia({ name: 'markets' })
    .use(gate)
    .get(routerPath('markets'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.markets, (parameters) => parameters.marketList());
      const skippedAtOnce = asked.asOfMs === undefined ? SKIPPED_AT_ONCE_MAX : SKIPPED_AT_ONCE_AS_OF;
      if (asked.skip > skippedAtOnce) return answerInSteps(exchange, params.coin, asked, skippedAtOnce);
      return answerList(exchange, params.coin, asked, asked.skip);
    })
    .get(routerPath('market'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.market, () => ({}));
      return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated, etag }) => {
        return responder.giveDocument({ data: resourceOf(market, asked.asOfMs) }, negotiated, etag);
      });
    });
}

function resourceOf(market: StoredMarket, asOfMs: InstantMs | undefined) {
  return asOfMs === undefined ? marketResource(market) : marketResourceAsOf(market, asOfMs);
}
