import { useComputed, useSignal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { timeText } from '../../domain/instant.ts';
import { bytesText, numberText } from '../texts.ts';
import { type ChartData, DAY_MS, intervalText, MEASURES, type Measure, weekly } from '../usage/chart-data.ts';
import { Choices } from './choices.tsx';
import { type DrawnSeries, UsagePlot } from './usage-plot.ts';

// Before the page is drawn, which needs it.
const ALL = 'All';
/** Days that a phone has room for. */
const DAYS_MAX = 60;

const root = document.querySelector<HTMLElement>('#usage-chart');
// Without requests there is no chart.
if (root?.dataset.usage !== undefined) {
  const data = JSON.parse(root.dataset.usage) as ChartData;
  const phone = matchMedia('(max-width: 36rem)');
  const show = () => {
    // The bars of many days would be one area.
    const isByWeek = phone.matches && data.intervalMs === DAY_MS && data.count > DAYS_MAX;
    render(<UsageExplorer key={String(isByWeek)} data={isByWeek ? weekly(data) : data} />, root);
  };
  phone.addEventListener('change', show);
  show();
}

/** A chart of usage, and what a person chooses to see in it: a measure, and all requests or those of some keys, routes or tiers. */
function UsageExplorer({ data }: { readonly data: ChartData }) {
  const measure = useSignal<Measure>('requests');
  const split = useSignal<string>(ALL);
  const hidden = useSignal<ReadonlySet<string>>(new Set());
  /** The interval under the pointer. */
  const pointed = useSignal<number | undefined>(undefined);
  const list = useComputed(() => seriesOf(data, split.value === ALL ? undefined : split.value, measure.value));
  const shown = useComputed(() => list.value.filter(({ name }) => !hidden.value.has(name)));
  const sums = useComputed(() => summed(shown.value, data.count));
  const text = (value: number) => (measure.value === 'bytes' ? bytesText(value) : numberText(value));
  const name = MEASURES.find(({ field }) => field === measure.value)!.name;

  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const onPoint = (at: number | undefined) => {
      pointed.value = at;
    };
    const plot = new UsagePlot(element.current!, { data, text, onPoint });
    const stop = shown.subscribe((series) => plot.draw(series));
    return () => {
      stop();
      plot.remove();
    };
  }, []);

  const toggle = (toggled: string) => {
    const next = new Set(hidden.value);
    if (!next.delete(toggled)) next.add(toggled);
    hidden.value = next;
  };
  const at = pointed.value;
  const unit = data.intervalMs < DAY_MS ? 'hour' : data.intervalMs === DAY_MS ? 'day' : 'week';
  const timeOf = (index: number) =>
    `${unit === 'week' ? '7 days from ' : ''}${intervalText(data.startMs + index * data.intervalMs, data.intervalMs)}`;
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const shownText = (values: readonly number[]) => text(at === undefined ? sumOf(values) : values[at]!);
  const most = sums.value.indexOf(Math.max(...sums.value));
  const summary = `${name}: ${text(sumOf(sums.value))}, at most ${text(sums.value[most]!)} in one ${unit} (${timeOf(most)})`;
  return (
    <>
      <div class="row spread">
        <Choices
          label="Measure"
          options={MEASURES.map((one) => [one.field, one.short])}
          chosen={measure.value}
          choose={(field) => {
            measure.value = field;
          }}
        />
        <Choices
          label="Split"
          options={[[ALL, ALL], ...data.splits.map((one) => [one.name, `By ${one.name.toLowerCase()}`] as const)]}
          chosen={split.value}
          choose={(chosen) => {
            split.value = chosen;
            hidden.value = new Set();
          }}
        />
      </div>
      <div ref={element} class="plot" role="img" aria-label={summary} />
      <p class="quiet small">
        {at !== undefined
          ? `${timeOf(at)}: ${text(sums.value[at]!)}`
          : `${summary}${data.isLastOpen ? `. The pale ${unit} is not over: it counts until ${timeText(data.toMs)}.` : ''}`}
      </p>
      {split.value !== ALL && (
        <fieldset class="legend">
          <legend class="hidden">Shown</legend>
          {list.value.map((series) => (
            <label key={series.name}>
              <input
                type="checkbox"
                style={{ color: `var(--series-${series.color})` }}
                checked={!hidden.value.has(series.name)}
                onChange={() => toggle(series.name)}
              />
              <span>
                {series.name} <span class="quiet">{shownText(series.values)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}

/** The series of a split; of `undefined`, the sum of all. */
function seriesOf({ count, splits }: ChartData, split: string | undefined, measure: Measure): DrawnSeries[] {
  const zeros = new Array<number>(count).fill(0);
  const series = (splits.find(({ name }) => name === split) ?? splits[0]!).series.map(({ name, values }, index) => {
    return { name, color: index + 1, values: values[measure].length === 0 ? zeros : values[measure] };
  });
  return split === undefined ? [{ name: 'All', color: 1, values: summed(series, count) }] : series;
}

/** The sum of series in each interval. */
function summed(series: readonly DrawnSeries[], count: number): number[] {
  return Array.from({ length: count }, (_, at) => series.reduce((sum, { values }) => sum + values[at]!, 0));
}
