import type uPlot from 'uplot';
import { cssColour, type Palette, SHADES } from './heat-map-cells.ts';
import { type BandFrame, plotBand } from './plot-band.ts';

/** The scale of spreads ends here, or at the spread that this part of the columns does not exceed: a single wide book flattens no others. */
const SPREAD_MIN = 0.02;
const SPREAD_PART = 0.98;

/** The scale of the spreads of columns: from 0, or from below it where books are crossed. */
export function spreadRange(spreads: readonly (number | null | undefined)[]): [low: number, high: number] {
  const known = spreads.filter((spread) => typeof spread === 'number').sort((a, b) => a - b);
  const high = known[Math.ceil(known.length * SPREAD_PART) - 1] ?? 0;
  return [Math.min(0, known[0] ?? 0), Math.max(SPREAD_MIN, high)];
}

/** The name of the band of spreads whose scale ends at `high`. */
export function spreadName(high: number, spreads: readonly (number | null | undefined)[]): string {
  return `Spread${spreads.some((spread) => spread! > high) ? `, cut at ${high}` : ''}`;
}

/** Makes a band for spreads. */
export function spreadStrip(element: HTMLElement, frame: BandFrame, height: number): uPlot {
  return plotBand(element, frame, {
    name: ({ scales, data }) => spreadName(scales.spread!.max!, Array.from(data[1]!)),
    height,
    scales: { spread: { range: ({ data }) => spreadRange(Array.from(data[1]!)) } },
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
