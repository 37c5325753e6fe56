import uPlot from 'uplot';
import type { ChartData } from '../usage/chart-data.ts';
import { coloursOf, pageColours } from './page-colours.ts';

const HEIGHT = 288;
const AXIS_WIDTH = 72;
const DARK = '(prefers-color-scheme: dark)';

/** The values of one measure that have one colour. */
export interface DrawnSeries {
  readonly name: string;
  /** Number of its colour in the style sheet. */
  readonly color: number;
  /** A value for each interval. */
  readonly values: readonly number[];
}

interface PlotSettings {
  readonly data: ChartData;
  readonly text: (value: number) => string;
  /** The interval under the pointer; undefined: none. */
  readonly onPoint: (at: number | undefined) => void;
}

/** Stacked bars on a canvas: as wide as its element, in the colours of the style sheet, light or dark. */
export class UsagePlot {
  readonly #element: HTMLElement;
  readonly #settings: PlotSettings;
  readonly #starts: readonly number[];
  readonly #scheme = matchMedia(DARK);
  readonly #resized = new ResizeObserver(() => this.#plot?.setSize(this.#size()));
  #plot: uPlot | undefined;
  #series: readonly DrawnSeries[] = [];

  constructor(element: HTMLElement, settings: PlotSettings) {
    const { startMs, intervalMs, count } = settings.data;
    this.#element = element;
    this.#settings = settings;
    this.#starts = Array.from({ length: count }, (_, at) => (startMs + at * intervalMs) / 1000);
    this.#resized.observe(element);
    this.#scheme.addEventListener('change', this.#redraw);
  }

  /** The first series is at the bottom. */
  draw(series: readonly DrawnSeries[]): void {
    this.#series = series;
    this.#redraw();
  }

  remove(): void {
    this.#resized.disconnect();
    this.#scheme.removeEventListener('change', this.#redraw);
    this.#plot?.destroy();
  }

  readonly #redraw = (): void => {
    this.#plot?.destroy();
    const tops: number[][] = [];
    for (const { values } of this.#series) tops.push(values.map((value, at) => value + (tops.at(-1)?.[at] ?? 0)));
    // The highest bars first: lower ones cover them.
    this.#plot = new uPlot(this.#options(), [[...this.#starts], ...tops.toReversed()], this.#element);
  };

  #options(): uPlot.Options {
    const { data, text, onPoint } = this.#settings;
    const [first, last] = [this.#starts[0]!, this.#starts.at(-1)!];
    const half = data.intervalMs / 2000;
    const { quiet, line, font, surface } = pageColours();
    const fills = coloursOf(this.#series.map(({ color }) => `series-${color}`));
    const axis = { stroke: quiet, font };
    const lines = { stroke: line, width: 1 };
    const bars = uPlot.paths.bars!({ size: [0.8, 48] });
    return {
      ...this.#size(),
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false } },
      scales: { x: { range: [first - half, last + half] }, y: { range: (_, __, max) => [0, ticksTo(max).at(-1)!] } },
      axes: [
        { ...axis, grid: { show: false }, ticks: lines, values: TIMES },
        {
          ...axis,
          grid: lines,
          ticks: { show: false },
          size: AXIS_WIDTH,
          splits: (_, __, ___, max) => ticksTo(max),
          values: (_, splits) => splits.map(text),
        },
      ],
      series: [
        {},
        ...this.#series.toReversed().map(({ color }) => ({
          fill: (plot: uPlot) =>
            paleFrom(plot, fills[`series-${color}`]!, surface, data.isLastOpen ? last - half : Infinity),
          width: 0,
          paths: bars,
          points: { show: false },
        })),
      ],
      hooks: {
        setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      },
    };
  }

  #size(): { readonly width: number; readonly height: number } {
    return { width: this.#element.clientWidth, height: HEIGHT };
  }
}

/** A colour that is pale, on this ground, right of an instant: that part is not over yet. What is behind a bar does not show through. */
function paleFrom(
  { ctx, bbox, valToPos }: uPlot,
  colour: string,
  ground: string,
  from: number,
): CanvasGradient | string {
  if (from === Infinity) return colour;
  const { left, width } = bbox;
  const at = Math.min(Math.max((valToPos(from, 'x', true) - left) / width, 0), 1);
  const fill = ctx.createLinearGradient(left, 0, left + width, 0);
  const pale = `color-mix(in srgb, ${colour} 40%, ${ground})`;
  for (const [stop, shown] of [
    [0, colour],
    [at, colour],
    [at, pale],
  ] as const)
    fill.addColorStop(stop, shown);
  return fill;
}

const [DAY, HOUR] = [86_400, 3600];
/** Per distance in seconds: the text of a value, what is added in a new year, month, day, hour, minute and second, 1. */
const TIMES: uPlot.Axis.Values = [
  [28 * DAY, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [DAY, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [HOUR, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
];

/** Two to five whole numbers from 0, in steps of 1, 2 or 5 with zeros; the last one is not below `max`. */
function ticksTo(max: number): number[] {
  let step = 1;
  for (let i = 1; step * 4 < max; i += 1) step = [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3);
  return Array.from({ length: Math.max(Math.ceil(max / step), 1) + 1 }, (_, at) => at * step);
}
