import { Elysia } from 'elysia';
import { marketResource } from '../domain/market.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf } from './controller.ts';
import { requireCoin } from './lookup.ts';
import { negotiate } from './respond.ts';
import { ROUTES, routerPath } from './routes.ts';

/** A coin's markets, and one market. */
export function marketsController(deps: ControllerDeps) {
  const { archive, responder } = deps;
  return new Elysia({ name: 'markets' })
    .get(routerPath('markets'), ({ params, request, set }) => {
      const { timeframe, limit, skip } = parametersOf({ request, set }, ROUTES.markets, (parameters) => ({
        timeframe: parameters.timeframe(),
        limit: parameters.limit(),
        skip: parameters.skip(),
      }));
      return archive.database.read(() => {
        const coin = requireCoin(archive, params.coin);
        // One more than asked for tells whether more follow.
        const found = archive.markets.list(coin, timeframe, limit + 1, skip);
        const data = found.slice(0, limit).map(marketResource);
        const pagination = { limit, skip, count: data.length, hasMore: found.length > limit };
        return responder.document({ data, pagination }, negotiate(request));
      });
    })
    .get(routerPath('market'), ({ params, request, set }) => {
      parametersOf({ request, set }, ROUTES.market, () => undefined);
      return answerAboutMarket(
        deps,
        request,
        params,
        'market',
        (market) =>
          ({ negotiated, etag }) =>
            responder.document({ data: marketResource(market) }, negotiated, etag),
      );
    });
}
