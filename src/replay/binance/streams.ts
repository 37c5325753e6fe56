import { BINANCE } from '../../domain/publisher.ts';
import { type CoinPriceStream, priceMessages } from '../coin-price-streams.ts';
import type { Replay } from '../replay.ts';
import { coinOf, symbolOf, tradeMessage } from './coin-trades.ts';
import { KLINE_INTERVALS, klineMessages } from './klines.ts';

const KLINE = 'kline_';

/** The messages of the stream with a name like `btcusdt@trade`, `btcusdt@aggTrade` or `btcusdt@kline_1m`; undefined for any other name. */
export function streamMessages(replay: Replay, name: string): CoinPriceStream['messagesAfter'] | undefined {
  const [symbol = '', kind = '', ...more] = name.split('@');
  const coin = symbol === symbol.toLowerCase() ? coinOf(replay, symbol.toUpperCase()) : undefined;
  if (coin === undefined || more.length > 0) return undefined;
  const recorded = { coin, source: replay.priceSource(coin, BINANCE) };
  if (kind === 'trade' || kind === 'aggTrade') {
    return (afterMs) =>
      priceMessages(replay, recorded, afterMs, (price, shiftMs) => tradeMessage(kind, symbolOf(coin), price, shiftMs));
  }
  const interval = kind.startsWith(KLINE) ? kind.slice(KLINE.length) : '';
  const intervalMs = KLINE_INTERVALS.get(interval);
  if (intervalMs === undefined) return undefined;
  return (afterMs) => {
    return klineMessages(replay, { ...recorded, intervalMs, phaseMs: replay.shiftMs }, interval, afterMs);
  };
}

/** The first of `names` that is not the name of a stream that recordings have; undefined if all are. */
export function unknownStream(replay: Replay, names: readonly string[]): string | undefined {
  return names.find((name) => streamMessages(replay, name) === undefined);
}
