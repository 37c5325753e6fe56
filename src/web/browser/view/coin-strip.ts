import uPlot from 'uplot';
import { AXIS_MIN, type BandFrame, plotBand, writeTag } from './plot-band.ts';
import { priceText } from './price-text.ts';
import type { ReferencePrices } from './reference-prices.ts';
import type { Span } from './span.ts';

/** The prices of a coin that a band draws: USD; undefined: not known. */
export interface CoinPrices {
  readonly name: string;
  /** False: there is none to draw. */
  readonly isKnown: boolean;
  readonly reference: ReferencePrices | undefined;
  readonly strike: number | undefined;
  readonly final: number | undefined;
  /** The time of the market: the strike is drawn over it. */
  readonly window: Span;
}

const PIXELS_PER_PRICE = 34;
/** Room above and below the prices, as a part of their range. */
const MARGIN = 0.1;
const TAG_HEIGHT = 16;

/** Makes a band for a coin's price: filled up to the strike, in the colour of the outcome that wins with it. Its axis is at the right. */
export function coinStrip(element: HTMLElement, frame: BandFrame, height: number, shown: () => CoinPrices): uPlot {
  const { bid, ask, ink, reference } = frame.colours;
  /** Changes its colour at the strike. */
  const coloured = (alpha: number) => (plot: uPlot) => {
    const { strike } = shown();
    if (strike === undefined) return alpha === 1 ? reference : 'transparent';
    const { top, height: pixels } = plot.bbox;
    const gradient = plot.ctx.createLinearGradient(0, top, 0, top + pixels);
    const at = Math.min(1, Math.max(0, (plot.valToPos(strike, 'coin', true) - top) / pixels));
    gradient.addColorStop(at, withAlpha(bid, alpha));
    gradient.addColorStop(at, withAlpha(ask, alpha));
    return gradient;
  };
  /** The tags of the strike and of the final price from top to bottom: none covers another. */
  const tagsOf = (plot: uPlot) => {
    const { strike, final } = shown();
    let below = 0;
    return [
      { price: strike, colour: ink, dash: [6, 4] },
      { price: final, colour: final! >= (strike ?? final!) ? bid : ask, dash: [2, 3] },
    ]
      .flatMap(({ price, ...how }) => (price === undefined ? [] : { ...how, price, y: plot.valToPos(price, 'coin') }))
      .sort((a, b) => a.y - b.y)
      .map((tag) => {
        const y = Math.max(tag.y, below);
        below = y + TAG_HEIGHT;
        return { ...tag, y };
      });
  };
  // Without room beside the plot the range of the prices is in the name: nothing covers the last minute. Else the name says what the tags are.
  const hasAxis = frame.right >= AXIS_MIN;
  return plotBand(element, frame, {
    name({ scales: { coin } }) {
      const { name, strike, final } = shown();
      const range = coin?.min ? `${priceText(coin.min)} – ${priceText(coin.max!)}, ` : '';
      return (hasAxis ? `${strike ? '┅ strike, ' : ''}${final ? '┈ final price, ' : ''}` : range) + name;
    },
    height,
    scales: { coin: { range: (_, low, high) => rangeOf(shown(), low, high) } },
    axes: [
      {
        ...{ scale: 'coin', side: 1, space: PIXELS_PER_PRICE, show: hasAxis },
        // A tag hides the prices that it would cover.
        values: (plot, prices) => {
          const tags = tagsOf(plot);
          const isCovered = (y: number) => tags.some((tag) => Math.abs(tag.y - y) < TAG_HEIGHT);
          return prices.map((price) => (isCovered(plot.valToPos(price, 'coin')) ? null : priceText(price)));
        },
      },
    ],
    series: [
      {
        ...{ scale: 'coin', width: 1.5, stroke: coloured(1), fill: coloured(0.18) },
        fillTo: (_, __, least) => shown().strike ?? least,
        paths: uPlot.paths.stepped!({ align: 1 }),
      },
    ],
    data: [[], []],
    drawOver(plot) {
      for (const { price, y, colour, dash } of tagsOf(plot)) {
        drawLevel(plot, price, shown().window, colour, dash);
        if (hasAxis) writeTag(plot, frame.colours, { text: priceText(price), colour, y });
      }
    },
  });
}

/** The range of the prices in view, of the strike and of the final price, with some room; none without any. */
function rangeOf({ strike, final }: CoinPrices, low: number | null, high: number | null): uPlot.Range.MinMax {
  const all = [low, high, strike, final].filter((price) => price !== null && price !== undefined);
  if (all.length === 0) return [null, null];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const room = Math.max((most - least) * MARGIN, most * (most === least ? 1e-4 : 1e-6), 1e-9);
  return [least - room, most + room];
}

function drawLevel(plot: uPlot, price: number, { from, to }: Span, colour: string, dash: readonly number[]): void {
  const { ctx, bbox } = plot;
  const xOf = (ms: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(ms, 'x', true)));
  const y = plot.valToPos(price, 'coin', true);
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.2 * uPlot.pxRatio;
  ctx.setLineDash(dash.map((pixels) => pixels * uPlot.pxRatio));
  ctx.beginPath();
  ctx.moveTo(xOf(from), y);
  ctx.lineTo(xOf(to), y);
  ctx.stroke();
  ctx.restore();
}

/** `colour` is `rgb(…)`, as a browser computes it. */
function withAlpha(colour: string, alpha: number): string {
  return colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}
