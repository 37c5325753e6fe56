import type { Json, StandIn } from './bot-network.ts';
import { bestOf, candlesOf, ema, macd, tokensOf } from './bot-parsing.ts';

/**
 * Python, with py-clob-client. Candles of 4h, 5m, 1m and 15m give points to both directions, and 55 are a signal. The market is the
 * event of `/series/10684` that ends first, or that of the clock's slug if the series has no markets. Its book must have an ask of
 * 0.30 to 0.70 and a minute left; then the library asks for tick size, negative risk and fee, and signs. Points for the volume, RSI
 * and the stochastic RSI are left out.
 */
export const tommylamm: StandIn = {
  repository: 'TommyLamm/Polymarket-BTC-5M-Bot',
  commit: '1cbbcc84830edb7706d4b72f756cd2d2b31464ad',
  async start(network) {
    const gamma = (path: string) => network.json(`https://gamma-api.polymarket.com/${path}`);
    const clob = (path: string) => network.json(`https://clob.polymarket.com/${path}`);
    const klines = async (interval: string, limit: number) =>
      candlesOf(
        await network.json(`https://api.binance.com/api/v3/klines?symbol=BTCUSDT&interval=${interval}&limit=${limit}`),
      );
    const marketOf = async (): Promise<Json> => {
      const { events } = await gamma('series/10684');
      const [current] = (events ?? [])
        .filter(({ active, closed, endDate }: Json) => active && !closed && Date.parse(endDate) > Date.now())
        .sort((a: Json, b: Json) => Date.parse(a.endDate) - Date.parse(b.endDate));
      if (current?.markets?.length > 0) return current.markets[0];
      const start = Math.floor(Date.now() / 300_000) * 300;
      return (await gamma(`events/slug/btc-updown-5m-${start}`)).markets[0];
    };
    return async () => {
      const closesOf = async (interval: string, limit: number) =>
        (await klines(interval, limit)).map(({ close }) => close);
      const hours = await closesOf('4h', 60);
      const five = await klines('5m', 100);
      const minutes = await closesOf('1m', 30);
      const quarters = await closesOf('15m', 30);
      const isSorted = (...values: readonly number[]) => values.every((value, i) => i === 0 || values[i - 1]! < value);
      const lastOf = (values: readonly number[], span: number) => ema(values, span).at(-1)!;
      const isBullish = hours.at(-1)! > lastOf(hours, 50);
      const micro = [lastOf(minutes, 3), lastOf(minutes, 8), lastOf(minutes, 21)];
      const middle = [quarters.at(-1)!, lastOf(quarters, 9), lastOf(quarters, 20)];
      const histogram = macd(five.map(({ close }) => close)).histogram.slice(-3);
      const three = five.slice(-3).map(({ open, close }) => Math.sign(close - open));
      const bear = [
        [20, !isBullish],
        [15, isSorted(...middle)],
        [10, isSorted(...micro)],
        [15, histogram.at(-1)! < 0 && isSorted(...histogram.toReversed())],
        [10, three.every((sign) => sign < 0)],
      ] as const;
      const bull = [
        [20, isBullish],
        [15, isSorted(...middle.toReversed())],
        [10, isSorted(...micro.toReversed())],
        [15, histogram.at(-1)! > 0 && isSorted(...histogram)],
        [10, three.every((sign) => sign > 0)],
      ] as const;
      const pointsOf = (rules: typeof bear) => rules.reduce((sum, [points, holds]) => sum + (holds ? points : 0), 0);
      const points = { up: pointsOf(bull), down: pointsOf(bear) };
      const order = points.up > points.down ? 'up' : 'down';
      if (points[order] < 55) return { none: 'no signal' };
      const market = await marketOf();
      if (!market.acceptingOrders || market.negRisk) return undefined;
      if (Date.parse(market.endDate) - Date.now() < 60_000) return { none: 'time_left_lt_60' };
      const tokenId = tokensOf(market)[order];
      const book = await clob(`book?token_id=${tokenId}`);
      const { bid, ask } = bestOf(book);
      if (bid === undefined || ask === undefined) return { none: 'orderbook_no_liquidity' };
      if (ask < 0.3 || ask > 0.7) return { none: 'ask_not_atm' };
      const size = Math.max(Number(book.min_order_size), Number(market.orderMinSize));
      const tick = Number((await clob(`tick-size?token_id=${tokenId}`)).minimum_tick_size);
      const { neg_risk } = await clob(`neg-risk?token_id=${tokenId}`);
      const { base_fee } = await clob(`fee-rate?token_id=${tokenId}`);
      const price = Math.round(Math.min((bid + ask) / 2, ask) / tick) * tick;
      if (![size, tick, base_fee].every(Number.isFinite) || neg_risk !== false) throw new Error('it cannot be signed');
      return { order, tokenId, price };
    };
  },
};
