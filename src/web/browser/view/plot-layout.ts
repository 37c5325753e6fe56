import type { Outcome } from '../../../domain/outcome.ts';
import type { Span } from './span.ts';

/** A part of the plot's height, in CSS pixels from its top. */
export interface Band {
  readonly top: number;
  readonly height: number;
}

export interface Panel extends Band {
  readonly outcome: Outcome;
}

/** Where the parts of the plot are, in CSS pixels. */
export interface PlotLayout {
  readonly width: number;
  readonly height: number;
  /** The area of the time axis. */
  readonly left: number;
  readonly right: number;
  /** Books: one for each outcome. */
  readonly panels: readonly Panel[];
  /** Under each other: the spread, the imbalance. */
  readonly spread: Band;
  readonly imbalance: Band;
  /** The top of the time axis. */
  readonly axisTop: number;
}

const NARROW = 560;
const [TOP, BETWEEN, STRIP_HEIGHT, AXIS_HEIGHT] = [10, 10, 40, 24];
const PANEL_HEIGHTS = { one: 400, each: 250, oneNarrow: 300, eachNarrow: 200 } as const;

/** A plot of this width: its height depends on the number of panels. */
export function plotLayout(width: number, outcomes: readonly Outcome[], hasReference: boolean): PlotLayout {
  const isNarrow = width < NARROW;
  const [left, rightGutter] = [isNarrow ? 34 : 44, hasReference ? (isNarrow ? 50 : 62) : 10];
  const isOne = outcomes.length === 1;
  const { one, each, oneNarrow, eachNarrow } = PANEL_HEIGHTS;
  const panelHeight = isNarrow ? (isOne ? oneNarrow : eachNarrow) : isOne ? one : each;
  const panels = outcomes.map((outcome, nth) => {
    return { outcome, top: TOP + nth * (panelHeight + BETWEEN), height: panelHeight };
  });
  const spread = { top: TOP + outcomes.length * (panelHeight + BETWEEN), height: STRIP_HEIGHT };
  const imbalance = { top: spread.top + STRIP_HEIGHT + BETWEEN, height: STRIP_HEIGHT };
  const axisTop = imbalance.top + STRIP_HEIGHT;
  return {
    width,
    height: axisTop + AXIS_HEIGHT,
    left,
    right: Math.max(left + 1, width - rightGutter),
    panels,
    spread,
    imbalance,
    axisTop,
  };
}

/** The pixel of an instant. */
export function xOf({ left, right }: PlotLayout, { from, to }: Span, ms: number): number {
  return left + ((ms - from) / (to - from)) * (right - left);
}

/** The instant at a pixel. */
export function timeAt({ left, right }: PlotLayout, { from, to }: Span, x: number): number {
  return from + ((x - left) / (right - left)) * (to - from);
}

/** The pixel of a value in a band whose bottom is `from` and whose top is `to`. */
export function yOf({ top, height }: Band, { from, to }: Span, value: number): number {
  return top + ((to - value) / (to - from)) * height;
}

/** The value at a pixel. */
export function valueAt({ top, height }: Band, { from, to }: Span, y: number): number {
  return to - ((y - top) / height) * (to - from);
}

/** The panel at a pixel, or undefined. */
export function panelAt({ panels }: PlotLayout, y: number): Panel | undefined {
  return panels.find(({ top, height }) => y >= top && y < top + height);
}
