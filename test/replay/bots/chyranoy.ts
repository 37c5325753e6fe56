import type { Json, StandIn } from './bot-network.ts';
import { bestOf, tokensOf } from './bot-parsing.ts';

const FRESH_MS = 5000;

/**
 * Rust. Gamma's events of series 10684 in the order of their end, the market channel with a subscription of its own form
 * (`"type":"subscribe","channel":"book"`), and `/price` for every side of which the socket has no book of the last 5 s. It buys
 * the cheaper side if it costs 0.15 to 0.45 and its spread is at most 0.04. TIME_LEFT_MIN_MINUTES is set to 0, ALLOW_WEEKENDS
 * and the hours to all.
 */
export const chyranoy: StandIn = {
  repository: 'ChyranOY/polymarket-btc-5m-assistant',
  commit: '01adfa455276994496abe5044c6a8db1fb4ed3d1',
  async start(network) {
    const feed = await network.socket('wss://ws-subscriptions-clob.polymarket.com/ws/market');
    const books = new Map<string, { bid: number | undefined; ask: number | undefined; atMs: number }>();
    const subscribed = new Set<string>();
    return async () => {
      const query = 'series_id=10684&active=true&closed=false&order=endDate&ascending=true&limit=200';
      const events = await network.json(`https://gamma-api.polymarket.com/events?${query}`);
      const [market] = events
        .flatMap(({ markets }: Json) => markets)
        .filter(({ closed, endDate }: Json) => !closed && Date.parse(endDate) > Date.now());
      if (market === undefined) return undefined;
      const tokens = tokensOf(market);
      const added = Object.values(tokens).filter((token) => !subscribed.has(token));
      if (added.length > 0) feed.send({ type: 'subscribe', channel: 'book', assets_ids: added });
      for (const token of added) subscribed.add(token);
      for (const event of feed.read()) {
        if (event.bids === undefined && event.asks === undefined) continue;
        books.set(event.asset_id, { ...books.get(event.asset_id), ...bestOf(event), atMs: Date.now() });
      }
      const quoteOf = async (token: string) => {
        const book = books.get(token);
        const fresh = book !== undefined && Date.now() - book.atMs <= FRESH_MS ? book : undefined;
        const price = async (side: string) =>
          Number((await network.json(`https://clob.polymarket.com/price?token_id=${token}&side=${side}`)).price);
        return { ask: fresh?.ask ?? (await price('buy')), bid: fresh?.bid ?? (await price('sell')) };
      };
      const [up, down] = [await quoteOf(tokens.up), await quoteOf(tokens.down)];
      const isCheap = ({ ask }: { ask: number }) => ask >= 0.15 && ask <= 0.45;
      const order = isCheap(up) && !(isCheap(down) && down.ask < up.ask) ? 'up' : isCheap(down) ? 'down' : undefined;
      if (order === undefined) return { none: 'cheap_side_out_of_range' };
      const { ask, bid } = order === 'up' ? up : down;
      if (ask - bid > 0.04 + 1e-9) return { none: 'spread_too_wide' };
      return { order, tokenId: tokens[order], price: ask };
    };
  },
};
