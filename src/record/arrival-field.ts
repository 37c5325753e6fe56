import { type InstantMs, isInstant, parseIso } from '../domain/instant.ts';
import type { Fields } from './fields.ts';

/** The names that recorders give to the time at which they received something: `recv_wall_ts`, `capturedAt`, `localTimestamp` … */
const NAME =
  /^(?:(?:recv|received?|captured?|arrival|arrived|local)(?:_?(?:at|ts|wall|time|timestamp|ms|us|ns|s))*|(?:timestamp|time|ts|t)_(?:recv|received|captured|local)(?:_(?:ms|us|ns|s))?)$/i;
const NUMBER = /^(\d{10,19})(?:\.(\d+))?$/;
/** The digits of a number of milliseconds from 2001 to 2286. Numbers of seconds have 3 fewer, of microseconds 3 more, of nanoseconds 6 more. */
const MILLISECOND_DIGITS = 13;
const LENGTHS: readonly number[] = [10, 13, 16, 19];

/** When a recorder received an object, as one of its fields states it; undefined if none does, or not as an instant with a zone. */
export function arrivalOf(fields: Fields): InstantMs | undefined {
  for (const name in fields) {
    if (!NAME.test(name)) continue;
    const receivedMs = arrivalMs(fields[name]);
    if (receivedMs !== undefined) return receivedMs;
  }
  return undefined;
}

/**
 * A time in seconds, milliseconds, microseconds or nanoseconds since 1970, recognised by its number of digits (2001 to 2286), or in ISO 8601
 * with a zone; digits after the milliseconds are dropped. Undefined for any other value, such as a time of a monotonic clock.
 */
export function arrivalMs(value: unknown): InstantMs | undefined {
  if (typeof value !== 'number' && typeof value !== 'string' && typeof value !== 'bigint') return undefined;
  const text = String(value);
  const [, whole, fraction = ''] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return typeof value === 'string' ? parseIso(text.replace(' ', 'T')) : undefined;
  if (!LENGTHS.includes(whole.length)) return undefined;
  const digits = `${whole}${fraction.padEnd(3, '0')}`.slice(0, MILLISECOND_DIGITS);
  return isInstant(Number(digits)) ? Number(digits) : undefined;
}
