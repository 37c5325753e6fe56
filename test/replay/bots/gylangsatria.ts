import type { StandIn } from './bot-network.ts';
import { bestOf, candlesOf, ema, tokensOf, windowStart } from './bot-parsing.ts';

const TRADE_MAX_ASK = 0.65;

/**
 * Python, with the venue's `polymarket-client`. 200 candles of 1m from data-api.binance.vision; the change since the row of the
 * window's start, with the average of nine closes, is the signal. Then Gamma's market by its slug, and the best ask of `/book`: it
 * buys below 0.65 (TRADE_MAX_ASK), above 0.35, and below its own probability.
 */
export const gylangsatria: StandIn = {
  repository: 'gylangsatria/polymarket-signal-btc-5m',
  commit: '0165e90a90dc1afb278e0b4fce2738254efd9863',
  async start(network) {
    return async () => {
      const start = windowStart(Date.now(), 300);
      const rows = await network.json(
        'https://data-api.binance.vision/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=200',
      );
      const candles = candlesOf(rows);
      const first = candles.find(({ openMs }) => openMs === start * 1000);
      const { open } = first ?? candles.findLast(({ openMs }) => openMs < start * 1000)!;
      const close = candles.at(-1)!.close;
      const delta = ((close - open) / open) * 100;
      const steps = [0.1, 0.02, 0.005, 0.001].findIndex((step) => Math.abs(delta) > step);
      const trend =
        close >
        ema(
          candles.map((candle) => candle.close),
          9,
        ).at(-1)!
          ? 1
          : -1;
      const score = Math.sign(delta) * ([7, 5, 3, 1][steps] ?? 0) + trend;
      const order = score > 0 ? 'up' : 'down';
      const probability = Math.min(80, (Math.abs(score) / 8) * 100);
      if (probability < 50) return { none: 'probability too low' };
      const market = await network.json(`https://gamma-api.polymarket.com/markets/slug/btc-updown-5m-${start}`);
      if (market.closed || !market.active || !market.acceptingOrders) return undefined;
      const tokenId = tokensOf(market)[order];
      const { ask } = bestOf(await network.json(`https://clob.polymarket.com/book?token_id=${tokenId}`));
      if (ask === undefined) return { none: 'no liquidity' };
      if (ask > TRADE_MAX_ASK || ask < 0.35) return { none: 'ask out of range' };
      if (ask >= probability / 100) return { none: 'no expected value' };
      return { order, tokenId, price: ask };
    };
  },
};
