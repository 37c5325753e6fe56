import type { DayResource } from '../../../domain/recorded-day.ts';

const DAY_MS = 86_400_000;
const DAYS_IN_WEEK = 7;
const YEAR_CHARS = '2026'.length;
const MONTH_CHARS = '2026-01'.length;
const MONTHS_IN_YEAR = 12;
/** The months in a row of the grid of a year. */
export const MONTHS_IN_ROW = 6;
/** The highest level of a day with recordings; a day without has 0. */
export const LEVELS = 4;

export type DayTotals = Readonly<Omit<DayResource, 'day'>>;

export const NOTHING: DayTotals = { markets: 0, recordedMarkets: 0, marketsWithGaps: 0, snapshots: 0 };
const COUNTS = ['markets', 'recordedMarkets', 'marketsWithGaps', 'snapshots'] as const;

/** Says whether a day or a month is part of a date: a year, a month or a day, `2026`, `2026-01`, `2026-01-08`; every day is part of ''. */
export function isIn(day: string, date: string): boolean {
  return day === date || date === '' || day.startsWith(`${date}-`);
}

/** The sums of the days of a date. */
export function totalsOf(days: readonly DayResource[], date: string): DayTotals {
  const totals = { ...NOTHING };
  for (const { day, ...counts } of days) {
    if (!isIn(day, date)) continue;
    for (const count of COUNTS) totals[count] += counts[count];
  }
  return totals;
}

/** Returns 0 if nothing is recorded, else 1 to LEVELS, in proportion to `most`. */
export function levelOf(recorded: number, most: number): number {
  return recorded === 0 ? 0 : Math.min(LEVELS, Math.max(1, Math.ceil((recorded / most) * LEVELS)));
}

/** The largest number of recorded markets on one of these days. */
export function mostRecorded(days: readonly DayTotals[]): number {
  return days.reduce((most, { recordedMarkets }) => Math.max(most, recordedMarkets), 0);
}

/** `2026-01` for `2026-01-08`. */
export function monthOf(day: string): string {
  return day.slice(0, MONTH_CHARS);
}

export function yearOf(day: string): string {
  return day.slice(0, YEAR_CHARS);
}

/** The last recorded day of a date, else its last day with markets, else `otherwise`, which is the last of all days by default. */
export function dayIn(days: readonly DayResource[], date: string, otherwise = days.at(-1)!.day): string {
  const within = days.filter(({ day }) => isIn(day, date));
  return (within.findLast(({ recordedMarkets }) => recordedMarkets > 0) ?? within.at(-1))?.day ?? otherwise;
}

/** The months of a year. */
export function monthsOf(year: string): string[] {
  return Array.from({ length: MONTHS_IN_YEAR }, (_, i) => `${year}-${String(i + 1).padStart(2, '0')}`);
}

/** The weeks of a month from Monday to Sunday; undefined where a week has days of other months. */
export function weeksOf(month: string): (string | undefined)[][] {
  const first = `${month}-01`;
  const weeks: (string | undefined)[][] = [];
  for (let monday = moved(first, -weekdayOf(first)); monthOf(monday) <= month; monday = moved(monday, DAYS_IN_WEEK)) {
    const week = Array.from({ length: DAYS_IN_WEEK }, (_, i) => moved(monday, i));
    weeks.push(week.map((day) => (monthOf(day) === month ? day : undefined)));
  }
  return weeks;
}

/** The day that a key of the grid pattern of WAI-ARIA moves to; undefined for other keys. */
export function dayByKey(day: string, key: string, hasShift: boolean): string | undefined {
  const months = hasShift ? MONTHS_IN_YEAR : 1;
  const moves: Readonly<Record<string, () => string>> = {
    ArrowLeft: () => moved(day, -1),
    ArrowRight: () => moved(day, 1),
    ArrowUp: () => moved(day, -DAYS_IN_WEEK),
    ArrowDown: () => moved(day, DAYS_IN_WEEK),
    Home: () => moved(day, -weekdayOf(day)),
    End: () => moved(day, DAYS_IN_WEEK - 1 - weekdayOf(day)),
    PageUp: () => movedByMonths(day, -months),
    PageDown: () => movedByMonths(day, months),
  };
  return moves[key]?.();
}

/** The day, of another month, that a key of the grid pattern moves to in a grid of months; undefined for other keys. */
export function monthByKey(day: string, key: string): string | undefined {
  const place = (Number(day.slice(YEAR_CHARS + 1, MONTH_CHARS)) - 1) % MONTHS_IN_ROW;
  const months: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -MONTHS_IN_ROW,
    ArrowDown: MONTHS_IN_ROW,
    Home: -place,
    End: MONTHS_IN_ROW - 1 - place,
    PageUp: -MONTHS_IN_YEAR,
    PageDown: MONTHS_IN_YEAR,
  };
  const by = months[key];
  return by === undefined ? undefined : movedByMonths(day, by);
}

/** The same day of another month, or its last one. */
export function movedByMonths(day: string, months: number): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate();
  return dateText(Date.UTC(year, month - 1 + months, Math.min(date, last)));
}

function moved(day: string, days: number): string {
  return dateText(Date.parse(day) + days * DAY_MS);
}

/** 0 is Monday. */
function weekdayOf(day: string): number {
  return (new Date(day).getUTCDay() + DAYS_IN_WEEK - 1) % DAYS_IN_WEEK;
}

function dateText(instantMs: number): string {
  return new Date(instantMs).toISOString().slice(0, 'YYYY-MM-DD'.length);
}
