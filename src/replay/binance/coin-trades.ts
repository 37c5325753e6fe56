import type { PriceRecord } from '../../segment/price-segment.ts';
import type { Replay } from '../replay.ts';
import { binanceDecimal } from './candle.ts';

const QUOTE = 'USDT';

/** The symbol of a coin at Binance, as `BTCUSDT`. */
export function symbolOf(coin: string): string {
  return `${coin.toUpperCase()}${QUOTE}`;
}

/** The coin of a symbol in upper case, as `BTCUSDT`; undefined if the replay does not have it. */
export function coinOf(replay: Replay, symbol: string): string | undefined {
  return replay.coins.find((coin) => symbolOf(coin) === symbol);
}

/**
 * The message about a recorded trade, with the fields that were recorded: the price, and the quantity and the maker if the recording
 * states them. The event time is that of the trade. No recording says which trades one order made, so none are aggregated.
 */
export function tradeMessage(event: 'trade' | 'aggTrade', symbol: string, price: PriceRecord, shiftMs: number): string {
  const { p, q, T, m } = tradeFields(price, shiftMs);
  return JSON.stringify({ e: event, E: T, s: symbol, p, q, T, m });
}

/** The recorded fields of a trade under Binance's names. */
export function tradeFields({ timestampMs, price, trade }: PriceRecord, shiftMs: number): TradeFields {
  const { size, side } = trade ?? {};
  return {
    p: binanceDecimal(price),
    q: size === undefined ? undefined : binanceDecimal(size),
    T: timestampMs + shiftMs,
    // The buyer was the maker if the taker sold.
    m: side === undefined ? undefined : side === 'sell',
  };
}

interface TradeFields {
  readonly p: string;
  readonly q: string | undefined;
  readonly T: number;
  readonly m: boolean | undefined;
}
