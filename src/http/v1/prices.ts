import { Elysia } from 'elysia';
import { formatInstant } from '../../domain/instant.ts';
import { CoinPriceResource, PriceResource } from '../../domain/price.ts';
import { midOf, spreadOf } from '../../domain/quote.ts';
import { QuoteResource } from '../../domain/quote-resource.ts';
import { perhapsReceived } from '../../domain/snapshot-resource.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { CoinPrice, OutcomePrice } from '../../store/prices.ts';
import type { OutcomeQuote } from '../../store/quotes.ts';
import { describedPages } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { negotiate } from '../response/responder.ts';
import { answerRecords, COIN_PATH, type ControllerDeps, MARKET_PATH, nextCursor, outcomeFields } from './controller.ts';
import { OUTCOME_SERIES_QUERY, pageOf, SERIES_QUERY, seriesPageOf } from './pagination.ts';

/** Prices of a market's outcomes, and reference prices of a coin. */
export function pricesController(deps: ControllerDeps) {
  const { access, archive, lookup, responder } = deps;
  return new Elysia({ name: 'prices' })
    .use(access)
    .get(
      '/v1/:coin/markets/:conditionId/prices',
      ({ params, query, exchange, asOfMs }) =>
        answerRecords(deps, { params, query, exchange, asOfMs }, 'prices', archive.prices, priceResource),
      {
        grant: 'prices',
        params: MARKET_PATH,
        query: OUTCOME_SERIES_QUERY,
        detail: describedPages('marketPrices', 'PricePage', perhapsReceived(PriceResource), {
          summary: 'Prices of a market’s outcomes',
          description: 'Trades, and midpoints of two-sided books, one record per change.',
          firstPage: [`${EXAMPLE_MARKET}/prices`, 'limit=2&order=asc&outcome=up'],
          cursor: 'AZudKX0nAAAAAAAA5ht5gw2f3MBN',
        }),
      },
    )
    .get(
      '/v1/:coin/prices',
      ({ params, query, exchange, asOfMs }) => {
        const requested = seriesPageOf(query, asOfMs);
        return archive.database.readShared(() => {
          const coin = lookup.coin(params.coin, asOfMs);
          const page = pageOf(requested, `coin-prices ${coin}`);
          const negotiated = negotiate(exchange);
          const cached = responder.cached(negotiated);
          if (cached !== undefined) return cached;
          const { records, next } = archive.prices.pageOfCoin(coin, page.query);
          const data = records.map((record) => coinPriceResource(coin, record));
          return responder.respondDocument({ data, nextCursor: nextCursor(next, page.scope) }, negotiated);
        });
      },
      {
        grant: 'prices',
        params: COIN_PATH,
        query: SERIES_QUERY,
        detail: describedPages('coinPrices', 'CoinPricePage', CoinPriceResource, {
          summary: 'Reference prices of a coin',
          description: 'From all recorded sources.',
          firstPage: ['/v1/btc/prices', 'limit=2&order=asc'],
          cursor: 'AZudKX7IAAAAAAAebq3_VNteOY4z',
        }),
      },
    );
}

function priceResource(market: StoredMarket, record: OutcomePrice, hasArrival: boolean): PriceResource {
  const { outcome, price, kind } = record;
  return { ...outcomeFields(market, outcome, record, hasArrival), price, kind };
}

function coinPriceResource(symbol: string, { id, source, timestampMs, price }: CoinPrice): CoinPriceResource {
  return { id: String(id), symbol, source, timestamp: formatInstant(timestampMs), price };
}

/** Tops of a market's books, one record per change. */
export function quotesController(deps: ControllerDeps) {
  return new Elysia({ name: 'quotes' })
    .use(deps.access)
    .get(
      '/v1/:coin/markets/:conditionId/quotes',
      ({ params, query, exchange, asOfMs }) =>
        answerRecords(deps, { params, query, exchange, asOfMs }, 'quotes', deps.archive.quotes, quoteResource),
      {
        grant: 'quotes',
        params: MARKET_PATH,
        query: OUTCOME_SERIES_QUERY,
        detail: describedPages('quotes', 'QuotePage', perhapsReceived(QuoteResource), {
          summary: 'Top of book of a market',
          description: 'One record per change of the best bid or ask.',
          firstPage: [`${EXAMPLE_MARKET}/quotes`, 'limit=2&order=desc&outcome=down'],
          cursor: 'AZudKj1iAAAAAAABQs4ZsZjuyzI6',
        }),
      },
    );
}

function quoteResource(market: StoredMarket, record: OutcomeQuote, hasArrival: boolean): QuoteResource {
  const { quote } = record;
  return {
    ...outcomeFields(market, record.outcome, record, hasArrival),
    bidPrice: quote.bidPrice ?? null,
    bidSize: quote.bidSize ?? null,
    askPrice: quote.askPrice ?? null,
    askSize: quote.askSize ?? null,
    mid: midOf(quote) ?? null,
    spread: spreadOf(quote) ?? null,
  };
}
