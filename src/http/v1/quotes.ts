import { Elysia } from 'elysia';
import { midOf, type QuoteResource, spreadOf } from '../../domain/quote.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomeQuote } from '../../store/quotes.ts';
import { ROUTES, routerPath } from '../routes.ts';
import {
  answerAboutMarket,
  type ControllerDeps,
  namesOf,
  nextCursor,
  outcomeFields,
  parametersOf,
} from './controller.ts';
import { pageOf } from './params.ts';

/** Tops of a market's books, one record per change. */
export function quotesController(deps: ControllerDeps) {
  const { gate, archive, responder } = deps;
  return new Elysia({ name: 'quotes' }).use(gate).get(routerPath('quotes'), ({ params, exchange }) => {
    const asked = parametersOf(exchange, ROUTES.quotes, (parameters) => parameters.series());
    return answerAboutMarket(deps, exchange, params, asked, (market) => {
      const sources = archive.quotes.sources(market, asked.outcomes, asked.asOfMs);
      const { query, scope } = pageOf(asked, `quotes ${market.conditionId} ${namesOf(sources)}`);
      return ({ negotiated, etag }) => {
        const page = archive.quotes.page(sources, query);
        const data = page.records.map((record) => quoteResource(market, record));
        return responder.giveDocument({ data, nextCursor: nextCursor(page.next, scope) }, negotiated, etag);
      };
    });
  });
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
