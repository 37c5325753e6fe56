import { Elysia } from 'elysia';
import type { InstantMs } from '../../domain/instant.ts';
import { marketResource } from '../../domain/market.ts';
import { marketResourceAsOf } from '../../domain/market-as-of.ts';
import type { ListPosition, StoredMarket } from '../../store/markets.ts';
import { MarketList, type MarketListQuery } from '../response/market-list.ts';
import { type Format, negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf, type Timed } from './controller.ts';

/** To pass over so many markets takes a few milliseconds; further ones are passed over in turns of their own. */
const SKIPPED_AT_ONCE_MAX = 50_000;

/** Such lists read every market that they pass over. */
const SKIPPED_AT_ONCE_AS_OF = 5000;

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { gate, archive, lookup, responder, nextTurn } = deps;
  const { database, markets } = archive;
  const listIn = (format: Format) => new MarketList(archive, format, (value) => responder.encode(value, format));
  const lists: Readonly<Record<Format, MarketList>> = { json: listIn('json'), msgpack: listIn('msgpack') };

  /** The answer that is held, or what `write` writes; `state`: of the archive when that was begun. */
  const answer = (
    exchange: Exchange,
    coinText: string,
    asOfMs: InstantMs | undefined,
    write: (coin: string, format: Format) => Uint8Array<ArrayBuffer>,
    state?: number,
  ) =>
    database.readShared(() => {
      const coin = lookup.coin(coinText, asOfMs);
      const negotiated = negotiate(exchange);
      const held = responder.held(negotiated);
      return held ?? responder.give(write(coin, negotiated.format), negotiated, undefined, state);
    });

  /** A list of which nothing is kept; what is left of `skip` is passed over behind `from`. */
  const written = (
    coin: string,
    format: Format,
    { timeframe, limit, skip, asOfMs }: MarketListQuery & Timed,
    left: number,
    from?: ListPosition,
  ) => {
    // One more than asked for tells whether more follow.
    const found = markets.list(coin, timeframe, limit + 1, left, from, asOfMs);
    const data = found.slice(0, limit).map((market) => resourceOf(market, asOfMs));
    const pagination = { limit, skip, count: data.length, hasMore: found.length > limit };
    return responder.encode({ data, pagination }, format);
  };

  const answerInTurns = async (
    exchange: Exchange,
    coinText: string,
    asked: MarketListQuery & Timed,
    skippedAtOnce: number,
  ) => {
    const { timeframe, asOfMs } = asked;
    const begun = database.readShared(() => ({ held: responder.held(negotiate(exchange)), state: database.state }));
    if (begun.held !== undefined) return begun.held;
    let from: ListPosition | undefined;
    let left = asked.skip;
    while (left > 0) {
      const [count, behind] = [Math.min(left, skippedAtOnce), from];
      const next = database.readShared(() =>
        markets.skip(lookup.coin(coinText, asOfMs), timeframe, count, behind, asOfMs),
      );
      // The list ends before: what follows finds nothing, whatever is left to be skipped.
      if (next === undefined) break;
      from = next;
      left -= count;
      await nextTurn();
    }
    const write = (coin: string, format: Format) => written(coin, format, asked, left, from);
    return await answer(exchange, coinText, asOfMs, write, begun.state);
  };

  return new Elysia({ name: 'markets' })
    .use(gate)
    .get(routerPath('markets'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.markets, (parameters) => ({
        timeframe: parameters.timeframe(),
        limit: parameters.limit(),
        skip: parameters.skip(),
      }));
      const { skip, asOfMs } = asked;
      const skippedAtOnce = asOfMs === undefined ? SKIPPED_AT_ONCE_MAX : SKIPPED_AT_ONCE_AS_OF;
      if (skip > skippedAtOnce) return answerInTurns(exchange, params.coin, asked, skippedAtOnce);
      return answer(exchange, params.coin, asOfMs, (coin, format) =>
        asOfMs === undefined ? lists[format].write(coin, asked) : written(coin, format, asked, skip),
      );
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
