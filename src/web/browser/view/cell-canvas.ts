import type { HeatMap } from '../../../domain/heat-map.ts';
import { runsOf, type Shading } from '../../../domain/heat-map-picture.ts';
import type { PageColours } from '../page-colours.ts';
import { type Palette, picturedBands } from './heat-map-cells.ts';
import type { Span } from './span.ts';

export interface CellStyle {
  readonly colours: PageColours;
  readonly palette: Palette;
  readonly shading: Shading;
  /** The instant as of which the page shows the archive: cells after it are empty. NaN: not known yet. */
  readonly nowMs: number;
}

const HATCH_SIZE = 7;
/** Narrower parts without books have no words; where words do not fit, they are upright. In CSS pixels. */
const WORDS_MIN = 20;

/** A canvas with the cells of heat maps: as large as its parent, and under its lines. */
export class CellCanvas {
  readonly canvas = document.createElement('canvas');
  readonly #width: number;
  readonly #height: number;
  /** The pictures of a heat map are made once for each style. */
  readonly #pictures = new WeakMap<HeatMap, { readonly style: string; readonly bands: readonly DrawnBand[] }>();

  /** `width` and `height` in CSS pixels. */
  constructor(parent: HTMLElement, width: number, height: number) {
    this.canvas.className = 'cells';
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    [this.#width, this.#height] = [width, height];
    parent.append(this.canvas);
  }

  /** Draws the parts of heat maps within a window, each over those before. */
  draw(heatMaps: readonly HeatMap[], time: Span, prices: Span, style: CellStyle): void {
    const context = this.canvas.getContext('2d')!;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.imageSmoothingEnabled = false;
    context.fillStyle = style.colours.sunken;
    context.fillRect(0, 0, this.#width, this.#height);
    for (const heatMap of heatMaps) this.#drawMap(context, heatMap, time, prices, style);
  }

  /** Draws the cells over what is there; hatched where there is a gap, grey where no book is known, empty where it is not there yet. */
  #drawMap(context: CanvasRenderingContext2D, heatMap: HeatMap, time: Span, prices: Span, style: CellStyle): void {
    const { columns } = heatMap;
    const { colours, nowMs } = style;
    const [mapFrom, mapTo] = [columns[0]!.fromMs, columns.at(-1)!.toMs + 1];
    const [fromMs, toMs] = [Math.max(mapFrom, time.from), Math.min(mapTo, time.to)];
    if (fromMs >= toMs) return;
    const x = (ms: number) => ((ms - time.from) / (time.to - time.from)) * this.#width;
    const y = (price: number) => ((prices.to - price) / (prices.to - prices.from)) * this.#height;
    context.fillStyle = colours.surface;
    context.fillRect(x(fromMs), 0, x(toMs) - x(fromMs), this.#height);
    // Only visible columns: far outside of the canvas, coordinates would not be exact.
    const perColumn = (mapTo - mapFrom) / columns.length;
    const first = Math.max(0, Math.floor((fromMs - mapFrom) / perColumn));
    const end = Math.min(columns.length, Math.ceil((toMs - mapFrom) / perColumn));
    const [startX, endX] = [x(mapFrom + first * perColumn), x(mapFrom + end * perColumn)];
    for (const { image, prices: drawn } of this.#bandsOf(heatMap, style)) {
      const [top, bottom] = [y(drawn.to), y(drawn.from)];
      context.drawImage(image, first, 0, end - first, image.height, startX, top, endX - startX, bottom - top);
    }
    const shown = columns.slice(first, end);
    const without = (isLater: boolean) =>
      runsOf(shown, ({ book, hasGap, fromMs }) => !book && !hasGap && fromMs > nowMs === isLater);
    const fills = [
      [colours.sunken, 'no book recorded', without(false)],
      [colours.surface, 'not yet', without(true)],
      [hatch(context, colours), 'gap', runsOf(shown, ({ hasGap }) => hasGap)],
    ] as const;
    context.font = colours.font;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.strokeStyle = colours.surface;
    context.lineWidth = 4;
    for (const [fill, words, runs] of fills) {
      for (const [runFirst, runEnd] of runs) {
        // Whole pixels, those of the cells: parts of pixels would mix with the cells beside.
        const left = Math.round(x(shown[runFirst]!.fromMs));
        const width = Math.round(x(shown[runEnd - 1]!.toMs + 1)) - left;
        context.fillStyle = fill;
        context.fillRect(left, 0, Math.max(1, width), this.#height);
        const length = context.measureText(words).width + WORDS_MIN;
        if (width < WORDS_MIN || Math.max(width, this.#height) < length) continue;
        context.save();
        context.beginPath();
        context.rect(left, 0, width, this.#height);
        context.clip();
        context.fillStyle = colours.quiet;
        context.translate(left + width / 2, this.#height / 2);
        if (width < length) context.rotate(-Math.PI / 2);
        context.strokeText(words, 0, 0);
        context.fillText(words, 0, 0);
        context.restore();
      }
    }
  }

  #bandsOf(heatMap: HeatMap, { palette, shading }: CellStyle): readonly DrawnBand[] {
    const style = `${shading.scale} ${shading.low} ${shading.high} ${palette.bids[0]}`;
    const made = this.#pictures.get(heatMap);
    if (made?.style === style) return made.bands;
    const bands = picturedBands(heatMap, palette, shading).map(({ width, height, pixels, prices }) => {
      const image = new OffscreenCanvas(width, height);
      image.getContext('2d')!.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
      return { image, prices };
    });
    this.#pictures.set(heatMap, { style, bands });
    return bands;
  }
}

/** The picture of a band of rows, ready to be copied. */
interface DrawnBand {
  readonly image: OffscreenCanvas;
  readonly prices: Span;
}

function hatch(context: CanvasRenderingContext2D, { surface, quiet }: PageColours): CanvasPattern | string {
  const tile = new OffscreenCanvas(HATCH_SIZE, HATCH_SIZE);
  const drawing = tile.getContext('2d')!;
  drawing.fillStyle = surface;
  drawing.fillRect(0, 0, HATCH_SIZE, HATCH_SIZE);
  drawing.beginPath();
  for (const shift of [-HATCH_SIZE, 0, HATCH_SIZE]) {
    drawing.moveTo(shift, HATCH_SIZE);
    drawing.lineTo(shift + HATCH_SIZE, 0);
  }
  drawing.strokeStyle = quiet;
  drawing.globalAlpha = 0.5;
  drawing.stroke();
  return context.createPattern(tile, 'repeat') ?? quiet;
}
