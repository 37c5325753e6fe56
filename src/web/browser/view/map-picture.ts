import { CENT_ROW_PRICES, type HeatMap, type SideRows } from '../../../domain/heat-map.ts';
import { type Palette, shadeOf } from './palette.ts';
import type { Span } from './span.ts';
import type { SizeScale } from './view-choices.ts';

/** Rows of equal height as a picture: one pixel for each cell, the highest price at the top. Cells without shares are transparent. */
export interface PictureBand {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
  /** The prices from its bottom to its top. */
  readonly prices: Span;
}

export interface PictureStyle {
  readonly palette: Palette;
  readonly scale: SizeScale;
  /** The size that has the last colour. */
  readonly largest: number;
}

interface RowBand extends Span {
  readonly firstRow: number;
  readonly rows: number;
}

const THOUSAND = 1000;
/** A row of whole cents has one price: it is drawn around it. A finer row begins with its lowest price. */
const HALF_CENT = 0.005;

/** The cells of a heat map, as few pictures as it has heights of rows. In a cell with bids and asks, the larger size is shown. */
export function picturedBands({ prices, columns }: HeatMap, style: PictureStyle): PictureBand[] {
  const bands = rowBandsOf(prices);
  const bandOfRow = bands.flatMap((band, nth) => new Array<number>(band.rows).fill(nth));
  const width = columns.length;
  const pictures = bands.map(({ rows, from, to }) => {
    return { width, height: rows, pixels: new Uint32Array(width * rows), prices: { from, to } };
  });
  const shades = new Uint8Array(prices.length);
  const paint = (column: number, { rows, sizes }: SideRows, colours: Uint32Array) => {
    for (const [nth, row] of rows.entries()) {
      const shade = shadeOf(sizes[nth]!, style.largest, style.scale);
      if (shades[row]! > shade + 1) continue;
      shades[row] = shade + 1;
      const band = bandOfRow[row]!;
      const { firstRow, rows: height } = bands[band]!;
      pictures[band]!.pixels[(height - 1 - (row - firstRow)) * width + column] = colours[shade]!;
    }
  };
  for (const [column, { book }] of columns.entries()) {
    if (book === undefined) continue;
    shades.fill(0);
    paint(column, book.bids, style.palette.bids);
    paint(column, book.asks, style.palette.asks);
  }
  return pictures;
}

/** The largest size of a cell; 0 without books. */
export function largestSize({ columns }: HeatMap): number {
  let largest = 0;
  for (const { book } of columns) {
    for (const { sizes } of book === undefined ? [] : [book.bids, book.asks]) {
      for (const size of sizes) if (size > largest) largest = size;
    }
  }
  return largest;
}

/** The prices that a row is drawn at. */
export function drawnPrices(prices: readonly number[], row: number): Span {
  const shift = prices.length === CENT_ROW_PRICES.length ? HALF_CENT : 0;
  return { from: prices[row]! - shift, to: prices[row]! + stepOf(prices, row) / THOUSAND - shift };
}

/** Rows of the same height that follow each other. */
function rowBandsOf(prices: readonly number[]): RowBand[] {
  const bands: RowBand[] = [];
  for (let firstRow = 0; firstRow < prices.length; ) {
    const step = stepOf(prices, firstRow);
    let end = firstRow + 1;
    while (end < prices.length && stepOf(prices, end) === step) end += 1;
    const [{ from }, { to }] = [drawnPrices(prices, firstRow), drawnPrices(prices, end - 1)];
    bands.push({ firstRow, rows: end - firstRow, from, to });
    firstRow = end;
  }
  return bands;
}

/** The height of a row in thousandths; the last row is as high as the one below. */
function stepOf(prices: readonly number[], row: number): number {
  const lower = Math.min(row, prices.length - 2);
  return Math.round((prices[lower + 1]! - prices[lower]!) * THOUSAND);
}
