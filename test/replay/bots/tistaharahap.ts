import type { Json, StandIn } from './bot-network.ts';
import { bestOf, candlesOf, liveMarket, macd, tokensOf } from './bot-parsing.ts';

const BINANCE = 'https://api.binance.com/api/v3';

/**
 * TypeScript. Binance's trades (port 9443) and RTDS's Chainlink prices without a filter from the start on; then each cycle asks at
 * once for candles of 1m and 5m, the last price, and by Gamma's events of series 10192 for `/price` and `/book` of both outcomes. It
 * compares a score of VWAP, MACD and the direction of the candles, which fades with the time left, with the market's prices. Its
 * third price, Chainlink's contract on Polygon, is asked only while RTDS has none: it is left out, as is its RSI.
 */
export const tistaharahap: StandIn = {
  repository: 'tistaharahap/polymarket-15m-crypto-market-assistant',
  commit: '222f09eb01f001f91a45706cfe78454453cda7fc',
  async start(network) {
    const trades = await network.socket('wss://stream.binance.com:9443/ws/btcusdt@trade');
    const live = await network.socket('wss://ws-live-data.polymarket.com', {
      action: 'subscribe',
      subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: '' }],
    });
    let [spot, oracle]: (number | undefined)[] = [];
    const snapshot = async () => {
      const query = 'series_id=10192&active=true&closed=false&limit=25';
      const events = await network.json(`https://gamma-api.polymarket.com/events?${query}`);
      const market = liveMarket(
        events.flatMap(({ markets }: Json) => markets ?? []),
        Date.now(),
      );
      if (market === undefined) return undefined;
      const tokens = tokensOf(market);
      const ofClob = (path: string) => network.json(`https://clob.polymarket.com/${path}`);
      const [up, down, ...books] = await Promise.all([
        ofClob(`price?token_id=${tokens.up}&side=buy`),
        ofClob(`price?token_id=${tokens.down}&side=buy`),
        ofClob(`book?token_id=${tokens.up}`),
        ofClob(`book?token_id=${tokens.down}`),
      ]);
      return { market, tokens, up: Number(up.price), down: Number(down.price), books: books.map(bestOf) };
    };
    return async () => {
      for (const { p } of trades.read()) spot = Number(p);
      for (const { topic, payload } of live.read()) {
        if (topic === 'crypto_prices_chainlink' && payload.symbol.includes('btc') && Number.isFinite(payload.value)) {
          oracle = payload.value;
        }
      }
      const klines = (interval: string, limit: number) =>
        network.json(`${BINANCE}/klines?symbol=BTCUSDT&interval=${interval}&limit=${limit}`);
      const [rows, , last, poly] = await Promise.all([
        klines('1m', 240),
        klines('5m', 200),
        network.json(`${BINANCE}/ticker/price?symbol=BTCUSDT`),
        snapshot(),
      ]);
      if (poly === undefined || spot === undefined || oracle === undefined) return undefined;
      const candles = candlesOf(rows);
      const vwaps: number[] = [];
      let [value, volume] = [0, 0];
      for (const candle of candles) {
        value += ((candle.high + candle.low + candle.close) / 3) * candle.volume;
        volume += candle.volume;
        vwaps.push(value / volume);
      }
      const { line, histogram } = macd(candles.map(({ close }) => close));
      const grows = Math.sign(histogram.at(-1)! - histogram.at(-2)!);
      const streak = candles.slice(-2).map(({ open, close }) => Math.sign(close - open));
      const scores = [
        [2, Math.sign(Number(last.price) - vwaps.at(-1)!)],
        [2, Math.sign(vwaps.at(-1)! - vwaps.at(-5)!)],
        [2, Math.sign(histogram.at(-1)!) === grows ? grows : 0],
        [1, Math.sign(line.at(-1)!)],
        [1, streak[0] === streak[1] ? streak[0]! : 0],
      ] as const;
      const scoreOf = (sign: number) => scores.reduce((sum, [weight, of]) => sum + (of === sign ? weight : 0), 1);
      const minutes = (Date.parse(poly.market.endDate) - Date.now()) / 60_000;
      const raw = scoreOf(1) / (scoreOf(1) + scoreOf(-1));
      const modelUp = 0.5 + (raw - 0.5) * Math.min(1, Math.max(0, minutes / 15));
      const edgeUp = modelUp - poly.up / (poly.up + poly.down);
      const order = edgeUp > 0 ? 'up' : 'down';
      const [threshold, least] = minutes > 10 ? [0.05, 0.55] : minutes > 5 ? [0.1, 0.6] : [0.2, 0.65];
      if (Math.abs(edgeUp) < threshold) return { none: `edge_below_${threshold}` };
      if (Math.max(modelUp, 1 - modelUp) < least) return { none: `prob_below_${least}` };
      return { order, tokenId: poly.tokens[order], price: poly[order] };
    };
  },
};
