const DATE_CHARS = '2026-01-08'.length;
const MONTH_CHARS = '2026-01'.length;
const MINUTES_FROM = '2026-01-08T'.length;
const MINUTES_TO = '2026-01-08T10:30'.length;
const DAY_MS = 86_400_000;

const DAY_NAME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const MONTH_NAME = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
const SHORT_MONTH_NAME = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `8 January 2026` for `2026-01-08`, `January 2026` for `2026-01`. */
export function dateText(date: string): string {
  return (date.length > MONTH_CHARS ? DAY_NAME : MONTH_NAME).format(Date.parse(date));
}

/** `Jan 2026` for `2026-01`. */
export function shortMonthText(month: string): string {
  return SHORT_MONTH_NAME.format(Date.parse(month));
}

/** The window of a market in UTC: the day it begins, and its times, `10:30 – 10:35`, `23:55 – 24:00` or `16:00 – 01-09 16:00`. */
export function windowText(startTime: string, endTime: string): { readonly day: string; readonly times: string } {
  const [from, to] = [startTime, endTime].map((time) => time.slice(MINUTES_FROM, MINUTES_TO));
  const [day, lastDay] = [startTime, endTime].map((time) => time.slice(0, DATE_CHARS));
  if (lastDay === day) return { day: day!, times: `${from} – ${to}` };
  const isMidnight = to === '00:00' && Date.parse(lastDay!) - Date.parse(day!) === DAY_MS;
  return { day: day!, times: `${from} – ${isMidnight ? '24:00' : `${lastDay!.slice('2026-'.length)} ${to}`}` };
}
