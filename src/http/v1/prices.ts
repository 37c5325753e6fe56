import { Elysia } from 'elysia';
import { formatInstant } from '../../domain/instant.ts';
import type { CoinPriceResource, PriceResource } from '../../domain/price.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { CoinPrice, OutcomePrice } from '../../store/prices.ts';
import { negotiate } from '../response/responder.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerRecords, type ControllerDeps, nextCursor, outcomeFields, parametersOf } from './controller.ts';
import { pageOf } from './params.ts';

/** Prices of a market's outcomes, and reference prices of a coin. */
export function pricesController(deps: ControllerDeps) {
  const { gate, archive, lookup, responder } = deps;
  return new Elysia({ name: 'prices' })
    .use(gate)
    .get(routerPath('marketPrices'), ({ params, exchange }) =>
      answerRecords(deps, exchange, params, ROUTES.marketPrices, 'prices', archive.prices, priceResource),
    )
    .get(routerPath('coinPrices'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.coinPrices, (parameters) => parameters.series());
      return archive.database.readShared(() => {
        const coin = lookup.coin(params.coin, asked.asOfMs);
        const { query, scope } = pageOf(asked, `coin-prices ${coin}`);
        const negotiated = negotiate(exchange);
        const cached = responder.cached(negotiated);
        if (cached !== undefined) return cached;
        const page = archive.prices.pageOfCoin(coin, query);
        const data = page.records.map((record) => coinPriceResource(coin, record));
        return responder.giveDocument({ data, nextCursor: nextCursor(page.next, scope) }, negotiated);
      });
    });
}

function priceResource(market: StoredMarket, record: OutcomePrice): PriceResource {
  return { ...outcomeFields(market, record.outcome, record), price: record.price, kind: record.kind };
}

function coinPriceResource(symbol: string, { id, source, timestampMs, price }: CoinPrice): CoinPriceResource {
  return { id: String(id), symbol, source, timestamp: formatInstant(timestampMs), price };
}
