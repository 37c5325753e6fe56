import { timeText } from '../../domain/instant.ts';
import type { UsageCounts } from '../../domain/usage.ts';

/** Written here, since a script does not load the schemas of the domain. */
export const DAY_MS = 86_400_000;
const DATE_CHARS = '2026-11-22'.length;

/** The counts of usage in the order of columns, with their names for people. */
export const MEASURES = [
  { field: 'requests', name: 'Requests' },
  { field: 'forbidden', name: 'Forbidden (403)' },
  { field: 'limited', name: 'Limited (429)' },
  { field: 'failed', name: 'Other refusals' },
  { field: 'bytes', name: 'Sent' },
] as const satisfies readonly { readonly field: keyof UsageCounts; readonly name: string }[];
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
  /** The same requests, split in several ways. */
  readonly splits: readonly { readonly name: string; readonly series: readonly ChartSeries[] }[];
}

export interface ChartSeries {
  readonly name: string;
  /** The value of each interval; none if all are 0. */
  readonly values: Readonly<Record<Measure, readonly number[]>>;
}

/** An interval by its start: a day, or an hour. */
export function intervalText(startMs: number, intervalMs: number): string {
  const text = timeText(startMs);
  return intervalMs < DAY_MS ? text : text.slice(0, DATE_CHARS);
}
