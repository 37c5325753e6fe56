import type { Json, StandIn } from './bot-network.ts';
import { tokensOf } from './bot-parsing.ts';

const CUTOFF_MS = 180_000;

/**
 * TypeScript. Gamma's events of series 10192 and the time in the market's question, then at once `/price` of both outcomes with
 * `side=buy` and both books, every 300 ms. It buys both outcomes if they cost less than 0.98 together. Three minutes before the
 * end it changes to the next market, which must be listed and have books by then.
 */
export const kingsleyeh: StandIn = {
  repository: 'kingsleyeh/polymarket-btc-updown-arb',
  commit: '2cd805d7d539f43064568c5ec85ef7d98c185bfd',
  async start(network) {
    return async () => {
      const query = 'series_id=10192&active=true&closed=false&limit=20';
      const events = await network.json(`https://gamma-api.polymarket.com/events?${query}`);
      const [market] = events
        .map(({ markets }: Json) => markets[0])
        .filter(
          ({ question }: Json) => /\d{1,2}:\d{2}[AP]M-\d{1,2}:\d{2}[AP]M/i.test(question) && /bitcoin/i.test(question),
        )
        .filter(({ endDate }: Json) => Date.parse(endDate) - Date.now() > CUTOFF_MS)
        .sort((a: Json, b: Json) => Date.parse(a.endDate) - Date.parse(b.endDate));
      if (market === undefined) return undefined;
      const { up, down } = tokensOf(market);
      const ofClob = (path: string) => network.json(`https://clob.polymarket.com/${path}`).catch(() => undefined);
      const [upPrice, downPrice, upBook, downBook] = await Promise.all([
        ofClob(`price?token_id=${up}&side=buy`),
        ofClob(`price?token_id=${down}&side=buy`),
        ofClob(`book?token_id=${up}`),
        ofClob(`book?token_id=${down}`),
      ]);
      if (upPrice === undefined || downPrice === undefined || !(Number(upBook?.asks[0]?.size) > 0)) return undefined;
      if (!(Number(downBook?.asks[0]?.size) > 0)) return undefined;
      const combined = Number(upPrice.price) + Number(downPrice.price);
      return combined >= 0.98 ? { none: 'no arbitrage' } : { order: 'both', slugs: [market.slug] };
    };
  },
};
