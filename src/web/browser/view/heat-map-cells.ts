import type { HeatMap, SideRows } from '../../../domain/heat-map.ts';
import { drawnPrices, rowHeight, type Shading, SIZE_COLOURS, shadeOf } from '../../../domain/heat-map-picture.ts';
import type { Span } from './span.ts';

/** The colours of shades, from the smallest size to the largest: each is 0xAABBGGRR, the form of a pixel in a picture. */
export interface Palette {
  readonly bids: Uint32Array<ArrayBuffer>;
  readonly asks: Uint32Array<ArrayBuffer>;
}

/** The number of shades of a side. */
export const SHADES = 64;

export function paletteOf(scheme: 'light' | 'dark'): Palette {
  const { bids, asks } = SIZE_COLOURS[scheme];
  return { bids: shadesBetween(bids), asks: shadesBetween(asks) };
}

/** Writes a pixel as CSS does. */
export function cssColour(pixel: number): string {
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

/** Rows of equal height as a picture: one pixel for each cell, the highest price at the top. Cells without shares are transparent. */
interface PictureBand {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
  /** The prices from its bottom to its top. */
  readonly prices: Span;
}

/** Draws the cells of a heat map, in one picture for each band of equally high rows. In a cell with bids and asks, the larger size is shown. */
export function picturedBands({ prices, columns }: HeatMap, palette: Palette, shading: Shading): PictureBand[] {
  const bands = rowBandsOf(prices);
  const bandOfRow = bands.flatMap((band, nth) => new Array<number>(band.rows).fill(nth));
  const width = columns.length;
  const pictures = bands.map(({ rows, from, to }) => {
    return { width, height: rows, pixels: new Uint32Array(width * rows), prices: { from, to } };
  });
  const shades = new Uint8Array(prices.length);
  const paint = (column: number, { rows, sizes }: SideRows, colours: Uint32Array) => {
    for (const [nth, row] of rows.entries()) {
      const shade = shadeOf(sizes[nth]!, shading);
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
    paint(column, book.bids, palette.bids);
    paint(column, book.asks, palette.asks);
  }
  return pictures;
}

interface RowBand extends Span {
  readonly firstRow: number;
  readonly rows: number;
}

/** Rows of the same height that follow each other. */
function rowBandsOf(prices: readonly number[]): RowBand[] {
  const bands: RowBand[] = [];
  for (let firstRow = 0; firstRow < prices.length; ) {
    const height = rowHeight(prices, firstRow);
    let end = firstRow + 1;
    while (end < prices.length && rowHeight(prices, end) === height) end += 1;
    const [{ from }, { to }] = [drawnPrices(prices, firstRow), drawnPrices(prices, end - 1)];
    bands.push({ firstRow, rows: end - firstRow, from, to });
    firstRow = end;
  }
  return bands;
}

function shadesBetween(stops: readonly string[]): Uint32Array<ArrayBuffer> {
  const parts = stops.map((stop) => [1, 3, 5].map((at) => Number.parseInt(stop.slice(at, at + 2), 16)));
  return Uint32Array.from({ length: SHADES }, (_, shade) => {
    const place = (shade / (SHADES - 1)) * (stops.length - 1);
    const lower = Math.min(Math.floor(place), stops.length - 2);
    const [red = 0, green = 0, blue = 0] = parts[lower]!.map((from, part) =>
      Math.round(from + (parts[lower + 1]![part]! - from) * (place - lower)),
    );
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}
