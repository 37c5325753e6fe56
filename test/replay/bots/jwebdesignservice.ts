import type { StandIn } from './bot-network.ts';
import { listOf, windowStart } from './bot-parsing.ts';

/**
 * Python. Binance's trades; a socket at `wss://clob.polymarket.com/ws`, which the venue does not have, so that after three refusals it
 * asks for `/book` of both outcomes every second; Gamma's event by the slug of the clock. It follows the last prices, and counts on
 * the first levels of a book being its best, which they are not. Its entry is in the seconds 20 to 90 of a window; here it is in all.
 */
export const jwebdesignservice: StandIn = {
  repository: 'jwebdesignservice/polymarket-btc-bot',
  commit: '2726ccb8f6539ae4745cf97b85d5b24759b0e225',
  async start(network) {
    const trades = await network.socket('wss://stream.binance.com:9443/ws/btcusdt@trade');
    for (let failures = 0; failures < 3; failures++) {
      await network.socket('wss://clob.polymarket.com/ws').catch(() => undefined);
    }
    const history: number[] = [];
    let round: { readonly slug: string; readonly target: number; readonly tokens: readonly string[] } | undefined;
    return async () => {
      for (const { p } of trades.read()) history.push(Number(p));
      if (history.length === 0 && round === undefined) return undefined;
      const slug = `btc-updown-5m-${windowStart(Date.now(), 300)}`;
      if (round?.slug !== slug) {
        const [event] = await network.json(`https://gamma-api.polymarket.com/events?slug=${slug}`);
        if (event === undefined) return undefined;
        round = { slug: event.slug, target: history.at(-1)!, tokens: listOf(event.markets[0].clobTokenIds) };
        history.length = 0;
        return undefined;
      }
      const asks: number[] = [];
      for (const token of round.tokens) {
        const { asks: levels } = await network.json(`https://clob.polymarket.com/book?token_id=${token}`);
        asks.push(levels.length === 0 ? 0.5 : Number(levels[0].price));
      }
      const [older, recent] = [history.slice(-10, -5), history.slice(-5)];
      const rise = (prices: readonly number[]) => (prices.length < 5 ? 0 : prices.at(-1)! - prices[0]!);
      const momentum = rise(recent);
      const acceleration = older.length < 5 ? 0 : momentum - rise(older);
      const rises = recent.filter((price, index) => index > 0 && price > recent[index - 1]!).length;
      const trend = recent.length < 5 ? 0 : rises / 4 - 0.5;
      /** Points for one direction: 2 above the high mark, 1 above the low one. */
      const rated = (value: number, low: number, high = Infinity) => (value > high ? 2 : value > low ? 1 : 0);
      const pointsOf = (sign: number) =>
        rated(sign * ((history.at(-1) ?? round!.target) - round!.target), 10, 30) +
        rated(sign * momentum, 5, 20) +
        rated(sign * acceleration, 5) +
        rated(sign * trend, 0.2);
      const points = { up: pointsOf(1), down: pointsOf(-1) };
      const order = points.up > points.down ? 'up' : 'down';
      if (points[order] < 2 || points.up === points.down) return { none: 'no momentum' };
      const index = order === 'up' ? 0 : 1;
      return { order, tokenId: round.tokens[index]!, price: asks[index]! > 0.7 ? 0.5 : asks[index]! };
    };
  },
};
