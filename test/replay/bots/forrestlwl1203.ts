import type { StandIn } from './bot-network.ts';
import { listOf, windowStart } from './bot-parsing.ts';

interface Side {
  ask: number | undefined;
}

/**
 * Python. Gamma's market by the slug of the clock, forwards if it is closed; the market channel with `operation` and
 * `custom_feature_enabled`, of which it reads `best_bid_ask` and `price_changes` but no books; RTDS's Binance prices with
 * `"type":"update"` and no filter. It buys the side with the higher ask if it leads by 0.16 and costs at most 0.75. Its settings
 * are those of crowd_m1, without the confirmation by the coin's direction, and with the whole window for entries.
 */
export const forrestlwl1203: StandIn = {
  repository: 'ForrestLWL1203/btc-5m',
  commit: '61636902cbbd73d9f352e0146010a95609a34c36',
  async start(network) {
    const prices = await network.socket('wss://ws-live-data.polymarket.com', {
      action: 'subscribe',
      subscriptions: [{ topic: 'crypto_prices', type: 'update' }],
    });
    const books = await network.socket('wss://ws-subscriptions-clob.polymarket.com/ws/market');
    const asks = new Map<string, Side>();
    let subscribed: readonly string[] = [];
    let coin: number | undefined;
    const windowOf = async () => {
      for (let start = windowStart(Date.now(), 300), ahead = 0; ahead < 12; ahead++, start += 300) {
        const slug = `btc-updown-5m-${start}`;
        const found = await network.json(`https://gamma-api.polymarket.com/markets?slug=${slug}`);
        const market = found.find((one: { slug: string }) => one.slug === slug);
        if (market !== undefined && !market.closed && market.active && Date.parse(market.endDate) > Date.now())
          return market;
      }
      return undefined;
    };
    return async () => {
      const market = await windowOf();
      if (market === undefined) return undefined;
      const tokens = listOf(market.clobTokenIds);
      if (tokens[0] !== subscribed[0]) {
        if (subscribed.length > 0) books.send({ assets_ids: subscribed, operation: 'unsubscribe' });
        books.send({ type: 'market', assets_ids: tokens, operation: 'subscribe', custom_feature_enabled: true });
        subscribed = tokens;
      }
      books.send('{}');
      for (const event of books.read()) {
        const changes = event.event_type === 'best_bid_ask' ? [event] : (event.price_changes ?? []);
        for (const { asset_id, best_ask } of changes) if (best_ask) asks.set(asset_id, { ask: Number(best_ask) });
      }
      for (const { topic, payload } of prices.read()) {
        if (topic === 'crypto_prices' && payload?.symbol === 'btcusdt') coin = Number(payload.value ?? coin);
      }
      const [up, down] = tokens.map((token) => asks.get(token)?.ask);
      if (up === undefined || down === undefined || coin === undefined) return undefined;
      const order = up >= down ? 'up' : 'down';
      const price = Math.max(up, down);
      if (Math.abs(up - down) < 0.16) return { none: 'ask_gap_below_min' };
      if (price > 0.75) return { none: 'leading_ask_above_max_entry' };
      return { order, tokenId: tokens[order === 'up' ? 0 : 1]!, price };
    };
  },
};
