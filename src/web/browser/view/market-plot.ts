import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type uPlot from 'uplot';
import type { HeatMap, HeatMapColumn } from '../../../domain/heat-map.ts';
import { type SizeRange, sizeRange, timeLabel } from '../../../domain/heat-map-picture.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { midOf } from '../../../domain/quote.ts';
import { type PageColours, pageColours } from '../page-colours.ts';
import { BookPanel } from './book-panel.ts';
import { CellCanvas } from './cell-canvas.ts';
import { type CoinPrices, coinStrip } from './coin-strip.ts';
import type { Explorer } from './explorer.ts';
import { type Palette, paletteOf, SHADES } from './heat-map-cells.ts';
import { type CellFigures, cellAt, columnAt } from './heat-map-figures.ts';
import type { LoadedHeatMaps } from './heat-map-loader.ts';
import { unknownText } from './market-texts.ts';
import { pageNowMs } from './page-now.ts';
import { perFrame } from './per-frame.ts';
import { BAND_ABOVE, BAND_BELOW, type BandFrame, TIME_AXIS_HEIGHT } from './plot-band.ts';
import { imbalanceLines, spreadLines } from './plot-lines.ts';
import { priceText } from './price-text.ts';
import { imbalanceStrip, spreadStrip } from './quote-strips.ts';
import type { Span } from './span.ts';
import { outcomesOf } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

/** The signals that a plot draws; it draws again when one changes, once a frame. */
type PlotContent = Pick<
  Explorer,
  'loader' | 'trades' | 'coin' | 'events' | 'own' | 'hasBooks' | 'shown' | 'panels' | 'feed' | 'connection' | 'clock'
> & {
  readonly state: ViewState;
};

/** The part of the picture at the pointer. Its place is in CSS pixels of the plot. */
export interface Pointed {
  readonly x: number;
  readonly y: number;
  readonly ms: number;
  readonly outcome: Outcome;
  /** Undefined: nothing is loaded there. */
  readonly column: HeatMapColumn | undefined;
  /** Undefined: the pointer is not over books. */
  readonly cell: CellFigures | undefined;
}

/** The colours of the present scheme, light or dark. */
interface PlotStyle {
  readonly colours: PageColours;
  readonly palette: Palette;
}

/** A uPlot, and where its plotting area is, in CSS pixels of the whole plot. */
interface Band {
  readonly plot: uPlot;
  readonly top: number;
  readonly height: number;
}

/** The books of an outcome. */
interface Panel extends Band {
  readonly outcome: Outcome;
  readonly books: BookPanel;
  readonly cells: CellCanvas;
}

/** Parts of the height of a plot, and their bounds in CSS pixels. The panels of books get the rest. */
const [COIN_PART, COIN_PART_ALONE, STRIP_PART] = [0.17, 0.6, 0.06];
const [STRIP_MIN, STRIP_MAX] = [20, 40];
const LABEL_DECIMALS = 3;
/** Narrower plots are those of phones, also in the style sheet. */
const NARROW_MAX = 480;

/** Without books nothing is shaded. */
const NO_RANGE: SizeRange = { low: 1, high: 1 };
/** The view rests if it did not change for this time. */
const REST_MS = 150;

/**
 * A panel for each outcome, the spread and the imbalance below each other: uPlot draws lines, axes and the pointer, and a canvas of ours
 * the cells. The instant is an element over them: scrubbing draws nothing again.
 */
export class MarketPlot {
  readonly #element: HTMLElement;
  readonly #content: PlotContent;
  readonly #instant = elementOf('instant-line');
  /** The values at the pointer, on the axes. */
  readonly #labels = { time: elementOf('axis-label time'), value: elementOf('axis-label') };
  /** The prices of the books at the instant, on the axes. */
  readonly #tags = { up: elementOf('axis-label price'), down: elementOf('axis-label price') };
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)');
  readonly #resized = new ResizeObserver(() => this.#measure());
  readonly #stops: (() => void)[];
  readonly #width = signal(0);
  readonly #height = signal(0);
  readonly #style = signal(styleOf(this.#scheme));
  readonly #pointed = signal<Pointed | undefined>(undefined);
  readonly #range = signal<SizeRange | undefined>(undefined);
  /** The heat maps and the view that the range is of. */
  #ranged: readonly unknown[] = [];
  #rest: ReturnType<typeof setTimeout> | undefined;
  readonly #hasCoin = computed(() => {
    const { state, coin } = this.#content;
    return state.layers.value.has('reference') && coin.value.isKnown;
  });
  /**
   * The width of what is beside the plotting area, in CSS pixels: at the right there is room for the price of a coin, also without one,
   * since the width decides which heat map is asked for. A narrow plot has the room itself: the price of a book is above it.
   */
  readonly #gutters = computed(() =>
    this.#width.value < NARROW_MAX ? { left: 40, right: 6 } : { left: 44, right: 70 },
  );
  #isBuilt = false;
  #panels: readonly Panel[] = [];
  #coin: Band | undefined;
  #strips: readonly Band[] = [];
  /** The heat map whose figures the strips show. */
  #striped: HeatMap | undefined;
  #priced: CoinPrices['reference'];

  readonly style: ReadonlySignal<PlotStyle> = this.#style;
  /** Undefined: the pointer is elsewhere. */
  readonly pointed: ReadonlySignal<Pointed | undefined> = this.#pointed;
  /** The sizes of the first and the last colour; undefined without books. */
  readonly range: ReadonlySignal<SizeRange | undefined> = this.#range;
  /** The width of the plotting area in CSS pixels; 0 before it is measured. */
  readonly areaWidth: ReadonlySignal<number> = computed(() => {
    const { left, right } = this.#gutters.value;
    return this.#width.value === 0 ? 0 : Math.max(1, this.#width.value - left - right);
  });

  constructor(element: HTMLElement, content: PlotContent) {
    this.#element = element;
    this.#content = content;
    this.#resized.observe(element);
    this.#scheme.addEventListener('change', this.#restyle);
    const { state, loader, trades, coin, events, own } = content;
    const draw = perFrame<void>(() => this.#draw());
    this.#stops = [
      effect(() => {
        void [this.areaWidth.value, this.#height.value, this.#style.value, content.panels.value];
        void [this.#hasCoin.value, content.hasBooks.value];
        this.#isBuilt = false;
        draw();
      }),
      effect(() => {
        void [loader.heatMaps.value, trades.value, coin.value, events.value, own.value];
        void [state.time.value, state.prices.value, state.scale.value, state.layers.value, state.contrast.value];
        draw();
        // The colours stay while the view moves: to find the range takes longer than to draw.
        clearTimeout(this.#rest);
        this.#rest = setTimeout(() => {
          this.#ranged = [];
          draw();
        }, REST_MS);
      }),
      effect(() => this.#moveInstant()),
      effect(() => this.#tagPrices()),
    ];
    this.#measure();
  }

  /** The height of a panel in CSS pixels. */
  get panelHeight(): number {
    return this.#panels[0]?.height ?? 1;
  }

  /** The instant at a pixel from the left. */
  msAt(x: number): number {
    const { from, to } = this.#content.state.time.peek();
    return from + ((x - this.#gutters.peek().left) / this.areaWidth.peek()) * (to - from);
  }

  /** The price at a pixel from the top; undefined outside of the panels. */
  priceAt(y: number): number | undefined {
    const panel = this.#panels.find((one) => isInside(one, y));
    return panel?.plot.posToVal(y - panel.top, 'price');
  }

  /** Says whether a pixel is above the time axis, and not beside the plotting area. */
  covers(x: number, y: number): boolean {
    const left = x - this.#gutters.peek().left;
    const lowest = this.#bands.at(-1);
    return lowest !== undefined && left >= 0 && left <= this.areaWidth.peek() && y <= lowest.top + lowest.height;
  }

  /** Shows where the pointer is; undefined: it has left. */
  pointAt({ x, y }: { readonly x: number; readonly y: number } = { x: -1, y: -1 }): void {
    const left = x - this.#gutters.peek().left;
    for (const band of this.#bands) {
      // uPlot hides a line outside of its area.
      band.plot.setCursor({ left, top: isInside(band, y) ? y - band.top : -1 }, false);
    }
    this.#pointed.value = this.#pointedAt(x, y);
    this.#label(x, y);
  }

  /** The column of the heat map with trades that the pointer is at. */
  tradedAt({ ms, outcome }: Pointed): HeatMapColumn | undefined {
    const heatMap = finest(this.#content.trades.peek().get(outcome), this.#content.state.time.peek());
    return heatMap && columnAt(heatMap, ms);
  }

  /** A copy of what is drawn, without the pointer. */
  copy(): OffscreenCanvas {
    const ratio = devicePixelRatio;
    const { left, top, width, height } = this.#element.getBoundingClientRect();
    const copy = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
    const context = copy.getContext('2d')!;
    const { surface, accent } = this.#style.peek().colours;
    context.fillStyle = surface;
    context.fillRect(0, 0, copy.width, copy.height);
    for (const canvas of this.#element.querySelectorAll('canvas')) {
      const place = canvas.getBoundingClientRect();
      context.drawImage(canvas, (place.left - left) * ratio, (place.top - top) * ratio);
    }
    const line = this.#instant.getBoundingClientRect();
    context.fillStyle = accent;
    context.fillRect((line.left - left) * ratio, 0, line.width * ratio, line.height * ratio);
    return copy;
  }

  remove(): void {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#rest);
    this.#resized.disconnect();
    this.#scheme.removeEventListener('change', this.#restyle);
    this.#clear();
    this.#isBuilt = true;
  }

  #measure(): void {
    this.#width.value = this.#element.clientWidth;
    this.#height.value = this.#element.clientHeight;
  }

  readonly #restyle = (): void => {
    this.#style.value = styleOf(this.#scheme);
  };

  #clear(): void {
    for (const { plot } of this.#bands) plot.destroy();
    [this.#panels, this.#coin, this.#strips] = [[], undefined, []];
    [this.#striped, this.#priced] = [undefined, undefined];
  }

  #build(): void {
    // Its height may have changed in this frame.
    this.#measure();
    this.#isBuilt = true;
    this.#clear();
    const { state, events, coin } = this.#content;
    const width = this.#width.peek();
    const { colours, palette } = this.#style.peek();
    // The slider below is as wide as the plotting area.
    for (const [side, pixels] of Object.entries(this.#gutters.peek())) {
      this.#element.parentElement!.parentElement!.style.setProperty(`--${side}`, `${pixels}px`);
    }
    let made = 0;
    const nextFrame = (): BandFrame => ({
      ...{ width, ...this.#gutters.peek(), colours, hasTimeAxis: ++made === bands },
      ...{ time: () => state.time.peek(), dayMs: state.startMs, events: () => events.peek() },
    });
    const outcomes = outcomesOf(this.#content.panels.peek());
    const [hasCoin, hasBooks] = [this.#hasCoin.peek(), this.#content.hasBooks.peek()];
    const whole = this.#height.peek();
    const coinHeight = hasCoin ? Math.round(whole * (hasBooks ? COIN_PART : COIN_PART_ALONE)) : 0;
    const stripHeight = Math.round(Math.min(STRIP_MAX, Math.max(STRIP_MIN, whole * STRIP_PART)));
    const strips = hasBooks ? [spreadStrip, imbalanceStrip] : [];
    const bands = outcomes.length + Number(hasCoin) + strips.length;
    const around = bands * (BAND_ABOVE + BAND_BELOW) - BAND_BELOW + TIME_AXIS_HEIGHT;
    const rest = whole - coinHeight - strips.length * stripHeight - around;
    const height = Math.floor(rest / outcomes.length);
    let top = BAND_ABOVE;
    const placed = (plot: uPlot, bandHeight: number): Band => {
      const band = { plot, top, height: bandHeight };
      top += bandHeight + BAND_ABOVE + BAND_BELOW;
      return band;
    };
    this.#panels = outcomes.map((outcome, nth) => {
      const hasEventNames = nth === outcomes.length - 1;
      const settings = { outcome, height, prices: () => state.prices.peek(), hasEventNames };
      const books = new BookPanel(this.#element, nextFrame(), settings);
      const cells = new CellCanvas(books.plot.under, this.areaWidth.peek(), height);
      return { ...placed(books.plot, height), outcome, books, cells };
    });
    if (hasCoin) {
      this.#coin = placed(
        coinStrip(this.#element, nextFrame(), coinHeight, () => coin.peek()),
        coinHeight,
      );
    }
    this.#strips = strips.map((strip) => placed(strip(this.#element, nextFrame(), stripHeight, palette), stripHeight));
    const { up, down } = this.#tags;
    this.#element.append(this.#instant, up, down, this.#labels.time, this.#labels.value);
    this.#tagPrices();
  }

  #draw(): void {
    if (this.areaWidth.peek() === 0) return;
    if (!this.#isBuilt) this.#build();
    const [first] = this.#panels;
    // The plot was removed before this frame.
    if (first === undefined) return;
    const { state, loader, trades, coin, own, connection, clock } = this.#content;
    const [time, prices, layers] = [state.time.peek(), state.prices.peek(), state.layers.peek()];
    const loadedOf = (outcome: Outcome) => loader.heatMaps.peek().get(outcome);
    this.#findRange(this.#panels.flatMap(({ outcome }) => finest(loadedOf(outcome), time) ?? []));
    const shading = { scale: state.scale.peek(), shades: SHADES, ...(this.#range.peek() ?? NO_RANGE) };
    for (const { outcome, books, cells } of this.#panels) {
      const loaded = loadedOf(outcome);
      const drawn = [loaded?.whole, loaded?.window].filter((heatMap) => heatMap !== undefined);
      cells.draw(drawn, time, prices, { ...this.#style.peek(), shading, nowMs: pageNowMs(connection, clock) });
      books.lines = {
        midpoints: layers.has('mid') ? finest(loaded, time) : undefined,
        trades: layers.has('trades') ? finest(trades.peek().get(outcome), time) : undefined,
        own: own.peek(),
      };
    }
    this.#drawStrips(finest(loadedOf(first.outcome), time), coin.peek().reference);
    for (const { plot } of this.#bands) plot.setScale('x', { min: time.from, max: time.to });
    // The pointer may stand still while the picture under it changes. uPlot applies scales in a microtask.
    const pointed = this.#pointed.peek();
    if (pointed) queueMicrotask(() => this.pointAt(pointed));
  }

  /** Finds the range of the cells in view, those of the market's window if there are any, unless it is known already. */
  #findRange(heatMaps: readonly HeatMap[]): void {
    if (this.#ranged.length > 0 && heatMaps.every((heatMap) => this.#ranged.includes(heatMap))) return;
    this.#ranged = [heatMaps, ...heatMaps];
    const { state } = this.#content;
    const { from, to } = state.time.peek();
    const [fromMs, toMs] = [Math.max(from, state.home.from), Math.min(to, state.home.to)];
    this.#range.value = sizeRange({ heatMaps, fromMs, toMs, prices: state.prices.peek() }, state.contrast.peek());
  }

  get #bands(): readonly Band[] {
    return [...this.#panels, ...(this.#coin === undefined ? [] : [this.#coin]), ...this.#strips];
  }

  #drawStrips(heatMap: HeatMap | undefined, reference: CoinPrices['reference']): void {
    if (reference !== this.#priced) {
      this.#priced = reference;
      this.#coin?.plot.setData([[...(reference?.times ?? [])], [...(reference?.prices ?? [])]], false);
    }
    if (heatMap === this.#striped) return;
    this.#striped = heatMap;
    const [spread, imbalance] = this.#strips;
    spread?.plot.setData(spreadLines(heatMap), false);
    imbalance?.plot.setData(imbalanceLines(heatMap), false);
  }

  #moveInstant(): void {
    const { time, atMs } = this.#content.state;
    const { from, to } = time.value;
    const part = (atMs.value - from) / (to - from);
    this.#instant.hidden = part < 0 || part > 1;
    const x = `${this.#gutters.value.left + part * this.areaWidth.value}px`;
    // Not on their parent: all that is in it would be styled again.
    for (const element of [this.#instant, this.#tags.up, this.#tags.down]) element.style.setProperty('--x', x);
  }

  /**
   * Writes the midpoint of each book at the instant on the right axis of its panel, at the end of a line from the instant; its only best
   * price where it has one side. In a narrow plot it is above the panel, beside the instant.
   */
  #tagPrices(): void {
    const { feed, shown, state } = this.#content;
    const [ladders, coverage, { from, to }] = [feed.shown.value, shown.value?.coverage, state.prices.value];
    for (const outcome of outcomesOf('both')) {
      const panel = this.#panels.find((one) => one.outcome === outcome);
      const snapshot = ladders?.snapshots.find((one) => one.outcome === outcome);
      const [bidPrice, askPrice] = [snapshot?.bids[0]?.price, snapshot?.asks[0]?.price];
      const price = midOf({ bidPrice, askPrice }) ?? bidPrice ?? askPrice ?? -1;
      const tag = this.#tags[outcome];
      const isKnown = coverage && !unknownText(coverage, outcome, ladders?.query.atMs ?? 0, snapshot, true);
      // To write the attribute again, or another node of text, makes the browser look at all rules with `:has()`.
      const isHidden = !panel || !isKnown || price < from || price > to;
      if (tag.hidden !== isHidden) tag.hidden = isHidden;
      tag.firstChild!.nodeValue = `${price}`;
      if (panel === undefined) continue;
      tag.style.setProperty('--y', `${panel.top + ((to - price) / (to - from)) * panel.height}px`);
      tag.style.setProperty('--top', `${panel.top}px`);
    }
  }

  #pointedAt(x: number, y: number): Pointed | undefined {
    if (!this.covers(x, y)) return undefined;
    const { outcome } = this.#panels.find((panel) => isInside(panel, y)) ?? this.#panels[0]!;
    const [ms, price] = [this.msAt(x), this.priceAt(y)];
    const heatMap = finest(this.#content.loader.heatMaps.peek().get(outcome), this.#content.state.time.peek());
    const column = heatMap && columnAt(heatMap, ms);
    const cell = price === undefined ? undefined : column && cellAt(heatMap!, column, price);
    return { x, y, ms, outcome, column, cell };
  }

  /** Writes the instant at the pointer below the labels of the time axis, and its price on the axis beside it. */
  #label(x: number, y: number): void {
    const { time, value } = this.#labels;
    const lowest = this.#bands.at(-1);
    const isShown = this.#pointed.peek() !== undefined;
    time.hidden = !isShown;
    const [price, coin] = [this.priceAt(y), this.#coin];
    const isCoin = coin && isInside(coin, y);
    value.hidden = !isShown || (price === undefined && !isCoin);
    if (!isShown) return;
    time.textContent = timeLabel(this.msAt(x), 1);
    time.style.transform = `translate(calc(${x}px - 50%), ${lowest!.top + lowest!.height + 20}px)`;
    const { left } = this.#gutters.peek();
    const place = isCoin ? `${this.#width.peek()}px - 100%` : `max(0px, ${left}px - 100%)`;
    value.textContent = isCoin
      ? priceText(coin.plot.posToVal(y - coin.top, 'coin'))
      : (price?.toFixed(LABEL_DECIMALS) ?? '');
    value.style.transform = `translate(calc(${place}), calc(${y}px - 50%))`;
  }
}

function elementOf(className: string): HTMLElement {
  const element = document.createElement('div');
  element.className = className;
  element.hidden = true;
  element.append('');
  return element;
}

function styleOf({ matches: isDark }: MediaQueryList): PlotStyle {
  return { colours: pageColours(), palette: paletteOf(isDark ? 'dark' : 'light') };
}

function isInside({ top, height }: Band, y: number): boolean {
  return y >= top && y < top + height;
}

/** The heat map of the window if it covers what is shown, else that of the whole market. */
function finest(heatMaps: LoadedHeatMaps | undefined, { from, to }: Span): HeatMap | undefined {
  const columns = heatMaps?.window?.columns;
  if (columns !== undefined && columns[0]!.fromMs <= from && columns.at(-1)!.toMs >= to - 1) return heatMaps?.window;
  return heatMaps?.whole ?? heatMaps?.window;
}
