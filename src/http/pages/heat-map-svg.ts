import type { HeatMap, HeatMapColumn, SideRows } from '../../domain/heat-map.ts';
import {
  drawnPrices,
  roundedSize,
  runsOf,
  type Shading,
  SIZE_COLOURS,
  shadeOf,
  sizeOfShade,
  sizeRange,
  timeLabel,
} from '../../domain/heat-map-picture.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { Market } from '../../domain/market.ts';
import { midOf } from '../../domain/quote.ts';

export interface Plot {
  readonly title: string;
  readonly map: HeatMap;
  /** The time of the market: what is recorded outside of it does not change the colours. */
  readonly window: Pick<Market, 'startMs' | 'endMs'>;
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly marks?: readonly PlotMark[];
}

/** A triangle at an instant and a price. It points up for a buy; a filled one took, the other one rested. */
export interface PlotMark {
  readonly atMs: InstantMs;
  readonly price: number;
  readonly isBuy: boolean;
  readonly isTaker: boolean;
}

const SIDES = ['bids', 'asks'] as const;
/** In pixels; the cells are scaled to the area. */
export const WIDE = {
  ...{ width: 1240, height: 560, timeLabelsMax: 9, hasTexts: true },
  area: { left: 56, top: 44, width: 1164, height: 456 },
};
type Layout = Readonly<typeof WIDE>;
/** Beside a form: its texts are as large as those of the page. */
export const MEDIUM: Layout = {
  ...{ width: 840, height: 480, timeLabelsMax: 6, hasTexts: true },
  area: { left: 44, top: 40, width: 780, height: 372 },
};
/** For a phone: without a heading and a legend. */
export const NARROW: Layout = {
  ...{ width: 420, height: 340, timeLabelsMax: 4, hasTexts: false },
  area: { left: 34, top: 10, width: 368, height: 280 },
};
/** The width of a colour in the legend, in pixels. */
const COLOUR_WIDTH = 32;

const COLOURS = SIZE_COLOURS.light;
const SHADES = COLOURS.bids.length;

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const TIME_STEPS_MS = [
  ...[1, 10, 100, 500, SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND],
  ...[MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY],
];
const PRICE_LABELS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/**
 * The heat map as a picture: time to the right in UTC, price upwards, bids blue and asks orange, the darker the more shares rest
 * there. Gaps are hatched, and times without a book are grey.
 */
export function heatMapSvg({ title, map, window, fromMs, toMs, marks = [] }: Plot, layout = WIDE): string {
  const { width, height, area, hasTexts } = layout;
  const range = sizeRange({ heatMaps: [map], fromMs: window.startMs, toMs: window.endMs + 1 });
  const shading = range && ({ scale: 'log', shades: SHADES, ...range } as const);
  const shownMs = toMs - fromMs + 1;
  const x = (ms: InstantMs) => area.left + ((ms - fromMs) / shownMs) * area.width;
  const y = (price: number) => area.top + (1 - price) * area.height;
  const columnX = map.columns.map((column) => x(column.fromMs));
  const edges = [...columnX, area.left + area.width];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#1f2328" role="img" aria-labelledby="title">`,
    `<title id="title">${Bun.escapeHTML(title)}</title>`,
    '<defs><pattern id="gap" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" fill="#fff"/><rect width="2" height="7" fill="#57606a"/></pattern></defs>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    hasTexts ? `<text x="${area.left}" y="26" font-size="16" font-weight="600">${Bun.escapeHTML(title)}</text>` : '',
    // Grey remains where there is no book.
    ranges(map.columns, ({ book }) => book !== undefined, edges, area, '#fff', '#eaeef2'),
    ...(shading === undefined ? [] : SIDES.flatMap((side) => cells(map, side, shading, edges, y))),
    ranges(map.columns, ({ hasGap }) => hasGap, edges, area, 'url(#gap)'),
    midpoints(map.columns, edges, y),
    ...[false, true].map((isTaker) => markPath(marks, isTaker, x, y)),
    ...timeAxis(fromMs, toMs, x, layout),
    ...PRICE_LABELS.map((price) => {
      const at = y(price).toFixed(1);
      return `<path d="M${area.left - 5} ${at}h5" stroke="#57606a"/><text x="${area.left - 9}" y="${at}" dy="4" text-anchor="end">${price}</text>`;
    }),
    `<rect x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}" fill="none" stroke="#57606a"/>`,
    ...(hasTexts ? legend(shading, area) : []),
    '</svg>',
  ];
  return `${lines.filter((line) => line !== '').join('\n')}\n`;
}

/** The cells of a side, a path for each colour; cells of one row and colour that follow each other are one rectangle. */
function cells(
  { prices, columns }: HeatMap,
  sideName: 'bids' | 'asks',
  shading: Shading,
  edges: readonly number[],
  y: (price: number) => number,
): string[] {
  const colours = COLOURS[sideName];
  const paths = colours.map(() => '');
  const top = (row: number) => y(Math.min(1, drawnPrices(prices, row).to));
  const bottom = (row: number) => y(Math.max(0, drawnPrices(prices, row).from));
  const open = new Map<number, { shade: number; from: number }>();
  const close = (row: number, to: number) => {
    const { shade: colour, from } = open.get(row)!;
    const [left, width] = [edges[from]!, edges[to]! - edges[from]!];
    paths[colour] +=
      `M${left.toFixed(1)} ${top(row).toFixed(1)}h${width.toFixed(1)}V${bottom(row).toFixed(1)}h-${width.toFixed(1)}z`;
    open.delete(row);
  };
  for (const [i, { book }] of columns.entries()) {
    const side: SideRows | undefined = book?.[sideName];
    const shades = new Map(side?.rows.map((row, nth) => [row, shadeOf(side.sizes[nth]!, shading)]));
    for (const [row, current] of open) if (shades.get(row) !== current.shade) close(row, i);
    for (const [row, colour] of shades) if (!open.has(row)) open.set(row, { shade: colour, from: i });
  }
  for (const row of [...open.keys()]) close(row, columns.length);
  return paths.flatMap((path, i) =>
    path === '' ? [] : [`<path fill="${colours[i]}" shape-rendering="crispEdges" d="${path}"/>`],
  );
}

/** Rectangles of full height over the columns that `accepts`, over a background if one is given. */
function ranges(
  columns: readonly HeatMapColumn[],
  accepts: (column: HeatMapColumn) => boolean,
  edges: readonly number[],
  area: Layout['area'],
  fill: string,
  background?: string,
): string {
  const path = runsOf(columns, accepts)
    .map(([first, end]) => {
      const [left, width] = [edges[first]!.toFixed(1), (edges[end]! - edges[first]!).toFixed(1)];
      return `M${left} ${area.top}h${width}v${area.height}h-${width}z`;
    })
    .join('');
  const behind =
    background === undefined
      ? ''
      : `<rect x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}" fill="${background}"/>`;
  return path === '' ? behind : `${behind}<path fill="${fill}" d="${path}"/>`;
}

/** A line through the midpoints, broken where there is none. */
function midpoints(columns: readonly HeatMapColumn[], edges: readonly number[], y: (price: number) => number): string {
  let path = '';
  let isBroken = true;
  for (const [i, { book }] of columns.entries()) {
    const mid = book && midOf(book);
    if (mid !== undefined) {
      path += `${isBroken ? 'M' : 'L'}${edges[i]!.toFixed(1)} ${y(mid).toFixed(1)}H${edges[i + 1]!.toFixed(1)}`;
    }
    isBroken = mid === undefined;
  }
  if (path === '') return '';
  return `<path fill="none" stroke="#fff" stroke-width="4" d="${path}"/><path fill="none" stroke="#1f2328" stroke-width="1.6" d="${path}"/>`;
}

function markPath(
  marks: readonly PlotMark[],
  isTaker: boolean,
  x: (ms: InstantMs) => number,
  y: (price: number) => number,
): string {
  const shown = marks.filter((mark) => mark.isTaker === isTaker);
  if (shown.length === 0) return '';
  const path = shown.map(({ atMs, price, isBuy }) => {
    const [tip, height] = isBuy ? [-6, 10] : [6, -10];
    return `M${x(atMs).toFixed(1)} ${(y(price) + tip).toFixed(1)}l5 ${height}h-10z`;
  });
  return `<path fill="${isTaker ? '#1f2328' : '#fff'}" stroke="${isTaker ? '#fff' : '#1f2328'}" stroke-width="1.2" d="${path.join('')}"/>`;
}

function timeAxis(
  fromMs: InstantMs,
  toMs: InstantMs,
  x: (ms: InstantMs) => number,
  { area, timeLabelsMax }: Layout,
): string[] {
  const stepMs =
    TIME_STEPS_MS.find((step) => (toMs - fromMs) / step <= timeLabelsMax) ??
    Math.ceil((toMs - fromMs) / timeLabelsMax / DAY) * DAY;
  const lines: string[] = [];
  const bottom = area.top + area.height;
  for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs <= toMs; atMs += stepMs) {
    const at = x(atMs).toFixed(1);
    lines.push(
      `<path d="M${at} ${bottom}v5" stroke="#57606a"/><text x="${at}" y="${bottom + 20}" text-anchor="middle">${timeLabel(atMs, stepMs)}</text>`,
    );
  }
  const days = new Set([fromMs, toMs].map((ms) => formatInstant(ms).slice(0, 10)));
  const shown = `${[...days].join(' to ')}, UTC`;
  lines.push(`<text x="${area.left + area.width / 2}" y="${bottom + 42}" text-anchor="middle">${shown}</text>`);
  return lines;
}

/** Below the picture: its signs at the left, and at the right the colours of both sides, with the sizes at which they begin. */
function legend(shading: Shading | undefined, area: Layout['area']): string[] {
  const [bottom, left] = [area.top + area.height, area.left + area.width - SHADES * COLOUR_WIDTH];
  const sign = (x: number, mark: string, text: string) =>
    `<g transform="translate(${area.left + x} ${bottom + 30})">${mark}<text x="20" y="12">${text}</text></g>`;
  const swatch = (fill: string) => `<rect width="14" height="14" fill="${fill}" stroke="#d0d7de"/>`;
  const lines = [
    sign(0, '<path d="M0 8h14" stroke="#1f2328" stroke-width="1.6"/>', 'midpoint'),
    sign(96, swatch('url(#gap)'), 'gap'),
    sign(156, swatch('#eaeef2'), 'no book'),
  ];
  if (shading === undefined) return lines;
  const written = (x: number, y: number, anchor: string, text: string) =>
    `<text x="${x}" y="${bottom + y}" font-size="11" text-anchor="${anchor}">${text}</text>`;
  for (const [name, colours, top] of [
    ['Bids', COLOURS.bids, 25],
    ['Asks', COLOURS.asks, 36],
  ] as const) {
    lines.push(written(left - 8, top + 8, 'end', name));
    for (const [nth, colour] of colours.entries()) {
      const x = left + nth * COLOUR_WIDTH;
      lines.push(`<rect x="${x}" y="${bottom + top}" width="${COLOUR_WIDTH}" height="8" fill="${colour}"/>`);
    }
  }
  lines.push(written(left - 8, 56, 'end', 'Shares'));
  for (let shade = 1; shade < SHADES; shade += 1) {
    lines.push(written(left + shade * COLOUR_WIDTH, 56, 'middle', sizeText(shade, shading)));
  }
  return lines;
}

/** The size at which a shade begins. */
function sizeText(shade: number, shading: Shading): string {
  return roundedSize(sizeOfShade(shade, shading));
}
