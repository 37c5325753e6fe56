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

/** The sizes of the first shade and of the last one. Smaller and larger ones have these shades too. */
export interface SizeRange {
  readonly low: number;
  readonly high: number;
}

export interface Shading extends SizeRange {
  readonly scale: SizeScale;
  /** The number of shades of a side. */
  readonly shades: number;
}

/** From all sizes (0) to the middle ones only (100). */
export const CONTRAST = { least: 0, usual: 50, most: 100 } as const;

/** The shade of a size, 0 … shades - 1: its place between `low` and `high` by logarithm or by square root. */
export function shadeOf(size: number, { scale, shades, low, high }: Shading): number {
  const part =
    scale === 'log'
      ? Math.log(size / low) / Math.log(high / low)
      : (Math.sqrt(size) - Math.sqrt(low)) / (Math.sqrt(high) - Math.sqrt(low));
  // With one size only, the part is no number.
  return part > 0 ? Math.min(shades - 1, Math.floor(part * shades)) : size >= high ? shades - 1 : 0;
}

/** The size at which a shade begins: the inverse of `shadeOf`. */
export function sizeOfShade(shade: number, { scale, shades, low, high }: Shading): number {
  const part = shade / shades;
  if (scale === 'log') return low * (high / low) ** part;
  return (Math.sqrt(low) + part * (Math.sqrt(high) - Math.sqrt(low))) ** 2;
}

/** Heat maps of one picture, and the cells of them that count. */
interface RangedCells {
  readonly heatMaps: readonly HeatMap[];
  /** Columns that begin from `fromMs` on and before `toMs`. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** Rows from one price to another, both inclusive; left out: all. */
  readonly prices?: { readonly from: number; readonly to: number };
}

/**
 * The sizes between which shades differ: with the usual contrast the 5th and the 99th percentile of the cells that count; of all cells if
 * none of these has shares. Otherwise the few huge orders of a market that is decided would leave one shade to all others. Undefined
 * without books.
 */
export function sizeRange(cells: RangedCells, contrast: number = CONTRAST.usual): SizeRange | undefined {
  const counted = sizesOf(cells);
  const sizes = counted.length > 0 ? counted : sizesOf({ ...ALL_CELLS, heatMaps: cells.heatMaps });
  if (sizes.length === 0) return undefined;
  sizes.sort();
  const cut = contrast / 1000;
  const at = (part: number) => sizes[Math.round(part * (sizes.length - 1))]!;
  return { low: at(cut), high: at(1 - cut / 5) };
}

const ALL_PRICES = { from: 0, to: 1 };
const ALL_CELLS = { fromMs: -Infinity, toMs: Infinity, prices: ALL_PRICES };

function sizesOf({ heatMaps, fromMs, toMs, prices: shown = ALL_PRICES }: RangedCells): Float64Array {
  const sizes: number[] = [];
  for (const { prices, columns } of heatMaps) {
    for (const { fromMs: beginMs, book } of columns) {
      if (book === undefined || beginMs < fromMs || beginMs >= toMs) continue;
      for (const side of [book.bids, book.asks]) {
        for (const [nth, row] of side.rows.entries()) {
          if (prices[row]! >= shown.from && prices[row]! <= shown.to) sizes.push(side.sizes[nth]!);
        }
      }
    }
  }
  return Float64Array.from(sizes);
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
