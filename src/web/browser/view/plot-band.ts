import uPlot from 'uplot';
import { timeLabel } from '../../../domain/heat-map-picture.ts';
import type { PageColours } from '../page-colours.ts';
import { clockText, dateText } from './market-texts.ts';
import type { Span } from './span.ts';

/**
 * An instant with a name: the start of the window, its end with the winner; and the distance of its middle from the bottom, in CSS pixels:
 * without one it is written above the band.
 */
export type PlotEvent = readonly [ms: number, name: string, fromBottom?: number];

/** The frame that all bands of a plot share. */
export interface BandFrame {
  /** The width of the plot in CSS pixels. */
  readonly width: number;
  /** The widths beside the plotting area, for the labels of axes. */
  readonly left: number;
  readonly right: number;
  readonly colours: PageColours;
  readonly time: () => Span;
  /** An instant of the day whose date the axis does not need. */
  readonly dayMs: number;
  readonly events: () => readonly PlotEvent[];
  /** True while the lowest band is made: the time axis is below it. */
  readonly hasTimeAxis: boolean;
}

export interface BandContent {
  readonly name: (plot: uPlot) => string;
  /** The height of the plotting area in CSS pixels. */
  readonly height: number;
  readonly scales: uPlot.Scales;
  readonly axes: readonly uPlot.Axis[];
  readonly series: readonly uPlot.Series[];
  readonly data: uPlot.AlignedData;
  /** True: the names of events are written in this band. */
  readonly hasEventNames?: boolean;
  /** Draws over the series. */
  readonly drawOver?: (plot: uPlot) => void;
}

/** Above a plotting area: the name of the band. Below it: half of a label. */
export const [BAND_ABOVE, BAND_BELOW] = [12, 4] as const;
/** The middle of what is written above a band, and the width of the name of a panel, at the right above it. */
const [ABOVE, NAME_WIDTH] = [-6.5, 48] as const;
/** Less room beside the plot has no axis: what is at the instant is above the plot then. */
export const AXIS_MIN = 60;
/** Two lines: the date is below the time. */
export const TIME_AXIS_HEIGHT = 39;
export const DAY_MS = 86_400_000;
/** The width of an instant with seconds or milliseconds, and of one with minutes. */
const [PIXELS_PER_INSTANT, PIXELS_PER_MINUTE] = [92, 50] as const;
/** Labels that are further apart than this are at whole minutes: they have no seconds. */
const SECONDS_MAX_MS = 30_000;
const PIXELS_PER_CHARACTER = 7;
/** Axes take their place from the padding: the areas of all bands begin and end at the same pixels. */
const AXIS = { size: 0, grid: { show: false }, ticks: { show: false } } as const;

/** Makes a part of the plot: lines over time, with an axis of its own and the marks of events. */
export function plotBand(element: HTMLElement, frame: BandFrame, content: BandContent): uPlot {
  const { width, left, right, colours, time, events, hasTimeAxis } = frame;
  const { name, height, scales, series, data, hasEventNames = false, drawOver } = content;
  const below = hasTimeAxis ? TIME_AXIS_HEIGHT : BAND_BELOW;
  const text = { ...AXIS, stroke: colours.quiet, font: colours.font };
  const options: uPlot.Options = {
    width,
    height: BAND_ABOVE + height + below,
    padding: [BAND_ABOVE, right, below, left],
    ms: 1,
    tzDate: (ms) => uPlot.tzDate(new Date(ms), 'UTC'),
    legend: { show: false },
    cursor: { points: { show: false } },
    scales: { x: { range: () => [time().from, time().to] }, ...scales },
    axes: [
      {
        ...text,
        show: hasTimeAxis,
        space: (_, __, from, to, pixels) =>
          ((to - from) / pixels) * PIXELS_PER_MINUTE > SECONDS_MAX_MS ? PIXELS_PER_MINUTE : PIXELS_PER_INSTANT,
        gap: 3,
        ticks: { show: true, stroke: colours.line, width: 1, size: 5 },
        values: (plot, instants, _, __, stepMs) =>
          instants.map((ms, nth) => {
            const label = timeLabel(ms, stepMs);
            const date = dateText(ms, nth === 0 ? frame.dayMs : instants[nth - 1]!);
            const end = left + plot.valToPos(ms, 'x') + (label.length * PIXELS_PER_CHARACTER) / 2;
            return end > width ? null : `${label}${date === '' || stepMs >= DAY_MS ? '' : `\n${date}`}`;
          }),
      },
      {
        ...AXIS,
        scale: 'x',
        side: 0,
        splits: () => shownEvents(frame).map(([ms]) => ms),
        values: () => [],
        grid: { stroke: colours.ink, width: 1, dash: [3, 3] },
      },
      ...content.axes.map((axis) => ({ ...text, gap: 6, ...axis })),
    ],
    series: [{}, ...series.map((one) => ({ points: { show: false }, ...one }))],
    hooks: {
      draw: [
        (plot) => {
          drawOver?.(plot);
          // At the right end: the line of the instant begins at the left.
          const end = width - left - right;
          writeLabel(plot, colours, name(plot), end + 16, ABOVE, end);
          if (!hasEventNames) return;
          const [start] = events();
          // The start of a market that was recorded only before its window is not in the picture. A narrow plot has the price of the instant above.
          if (start !== undefined && start[0] > time().to) {
            const at = clockText(start[0], time().to).slice(0, -':00.000'.length);
            const place = right < AXIS_MIN ? height - 12 : ABOVE;
            writeLabel(plot, colours, `${start[1]} ${at} ›`, end, place, end - NAME_WIDTH);
          }
          for (const [ms, event, fromBottom] of shownEvents(frame)) {
            // The edge of the picture is no event; without an axis the price of the instant is above.
            if (ms <= time().from || (!fromBottom && right < AXIS_MIN)) continue;
            const place =
              fromBottom === undefined ? ([ABOVE, end - NAME_WIDTH] as const) : ([height - fromBottom, end] as const);
            writeLabel(plot, colours, event, plot.valToPos(ms, 'x') + 8, ...place);
          }
        },
      ],
    },
  };
  return new uPlot(options, data, element);
}

function shownEvents({ events, time }: BandFrame): readonly PlotEvent[] {
  const { from, to } = time();
  return events().filter(([ms]) => ms >= from && ms <= to);
}

/** Text that can be read over any cell; left of `x` if it would pass `end`. In CSS pixels of the plotting area. */
function writeLabel(
  { ctx, bbox }: uPlot,
  { ink, surface, font }: PageColours,
  text: string,
  x: number,
  y: number,
  end: number,
): void {
  ctx.save();
  ctx.translate(bbox.left, bbox.top);
  ctx.scale(uPlot.pxRatio, uPlot.pxRatio);
  ctx.font = font;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  const { width } = ctx.measureText(text);
  const left = x + width + 8 > end ? Math.min(x - 18, end - 2) - width : x;
  // An edge around the letters hides less than a box; above a band it would reach into it.
  ctx.strokeStyle = surface;
  ctx.lineWidth = 4;
  if (y > 0) ctx.strokeText(text, left, y);
  ctx.fillStyle = ink;
  ctx.fillText(text, left, y);
  ctx.restore();
}

/** A value at the right axis, on its colour. `y` in CSS pixels of the plotting area. */
export function writeTag(
  { ctx, bbox }: uPlot,
  { surface, font }: PageColours,
  { text, colour, y }: { readonly text: string; readonly colour: string; readonly y: number },
): void {
  ctx.save();
  ctx.translate(bbox.left + bbox.width, bbox.top);
  ctx.scale(uPlot.pxRatio, uPlot.pxRatio);
  ctx.font = font;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  const right = ctx.canvas.width / uPlot.pxRatio - (bbox.left + bbox.width) / uPlot.pxRatio - 1;
  const { width } = ctx.measureText(text);
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(right - width - 8, y - 8, width + 8, 16, 3);
  ctx.fill();
  ctx.fillStyle = surface;
  ctx.fillText(text, right - 4, y);
  ctx.restore();
}
