import { nounText } from '../../../domain/count-text.ts';

const DATE_CHARS = '2026-01-08'.length;
const MONTH_CHARS = '2026-01'.length;
const MINUTES_FROM = '2026-01-08T'.length;
const MINUTES_TO = '2026-01-08T10:30'.length;
const DAY_MS = 86_400_000;

const DAY_NAME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const MONTH_NAME = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
const SHORT_MONTH_NAME = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** Cents, or six digits where these are more. */
const SHORT = new Intl.NumberFormat('en-US', {
  maximumFractionDigits: 2,
  maximumSignificantDigits: 6,
  roundingPriority: 'morePrecision',
});

/** `8 January 2026` for `2026-01-08`, `January 2026` for `2026-01`. */
export function dateText(date: string): string {
  return (date.length > MONTH_CHARS ? DAY_NAME : MONTH_NAME).format(Date.parse(date));
}

/** `Jan 2026` for `2026-01`. */
export function shortMonthText(month: string): string {
  return SHORT_MONTH_NAME.format(Date.parse(month));
}

/** The window of a market in UTC: the day it begins, and its times, `10:30 – 10:35`, `23:55 – 24:00` or `16:00 – 16:00 +1 d`. */
export function windowText(startTime: string, endTime: string): { readonly day: string; readonly times: string } {
  const [from, to] = [startTime, endTime].map((time) => time.slice(MINUTES_FROM, MINUTES_TO));
  const [day, lastDay] = [startTime, endTime].map((time) => time.slice(0, DATE_CHARS));
  const days = (Date.parse(lastDay!) - Date.parse(day!)) / DAY_MS;
  const isMidnight = days === 1 && to === '00:00';
  return { day: day!, times: `${from} – ${isMidnight ? '24:00' : to}${days > 0 && !isMidnight ? ` +${days} d` : ''}` };
}

/** `1 market`, `2,000 markets`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${nounText(count, noun)}`;
}

/** The price of a coin on an axis or in a list, rounded to cents, or to six digits where these are more: `90,460.21`, `2.12346`. */
export function axisText(price: number): string {
  return SHORT.format(price);
}
