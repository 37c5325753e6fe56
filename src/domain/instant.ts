import { type TString, Type } from 'typebox';
import { DomainError } from './errors.ts';

/** Unix milliseconds. All times inside the program; ISO text exists only in input and output. */
export type InstantMs = number;

/** 9999-12-31T23:59:59.999Z: the last instant that the four-digit ISO form can write. */
export const INSTANT_MAX_MS = 253_402_300_799_999;

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2}))?$/;
/** The form that `formatInstant` writes. */
const WRITTEN = '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$';
const PLAIN_DIGITS = /^(?:0|[1-9]\d*)$/;
const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Parses `YYYY-MM-DD`, or `YYYY-MM-DDTHH:MM[:SS[.fraction]]` followed by `Z` or a numeric offset.
 * A date alone is its midnight in UTC; digits after the milliseconds are dropped.
 * Returns undefined for anything else, for dates that do not exist, and for instants outside 1970…9999.
 */
export function parseIso(text: string): InstantMs | undefined {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match;
  const y = Number(year);
  const mo = Number(month);
  const d = Number(day);
  if (mo < 1 || mo > 12 || d < 1 || d > DAYS_IN_MONTH[mo - 1]!) return undefined;
  if (mo === 2 && d === 29 && !(y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offsetMs = parseOffsetMs(zone);
  if (offsetMs === undefined) return undefined;
  // Date.UTC would read years 0 to 99 as 19xx.
  if (y < 1970) return undefined;
  const millis = Number(fraction.padEnd(3, '0').slice(0, 3));
  const instantMs = Date.UTC(y, mo - 1, d, Number(hour), Number(minute), Number(second), millis) - offsetMs;
  return isInstant(instantMs) ? instantMs : undefined;
}

function parseOffsetMs(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/** A non-negative integer in plain decimal digits up to 2^53-1, or undefined. */
export function parsePlainInteger(text: string): number | undefined {
  if (!PLAIN_DIGITS.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Integer milliseconds or one of the ISO forms of `parseIso`; undefined for anything else. */
export function parseInstant(text: string): InstantMs | undefined {
  return parsePlainInteger(text) ?? parseIso(text);
}

const FORMS = 'Unix milliseconds, or an ISO 8601 date or time with Z or an offset, up to the year 9999';

/** Completes `must be …` about a text that is no instant: `forms`, or what a text in an ISO form lacks. */
export function wantedInstant(text: string, forms = FORMS): string {
  return ISO.test(text) ? 'a day and a time that exist, in the years 1970 to 9999' : forms;
}

/** Returns true if `value` is a whole millisecond between 1970 and the end of the year 9999, both inclusive. */
export function isInstant(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= INSTANT_MAX_MS;
}

/** The later of two instants; if one is not known, the other. */
export function laterInstant(a: InstantMs | undefined, b: InstantMs | undefined): InstantMs | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

export function instantText(description: string): TString {
  return Type.String({ format: 'date-time', pattern: WRITTEN, description });
}

/** `2026-04-16T07:10:04.123Z`. Throws DomainError 'unavailable' for a number that is not an instant. */
export function formatInstant(instantMs: InstantMs): string {
  if (!isInstant(instantMs)) throw new DomainError('unavailable', `a stored time is out of range: ${instantMs}`);
  return new Date(instantMs).toISOString();
}

/** An instant as JSON states it. */
export function instantOrNull(instantMs: InstantMs | undefined): string | null {
  return instantMs === undefined ? null : formatInstant(instantMs);
}

/** `2026-11-22 18:40 UTC`: cut off at the minute. */
export function timeText(instantMs: InstantMs): string {
  return `${formatInstant(instantMs).slice(0, 16).replace('T', ' ')} UTC`;
}
