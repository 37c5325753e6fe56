import { Elysia } from 'elysia';
import { midOf, QuoteResource, spreadOf } from '../../domain/quote.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomeQuote } from '../../store/quotes.ts';
import {
  described,
  EXAMPLE_MARKET,
  examplesOfPages,
  MARKET_HEADERS,
  PAGED,
  packable,
  pageSchema,
  TIES,
} from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { answerRecords, type ControllerDeps, MARKET_PATH, outcomeFields } from './controller.ts';
import { OUTCOME_SERIES_QUERY, seriesPageOf } from './pagination.ts';

const QuotePage = pageSchema('QuotePage', QuoteResource);

/** Tops of a market's books, one record per change. */
export function quotesController(deps: ControllerDeps) {
  return new Elysia({ name: 'quotes' }).use(deps.access).get(
    '/v1/:coin/markets/:conditionId/quotes',
    ({ params, query, exchange, asOfMs }) => {
      const asked = seriesPageOf(query, asOfMs);
      return answerRecords(deps, { exchange, params, asOfMs }, asked, 'quotes', deps.archive.quotes, quoteResource);
    },
    {
      grant: 'quotes',
      params: MARKET_PATH,
      query: parameters(OUTCOME_SERIES_QUERY),
      detail: described('quotes', {
        summary: 'Top of book of a market',
        description: `One record per change of the best bid or ask. ${TIES} ${PAGED}`,
        tag: 'books',
        content: packable(QuotePage),
        headers: MARKET_HEADERS,
        examples: examplesOfPages(
          `${EXAMPLE_MARKET}/quotes`,
          'limit=2&order=desc&outcome=down',
          'AZudKj1iAAAAAAABQs4ZsZjuyzI6',
        ),
      }),
    },
  );
}

function quoteResource(market: StoredMarket, record: OutcomeQuote): QuoteResource {
  const { quote } = record;
  return {
    ...outcomeFields(market, record.outcome, record),
    bidPrice: quote.bidPrice ?? null,
    bidSize: quote.bidSize ?? null,
    askPrice: quote.askPrice ?? null,
    askSize: quote.askSize ?? null,
    mid: midOf(quote) ?? null,
    spread: spreadOf(quote) ?? null,
  };
}
