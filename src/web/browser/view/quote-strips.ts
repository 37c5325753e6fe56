import type uPlot from 'uplot';
import { cssColour, type Palette, SHADES } from './heat-map-cells.ts';
import { type BandFrame, plotBand } from './plot-band.ts';

/** The scale of spreads ends here, or at the widest spread. */
const SPREAD_MIN = 0.02;

/**
 * The scale of spreads: from 0, or from below it where books are crossed, to the widest spread of the market. `low` and `high` are of the
 * columns in view; a column shows only the book at its end, so how wide it is must not decide.
 */
export function spreadRange(low: number | null, high: number | null, widest: number): [low: number, high: number] {
  // Null counts as 0.
  return [Math.min(0, low!), Math.max(SPREAD_MIN, high!, widest)];
}

/** Makes a band for spreads; `widest` is that of the market. */
export function spreadStrip(
  element: HTMLElement,
  frame: BandFrame,
  height: number,
  _: Palette,
  widest: () => number,
): uPlot {
  return plotBand(element, frame, {
    name: () => 'Spread',
    height,
    scales: { spread: { range: (__, low, high) => spreadRange(low, high, widest()) } },
    axes: [
      {
        scale: 'spread',
        side: 3,
        splits: (_, __, ___, most) => [0, most],
        values: (_, [, most]) => ['0', `${most}`],
      },
    ],
    series: [filled('spread', frame.colours.quiet)],
    data: [[], []],
  });
}

/** Makes a band for imbalances from -1 to 1: more bids upwards, more asks downwards. */
export function imbalanceStrip(element: HTMLElement, frame: BandFrame, height: number, palette: Palette): uPlot {
  const shade = Math.floor(SHADES * 0.6);
  const [bids, asks] = [cssColour(palette.bids[shade]!), cssColour(palette.asks[shade]!)];
  return plotBand(element, frame, {
    name: () => 'Imbalance',
    height,
    scales: { imbalance: { range: () => [-1, 1] } },
    axes: [{ scale: 'imbalance', side: 3, splits: () => [-1, 1], values: () => ['−1', '+1'] }],
    series: [filled('imbalance', bids), filled('imbalance', asks)],
    data: [[], [], []],
  });
}

/** The area between a line and 0. */
function filled(scale: string, colour: string): uPlot.Series {
  return { scale, stroke: colour, fill: colour, width: 1 };
}
