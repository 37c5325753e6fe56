import type { ChartData, Measure } from '../usage/chart-data.ts';

/** A series that the chart draws in one colour: the values of one measure. */
export interface DrawnSeries {
  readonly name: string;
  /** Number of its colour in the style sheet. */
  readonly color: number;
  /** One for each interval. */
  readonly values: readonly number[];
}

/** The series of a split; of `undefined`, the sum of all. */
export function seriesOf({ count, splits }: ChartData, split: string | undefined, measure: Measure): DrawnSeries[] {
  const zeros = new Array<number>(count).fill(0);
  const series = (splits.find(({ name }) => name === split) ?? splits[0]!).series.map(({ name, values }, index) => {
    return { name, color: index + 1, values: values[measure].length === 0 ? zeros : values[measure] };
  });
  return split === undefined ? [{ name: 'All', color: 1, values: summed(series, count) }] : series;
}

/** The sum of series in each interval. */
export function summed(series: readonly DrawnSeries[], count: number): number[] {
  return Array.from({ length: count }, (_, at) => series.reduce((sum, { values }) => sum + values[at]!, 0));
}
