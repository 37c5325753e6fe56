import { knownCoin } from '../domain/coin.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { standInConditionId } from '../domain/stand-in-id.ts';
import { rejected } from '../record/fields.ts';
import { instantsAt } from './new-york.ts';
import { WINDOW_MS } from './slug.ts';

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
/** `KXBTC15M-26FEB141800-00`: whether the price rises in the quarter of an hour that ends at 18:00 in New York. */
const QUARTER = /^KX([A-Z]+)15M-(\d{2})([A-Z]{3})(\d{2})(\d{2})(\d{2})-\d{2}$/;
/** `KXBTCD-26FEB1614-T79499.99`: whether the price is above the strike at the end of the hour, 14:00 in New York. */
const ABOVE = /^KX([A-Z]+)D-(\d{2})([A-Z]{3})(\d{2})(\d{2})-T(\d{1,9}(?:\.\d{1,4})?)$/;

/**
 * The market of a ticker of Kalshi; undefined if it is not about a coin that ends up or down. Its slug is the ticker in
 * lower case: two strikes of one window are two markets. The strike is `priceStart`. Throws 'rejected-record' for a time that does not exist,
 * for one that ends no quarter of an hour, and for the hour that New York's clocks show twice.
 */
export function kalshiMarket(ticker: string): MarketStatement | undefined {
  const [, quarterCoin, ...quarter] = QUARTER.exec(ticker) ?? [];
  const [, aboveCoin, ...above] = ABOVE.exec(ticker) ?? [];
  const symbol = knownCoin(quarterCoin ?? aboveCoin ?? '');
  if (symbol === undefined) return undefined;
  const [year, month = '', day, hour, last] = quarterCoin === undefined ? above : quarter;
  const timeframe = quarterCoin === undefined ? '1h' : '15m';
  const minute = quarterCoin === undefined ? 0 : Number(last);
  const localMs = Date.UTC(2000 + Number(year), MONTHS.indexOf(month), Number(day), Number(hour), minute);
  const isDate =
    MONTHS.includes(month) && new Date(localMs).getUTCDate() === Number(day) && Number(hour) < 24 && minute < 60;
  const [endMs, second] = isDate ? instantsAt(localMs) : [];
  if (endMs === undefined || second !== undefined)
    throw rejected(`the time in the ticker ${ticker} is not one instant`);
  if (minute % 15 !== 0) throw rejected(`the time in the ticker ${ticker} is not the end of a quarter of an hour`);
  const startMs = endMs - WINDOW_MS[timeframe];
  return {
    ...{
      conditionId: standInConditionId(ticker, startMs),
      slug: ticker.toLowerCase(),
      symbol,
      timeframe,
      startMs,
      endMs,
    },
    clobTokenIds: ['0', '0'],
    ...(quarterCoin === undefined ? { priceStart: Number(last) } : {}),
  };
}
