import type { ComponentChildren } from 'preact';
import { type SummedTime, timeBefore, type UsageRange } from '../../account/account-usage.ts';
import { LEADING_MAX, type NamedUsage, type UsageSeries } from '../../account/usage-series.ts';
import { countText } from '../../domain/count-text.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { addUsage, DAY_MS, NO_USAGE, type UsageCounts } from '../../domain/usage.ts';
import { Table } from '../table.tsx';
import { bytesText, numberText } from '../texts.ts';
import { type ChartData, type ChartSeries, MEASURES, type Measure } from './chart-data.ts';

export interface UsageRow {
  readonly name: ComponentChildren;
  readonly sum: UsageCounts;
}

/** The counts of refused requests. */
export const REFUSALS = MEASURES.filter((one) => one.field !== 'requests' && one.field !== 'bytes');

interface UsageTableContent {
  readonly by: string;
  readonly rows: readonly UsageRow[];
}

/** Usage by key, route or another noun, which is the heading of the first column. */
export function UsageTable({ by, rows }: UsageTableContent) {
  const counts = MEASURES.map(({ field, name }) => ({
    heading: name,
    class: field === 'requests' ? 'number nowrap main' : 'number nowrap',
    cell: ({ sum }: UsageRow) =>
      sum[field] === 0 ? <span class="quiet minor">0</span> : measureText(field, sum[field]),
  }));
  return (
    <Table
      label={`Usage by ${by.toLowerCase()}`}
      columns={[{ heading: by, class: 'most', isRowHeading: true, cell: ({ name }) => name }, ...counts]}
      rows={rows}
      empty="No requests."
    />
  );
}

/** A path, which is broken only after a slash if it can be. */
export function Route({ path }: { readonly path: string }) {
  return <code>{path.split(/(?<=\/)/).flatMap((part) => [part, <wbr key={part} />])}</code>;
}

/** `+12 % vs previous 30 days`; undefined: there is nothing to compare with. `requestsIn`: the requests of another range. */
export async function changeText(
  { total, fromMs, toMs, intervalMs }: SummedTime & { readonly total: UsageSeries },
  nowMs: InstantMs,
  requestsIn: (range: UsageRange) => Promise<number>,
): Promise<string | undefined> {
  const before = timeBefore({ fromMs, toMs, intervalMs }, nowMs);
  const requestsBefore = before === undefined ? 0 : await requestsIn(before);
  if (requestsBefore === 0) return undefined;
  // Not -0.
  const percent = Math.round((total.sum.requests / requestsBefore - 1) * 100) || 0;
  const days = (Math.floor((toMs - fromMs) / intervalMs + 1) * intervalMs) / DAY_MS;
  const time = days > 1 && Number.isInteger(days) ? countText(days, 'day') : countText(days * 24, 'hour');
  return `${percent > 0 ? '+' : ''}${numberText(percent)} % vs previous ${time}`.replace('-', '−');
}

/** The sums of a range. `change`: see `changeText`. */
export function UsageTotals({ sum, change }: { readonly sum: UsageCounts; readonly change: string | undefined }) {
  const { requests, forbidden, limited, failed, bytes } = sum;
  const refused = forbidden + limited + failed;
  const percent = Number(((100 * refused) / Math.max(requests, 1)).toPrecision(2));
  return (
    <div class="cards">
      <Figure
        name="Requests"
        value={numberText(requests)}
        note={change ?? `${numberText(requests - refused)} answered`}
      />
      <Figure name="Sent" value={bytesText(bytes, true)} note="answers as sent, compressed" />
      <Figure name="Refused" value={numberText(refused)} note={`${numberText(percent)} % of all requests`} />
    </div>
  );
}

interface FigureContent {
  readonly name: string;
  readonly value: string;
  readonly note: ComponentChildren;
  /** The figure, or its note, says something bad. */
  readonly look?: 'bad' | 'warn' | undefined;
  readonly noteLook?: 'bad' | 'warn' | undefined;
}

/** One figure of a page, with what it means. */
export function Figure({ name, value, note, look, noteLook = undefined }: FigureContent) {
  return (
    <dl class="card figure">
      <dt>{name}</dt>
      <dd class={look}>{value}</dd>
      <dd class={noteLook === undefined ? 'note' : `note ${noteLook}`}>{note}</dd>
    </dl>
  );
}

function measureText(field: Measure, value: number): string {
  return field === 'bytes' ? bytesText(value, true) : numberText(value);
}

/** The series of each split, by its name. */
type Splits = Readonly<Record<string, readonly NamedUsage[]>>;

/** The chart that a script draws. Without scripts it is not there: the tables have the same figures. */
export function UsageChart({ range, splits }: { readonly range: SummedTime; readonly splits: Splits }) {
  return (
    <section class="card chart" aria-label="Chart">
      <div id="usage-chart" data-usage={JSON.stringify(chartData(range, splits))} />
    </section>
  );
}

function chartData({ fromMs, toMs, intervalMs }: SummedTime, splits: Splits): ChartData {
  const count = Math.floor((toMs - fromMs) / intervalMs) + 1;
  const values = (series: readonly UsageSeries[]): ChartSeries['values'] => {
    const sums = Array.from({ length: count }, () => ({ ...NO_USAGE }));
    for (const one of series) {
      for (const [startMs, counts] of one.intervals) addUsage(sums[(startMs - fromMs) / intervalMs]!, counts);
    }
    const valuesOf = (field: Measure) =>
      series.every(({ sum }) => sum[field] === 0) ? [] : sums.map((counts) => counts[field]);
    return {
      requests: valuesOf('requests'),
      forbidden: valuesOf('forbidden'),
      limited: valuesOf('limited'),
      failed: valuesOf('failed'),
      bytes: valuesOf('bytes'),
    };
  };
  const split = ([name, list]: readonly [string, readonly NamedUsage[]]) => {
    const shown = list.length <= LEADING_MAX ? list : list.slice(0, LEADING_MAX - 1);
    const others = list.slice(shown.length).map(({ series }) => series);
    const series = shown.map((one) => ({ name: one.name, values: values([one.series]) }));
    if (others.length > 0) series.push({ name: `${others.length} others`, values: values(others) });
    return { name, series };
  };
  const isLastOpen = toMs < fromMs + count * intervalMs - 1;
  return { startMs: fromMs, intervalMs, count, isLastOpen, toMs, splits: Object.entries(splits).map(split) };
}
