import type { InstantMs } from '../domain/instant.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import { localDate } from './new-york.ts';

export interface TitledWindow {
  /** Coin code, lower case. */
  readonly symbol: string;
  readonly timeframe: Timeframe;
  readonly startMs: InstantMs;
  readonly endMs: InstantMs;
}

/** Coins that titles call by a name; they call others by their code, in upper case. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['btc', 'Bitcoin'],
  ['eth', 'Ethereum'],
  ['sol', 'Solana'],
  ['doge', 'Dogecoin'],
  ['hype', 'Hyperliquid'],
]);
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
] as const;

/**
 * The title of a market and of its event as the venue writes it, which is also the market's question; times are New York's:
 *
 *   5m, 15m, 4h   `Bitcoin Up or Down - June 7, 7:55PM-8:00PM ET`, with the date of the start
 *   1h            `Bitcoin Up or Down - March 12, 8AM ET`
 *   24h           `Bitcoin Up or Down on March 13?`, with the date of the end
 *
 * Measured on 685 of the venue's own objects, of December 2025 to June 2026, without exception.
 */
export function marketTitle({ symbol, timeframe, startMs, endMs }: TitledWindow): string {
  const title = `${coinIn(symbol, timeframe)} Up or Down`;
  if (timeframe === '24h') return `${title} on ${dateAt(localDate(endMs))}?`;
  const start = localDate(startMs);
  if (timeframe === '1h') return `${title} - ${dateAt(start)}, ${hourAt(start)}${halfAt(start)} ET`;
  return `${title} - ${dateAt(start)}, ${timeAt(start)}-${timeAt(localDate(endMs))} ET`;
}

/** Hourly and daily titles call Hyperliquid by its code. */
function coinIn(symbol: string, timeframe: Timeframe): string {
  const isCode = symbol === 'hype' && (timeframe === '1h' || timeframe === '24h');
  return (isCode ? undefined : NAMES.get(symbol)) ?? symbol.toUpperCase();
}

function dateAt(local: Date): string {
  return `${MONTHS[local.getUTCMonth()]} ${local.getUTCDate()}`;
}

function timeAt(local: Date): string {
  return `${hourAt(local)}:${String(local.getUTCMinutes()).padStart(2, '0')}${halfAt(local)}`;
}

function hourAt(local: Date): number {
  return local.getUTCHours() % 12 || 12;
}

function halfAt(local: Date): string {
  return local.getUTCHours() < 12 ? 'AM' : 'PM';
}
