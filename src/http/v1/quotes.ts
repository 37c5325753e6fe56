import { Elysia } from 'elysia';
import { midOf, spreadOf } from '../../domain/quote.ts';
import { QuoteResource } from '../../domain/quote-resource.ts';
import { perhapsReceived } from '../../domain/snapshot-resource.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomeQuote } from '../../store/quotes.ts';
import { describedPages } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { answerRecords, type ControllerDeps, MARKET_PATH, outcomeFields } from './controller.ts';
import { OUTCOME_SERIES_QUERY } from './pagination.ts';

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
