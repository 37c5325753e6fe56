import { parseCoin } from '../../domain/coin.ts';
import { parseFigure } from '../../domain/decimal.ts';
import type { TradeDetails } from '../../domain/trade.ts';
import { figure, rejected } from '../../record/fields.ts';
import type { CoinPriceRecord } from '../../record/record.ts';

/** A higher number is not accepted as a coin's price. */
const PRICE_MAX = 1e12;
/** `full_accuracy_value` is the price times 10 to this power. */
const FULL_ACCURACY_DECIMALS = 18;
const FULL_ACCURACY = /^\d{1,60}$/;
/** The feed of Binance publishes the exact price itself: `61035.86000000`. */
const PLAIN_ACCURACY = /^\d{1,40}\.\d{1,40}$/;

export function coinPrice(
  symbol: string,
  source: string,
  timestampMs: number,
  price: number,
  trade?: TradeDetails,
): CoinPriceRecord {
  return { type: 'coinPrice', symbol, source, timestampMs, id: undefined, price, trade };
}

/** `value`: a JSON number or a decimal text. Throws 'rejected-record' if it is not a price. */
export function usdPrice(value: unknown, name: string): number {
  const price = figure(value, name);
  if (price === 0 || price > PRICE_MAX) throw rejected(`${name} ${price} is not the price of a coin`);
  return price;
}

/**
 * The price of a feed that publishes a JSON number and the exact value, as an integer times 10^18 (Chainlink) or as a decimal with a
 * point (Binance). The number is used: the exact value mostly has more digits than a double can represent, and is used only if the
 * number is missing. Throws 'rejected-record' if they differ.
 */
export function feedPrice(value: unknown, fullAccuracy: unknown): number {
  if (isMissing(fullAccuracy)) return usdPrice(value, 'value');
  const exact = exactText(fullAccuracy);
  if (exact === undefined) throw rejected('full_accuracy_value is neither an integer nor a decimal as text');
  if (isMissing(value)) return usdPrice(parseFigure(exact), 'full_accuracy_value');
  const price = usdPrice(value, 'value');
  // Without a point, a whole price may be meant.
  if (Number(exact) !== price && fullAccuracy !== String(price))
    throw rejected(`value ${price} and full_accuracy_value ${fullAccuracy} are different prices`);
  return price;
}

/** The exact price as a decimal; undefined if it is none. */
function exactText(fullAccuracy: unknown): string | undefined {
  if (typeof fullAccuracy !== 'string') return undefined;
  const digits = fullAccuracy.replace(/^0+(?=\d)/, '');
  if (PLAIN_ACCURACY.test(fullAccuracy)) return digits;
  return FULL_ACCURACY.test(fullAccuracy) ? `${digits}e-${FULL_ACCURACY_DECIMALS}` : undefined;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** The coin of `btc/usd`, `BTC-USD` or `BTCUSDT`; throws 'rejected-record' for a pair that does not end with `separator` and `quote`. */
export function coinOfPair(pair: unknown, separator: string, quote: string): string {
  const end = `${separator}${quote}`;
  const text = typeof pair === 'string' ? pair.toLowerCase() : '';
  const coin = text.endsWith(end) ? parseCoin(text.slice(0, -end.length)) : undefined;
  if (coin === undefined)
    throw rejected(`${JSON.stringify(pair)?.slice(0, 40)} is not the price of a coin in ${quote}`);
  return coin;
}
