import type { Json, StandIn } from './bot-network.ts';
import { bestOf, candlesOf, liveMarket, tokensOf } from './bot-parsing.ts';

const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

/**
 * TypeScript. It trades only with an exact price to beat: the 60 s average that RTDS has for the first second of the window, else
 * `openPrice` of the venue's site, asked with the parameters of averages. Before that, candles of 1m and Binance's last price, and
 * both books of the market that Gamma's events of series 10192 have open. Its model is a trained one and is not in this stand-in,
 * which takes the side of the last price.
 */
export const masterputra169: StandIn = {
  repository: 'masterputra169/polymarket-btc-15-minutes',
  commit: 'cc24b5ccfe8fbaf584da9aa27f419ceec790b81f',
  async start(network) {
    const averages = await network.socket('wss://ws-live-data.polymarket.com', {
      action: 'subscribe',
      subscriptions: [{ topic: 'crypto_prices_twap_sixty', type: '*', filters: '{"symbol":"btc/usd"}' }],
    });
    averages.send('PING');
    const ticks = new Map<number, number>();
    return async () => {
      const [rows, last, events] = await Promise.all([
        network.json('https://api.binance.com/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=240'),
        network.json('https://api.binance.com/api/v3/ticker/price?symbol=BTCUSDT'),
        network.json('https://gamma-api.polymarket.com/events?series_id=10192&active=true&closed=false&limit=25'),
      ]);
      const market = liveMarket(
        events.flatMap(({ markets }: Json) => markets ?? []),
        Date.now(),
      );
      if (candlesOf(rows).length === 0 || market === undefined) return undefined;
      const tokens = tokensOf(market);
      const [up, down] = await Promise.all(
        [tokens.up, tokens.down].map(async (token) =>
          bestOf(await network.json(`https://clob.polymarket.com/book?token_id=${token}`)),
        ),
      );
      for (const { topic, payload } of averages.read()) {
        if (topic !== 'crypto_prices_twap_sixty') continue;
        for (const { timestamp, value } of payload.data ?? [payload]) ticks.set(Number(timestamp), Number(value));
      }
      const [startMs, endMs] = [Date.parse(market.eventStartTime), Date.parse(market.endDate)];
      const window = `eventStartTime=${iso(startMs)}&variant=fifteen&endDate=${iso(endMs)}`;
      const toBeat =
        ticks.get(startMs) ??
        (
          await network.json(
            `https://polymarket.com/api/crypto/crypto-price?symbol=BTC&${window}&twapEnabled=true&twapLookbackSeconds=60`,
          )
        ).openPrice;
      if (toBeat === null) return undefined;
      const order = Number(last.price) >= toBeat ? 'up' : 'down';
      const price = (order === 'up' ? up : down)!.ask;
      return price === undefined ? { none: 'no ask' } : { order, tokenId: tokens[order], price };
    };
  },
};
