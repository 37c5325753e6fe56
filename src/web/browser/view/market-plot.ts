import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { type CellFigures, cellAt } from './grid-figures.ts';
import type { LoadedGrids } from './grid-loader.ts';
import { largestSize, picturedBands } from './map-picture.ts';
import { type PageColours, pageColours } from './page-colours.ts';
import { type Palette, paletteOf } from './palette.ts';
import { type PlotLayout, panelAt, plotLayout, timeAt, valueAt } from './plot-layout.ts';
import {
  type Context,
  type DrawnBand,
  type PlotFrame,
  paintCells,
  paintEvent,
  paintImbalance,
  paintInstant,
  paintMidpoints,
  paintPanel,
  paintPointer,
  paintReference,
  paintSpread,
  paintTimeAxis,
  paintTrades,
} from './plot-painter.ts';
import type { ReferencePrices } from './reference-prices.ts';
import { outcomesOf } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

const DARK = '(prefers-color-scheme: dark)';

/** What is drawn. The plot draws again what a change of these signals touches, once a frame. */
export interface PlotContent {
  readonly state: ViewState;
  /** Books and trades. */
  readonly grids: ReadonlySignal<ReadonlyMap<Outcome, LoadedGrids>>;
  readonly trades: ReadonlySignal<ReadonlyMap<Outcome, LoadedGrids>>;
  readonly reference: ReadonlySignal<ReferencePrices | undefined>;
  /** Instants with names: the start of the window, its end with the winner. */
  readonly events: ReadonlySignal<readonly (readonly [ms: number, name: string])[]>;
}

export interface PointedCell extends CellFigures {
  readonly outcome: Outcome;
  readonly ms: number;
}

/** Three canvases above each other: cells, lines and axes, the instant and the pointer. Scrubbing draws only the last one. */
export class MarketPlot {
  readonly #element: HTMLElement;
  readonly #content: PlotContent;
  readonly #cells: Layer;
  readonly #lines: Layer;
  readonly #marks: Layer;
  readonly #scheme = matchMedia(DARK);
  readonly #resized = new ResizeObserver(() => this.#measure());
  readonly #pictures = new WeakMap<HeatMap, { readonly key: string; readonly bands: readonly DrawnBand[] }>();
  readonly #width = signal(0);
  readonly #pointed = signal<PointedCell | undefined>(undefined);
  readonly #largest = signal(0);
  readonly #stops: (() => void)[];
  #colours: PageColours;
  #palette: Palette;
  #pointer: { readonly x: number; readonly y: number } | undefined;
  #isPointerNew = false;
  #frame: number | undefined;

  /** `element` has the canvases of class cells, lines and marks. */
  constructor(element: HTMLElement, content: PlotContent) {
    this.#element = element;
    this.#content = content;
    const layer = (name: string) => new Layer(element.querySelector<HTMLCanvasElement>(`canvas.${name}`)!);
    [this.#cells, this.#lines, this.#marks] = [layer('cells'), layer('lines'), layer('marks')];
    this.#colours = pageColours(element);
    this.#palette = paletteOf(this.#scheme.matches ? 'dark' : 'light');
    this.#resized.observe(element);
    this.#scheme.addEventListener('change', this.#restyle);
    const { state, grids, trades, reference, events } = content;
    this.#stops = [
      effect(() => {
        void [grids.value, state.time.value, state.prices.value, state.scale.value, state.outcome.value];
        void [this.#width.value, state.layers.value];
        this.#invalidate(this.#cells, this.#lines, this.#marks);
      }),
      effect(() => {
        void [trades.value, reference.value, events.value];
        this.#invalidate(this.#lines);
      }),
      effect(() => {
        void state.atMs.value;
        this.#invalidate(this.#marks);
      }),
    ];
    this.#measure();
  }

  /** Of the plot in CSS pixels; 0 before it is measured. */
  get width(): ReadonlySignal<number> {
    return this.#width;
  }

  /** The cell under the pointer. */
  get pointed(): ReadonlySignal<PointedCell | undefined> {
    return this.#pointed;
  }

  /** The size of the last colour; 0 without books. */
  get largest(): ReadonlySignal<number> {
    return this.#largest;
  }

  get palette(): Palette {
    return this.#palette;
  }

  get layout(): PlotLayout {
    const { state } = this.#content;
    // Its axis has room before its prices are there: the columns of the heat map stay the same.
    const hasReference = state.layers.peek().has('reference');
    return plotLayout(this.#width.peek(), outcomesOf(state.outcome.peek()), hasReference);
  }

  /** The instant and the price at a pixel of the plot. */
  placeAt(x: number, y: number): { readonly ms: number; readonly price: number | undefined } {
    const { state } = this.#content;
    const { layout } = this;
    const panel = panelAt(layout, y);
    const ms = timeAt(layout, state.time.peek(), x);
    return { ms, price: panel && valueAt(panel, state.prices.peek(), y) };
  }

  /** Undefined: the pointer has left. */
  pointAt(pointer: { readonly x: number; readonly y: number } | undefined): void {
    this.#pointer = pointer;
    this.#isPointerNew = true;
    this.#invalidate(this.#marks);
  }

  /** The picture as PNG, without the pointer. */
  async png(): Promise<Blob> {
    const { width, height } = this.#cells.canvas;
    const copy = new OffscreenCanvas(width, height);
    const context = copy.getContext('2d')!;
    context.fillStyle = this.#colours.surface;
    context.fillRect(0, 0, width, height);
    for (const { canvas } of [this.#cells, this.#lines, this.#marks]) context.drawImage(canvas, 0, 0);
    return await copy.convertToBlob({ type: 'image/png' });
  }

  remove(): void {
    for (const stop of this.#stops) stop();
    this.#resized.disconnect();
    this.#scheme.removeEventListener('change', this.#restyle);
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #measure(): void {
    this.#width.value = Math.round(this.#element.clientWidth);
  }

  readonly #restyle = (): void => {
    this.#colours = pageColours(this.#element);
    this.#palette = paletteOf(this.#scheme.matches ? 'dark' : 'light');
    this.#invalidate(this.#cells, this.#lines, this.#marks);
    // The legend has the colours of the scheme.
    const largest = this.#largest.peek();
    this.#largest.value = 0;
    this.#largest.value = largest;
  };

  #invalidate(...layers: readonly Layer[]): void {
    for (const layer of layers) layer.isOld = true;
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #draw(): void {
    const { layout } = this;
    if (layout.width === 0) return;
    this.#element.style.height = `${layout.height}px`;
    if (this.#cells.isOld) this.#drawCells(layout);
    if (this.#lines.isOld) this.#drawLines(layout);
    if (this.#marks.isOld) this.#drawMarks(layout);
  }

  #frameOf(context: Context, layout: PlotLayout): PlotFrame {
    const { time, prices } = this.#content.state;
    return {
      context,
      layout,
      colours: this.#colours,
      palette: this.#palette,
      time: time.peek(),
      prices: prices.peek(),
    };
  }

  #drawCells(layout: PlotLayout): void {
    const frame = this.#frameOf(this.#cells.begin(layout, this.#colours.font), layout);
    const shown = layout.panels.map((panel) => ({ panel, grids: this.#content.grids.peek().get(panel.outcome) }));
    const sizes = shown.map(({ grids }) => largestOf(grids?.whole ?? grids?.window));
    const largest = Math.max(0, ...sizes);
    for (const { panel, grids } of shown) {
      frame.context.fillStyle = this.#colours.sunken;
      frame.context.fillRect(layout.left, panel.top, layout.right - layout.left, panel.height);
      for (const grid of [grids?.whole, grids?.window]) {
        if (grid !== undefined) paintCells(frame, panel, grid, this.#bandsOf(grid, largest));
      }
    }
    this.#largest.value = largest;
  }

  #drawLines(layout: PlotLayout): void {
    const frame = this.#frameOf(this.#lines.begin(layout, this.#colours.font), layout);
    const { state, grids, trades, reference, events } = this.#content;
    const layers = state.layers.peek();
    const time = state.time.peek();
    for (const [nth, panel] of layout.panels.entries()) {
      const grid = finest(grids.peek().get(panel.outcome), time);
      const traded = finest(trades.peek().get(panel.outcome), time);
      const prices = reference.peek();
      if (prices !== undefined && nth === 0 && layers.has('reference')) paintReference(frame, panel, prices);
      if (grid !== undefined && layers.has('mid')) paintMidpoints(frame, panel, grid);
      if (traded !== undefined && layers.has('trades')) paintTrades(frame, panel, traded);
      paintPanel(frame, panel, panel.outcome === 'up' ? 'Up' : 'Down');
    }
    const grid = finest(grids.peek().get(layout.panels[0]!.outcome), time);
    paintSpread(frame, grid);
    paintImbalance(frame, grid);
    paintTimeAxis(frame);
    for (const [ms, name] of events.peek()) paintEvent(frame, ms, name);
  }

  #drawMarks(layout: PlotLayout): void {
    const frame = this.#frameOf(this.#marks.begin(layout, this.#colours.font), layout);
    paintInstant(frame, this.#content.state.atMs.peek());
    if (this.#pointer !== undefined) {
      const { x, y } = this.#pointer;
      if (x >= layout.left && x <= layout.right && y < layout.axisTop) paintPointer(frame, x, y);
    }
    if (!this.#isPointerNew) return;
    this.#isPointerNew = false;
    this.#pointed.value = this.#cellUnderPointer(layout);
  }

  #cellUnderPointer(layout: PlotLayout): PointedCell | undefined {
    if (this.#pointer === undefined) return undefined;
    const { x, y } = this.#pointer;
    const panel = panelAt(layout, y);
    const { ms, price } = this.placeAt(x, y);
    if (panel === undefined || price === undefined) return undefined;
    const grid = finest(this.#content.grids.peek().get(panel.outcome), this.#content.state.time.peek());
    const cell = grid && cellAt(grid, ms, price);
    return cell && { ...cell, outcome: panel.outcome, ms };
  }

  /** The pictures of a grid, made once for each style. */
  #bandsOf(grid: HeatMap, largest: number): readonly DrawnBand[] {
    const scale = this.#content.state.scale.peek();
    const key = `${scale} ${largest} ${this.#scheme.matches}`;
    const made = this.#pictures.get(grid);
    if (made?.key === key) return made.bands;
    const bands = picturedBands(grid, { palette: this.#palette, scale, largest }).map((band) => {
      const image = new OffscreenCanvas(band.width, band.height);
      const pixels = new Uint8ClampedArray(band.pixels.buffer);
      image.getContext('2d')!.putImageData(new ImageData(pixels, band.width, band.height), 0, 0);
      return { image, prices: band.prices };
    });
    this.#pictures.set(grid, { key, bands });
    return bands;
  }
}

/** A canvas of the plot. */
class Layer {
  readonly canvas: HTMLCanvasElement;
  isOld = true;

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
  }

  /** An empty canvas of the layout's size, in CSS pixels. */
  begin({ width, height }: PlotLayout, font: string): CanvasRenderingContext2D {
    this.isOld = false;
    const ratio = devicePixelRatio;
    const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = this.canvas.getContext('2d')!;
    if (this.canvas.width !== pixelWidth || this.canvas.height !== pixelHeight) {
      this.canvas.width = pixelWidth;
      this.canvas.height = pixelHeight;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = font;
    context.textBaseline = 'middle';
    return context;
  }
}

/** The map of the window if it covers what is shown, else that of the whole market. */
function finest(
  grids: LoadedGrids | undefined,
  { from, to }: { readonly from: number; readonly to: number },
): HeatMap | undefined {
  const columns = grids?.window?.columns;
  if (columns !== undefined && columns[0]!.fromMs <= from && columns.at(-1)!.toMs >= to - 1) return grids?.window;
  return grids?.whole ?? grids?.window;
}

function largestOf(grid: HeatMap | undefined): number {
  return grid === undefined ? 0 : largestSize(grid);
}
