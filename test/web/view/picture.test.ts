import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { CENT_ROW_PRICES, FINE_ROW_PRICES, type HeatMap } from '../../../src/domain/heat-map.ts';
import { drawnPrices, largestSize, picturedBands } from '../../../src/web/browser/view/map-picture.ts';
import { cssColour, paletteOf, SHADES, shadeOf, sizeOfShade } from '../../../src/web/browser/view/palette.ts';
import { clamped, moved, wholeSpan, zoomed } from '../../../src/web/browser/view/span.ts';
import { timeTicks, valueTicks } from '../../../src/web/browser/view/ticks.ts';

const START_MS = Date.UTC(2026, 0, 8, 10, 30);
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
    for (const largest of [1, 37.5, 12_000, 3e7]) {
      for (let shade = 1; shade < SHADES; shade += 1) {
        const size = sizeOfShade(shade, largest, scale);
        expect(shadeOf(size * (1 + 1e-9), largest, scale)).toBe(shade);
        expect(shadeOf(size * (1 - 1e-9), largest, scale)).toBe(shade - 1);
      }
      expect(shadeOf(largest * 1e-9, largest, scale)).toBe(0);
      expect(shadeOf(largest, largest, scale)).toBe(SHADES - 1);
      expect(shadeOf(largest * 9, largest, scale)).toBe(SHADES - 1);
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
    const style = { palette, scale: 'sqrt', largest: largestSize(map) } as const;
    expect(style.largest).toBe(prices.length);
    const bands = picturedBands(map, style);
    expect(bands).toHaveLength(count);
    for (const row of rows) {
      const { from, to } = drawnPrices(prices, row);
      const middle = (from + to) / 2;
      const band = bands.find(({ prices: drawn }) => drawn.from < middle && middle < drawn.to)!;
      const y = Math.floor(((band.prices.to - middle) / (band.prices.to - band.prices.from)) * band.height);
      expect(band.pixels[y * band.width + 1]).toBe(palette.bids[shadeOf(row + 1, style.largest, 'sqrt')]!);
      expect(band.pixels[y * band.width]).toBe(0);
    }
  });

  test('In a cell with bids and asks the larger size is shown, and colours begin at a thousandth of the market’s largest.', () => {
    const map = mapOf(CENT_ROW_PRICES, [book([40, 30], [100, 1], [30, 40])]);
    const [band] = picturedBands(map, { palette, scale: 'log', largest: 100 });
    const at = (row: number) => band!.pixels[100 - row];
    expect(at(40)).toBe(palette.bids[SHADES - 1]!);
    expect(at(30)).toBe(palette.asks[shadeOf(50, 100, 'log')]!);
  });

  test('of columns without books is empty', () => {
    const map = mapOf(CENT_ROW_PRICES, [undefined, undefined]);
    expect(largestSize(map)).toBe(0);
    const [band] = picturedBands(map, { palette, scale: 'log', largest: 0 });
    expect(band!.pixels.every((pixel) => pixel === 0)).toBe(true);
  });
});

describe('ticks', () => {
  test.each([
    [{ from: START_MS, to: START_MS + 300_000 }, 6, ['10:30', '10:31', '10:32', '10:33', '10:34', '10:35']],
    [{ from: START_MS + 1, to: START_MS + 45_000 }, 5, ['10:30:10', '10:30:20', '10:30:30', '10:30:40']],
    [{ from: START_MS, to: START_MS + 20 }, 4, ['10:30:00.000', '10:30:00.005', '10:30:00.010', '10:30:00.015']],
    [{ from: START_MS, to: START_MS + 4 * 86_400_000 }, 4, ['2026-01-09', '2026-01-10', '2026-01-11', '2026-01-12']],
  ])('of time are whole parts of the day, in UTC', (span, most, texts) => {
    expect(
      timeTicks(span, most)
        .map(({ text }) => text)
        .slice(0, texts.length),
    ).toEqual(texts);
  });

  test.each([
    [{ from: 0, to: 1 }, 5, ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']],
    [{ from: 0.451, to: 0.482 }, 4, ['0.46', '0.47', '0.48']],
    [{ from: 91_230, to: 91_310 }, 4, ['91240', '91260', '91280', '91300']],
    [{ from: -0.5, to: 0.5 }, 2, ['-0.5', '0.0', '0.5']],
  ])('of values are round', (span, most, texts) => {
    expect(valueTicks(span, most).map(({ text }) => text)).toEqual(texts);
  });
});
