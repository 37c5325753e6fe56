import type { SummedTime } from '../../account/account-usage.ts';
import type { NamedUsage, UsageSeries } from '../../account/usage-series.ts';
import { addUsage, NO_USAGE } from '../../domain/usage.ts';
import type { ChartData, ChartSeries, Measure } from './chart-data.ts';

/** As many colours as the style sheet has for series. The last one is for all others. */
const SERIES_MAX = 8;

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
    const shown = list.length <= SERIES_MAX ? list : list.slice(0, SERIES_MAX - 1);
    const others = list.slice(shown.length).map(({ series }) => series);
    const series = shown.map((one) => ({ name: one.name, values: values([one.series]) }));
    if (others.length > 0) series.push({ name: `${others.length} others`, values: values(others) });
    return { name, series };
  };
  return { startMs: fromMs, intervalMs, count, splits: Object.entries(splits).map(split) };
}
