import { knownCoin } from '../domain/coin.ts';
import { parseFigure } from '../domain/decimal.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, isInstant, parseIso } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { knownTokenIds } from '../domain/market-statement.ts';
import { parseOutcome } from '../domain/outcome.ts';
import { TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import { parseJsonFigures } from '../record/exact-json.ts';
import { coinField, type Fields, numericField, rejected, stated } from '../record/fields.ts';
import { localTime } from './new-york.ts';
import { type SlugWindow, WINDOW_MS, windowOfSlug } from './slug.ts';

type TokenIds = Market['clobTokenIds'];

/** The placeholder of an unknown asset id. */
export const UNKNOWN_TOKEN = '0';
export const UNKNOWN_TOKENS: TokenIds = [UNKNOWN_TOKEN, UNKNOWN_TOKEN];
/** Smaller integers are seconds: as milliseconds they would be before March 1973. */
const MILLISECONDS_FROM = 1e11;
const UP_OR_DOWN = /^(?:(.*)-)?up-?(?:or-?)?down(?:-|$)/i;
/** `2026-06-08 00:00:16+00`, as a database prints it. */
const DATABASE_TIME = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?)([+-]\d{2})(:?\d{2})?$/;

/** ISO 8601, also with a space and a short offset, or Unix seconds or milliseconds; undefined if it is not stated. */
export function timeField(fields: Fields, name: string): number | undefined {
  const value = stated(fields, name);
  if (value === undefined || value === '') return undefined;
  const instantMs =
    typeof value === 'number' ? epochMs(value) : typeof value === 'string' ? textualTime(value) : undefined;
  if (instantMs === undefined || !isInstant(instantMs)) throw rejected(`${name} is not a time`);
  return instantMs;
}

/** A number of seconds or milliseconds in milliseconds; NaN for a fraction. */
function epochMs(value: number): number {
  if (!Number.isInteger(value)) return Number.NaN;
  return Math.abs(value) < MILLISECONDS_FROM ? value * 1000 : value;
}

function textualTime(text: string): number | undefined {
  if (/^\d{1,16}$/.test(text)) return epochMs(Number(text));
  return parseIso(
    text.replace(
      DATABASE_TIME,
      (_, date, time, hours, minutes = ':00') => `${date}T${time}${hours}:${minutes.slice(-2)}`,
    ),
  );
}

/** A list, or a string with a list in JSON; undefined if it is not stated. */
export function listField(fields: Fields, name: string): readonly unknown[] | undefined {
  const value = stated(fields, name);
  if (value === undefined || value === '') return undefined;
  const list = typeof value === 'string' ? parsedList(value, name) : value;
  if (!Array.isArray(list)) throw rejected(`${name} is not a list`);
  return list;
}

function parsedList(text: string, name: string): unknown {
  try {
    return parseJsonFigures(text);
  } catch {
    throw rejected(`${name} is not a list in JSON`);
  }
}

/** Puts values in the order of `labels` into the order up, down; undefined for other labels. */
export function byOutcome<T>(labels: readonly unknown[], values: readonly T[]): readonly [up: T, down: T] | undefined {
  const outcomes = labels.map((label) => (typeof label === 'string' ? parseOutcome(label) : undefined));
  if (outcomes.length !== 2 || values.length !== 2) return undefined;
  const [up, down] = [outcomes.indexOf('up'), outcomes.indexOf('down')];
  return up < 0 || down < 0 ? undefined : [values[up]!, values[down]!];
}

/** Puts the asset ids of the field `name`, in the order of `labels`, into the order up, down. Throws 'rejected-record'. */
export function tokensByLabel(labels: unknown, ids: unknown, name: string): TokenIds {
  if (!Array.isArray(labels) || byOutcome(labels, labels) === undefined) throw rejected('outcomes is not up and down');
  const tokens = Array.isArray(ids) ? byOutcome<unknown>(labels, ids) : undefined;
  if (tokens === undefined) throw rejected(`${name} is not a list of one asset id per outcome`);
  const [up, down] = tokens.map((id) => numericField({ [name]: id }, name));
  if (up === down && up !== UNKNOWN_TOKEN) throw rejected(`${name} names one asset twice`);
  return [up!, down!];
}

/** The asset ids of a field in the order up, down; UNKNOWN_TOKENS if it is not stated. */
export function tokensField(fields: Fields, name: string, labels: readonly unknown[]): TokenIds {
  const ids = listField(fields, name);
  return ids === undefined ? UNKNOWN_TOKENS : tokensByLabel(labels, ids, name);
}

/** The asset ids of two statements about a market, which must not contradict each other. */
export function joinedTokens(first: TokenIds, second: TokenIds): TokenIds {
  const joined = knownTokenIds(first, second);
  const reversed = knownTokenIds(second, first);
  if (joined.some((id, index) => id !== reversed[index])) throw rejected('the asset ids are stated twice, and differ');
  return joined;
}

/** A number of a market; undefined if it is not stated, or has too many digits: then the market is imported without it. */
export function marketFigure(fields: Fields, name: string): number | undefined {
  const value = stated(fields, name);
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'number' && (typeof value !== 'string' || !/^-?[\d.]+(?:[eE][+-]?\d+)?$/.test(value))) {
    throw rejected(`${name} is not a number`);
  }
  const kept = typeof value === 'number' ? value : (parseFigure(value) ?? Number.NaN);
  if (kept < 0) throw rejected(`${name} ${kept} is negative`);
  return Number.isFinite(kept) ? kept : undefined;
}

/** The coin in a field with its code or name; undefined if it is not stated. */
export function coinOf(fields: Fields, name: string): string | undefined {
  const value = stated(fields, name);
  if (value === undefined || value === '') return undefined;
  return coinField(fields, name);
}

/**
 * Coin and window of a market from its slug and its other fields, which must agree. The length of the window decides the
 * timeframe, not the venue's name of the series.
 */
export function marketWindow(
  slug: string,
  times: { readonly startMs: number | undefined; readonly endMs: number | undefined },
  coins: readonly (string | undefined)[],
): SlugWindow {
  const named = windowOfSlug(slug, times.startMs ?? (times.endMs === undefined ? undefined : times.endMs - 1));
  const startMs = times.startMs ?? named?.startMs;
  const endMs = times.endMs ?? named?.endMs;
  if (startMs === undefined || endMs === undefined) throw noMarket(slug, 'its window is not stated', coins);
  if (startMs >= endMs) throw rejected('the end of the window is not after its start');
  const timeframe = timeframeOf(startMs, endMs);
  if (timeframe === undefined) throw noMarket(slug, `its window lasts ${durationText(endMs - startMs)}`, coins);
  if (named !== undefined && (named.startMs !== startMs || named.timeframe !== timeframe)) {
    throw rejected(
      `slug ${slug} means ${named.timeframe} from ${formatInstant(named.startMs)}, and the window is stated as ${timeframe} from ${formatInstant(startMs)}`,
    );
  }
  const [symbol, other] = new Set([named?.symbol, ...coins].filter((coin) => coin !== undefined));
  if (symbol === undefined) throw noMarket(slug, 'it names no coin');
  if (other !== undefined) throw rejected(`the market's coin is stated as ${symbol} and as ${other}`);
  return { symbol, timeframe, startMs, endMs };
}

/** The timeframe of a window. A change of the clocks can make it an hour longer or shorter: New York time decides. */
function timeframeOf(startMs: number, endMs: number): Timeframe | undefined {
  const lasting = (lengthMs: number) => TIMEFRAMES.find((timeframe) => WINDOW_MS[timeframe] === lengthMs);
  const timeframe = lasting(endMs - startMs);
  if (timeframe !== undefined || endMs - startMs > 2 * WINDOW_MS['24h']) return timeframe;
  const byLocalTime = lasting(localTime(endMs) - localTime(startMs));
  return byLocalTime === '4h' || byLocalTime === '24h' ? byLocalTime : undefined;
}

/** The error for a market of another kind. The venue lists all its markets together, so such a market is not an error in a recording. */
export class OtherMarket extends DomainError {
  constructor(message: string) {
    super('rejected-record', message);
  }
}

/**
 * The error for a market that is not an up-or-down market of a coin: `OtherMarket`, also for those of stocks; 'rejected-record' if its slug says
 * up or down, and it names one of the venue's coins there or in `coins`, or nothing.
 */
export function noMarket(slug: string, why: string, coins: readonly (string | undefined)[] = []): DomainError {
  const message = `${slug} is not an up-or-down market of a coin with a window of 5m, 15m, 1h, 4h or 24h: ${why}`;
  const [isUpOrDown, subject] = UP_OR_DOWN.exec(slug) ?? [];
  const isOfCoin = subject === undefined || [subject, ...coins].some((coin) => knownCoin(coin ?? '') !== undefined);
  return isUpOrDown !== undefined && isOfCoin ? rejected(message) : new OtherMarket(message);
}

/** `6h30m`; milliseconds only below one second. */
function durationText(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const text = parts.map(([count, unit]) => (count > 0 ? `${count}${unit}` : '')).join('');
  return text === '' ? `${durationMs}ms` : text;
}
