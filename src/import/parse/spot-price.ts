import { isCoin } from '../../domain/coin.ts';
import { parseFigure } from '../../domain/decimal.ts';
import { figure, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';

/** A coin's price in USD as somebody publishes it, wherever it was recorded. */
export const CHAINLINK = 'chainlink';
export const BINANCE = 'binance';
export const COINBASE = 'coinbase';
export const PYTH = 'pyth';

/** Beyond this a number is no price of a coin. */
const PRICE_MAX = 1e12;
/** Exact values are integers, this power of ten too large. */
const FULL_ACCURACY_DECIMALS = 18;
const FULL_ACCURACY = /^\d{1,60}$/;

/** Chainlink's average over the last `seconds`: another series than its momentary price. */
export function chainlinkTwap(seconds: number): string {
  return `${CHAINLINK}-twap-${seconds}s`;
}

export function coinPrice(symbol: string, source: string, timestampMs: number, price: number): RecordedItem {
  return { type: 'coinPrice', symbol, source, timestampMs, id: undefined, price };
}

/** A JSON number or a decimal text. */
export function usdPrice(value: unknown, name: string): number {
  const price = figure(value, name);
  if (price === 0 || price > PRICE_MAX) throw rejected(`${name} ${price} is no price of a coin`);
  return price;
}

/**
 * The price of a feed that publishes a JSON number and the exact value times 10^18. The number is what everybody
 * reads; the exact one has mostly more digits than a double can tell apart, and is taken only where the number is missing.
 * Throws 'rejected-record' where they are two different prices.
 */
export function feedPrice(value: unknown, fullAccuracy: unknown): number {
  if (isMissing(fullAccuracy)) return usdPrice(value, 'value');
  if (typeof fullAccuracy !== 'string' || !FULL_ACCURACY.test(fullAccuracy)) {
    throw rejected('full_accuracy_value is not an integer as a text');
  }
  const exact = `${fullAccuracy.replace(/^0+(?=\d)/, '')}e-${FULL_ACCURACY_DECIMALS}`;
  if (isMissing(value)) return usdPrice(parseFigure(exact), 'full_accuracy_value');
  const price = usdPrice(value, 'value');
  if (Number(exact) !== price) throw rejected(`value ${price} and full_accuracy_value ${fullAccuracy} are two prices`);
  return price;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** The coin of `btc/usd`, `BTC-USD` or `BTCUSDT`; throws 'rejected-record' for a pair whose second half is not `quote`. */
export function coinOfPair(pair: unknown, separator: string, quote: string): string {
  const end = `${separator}${quote}`;
  const text = typeof pair === 'string' ? pair.toLowerCase() : '';
  const coin = text.endsWith(end) ? text.slice(0, -end.length) : '';
  if (!isCoin(coin)) throw rejected(`${JSON.stringify(pair)?.slice(0, 40)} is not the price of a coin in ${quote}`);
  return coin;
}
