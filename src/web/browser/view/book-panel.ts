import uPlot from 'uplot';
import { decimalPlaces } from '../../../domain/decimal.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { type BandFrame, plotBand } from './plot-band.ts';
import { priceLines } from './plot-lines.ts';
import type { ReferencePrices } from './reference-prices.ts';
import type { Span } from './span.ts';

/** The lines over the books of an outcome. */
export interface PanelLines {
  /** The midpoints of its books; undefined: not drawn. */
  readonly midpoints: HeatMap | undefined;
  readonly trades: HeatMap | undefined;
  readonly reference: ReferencePrices | undefined;
}

interface PanelSettings {
  readonly outcome: Outcome;
  readonly height: number;
  readonly prices: () => Span;
  readonly hasEventNames: boolean;
}

const PIXELS_PER_PRICE = 42;
/** Room above and below the reference prices, as a part of their range. */
const MARGIN = 0.08;
const TRADE_RADIUS = { least: 2.5, most: 6 };

/** A band with the books of an outcome: prices at the left, reference prices at the right. The cells of its heat map are drawn below it. */
export class BookPanel {
  readonly plot: uPlot;
  #lines: PanelLines | undefined;

  constructor(element: HTMLElement, frame: BandFrame, { outcome, height, prices, hasEventNames }: PanelSettings) {
    const { ink, surface, reference } = frame.colours;
    const decimals = (_: uPlot, values: number[], __: number, ___: number, step: number) =>
      values.map((value) => value.toFixed(decimalPlaces(step)));
    /** Two lines: the first one is the edge of the second. */
    const edged = (scale: string, stroke: string, width: number) => [
      { scale, stroke: surface, width: width + 2 },
      { scale, stroke, width },
    ];
    this.plot = plotBand(element, frame, {
      name: outcome === 'up' ? 'Up' : 'Down',
      height,
      hasEventNames,
      scales: { price: { range: () => [prices().from, prices().to] }, reference: { range: withRoom } },
      axes: [
        { scale: 'price', side: 3, space: PIXELS_PER_PRICE, values: decimals },
        { scale: 'reference', side: 1, space: 2 * PIXELS_PER_PRICE, values: decimals, stroke: reference },
      ],
      series: [
        ...edged('reference', reference, 1.5),
        ...edged('price', ink, 1.5),
        { scale: 'price', stroke: ink, fill: surface, width: 1.2, paths: (plot) => this.#tradePaths(plot) },
      ],
      data: [[], [], [], [], [], []],
    });
  }

  /** Takes the lines; they are drawn when the time axis is set. */
  set lines(lines: PanelLines) {
    const { midpoints, reference } = lines;
    const before = this.#lines;
    this.#lines = lines;
    if (before !== undefined && before.midpoints === midpoints && before.reference === reference) return;
    const [times, prices = [], mids = []] = priceLines(midpoints, reference);
    // The paths of trades have values of their own.
    this.plot.setData([times, prices, prices, mids, mids, mids] as uPlot.AlignedData, false);
  }

  /** A mark for each column with trades, from the lowest to the highest price: the wider the more shares. */
  #tradePaths(plot: uPlot): uPlot.Series.Paths {
    const marks = new Path2D();
    const { min = 0, max = 0 } = plot.scales.x!;
    const shown = (this.#lines?.trades?.columns ?? []).filter(({ fromMs, toMs }) => toMs >= min && fromMs < max);
    const most = shown.reduce((largest, { traded }) => Math.max(largest, traded?.shares ?? 0), 0);
    for (const { fromMs, toMs, traded } of shown) {
      if (traded === undefined) continue;
      const { shares, lowPrice, highPrice } = traded;
      const { least, most: largest } = TRADE_RADIUS;
      const radius = (least + (largest - least) * Math.sqrt(most === 0 ? 0 : shares / most)) * uPlot.pxRatio;
      const x = plot.valToPos((fromMs + toMs + 1) / 2, 'x', true);
      const [top, bottom] = [plot.valToPos(highPrice, 'price', true), plot.valToPos(lowPrice, 'price', true)];
      marks.roundRect(x - radius, top - radius, 2 * radius, bottom - top + 2 * radius, radius);
    }
    return { stroke: marks, fill: marks };
  }
}

/** The range of values with some room; the scale has none without values. */
function withRoom(_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [null, null];
  const room = Math.max((high - low) * MARGIN, high * 1e-6, 1e-9);
  return [low - room, high + room];
}
