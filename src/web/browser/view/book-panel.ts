import uPlot from 'uplot';
import { decimalPlaces } from '../../../domain/decimal.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { TRADE_SIDES, type TradeSide } from '../../../domain/trade.ts';
import type { PageColours } from '../page-colours.ts';
import type { OwnOrder } from './own-orders.ts';
import { type BandFrame, plotBand } from './plot-band.ts';
import { midLines } from './plot-lines.ts';
import type { Span } from './span.ts';

/** The lines over the books of an outcome. */
export interface PanelLines {
  /** The midpoints of its books; undefined: not drawn. */
  readonly midpoints: HeatMap | undefined;
  readonly trades: HeatMap | undefined;
  readonly own: readonly OwnOrder[];
}

interface PanelSettings {
  readonly outcome: Outcome;
  readonly height: number;
  readonly prices: () => Span;
  readonly hasEventNames: boolean;
}

const PIXELS_PER_PRICE = 42;
/** Around their point, in CSS pixels. */
const MARKS = { buy: 'M0 -7l6 11h-12z', sell: 'M0 7l6 -11h-12z', open: 'M0 -7l6 7l-6 7l-6 -7z' };
const BUBBLE_RADIUS = { least: 2.5, unknown: 4, most: 12 };
/** The largest bubble of a narrow plot is this part of it: larger ones would hide the book below them. */
const BUBBLE_PART = 1 / 60;

/** A band with the books of an outcome. The cells of its heat map are drawn below it. */
export class BookPanel {
  readonly plot: uPlot;
  #lines: PanelLines | undefined;

  constructor(element: HTMLElement, frame: BandFrame, { outcome, height, prices, hasEventNames }: PanelSettings) {
    const { ink, surface, quiet, bid, ask } = frame.colours;
    const decimals = (_: uPlot, values: number[], __: number, ___: number, step: number) =>
      values.map((value) => value.toFixed(decimalPlaces(step)));
    this.plot = plotBand(element, frame, {
      name: () => (outcome === 'up' ? 'Up' : 'Down'),
      height,
      hasEventNames,
      scales: { price: { range: () => [prices().from, prices().to] } },
      axes: [{ scale: 'price', side: 3, space: PIXELS_PER_PRICE, values: decimals }],
      series: [
        // The first line is the edge of the second.
        { scale: 'price', stroke: surface, width: 3.5 },
        { scale: 'price', stroke: ink, width: 1.5 },
        ...([...TRADE_SIDES, undefined] as const).map((side) => ({
          ...{ scale: 'price', stroke: surface, width: 1.2, paths: (plot: uPlot) => this.#bubbles(plot, side) },
          fill: side === undefined ? quiet : side === 'buy' ? bid : ask,
        })),
      ],
      data: [[], [], [], [], [], []],
      drawOver: (plot) => this.#drawOwn(plot, outcome, frame.colours),
    });
  }

  /** Takes the lines; they are drawn when the time axis is set. */
  set lines(lines: PanelLines) {
    const before = this.#lines;
    this.#lines = lines;
    if (before !== undefined && before.midpoints === lines.midpoints) return;
    const [times, mids] = midLines(lines.midpoints);
    // The bubbles have values of their own.
    this.plot.setData([times, mids, mids, mids, mids, mids], false);
  }

  /** A triangle for each own fill, upwards for one that buys, and a diamond for each open order where it last changed. */
  #drawOwn({ ctx, bbox, valToPos }: uPlot, outcome: Outcome, { bid, ask, surface }: PageColours): void {
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = surface;
    for (const { side, isOpen = false, atMs, price } of this.#lines?.own.filter((own) => own.outcome === outcome) ??
      []) {
      const mark = new Path2D(MARKS[isOpen ? 'open' : side]);
      ctx.setTransform(uPlot.pxRatio, 0, 0, uPlot.pxRatio, valToPos(atMs, 'x', true), valToPos(price, 'price', true));
      ctx.fillStyle = side === 'buy' ? bid : ask;
      ctx.fill(mark);
      ctx.stroke(mark);
    }
    ctx.restore();
  }

  /** A bubble for each column with trades of a side, from the lowest to the highest price: its width grows with the root of the shares. */
  #bubbles(plot: uPlot, side: TradeSide | undefined): uPlot.Series.Paths {
    const bubbles = new Path2D();
    const { min = 0, max = 0 } = plot.scales.x!;
    const shown = (this.#lines?.trades?.columns ?? []).filter(({ fromMs, toMs }) => toMs >= min && fromMs < max);
    const sides = shown.flatMap(({ traded }) => traded?.sides ?? []);
    const most = sides.reduce((largest, { shares }) => Math.max(largest, shares), 0);
    const { least, unknown, most: widest } = BUBBLE_RADIUS;
    const largest = Math.min(widest, plot.width * BUBBLE_PART);
    for (const { fromMs, toMs, traded } of shown) {
      const sum = traded?.sides.find((one) => one.side === side);
      if (sum === undefined) continue;
      const sized = sum.shares === 0 ? unknown : least + (largest - least) * Math.sqrt(sum.shares / most);
      const radius = sized * uPlot.pxRatio;
      const x = plot.valToPos((fromMs + toMs + 1) / 2, 'x', true);
      const [top, bottom] = [sum.highPrice, sum.lowPrice].map((price) => plot.valToPos(price, 'price', true));
      bubbles.roundRect(x - radius, top! - radius, 2 * radius, bottom! - top! + 2 * radius, radius);
    }
    return { stroke: bubbles, fill: bubbles };
  }
}
