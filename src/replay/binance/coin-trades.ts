import { decimalText } from '../../domain/decimal.ts';
import { BINANCE } from '../../domain/publisher.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';
import type { CoinPriceStream } from '../coin-price-streams.ts';
import type { Replay } from '../replay.ts';

/** Binance writes its decimals with this number of places. */
const PLACES = 8;
const QUOTE = 'USDT';

/** A decimal as Binance writes it; one with more places keeps all of them. */
function binanceDecimal(value: number): string {
  const [whole, places = ''] = decimalText(value).split('.');
  return `${whole}.${places.padEnd(PLACES, '0')}`;
}

/** The symbol of a coin at Binance, as `BTCUSDT`. */
export function symbolOf(coin: string): string {
  return `${coin.toUpperCase()}${QUOTE}`;
}

/** The coin of a symbol in upper case, as `BTCUSDT`; undefined if the replay does not have it. */
export function coinOf(replay: Replay, symbol: string): string | undefined {
  return replay.coins.find((coin) => symbolOf(coin) === symbol);
}

/**
 * The stream with a name like `btcusdt@trade`; undefined for any other name, since no recording has other streams. A message has
 * the fields that were recorded: the price, and the quantity and the maker if the recording states them. The event time is that of the trade.
 */
export function tradeStream(replay: Replay, name: string): CoinPriceStream | undefined {
  const [symbol = '', kind, ...more] = name.split('@');
  const coin = symbol === symbol.toLowerCase() ? coinOf(replay, symbol.toUpperCase()) : undefined;
  if (coin === undefined || kind !== 'trade' || more.length > 0) return undefined;
  return { coin, source: BINANCE, messageOf: (price, shiftMs) => tradeMessage(symbolOf(coin), price, shiftMs) };
}

function tradeMessage(symbol: string, { timestampMs, price, trade }: PriceRecord, shiftMs: number): string {
  const { size, side } = trade ?? {};
  const atMs = timestampMs + shiftMs;
  return JSON.stringify({
    e: 'trade',
    E: atMs,
    s: symbol,
    p: binanceDecimal(price),
    q: size === undefined ? undefined : binanceDecimal(size),
    T: atMs,
    // The buyer was the maker if the taker sold.
    m: side === undefined ? undefined : side === 'sell',
  });
}

/** The latest recorded price of a coin at the replay's clock, as Binance's REST interface has it; undefined before the first. */
export function tickerPrice({ archive, clock }: Replay, coin: string): TickerPrice | undefined {
  const found = archive.prices.latestOfSource(coin, BINANCE, clock.nowMs);
  return found === undefined ? undefined : { symbol: symbolOf(coin), price: binanceDecimal(found.price) };
}

interface TickerPrice {
  readonly symbol: string;
  readonly price: string;
}
