import type { SizeScale } from './view-choices.ts';

/** The colours of sizes, from the smallest to the largest: each is 0xAABBGGRR, the form of a pixel in a picture. */
export interface Palette {
  readonly bids: Uint32Array<ArrayBuffer>;
  readonly asks: Uint32Array<ArrayBuffer>;
}

/** Blues and Oranges of ColorBrewer: persons of any colour vision tell them apart. Light pages have dark walls, and dark pages light ones. */
const LIGHT = {
  bids: ['#e3edf8', '#c6dbef', '#9ecae1', '#6baed6', '#4292c6', '#2171b5', '#08519c', '#08306b'],
  asks: ['#fdead7', '#fdd0a2', '#fdae6b', '#fd8d3c', '#f16913', '#d94801', '#a63603', '#7f2704'],
};
const DARK = {
  bids: ['#10233c', '#143458', '#18497d', '#1f63a8', '#3182cf', '#5ba6e6', '#98caf5', '#dcefff'],
  asks: ['#33200f', '#4d2c10', '#6f3c10', '#97500f', '#c56a14', '#ea8c2f', '#fbb870', '#ffe6c7'],
};

/** Number of colours of a side. */
export const SHADES = 64;

export function paletteOf(scheme: 'light' | 'dark'): Palette {
  const { bids, asks } = scheme === 'light' ? LIGHT : DARK;
  return { bids: shadesBetween(bids), asks: shadesBetween(asks) };
}

/** By logarithm, the first colour is for sizes from a thousandth of the largest one. */
const LOG_DECADES = 3;

/** The shade of a size, 0 … SHADES - 1. Sizes above `largest` have the last one, and very small ones the first. */
export function shadeOf(size: number, largest: number, scale: SizeScale): number {
  const part = scale === 'log' ? 1 + Math.log10(size / largest) / LOG_DECADES : Math.sqrt(size / largest);
  return Math.max(0, Math.min(SHADES - 1, Math.floor(part * SHADES)));
}

/** The size at which a shade begins: the inverse of `shadeOf`. */
export function sizeOfShade(shade: number, largest: number, scale: SizeScale): number {
  const part = shade / SHADES;
  return scale === 'log' ? largest * 10 ** ((part - 1) * LOG_DECADES) : part ** 2 * largest;
}

/** A pixel as CSS writes it. */
export function cssColour(pixel: number): string {
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
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
