import { Elysia } from 'elysia';
import { midOf, type QuoteResource, spreadOf } from '../../domain/quote.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomeQuote } from '../../store/quotes.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerRecords, type ControllerDeps, outcomeFields } from './controller.ts';

/** Tops of a market's books, one record per change. */
export function quotesController(deps: ControllerDeps) {
  return new Elysia({ name: 'quotes' })
    .use(deps.gate)
    .get(routerPath('quotes'), ({ params, exchange }) =>
      answerRecords(deps, exchange, params, ROUTES.quotes, 'quotes', deps.archive.quotes, quoteResource),
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
