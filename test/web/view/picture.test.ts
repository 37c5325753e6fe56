import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { FINE_ROW_PRICES } from '../../../src/domain/fine-rows.ts';
import { CENT_ROW_PRICES, type HeatMap } from '../../../src/domain/heat-map.ts';
import {
  drawnPrices,
  roundedSize,
  runsOf,
  shadeOf,
  sizeOfShade,
  sizeRange,
  timeLabel,
} from '../../../src/domain/heat-map-picture.ts';
import { cssColour, paletteOf, picturedBands, SHADES } from '../../../src/web/browser/view/heat-map-cells.ts';
import { imbalanceLines, midLines, spreadLines } from '../../../src/web/browser/view/plot-lines.ts';
import { spreadName, spreadRange } from '../../../src/web/browser/view/quote-strips.ts';
import { clamped, moved, wholeSpan, zoomed } from '../../../src/web/browser/view/span.ts';

const START_MS = Date.UTC(2026, 0, 8, 10, 30);

test('The scale of spreads ends where 98 % of the columns do, at least at 0.02, and begins below 0 where books are crossed.', () => {
  const columns = (spread: number, count: number) => Array.from({ length: count }, () => spread);
  // A wide book flattens no others.
  expect(spreadRange([...columns(0.03, 98), ...columns(0.39, 2)])).toEqual([0, 0.03]);
  expect(spreadRange([...columns(0.39, 3), ...columns(0.03, 97), null, undefined])).toEqual([0, 0.39]);
  expect(spreadRange([0.01, -0.02, 0.07])).toEqual([-0.02, 0.07]);
  expect([spreadRange([]), spreadRange([0.01])]).toEqual([
    [0, 0.02],
    [0, 0.02],
  ]);
});

test('The name of the spreads says where they are cut, if a column has a wider one.', () => {
  expect(spreadName(0.03, [null, 0.01, 0.39, undefined])).toBe('Spread, cut at 0.03');
  expect(spreadName(0.03, [null, 0.01, 0.03, undefined])).toBe('Spread');
});
const SCALES = ['log', 'sqrt'] as const;

describe('a span of an axis', () => {
  const limits = { from: 100, to: 1100, shortest: 10 };
  const span = fc
    .tuple(fc.double({ min: 100, max: 1100, noNaN: true }), fc.double({ min: 1, max: 1000, noNaN: true }))
    .map(([from, length]) => clamped({ from, to: from + length }, limits));

  test('stays within its limits, and no shorter than the shortest, however it is moved and zoomed', () => {
    fc.assert(
      fc.property(
        span,
        fc.double({ min: -5000, max: 5000, noNaN: true }),
        fc.double({ min: 0.001, max: 1000, noNaN: true }),
        (given, by, factor) => {
          for (const { from, to } of [moved(given, by, limits), zoomed(given, factor, given.from + 3, limits)]) {
            expect(from).toBeGreaterThanOrEqual(limits.from - 1e-6);
            expect(to).toBeLessThanOrEqual(limits.to + 1e-6);
            expect(to - from).toBeGreaterThanOrEqual(limits.shortest - 1e-6);
          }
        },
      ),
    );
  });

  test('keeps the place of the instant under the pointer when it is zoomed', () => {
    expect(zoomed({ from: 400, to: 600 }, 0.5, 450, limits)).toEqual({ from: 425, to: 525 });
    expect(zoomed({ from: 400, to: 600 }, 2, 500, limits)).toEqual({ from: 300, to: 700 });
    expect(zoomed({ from: 400, to: 600 }, 100, 500, limits)).toEqual({ from: 100, to: 1100 });
    expect(moved({ from: 400, to: 600 }, 9000, limits)).toEqual({ from: 900, to: 1100 });
    expect(wholeSpan({ from: 1.4, to: 1.4 })).toEqual({ from: 1, to: 2 });
  });
});

describe('colours of sizes', () => {
  test.each(SCALES)('are darker for larger sizes, and begin where the legend says (%s)', (scale) => {
    for (const high of [1, 37.5, 12_000, 3e7]) {
      const low = high / 700;
      const shading = { scale, shades: SHADES, low, high };
      for (let shade = 1; shade < SHADES; shade += 1) {
        const size = sizeOfShade(shade, shading);
        expect(shadeOf(size * (1 + 1e-9), shading)).toBe(shade);
        expect(shadeOf(size * (1 - 1e-9), shading)).toBe(shade - 1);
      }
      for (const size of [low, low * 1e-9]) expect(shadeOf(size, shading)).toBe(0);
      for (const size of [high, high * 9]) expect(shadeOf(size, shading)).toBe(SHADES - 1);
      const one = { scale, shades: SHADES, low: high, high };
      expect([high / 2, high, high * 2].map((size) => shadeOf(size, one))).toEqual([0, SHADES - 1, SHADES - 1]);
    }
  });

  test('differ between bids and asks, and all shades of a side are different', () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { bids, asks } = paletteOf(scheme);
      expect(new Set([...bids, ...asks]).size).toBe(2 * SHADES);
      // Blue is the strongest part of bids, red of asks: colour blindness takes neither difference away.
      for (const pixel of bids) expect((pixel >> 16) & 255).toBeGreaterThan(pixel & 255);
      for (const pixel of asks) expect(pixel & 255).toBeGreaterThan((pixel >> 16) & 255);
    }
    expect(cssColour(paletteOf('light').bids[0]!)).toBe('rgb(227 237 248)');
  });
});

describe('the picture of a heat map', () => {
  const book = (rows: readonly number[], sizes: readonly number[], askRows: readonly number[] = []) => ({
    id: 1,
    timestampMs: START_MS,
    bidPrice: undefined,
    askPrice: undefined,
    bids: { rows, sizes },
    asks: { rows: askRows, sizes: askRows.map(() => 50) },
  });
  const mapOf = (prices: readonly number[], books: readonly (ReturnType<typeof book> | undefined)[]): HeatMap => ({
    prices,
    columns: books.map((shown, i) => ({ fromMs: START_MS + i, toMs: START_MS + i, hasGap: false, book: shown })),
  });
  const palette = paletteOf('light');

  test.each([
    ['cents', CENT_ROW_PRICES, 1],
    ['finer prices', FINE_ROW_PRICES, 3],
  ] as const)('has each cell of %s where its row is drawn', (_, prices, count) => {
    const rows = prices.map((_, row) => row);
    const sizes = rows.map((row) => row + 1);
    const map = mapOf(prices, [undefined, book(rows, sizes)]);
    const range = sizeRange({ heatMaps: [map], fromMs: 0, toMs: Infinity }, 0)!;
    expect(range).toEqual({ low: 1, high: prices.length });
    const shading = { scale: 'sqrt', shades: SHADES, ...range } as const;
    const bands = picturedBands(map, palette, shading);
    expect(bands).toHaveLength(count);
    for (const row of rows) {
      const { from, to } = drawnPrices(prices, row);
      const middle = (from + to) / 2;
      const band = bands.find(({ prices: drawn }) => drawn.from < middle && middle < drawn.to)!;
      const y = Math.floor(((band.prices.to - middle) / (band.prices.to - band.prices.from)) * band.height);
      expect(band.pixels[y * band.width + 1]).toBe(palette.bids[shadeOf(row + 1, shading)]!);
      expect(band.pixels[y * band.width]).toBe(0);
    }
  });

  test('In a cell with bids and asks the larger size is shown.', () => {
    const map = mapOf(CENT_ROW_PRICES, [book([40, 30], [100, 1], [30, 40])]);
    const shading = { scale: 'log', shades: SHADES, low: 1, high: 100 } as const;
    const [band] = picturedBands(map, palette, shading);
    const at = (row: number) => band!.pixels[100 - row];
    expect(at(40)).toBe(palette.bids[SHADES - 1]!);
    expect(at(30)).toBe(palette.asks[shadeOf(50, shading)]!);
  });

  test('of columns without books is empty', () => {
    const map = mapOf(CENT_ROW_PRICES, [undefined, undefined]);
    expect(sizeRange({ heatMaps: [map], fromMs: 0, toMs: Infinity })).toBeUndefined();
    const [band] = picturedBands(map, palette, { scale: 'log', shades: SHADES, low: 1, high: 1 });
    expect(band!.pixels.every((pixel) => pixel === 0)).toBe(true);
  });
});

describe('the range of the colours', () => {
  const column = (fromMs: number, sizes: readonly number[], row = 50) => ({
    fromMs,
    toMs: fromMs,
    hasGap: false,
    book: {
      ...{ id: 1, timestampMs: fromMs, bidPrice: undefined, askPrice: undefined },
      bids: { rows: sizes.map(() => row), sizes },
      asks: { rows: [], sizes: [] },
    },
  });
  const range = (columns: HeatMap['columns'], part: object = {}, contrast = 50) =>
    sizeRange({ heatMaps: [{ prices: CENT_ROW_PRICES, columns }], fromMs: 0, toMs: 100, ...part }, contrast);

  test('is the 5th to the 99th percentile of the sorted sizes, wider with less contrast and narrower with more', () => {
    const sizes = fc.array(fc.double({ min: 1e-6, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 0, max: 100 }), (all, contrast) => {
        const sorted = all.toSorted((a, b) => a - b);
        const at = (part: number) => sorted[Math.round(part * (sorted.length - 1))]!;
        const [first, ...rest] = all;
        const expected = { low: at(contrast / 1000), high: at(1 - contrast / 5000) };
        expect(range([column(1, [first!]), column(2, rest)], {}, contrast)).toEqual(expected);
      }),
    );
    expect(
      range([
        column(
          1,
          Array.from({ length: 101 }, (_, i) => i),
        ),
      ]),
    ).toEqual({ low: 5, high: 99 });
  });

  test('is of the cells within the time and the prices, and of all where these have none', () => {
    const columns = [column(10, [1, 2]), column(20, [5], 90), column(100, [1e6, 1e6, 1e6])];
    expect(range(columns)).toEqual({ low: 1, high: 5 });
    expect(range(columns, { prices: { from: 0.4, to: 0.6 } })).toEqual({ low: 1, high: 2 });
    expect(range(columns, { fromMs: 30 })).toEqual({ low: 1, high: 1e6 });
  });
});

describe('labels of a picture', () => {
  test.each([
    [60_000, '10:30'],
    [10_000, '10:30:00'],
    [5, '10:30:00.000'],
    [86_400_000, '2026-01-08'],
  ])('of instants have as many parts as a step of %d ms needs', (stepMs, label) => {
    expect(timeLabel(START_MS, stepMs)).toBe(label);
  });

  test('of sizes have two digits', () => {
    expect([0.0123, 7, 129, 1249, 35_100_000].map(roundedSize)).toEqual(['0.012', '7', '130', '1.2k', '35M']);
  });
});

describe('lines over a heat map', () => {
  const column = (nth: number, prices?: readonly [number, number], sizes: readonly [number, number] = [3, 1]) => ({
    fromMs: nth * 10,
    toMs: nth * 10 + 9,
    hasGap: false,
    book: prices && {
      ...{ id: nth, timestampMs: nth * 10, bidPrice: prices[0], askPrice: prices[1] },
      bids: { rows: [Math.round(prices[0] * 100)], sizes: [sizes[0]] },
      asks: { rows: [Math.round(prices[1] * 100)], sizes: [sizes[1]] },
    },
  });
  const columns = [column(0, [0.4, 0.5]), column(1), column(2, [0.6, 0.5], [1, 3])];
  const map = { prices: CENT_ROW_PRICES, columns };
  const times = [0, 9.999, 10, 19.999, 20, 29.999];

  test('have the value of each column from its start to its end, and gaps', () => {
    expect(midLines(map)).toEqual([times, [0.45, 0.45, null, null, 0.55, 0.55]]);
    expect(midLines(undefined)).toEqual([[], []]);
    expect(spreadLines(map)).toEqual([times, [0.1, 0.1, null, null, -0.1, -0.1]]);
    expect(imbalanceLines(map)).toEqual([
      times,
      [0.5, 0.5, null, null, null, null],
      [null, null, null, null, -0.5, -0.5],
    ]);
    expect(runsOf(columns, ({ book }) => book !== undefined)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });
});
