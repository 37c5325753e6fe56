import type { HeatMap, HeatMapColumn } from '../../../domain/heat-map.ts';
import { midOf, spreadOf } from '../../../domain/quote.ts';
import { columnAt, imbalanceOf } from './grid-figures.ts';
import type { PageColours } from './page-colours.ts';
import { cssColour, type Palette, SHADES } from './palette.ts';
import { type Band, type Panel, type PlotLayout, xOf, yOf } from './plot-layout.ts';
import type { ReferencePrices } from './reference-prices.ts';
import type { Span } from './span.ts';
import { type Tick, timeTicks, valueTicks } from './ticks.ts';

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** A picture of a band of rows, ready to be copied. */
export interface DrawnBand {
  readonly image: OffscreenCanvas;
  readonly prices: Span;
}

/** What all painters need. */
export interface PlotFrame {
  readonly context: Context;
  readonly layout: PlotLayout;
  readonly colours: PageColours;
  readonly palette: Palette;
  readonly time: Span;
  readonly prices: Span;
}

const PIXELS_PER_TIME = 92;
const PIXELS_PER_PRICE = 42;
/** Room above and below a line on an axis of its own. */
const MARGIN = 0.08;
const HATCH_SIZE = 7;
const TRADE_RADIUS = { least: 2.5, most: 6 };

/** The cells of a heat map in their panel, over what is there; hatched where there is a gap, grey where no book is known. */
export function paintCells(frame: PlotFrame, panel: Panel, map: HeatMap, bands: readonly DrawnBand[]): void {
  const { context, layout, colours, time, prices } = frame;
  const { left, right } = layout;
  const { columns } = map;
  const [mapFrom, mapTo] = [columns[0]!.fromMs, columns.at(-1)!.toMs + 1];
  const [fromMs, toMs] = [Math.max(mapFrom, time.from), Math.min(mapTo, time.to)];
  if (fromMs >= toMs) return;
  context.save();
  context.beginPath();
  context.rect(left, panel.top, right - left, panel.height);
  context.clip();
  const x = (ms: number) => xOf(layout, time, ms);
  context.fillStyle = colours.surface;
  context.fillRect(x(fromMs), panel.top, x(toMs) - x(fromMs), panel.height);
  // Only visible columns: far outside of the canvas, coordinates would not be exact.
  const perColumn = (mapTo - mapFrom) / columns.length;
  const first = Math.max(0, Math.floor((fromMs - mapFrom) / perColumn));
  const end = Math.min(columns.length, Math.ceil((toMs - mapFrom) / perColumn));
  const [startX, endX] = [x(mapFrom + first * perColumn), x(mapFrom + end * perColumn)];
  context.imageSmoothingEnabled = false;
  for (const { image, prices: drawn } of bands) {
    const [top, bottom] = [yOf(panel, prices, drawn.to), yOf(panel, prices, drawn.from)];
    context.drawImage(image, first, 0, end - first, image.height, startX, top, endX - startX, bottom - top);
  }
  const shown = columns.slice(first, end);
  fillRuns(frame, panel, shown, ({ book }) => book === undefined, colours.sunken);
  fillRuns(frame, panel, shown, ({ hasGap }) => hasGap, hatch(context, colours));
  context.restore();
}

/** A line through the midpoints, broken where there is none. */
export function paintMidpoints(
  { context, layout, colours, time, prices }: PlotFrame,
  panel: Panel,
  map: HeatMap,
): void {
  clipped(context, layout, panel, () => {
    context.beginPath();
    let isBroken = true;
    for (const { fromMs, toMs, book } of visible(map, time)) {
      const mid = book && midOf(book);
      if (mid !== undefined) {
        const y = yOf(panel, prices, mid);
        if (isBroken) context.moveTo(xOf(layout, time, fromMs), y);
        else context.lineTo(xOf(layout, time, fromMs), y);
        context.lineTo(xOf(layout, time, toMs + 1), y);
      }
      isBroken = mid === undefined;
    }
    context.lineJoin = 'round';
    stroke(context, colours.surface, 3.5);
    stroke(context, colours.ink, 1.4);
  });
}

/** A mark for each column with trades, from the lowest to the highest price: the wider the more shares. */
export function paintTrades({ context, layout, colours, time, prices }: PlotFrame, panel: Panel, map: HeatMap): void {
  const columns = visible(map, time).filter(({ traded }) => traded !== undefined);
  const most = columns.reduce((largest, { traded }) => Math.max(largest, traded!.shares), 0);
  clipped(context, layout, panel, () => {
    for (const { fromMs, toMs, traded } of columns) {
      const { shares, lowPrice, highPrice } = traded!;
      const radius =
        TRADE_RADIUS.least + (TRADE_RADIUS.most - TRADE_RADIUS.least) * Math.sqrt(most === 0 ? 0 : shares / most);
      const x = xOf(layout, time, (fromMs + toMs + 1) / 2);
      context.beginPath();
      context.roundRect(
        x - radius,
        yOf(panel, prices, highPrice) - radius,
        2 * radius,
        yOf(panel, prices, lowPrice) - yOf(panel, prices, highPrice) + 2 * radius,
        radius,
      );
      context.fillStyle = colours.surface;
      context.fill();
      stroke(context, colours.ink, 1.2);
    }
  });
}

/** The reference price on an axis of its own, at the right. */
export function paintReference(frame: PlotFrame, panel: Panel, { times, prices }: ReferencePrices): void {
  const { context, layout, colours, time } = frame;
  const range = rangeOf(prices);
  clipped(context, layout, panel, () => {
    context.beginPath();
    for (const [nth, ms] of times.entries()) {
      const [x, y] = [xOf(layout, time, ms), yOf(panel, range, prices[nth]!)];
      if (nth === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.lineJoin = 'round';
    stroke(context, colours.surface, 3);
    stroke(context, colours.reference, 1.5);
  });
  context.fillStyle = colours.reference;
  context.textAlign = 'left';
  for (const { at, text } of valueTicks(range, panel.height / (2 * PIXELS_PER_PRICE))) {
    context.fillText(text, layout.right + 6, yOf(panel, range, at));
  }
}

/** The frame and the prices of a panel, and its name. */
export function paintPanel({ context, layout, colours, prices }: PlotFrame, panel: Panel, name: string): void {
  outline(context, layout, panel, colours.line);
  context.fillStyle = colours.quiet;
  context.textAlign = 'right';
  for (const { at, text } of valueTicks(prices, panel.height / PIXELS_PER_PRICE)) {
    context.fillText(text, layout.left - 6, yOf(panel, prices, at));
  }
  label(context, name, layout.left + 8, panel.top + 13, colours);
}

/** The spread in ticks of its own scale, from 0. */
export function paintSpread(frame: PlotFrame, map: HeatMap | undefined): void {
  const { layout, colours, time } = frame;
  const band = layout.spread;
  const spreads = map === undefined ? [] : visible(map, time).map((column) => column.book && spreadOf(column.book));
  const known = spreads.filter((spread) => spread !== undefined);
  const range = { from: Math.min(0, ...known), to: Math.max(0.02, ...known) };
  bars(
    frame,
    band,
    map,
    range,
    ({ book }) => book && spreadOf(book),
    () => colours.quiet,
  );
  strip(frame, band, 'Spread', [
    { at: yOf(band, range, range.to) + 6, text: range.to.toFixed(2) },
    { at: yOf(band, range, 0) - 5, text: '0' },
  ]);
}

/** The imbalance from -1 to 1: bids upwards, asks downwards. */
export function paintImbalance(frame: PlotFrame, map: HeatMap | undefined): void {
  const { layout, palette } = frame;
  const band = layout.imbalance;
  const range = { from: -1, to: 1 };
  const shade = Math.floor(SHADES * 0.6);
  const [bids, asks] = [cssColour(palette.bids[shade]!), cssColour(palette.asks[shade]!)];
  const figureOf = ({ book }: HeatMapColumn) => (book && map ? imbalanceOf(map, book) : undefined);
  bars(frame, band, map, range, figureOf, (value) => (value > 0 ? bids : asks));
  strip(frame, band, 'Imbalance', [
    { at: band.top + 6, text: '+1' },
    { at: band.top + band.height - 5, text: '−1' },
  ]);
}

export function paintTimeAxis({ context, layout, colours, time }: PlotFrame): void {
  context.fillStyle = colours.quiet;
  context.strokeStyle = colours.line;
  context.textAlign = 'center';
  for (const { at, text } of timeTicks(time, Math.max(2, (layout.right - layout.left) / PIXELS_PER_TIME))) {
    const x = xOf(layout, time, at);
    context.beginPath();
    context.moveTo(x, layout.axisTop);
    context.lineTo(x, layout.axisTop + 5);
    context.stroke();
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(x, half), layout.width - half), layout.axisTop + 15);
  }
}

/** A line from the top of the panels to their end, with a name. */
export function paintEvent({ context, layout, colours, time }: PlotFrame, ms: number, name: string): void {
  if (ms < time.from || ms > time.to) return;
  const x = Math.min(Math.round(xOf(layout, time, ms)), layout.right - 1) + 0.5;
  context.beginPath();
  context.moveTo(x, layout.panels[0]!.top);
  context.lineTo(x, layout.axisTop);
  context.setLineDash([3, 3]);
  stroke(context, colours.ink, 1);
  context.setLineDash([]);
  const { width } = context.measureText(name);
  const isAtRight = x + width + 16 > layout.right;
  const last = layout.panels.at(-1)!;
  label(context, name, isAtRight ? x - width - 10 : x + 8, last.top + last.height - 14, colours);
}

/** The instant of the ladder. */
export function paintInstant({ context, layout, colours, time }: PlotFrame, ms: number): void {
  const x = xOf(layout, time, ms);
  if (x < layout.left - 1 || x > layout.right + 1) return;
  context.beginPath();
  context.moveTo(x, 2);
  context.lineTo(x, layout.axisTop);
  stroke(context, colours.surface, 4);
  stroke(context, colours.accent, 2);
  context.beginPath();
  context.moveTo(x - 6, 0);
  context.lineTo(x + 6, 0);
  context.lineTo(x, 9);
  context.closePath();
  context.fillStyle = colours.accent;
  context.fill();
}

/** Thin lines through the pointer. */
export function paintPointer({ context, layout, colours }: PlotFrame, x: number, y: number): void {
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, layout.panels[0]!.top);
  context.lineTo(Math.round(x) + 0.5, layout.axisTop);
  context.moveTo(layout.left, Math.round(y) + 0.5);
  context.lineTo(layout.right, Math.round(y) + 0.5);
  context.globalAlpha = 0.5;
  stroke(context, colours.ink, 1);
  context.globalAlpha = 1;
}

/** The columns of a map that touch a window. */
function visible(map: HeatMap, { from, to }: Span): readonly HeatMapColumn[] {
  const { columns } = map;
  const first = columnAt(map, Math.max(from, columns[0]!.fromMs));
  if (first === undefined) return [];
  const start = columns.indexOf(first);
  const end = columns.findIndex(({ fromMs }, nth) => nth >= start && fromMs >= to);
  return columns.slice(start, end < 0 ? columns.length : end);
}

/** From the lowest to the highest value, with some room. */
function rangeOf(values: readonly number[]): Span {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const room = Math.max((high - low) * MARGIN, high * 1e-6, 1e-9);
  return { from: low - room, to: high + room };
}

function bars(
  { context, layout, time }: PlotFrame,
  band: Band,
  map: HeatMap | undefined,
  range: Span,
  figureOf: (column: HeatMapColumn) => number | undefined,
  colourOf: (value: number) => string,
): void {
  if (map === undefined) return;
  clipped(context, layout, band, () => {
    const zero = yOf(band, range, 0);
    for (const column of visible(map, time)) {
      const value = figureOf(column);
      if (value === undefined) continue;
      const [x, y] = [Math.floor(xOf(layout, time, column.fromMs)), yOf(band, range, value)];
      context.fillStyle = colourOf(value);
      // Whole pixels: between parts of pixels, the background would shine through.
      const width = Math.max(1, Math.floor(xOf(layout, time, column.toMs + 1)) - x);
      context.fillRect(x, Math.min(y, zero), width, Math.max(0.5, Math.abs(zero - y)));
    }
  });
}

function strip({ context, layout, colours }: PlotFrame, band: Band, name: string, ticks: readonly Tick[]): void {
  outline(context, layout, band, colours.line);
  context.fillStyle = colours.quiet;
  context.textAlign = 'right';
  for (const { at, text } of ticks) context.fillText(text, layout.left - 6, at);
  label(context, name, layout.left + 8, band.top + 12, colours);
}

/** Text that can be read over any cell. */
function label(context: Context, text: string, x: number, y: number, { ink, surface }: PageColours): void {
  context.textAlign = 'left';
  const { width } = context.measureText(text);
  context.globalAlpha = 0.82;
  context.fillStyle = surface;
  context.fillRect(x - 4, y - 9, width + 8, 18);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

function outline(context: Context, { left, right }: PlotLayout, { top, height }: Band, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, right - left + 1, height + 1);
}

function fillRuns(
  { context, layout, time }: PlotFrame,
  panel: Band,
  columns: readonly HeatMapColumn[],
  accepts: (column: HeatMapColumn) => boolean,
  fill: string | CanvasPattern,
): void {
  context.fillStyle = fill;
  for (let from = 0; from < columns.length; from += 1) {
    if (!accepts(columns[from]!)) continue;
    let end = from + 1;
    while (end < columns.length && accepts(columns[end]!)) end += 1;
    // Whole pixels, those of the cells: parts of pixels would mix with the cells beside.
    const x = Math.round(xOf(layout, time, columns[from]!.fromMs));
    const width = Math.round(xOf(layout, time, columns[end - 1]!.toMs + 1)) - x;
    context.fillRect(x, panel.top, Math.max(1, width), panel.height);
    from = end;
  }
}

function hatch(context: Context, { surface, quiet }: PageColours): CanvasPattern | string {
  const tile = new OffscreenCanvas(HATCH_SIZE, HATCH_SIZE);
  const drawing = tile.getContext('2d')!;
  drawing.fillStyle = surface;
  drawing.fillRect(0, 0, HATCH_SIZE, HATCH_SIZE);
  drawing.beginPath();
  for (const shift of [-HATCH_SIZE, 0, HATCH_SIZE]) {
    drawing.moveTo(shift, HATCH_SIZE);
    drawing.lineTo(shift + HATCH_SIZE, 0);
  }
  stroke(drawing, quiet, 1.5);
  return context.createPattern(tile, 'repeat') ?? quiet;
}

function clipped(context: Context, { left, right }: PlotLayout, { top, height }: Band, paint: () => void): void {
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, height);
  context.clip();
  paint();
  context.restore();
}

function stroke(context: Context, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}
