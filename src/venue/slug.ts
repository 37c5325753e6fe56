import { knownCoin, parseCoin } from '../domain/coin.ts';
import { isInstant } from '../domain/instant.ts';
import { parseTimeframe, type Timeframe } from '../domain/timeframe.ts';
import { type Fields, rejected, textField } from '../record/fields.ts';
import { instantsAt, localDate, localTime } from './new-york.ts';

/** The coin and the planned window in a slug. */
export interface SlugWindow {
  /** Coin code, lower case. */
  readonly symbol: string;
  readonly timeframe: Timeframe;
  readonly startMs: number;
  readonly endMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Length of a window, unless the clocks change within it. */
export const WINDOW_MS: Readonly<Record<Timeframe, number>> = {
  '5m': 300_000,
  '15m': 900_000,
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
  '24h': DAY_MS,
};

/** Coins that hourly and daily slugs call by a name; they call others by their code. */
const NAME_OF_CODE: ReadonlyMap<string, string> = new Map([
  ['btc', 'bitcoin'],
  ['eth', 'ethereum'],
  ['sol', 'solana'],
  ['doge', 'dogecoin'],
]);

const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** `btc-updown-5m-1776323400`: the start in Unix seconds. */
const UPDOWN = /^([a-z0-9]+)-updown-([0-9]+[mh])-([0-9]{1,11})$/;
/** `bitcoin-up-or-down-march-12-2026-8am-et`: the hour that starts at this time in New York. */
const HOURLY = /^([a-z0-9]+)-up-or-down-([a-z]+)-([0-9]{1,2})(?:-([0-9]{4}))?-([0-9]{1,2})(am|pm)-et$/;
/** `bitcoin-up-or-down-on-march-12-2026`: from noon of the day before to noon of that day, New York time. */
const DAILY = /^([a-z0-9]+)-up-or-down-on-([a-z]+)-([0-9]{1,2})(?:-([0-9]{4}))?$/;
const SLUG = /^[A-Za-z0-9._-]{1,200}$/;

/** A slug. It must not look like a conditionId, because paths accept both. */
export function slugField(fields: Fields, name = 'slug'): string {
  const slug = textField(fields, name);
  if (!SLUG.test(slug) || /^0x[0-9a-f]+$/i.test(slug)) {
    throw rejected(`${name} is not made of letters, digits, ".", "_" and "-", or looks like a conditionId`);
  }
  return slug;
}

/**
 * The coin and window in a slug; undefined if they are not in it. Hourly and daily slugs may leave out the year: then the
 * window nearest to `nearMs` counts, and without `nearMs` the result is undefined. When the clocks go back, two hours have the
 * same slug: the second counts when `nearMs` is in it or after it, else the first.
 */
export function windowOfSlug(slug: string, nearMs?: number): SlugWindow | undefined {
  const name = slug.toLowerCase();
  return windowOfUpDown(name) ?? windowOfHour(name, nearMs) ?? windowOfDay(name, nearMs);
}

/**
 * The slug that the venue gives a window: of 5m, 15m and 4h with its start in Unix seconds, of 1h with the date and hour of its
 * start, of 24h with the date of its end, both in New York and with the year. A window that is not on the grid, see
 * `isWindowStart`, has the slug of the window that it overlaps most, or its own start. When the clocks go back, two hours have
 * the same slug.
 */
export function slugOf({ symbol, timeframe, startMs, endMs }: SlugWindow): string {
  if (timeframe !== '1h' && timeframe !== '24h') return `${symbol}-updown-${timeframe}-${Math.floor(startMs / 1000)}`;
  const local = localDate(timeframe === '1h' ? startMs + HOUR_MS / 2 : endMs);
  const hour = local.getUTCHours();
  const date = `${MONTHS[local.getUTCMonth()]}-${local.getUTCDate()}-${local.getUTCFullYear()}`;
  const name = `${NAME_OF_CODE.get(symbol) ?? symbol}-up-or-down`;
  return timeframe === '24h' ? `${name}-on-${date}` : `${name}-${date}-${hour % 12 || 12}${hour < 12 ? 'am' : 'pm'}-et`;
}

/**
 * Returns true if windows of a timeframe start at an instant: those of 5m, 15m and 1h at multiples of their length, those of 4h
 * every four hours from midnight in New York, those of 24h at noon there.
 */
export function isWindowStart(timeframe: Timeframe, instantMs: number): boolean {
  if (instantMs % Math.min(WINDOW_MS[timeframe], HOUR_MS) !== 0) return false;
  if (timeframe === '4h') return localTime(instantMs) % WINDOW_MS['4h'] === 0;
  // Before 1970 the remainder is negative.
  return timeframe !== '24h' || Math.abs(localTime(instantMs) % DAY_MS) === DAY_MS / 2;
}

function windowOfUpDown(name: string): SlugWindow | undefined {
  const [, word = '', length = '', startSec] = UPDOWN.exec(name) ?? [];
  const timeframe = parseTimeframe(length);
  if (timeframe === undefined) return undefined;
  const startMs = Number(startSec) * 1000;
  // Slugs of this format have the code of the coin, also of one that is new at the venue.
  const symbol = parseCoin(word);
  return symbol === undefined ? undefined : within(symbol, timeframe, startMs, startMs + WINDOW_MS[timeframe]);
}

function windowOfHour(name: string, nearMs: number | undefined): SlugWindow | undefined {
  const [, word = '', month = '', day, year, hourText, half] = HOURLY.exec(name) ?? [];
  const symbol = knownCoin(word);
  const hour = Number(hourText);
  if (symbol === undefined || hour < 1 || hour > 12) return undefined;
  const midnight = dateNear(month, Number(day), year, nearMs);
  if (midnight === undefined) return undefined;
  const starts = instantsAt(midnight + ((hour % 12) + (half === 'pm' ? 12 : 0)) * HOUR_MS);
  const startMs = starts.findLast((start) => start <= (nearMs ?? 0)) ?? starts[0];
  return startMs === undefined ? undefined : within(symbol, '1h', startMs, startMs + HOUR_MS);
}

function windowOfDay(name: string, nearMs: number | undefined): SlugWindow | undefined {
  const [, word = '', month = '', day, year] = DAILY.exec(name) ?? [];
  const symbol = knownCoin(word);
  const midnight = symbol === undefined ? undefined : dateNear(month, Number(day), year, nearMs);
  if (symbol === undefined || midnight === undefined) return undefined;
  // Noon exists once on every day.
  const [startMs = 0] = instantsAt(midnight - DAY_MS / 2);
  const [endMs = 0] = instantsAt(midnight + DAY_MS / 2);
  return within(symbol, '24h', startMs, endMs);
}

function within(symbol: string, timeframe: Timeframe, startMs: number, endMs: number): SlugWindow | undefined {
  return isInstant(startMs) && isInstant(endMs) ? { symbol, timeframe, startMs, endMs } : undefined;
}

/** Midnight of a date as a local time; undefined if there is no such date, or its year is unknown. */
function dateNear(month: string, day: number, yearText: string | undefined, nearMs: number | undefined) {
  if (yearText === undefined && nearMs === undefined) return undefined;
  const near = nearMs ?? 0;
  const around = new Date(near).getUTCFullYear();
  const years = yearText === undefined ? [around - 1, around, around + 1] : [Number(yearText)];
  const index = MONTHS.indexOf(month);
  const dates = years
    .map((year) => new Date(Date.UTC(year, index, day)))
    // A day that the month does not have is one of the next month.
    .filter((date) => date.getUTCMonth() === index)
    .map((date) => date.getTime());
  return dates.sort((a, b) => Math.abs(a - near) - Math.abs(b - near))[0];
}
