import { setImmediate as nextTurn } from 'node:timers/promises';
import { Elysia } from 'elysia';
import type { InstantMs } from '../domain/instant.ts';
import { marketResource } from '../domain/market.ts';
import { marketResourceAsOf } from '../domain/market-as-of.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { ListPlace, MarketState } from '../store/markets.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf } from './controller.ts';
import { MarketList } from './market-list.ts';
import { type Format, negotiate } from './respond.ts';
import type { Exchange } from './response.ts';
import { ROUTES, routerPath } from './routes.ts';

/** To pass over so many markets takes a few milliseconds; further ones are passed over in turns of their own. */
const SKIPPED_AT_ONCE_MAX = 50_000;

/** Such lists read every market that they pass over. */
const SKIPPED_AT_ONCE_AS_OF = 5000;

interface MarketListQuery {
  readonly timeframe: Timeframe | undefined;
  readonly limit: number;
  readonly skip: number;
}

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { gate, archive, lookup, responder } = deps;
  const { database, markets } = archive;
  const listIn = (format: Format) => new MarketList(markets, format, (value) => responder.encode(value, format));
  const lists: Readonly<Record<Format, MarketList>> = { json: listIn('json'), msgpack: listIn('msgpack') };

  /** `find` says which markets are listed, and one more where more follow; `state`: of the archive when it was begun. */
  const answer = (
    exchange: Exchange,
    coinText: string,
    { limit, skip }: MarketListQuery,
    find: (coin: string) => MarketState[],
    state?: number,
  ) =>
    database.readInTurn(() => {
      const coin = lookup.coin(coinText);
      const negotiated = negotiate(exchange);
      const held = responder.held(negotiated);
      if (held !== undefined) return held;
      const found = find(coin);
      const listed = found.slice(0, limit);
      const pagination = { limit, skip, count: listed.length, hasMore: found.length > limit };
      return responder.give(lists[negotiated.format].write(listed, pagination), negotiated, undefined, state);
    });

  const answerFarBehind = async (exchange: Exchange, coinText: string, asked: MarketListQuery) => {
    const { timeframe, limit } = asked;
    const begun = database.readInTurn(() => ({
      held: responder.held(negotiate(exchange)),
      state: database.state,
    }));
    if (begun.held !== undefined) return begun.held;
    let from: ListPlace | undefined;
    let rest = asked.skip;
    while (rest > SKIPPED_AT_ONCE_MAX) {
      const behind = from;
      const next = database.readInTurn(() =>
        markets.skip(lookup.coin(coinText), timeframe, SKIPPED_AT_ONCE_MAX, behind),
      );
      // The list ends before: what follows finds nothing, whatever is left to be skipped.
      if (next === undefined) break;
      from = next;
      rest -= SKIPPED_AT_ONCE_MAX;
      await nextTurn();
    }
    const find = (coin: string) => markets.list(coin, timeframe, limit + 1, rest, from);
    return await answer(exchange, coinText, asked, find, begun.state);
  };

  /** The list as it was at an instant. */
  const answerAsOf = async (
    exchange: Exchange,
    coinText: string,
    { timeframe, limit, skip }: MarketListQuery,
    asOfMs: InstantMs,
  ) => {
    let from: ListPlace | undefined;
    let rest = skip;
    while (rest > SKIPPED_AT_ONCE_AS_OF) {
      const behind = from;
      const [last] = database.readInTurn(() =>
        markets.listAsOf(lookup.coin(coinText, asOfMs), timeframe, asOfMs, 1, SKIPPED_AT_ONCE_AS_OF - 1, behind),
      );
      if (last === undefined) break;
      from = last;
      rest -= SKIPPED_AT_ONCE_AS_OF;
      await nextTurn();
    }
    return database.readInTurn(() => {
      const coin = lookup.coin(coinText, asOfMs);
      const found = markets.listAsOf(coin, timeframe, asOfMs, limit + 1, rest, from);
      const data = found.slice(0, limit).map((market) => marketResourceAsOf(market, asOfMs));
      const pagination = { limit, skip, count: data.length, hasMore: found.length > limit };
      return responder.giveDocument({ data, pagination }, negotiate(exchange));
    });
  };

  return new Elysia({ name: 'markets' })
    .use(gate)
    .get(routerPath('markets'), ({ params, exchange }) => {
      const { asOfMs, ...asked } = parametersOf(exchange, ROUTES.markets, (parameters) => ({
        timeframe: parameters.timeframe(),
        limit: parameters.limit(),
        skip: parameters.skip(),
      }));
      if (asOfMs !== undefined) return answerAsOf(exchange, params.coin, asked, asOfMs);
      if (asked.skip > SKIPPED_AT_ONCE_MAX) return answerFarBehind(exchange, params.coin, asked);
      const { timeframe, limit, skip } = asked;
      // One more than asked for tells whether more follow.
      return answer(exchange, params.coin, asked, (coin) => lookup.markets(coin, timeframe, limit + 1, skip));
    })
    .get(routerPath('market'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.market, () => ({}));
      return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated, etag }) => {
        const { asOfMs } = asked;
        const data = asOfMs === undefined ? marketResource(market) : marketResourceAsOf(market, asOfMs);
        return responder.giveDocument({ data }, negotiated, etag);
      });
    });
}
