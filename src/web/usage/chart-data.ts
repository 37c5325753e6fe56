import { timeText } from '../../domain/instant.ts';
import type { UsageCounts } from '../../domain/usage.ts';

/** Written here, since a script does not load the schemas of the domain. */
export const DAY_MS = 86_400_000;
const DATE_CHARS = '2026-11-22'.length;

/** The counts of usage in the order of columns, with their names for people. The short ones have room beside each other on a phone. */
export const MEASURES = [
  { field: 'requests', name: 'Requests', short: 'Requests' },
  { field: 'forbidden', name: 'Forbidden (403)', short: 'Forbidden' },
  { field: 'limited', name: 'Limited (429)', short: 'Limited' },
  { field: 'failed', name: 'Other refusals', short: 'Other' },
  { field: 'bytes', name: 'Sent', short: 'Sent' },
] as const satisfies readonly { readonly field: keyof UsageCounts; readonly name: string; readonly short: string }[];
export type Measure = (typeof MEASURES)[number]['field'];

/** The data of the chart, which its script draws. */
export interface ChartData {
  /** Start of the first interval. */
  readonly startMs: number;
  readonly intervalMs: number;
  /** The number of intervals. */
  readonly count: number;
  /** True: the last interval is not over yet. */
  readonly isLastOpen: boolean;
  /** The last instant that counts. */
  readonly toMs: number;
  /** The same requests, split in several ways. */
  readonly splits: readonly { readonly name: string; readonly series: readonly ChartSeries[] }[];
}

export interface ChartSeries {
  readonly name: string;
  /** The value of each interval; none if all are 0. */
  readonly values: Readonly<Record<Measure, readonly number[]>>;
}

/** Usage by weeks instead of days: seven days each up to the last one; the first week may begin before the first day. */
export function weekly({ startMs, count, intervalMs, splits, ...data }: ChartData): ChartData {
  const weeks = Math.ceil(count / 7);
  const before = 7 * weeks - count;
  const sum = (days: readonly number[]) => days.reduce((total, value) => total + value, 0);
  const byWeek = (days: readonly number[]) =>
    days.length === 0
      ? days
      : Array.from({ length: weeks }, (_, at) => sum(days.slice(Math.max(0, 7 * at - before), 7 * at + 7 - before)));
  const ofWeeks = ({ name, values }: ChartSeries): ChartSeries => ({
    name,
    values: Object.fromEntries(MEASURES.map(({ field }) => [field, byWeek(values[field])])) as ChartSeries['values'],
  });
  const splitByWeek = splits.map(({ name, series }) => ({ name, series: series.map(ofWeeks) }));
  return {
    ...data,
    startMs: startMs - before * intervalMs,
    count: weeks,
    intervalMs: 7 * intervalMs,
    splits: splitByWeek,
  };
}

/** An interval by its start: a day, an hour, or a week. */
export function intervalText(startMs: number, intervalMs: number): string {
  const text = timeText(startMs);
  return intervalMs < DAY_MS ? text : text.slice(0, DATE_CHARS);
}
