import { CENT_ROW_PRICES, type HeatMap, type HeatMapColumn } from './heat-map.ts';
import type { InstantMs } from './instant.ts';

/** The colours of a side's sizes, from the smallest to the largest, as CSS writes them. */
export interface SideColours {
  readonly bids: readonly string[];
  readonly asks: readonly string[];
}

/** ColorBrewer's Blues and Oranges, which people with any colour vision can tell apart. The largest sizes differ most from the page. */
export const SIZE_COLOURS: Readonly<Record<'light' | 'dark', SideColours>> = {
  light: {
    bids: ['#e3edf8', '#c6dbef', '#9ecae1', '#6baed6', '#4292c6', '#2171b5', '#08519c', '#08306b'],
    asks: ['#fdead7', '#fdd0a2', '#fdae6b', '#fd8d3c', '#f16913', '#d94801', '#a63603', '#7f2704'],
  },
  dark: {
    bids: ['#10233c', '#143458', '#18497d', '#1f63a8', '#3182cf', '#5ba6e6', '#98caf5', '#dcefff'],
    asks: ['#33200f', '#4d2c10', '#6f3c10', '#97500f', '#c56a14', '#ea8c2f', '#fbb870', '#ffe6c7'],
  },
};

/** The ways in which sizes become shades. */
export const SIZE_SCALES = ['log', 'sqrt'] as const;
export type SizeScale = (typeof SIZE_SCALES)[number];

/** The shades of a picture. */
export interface Shading {
  readonly scale: SizeScale;
  /** The number of shades of a side. */
  readonly shades: number;
  /** The size that has the last shade. */
  readonly largest: number;
}

/** On the logarithmic scale, the first shade begins at a thousandth of the largest size. */
const LOG_DECADES = 3;

/** The shade of a size, 0 … shades - 1. Sizes above the largest have the last one, and very small ones the first. */
export function shadeOf(size: number, { scale, shades, largest }: Shading): number {
  const part = scale === 'log' ? 1 + Math.log10(size / largest) / LOG_DECADES : Math.sqrt(size / largest);
  return Math.max(0, Math.min(shades - 1, Math.floor(part * shades)));
}

/** The size at which a shade begins: the inverse of `shadeOf`. */
export function sizeOfShade(shade: number, { scale, shades, largest }: Shading): number {
  const part = shade / shades;
  return scale === 'log' ? largest * 10 ** ((part - 1) * LOG_DECADES) : part ** 2 * largest;
}

/** The largest size of a cell; 0 without books. */
export function largestSize({ columns }: Pick<HeatMap, 'columns'>): number {
  let largest = 0;
  for (const { book } of columns) {
    for (const { sizes } of book === undefined ? [] : [book.bids, book.asks]) {
      for (const size of sizes) if (size > largest) largest = size;
    }
  }
  return largest;
}

/** The height of a row: the last row is as high as the one below it. */
export function rowHeight(prices: readonly number[], row: number): number {
  const lower = Math.min(row, prices.length - 2);
  // Whole thousandths: a difference of two prices is not exact.
  return Math.round((prices[lower + 1]! - prices[lower]!) * THOUSAND) / THOUSAND;
}

/** The prices that a row is drawn at. A row of whole cents has one price and is drawn around it; a finer row begins with its lowest price. */
export function drawnPrices(prices: readonly number[], row: number): { readonly from: number; readonly to: number } {
  const shift = prices.length === CENT_ROW_PRICES.length ? HALF_CENT : 0;
  return { from: prices[row]! - shift, to: prices[row]! + rowHeight(prices, row) - shift };
}

const HALF_CENT = 0.005;

/** The runs of consecutive columns that `accepts` is true for: the index of the first column, and of the one after the last. */
export function runsOf(
  columns: readonly HeatMapColumn[],
  accepts: (column: HeatMapColumn) => boolean,
): (readonly [first: number, end: number])[] {
  const runs: (readonly [number, number])[] = [];
  for (let first = 0; first < columns.length; first += 1) {
    if (!accepts(columns[first]!)) continue;
    let end = first + 1;
    while (end < columns.length && accepts(columns[end]!)) end += 1;
    runs.push([first, end]);
    first = end;
  }
  return runs;
}

const [SECOND, MINUTE, DAY] = [1000, 60_000, 86_400_000];

/** The label of an instant on a time axis: the day, or the time of day in UTC with as many parts as the step needs. */
export function timeLabel(atMs: InstantMs, stepMs: number): string {
  const text = new Date(atMs).toISOString();
  if (stepMs >= DAY) return text.slice(0, 10);
  return text.slice(11, stepMs >= MINUTE ? 16 : stepMs >= SECOND ? 19 : 23);
}

const [THOUSAND, MILLION] = [1000, 1e6];
const ROUNDED = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });

/** A size in a legend: two digits, `1.2k`, `35M`. */
export function roundedSize(size: number): string {
  if (size >= MILLION) return `${ROUNDED.format(size / MILLION)}M`;
  return size >= THOUSAND ? `${ROUNDED.format(size / THOUSAND)}k` : ROUNDED.format(size);
}
