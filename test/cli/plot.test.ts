import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { importRecords, NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { expectedGrid, type OracleGap, type OracleSnapshot } from '../support/heat-map-oracle.ts';
import { randomBooks } from '../support/random-books.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const SLUG = 'btc-updown-5m-1776323400';
const NO_BOOKS = { conditionId: `0x${'0b'.repeat(32)}`, slug: 'no-books', clobTokenIds: ['31', '32'] };
const BLUES = ['#e3edf8', '#c6dbef', '#9ecae1', '#6baed6', '#4292c6', '#2171b5', '#08519c', '#08306b'];
const ORANGES = ['#fdead7', '#fdd0a2', '#fdae6b', '#fd8d3c', '#f16913', '#d94801', '#a63603', '#7f2704'];
const [LEFT, TOP, WIDTH, HEIGHT] = [56, 44, 1164, 456];

/** The shade of a size between two others, by logarithm. */
const eighthBetween = (low: number, high: number) => (size: number) =>
  Math.min(7, Math.max(0, Math.floor((8 * Math.log(size / low)) / Math.log(high / low))));
const levels = (prices: readonly number[], sizes: readonly number[]) =>
  prices.map((price, i) => ({ price, size: sizes[i]! }));
const snapshotOf = (book: OrderBook, outcome: string, atMs: number) => ({
  type: 'snapshot',
  conditionId: CONDITION_ID,
  outcome,
  timestamp: START_MS + atMs,
  bids: levels(book.bidPrices, book.bidSizes),
  asks: levels(book.askPrices, book.askSizes),
});

let held: TemporaryArchive;
beforeAll(async () => {
  held = temporaryArchive();
  const styles = { up: 2, down: 4 } as const;
  const books = (['up', 'down'] as const).flatMap((outcome) =>
    randomBooks(7, 120, { priceScale: styles[outcome], sizes: 'cents', levelsMax: 25, changesMax: 6 }).map(
      (book, nth) => snapshotOf(book, outcome, 5000 + nth * 2300),
    ),
  );
  const report = await importRecords(held.archive, [sampleMarket(), ...books, sampleGap(), sampleMarket(NO_BOOKS)]);
  expect(report.total.rejected).toBe(0);
});
afterAll(() => held[Symbol.dispose]());

async function plotted(...words: string[]) {
  const terminal = captured(() => NOW_MS);
  const code = await run(['plot', ...words, '--data', held.path], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

/** The rectangles of each fill: left, top, right, bottom. */
function rectanglesOf(svg: string): Map<string, number[][]> {
  const found = new Map<string, number[][]>();
  for (const [, fill, path] of svg.matchAll(/<path fill="([^"]+)"[^>]* d="([^"]+)"/g)) {
    const rectangles = [...path!.matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)(?:V([\d.]+)|v([\d.]+))/g)].map(
      ([, x, y, width, bottom, height]) => [
        Number(x),
        Number(y),
        Number(x) + Number(width),
        bottom === undefined ? Number(y) + Number(height) : Number(bottom),
      ],
    );
    found.set(fill!, [...(found.get(fill!) ?? []), ...rectangles]);
  }
  return found;
}

describe('bookreel plot', () => {
  test.each([
    ['up', 60],
    ['down', 37],
    ['down', 1],
  ] as const)(
    'The colours go by logarithm from the 5th to the 99th percentile of the sizes. (%s in %d columns)',
    async (outcome, columns) => {
      const service = serviceOf(held.archive, held.registry);
      const dataOf = async <T>(path: string) =>
        ((await (await service.get(`/btc/markets/${CONDITION_ID}${path}`)).json()) as { data: T }).data;
      const snapshots = await dataOf<OracleSnapshot[]>(`/snapshots?limit=1000&outcome=${outcome}`);
      const { gaps } = await dataOf<{ gaps: OracleGap[] }>('/coverage');
      const window = { fromMs: START_MS, toMs: START_MS + 300_000, columns };
      const grid = expectedGrid(snapshots, gaps, window);
      const { code, stdout: svg } = await plotted(SLUG, '--outcome', outcome, '--columns', String(columns));
      expect(code).toBe(0);
      const rectangles = rectanglesOf(svg);
      const covers = (fill: string, x: number, y: number) =>
        (rectangles.get(fill) ?? []).some(
          ([left, top, right, bottom]) => x > left! && x < right! && y > top! && y < bottom!,
        );
      const sizesOfAll = grid.columns
        .flatMap(({ bidSizes, askSizes }) => [...bidSizes, ...askSizes])
        .toSorted((a, b) => a - b);
      const sizeAt = (part: number) => sizesOfAll[Math.round(part * (sizesOfAll.length - 1))]!;
      const shadeOf = eighthBetween(sizeAt(0.05), sizeAt(0.99));
      const isFine = grid.prices.length > 101;
      let cells = 0;
      for (const [i, column] of grid.columns.entries()) {
        const x = LEFT + ((i + 0.5) / grid.columns.length) * WIDTH;
        expect(covers('url(#gap)', x, TOP + 1)).toBe(column.gap);
        expect(covers('#fff', x, TOP + 1)).toBe(column.id !== null);
        for (const [colours, rows, sizes] of [
          [BLUES, column.bidRows, column.bidSizes],
          [ORANGES, column.askRows, column.askSizes],
        ] as const) {
          for (const [row, price] of grid.prices.entries()) {
            const next = grid.prices[row + 1] ?? 1.01;
            // Rows of whole cents are around their price.
            const middle = isFine
              ? (price + Math.min(next, 1)) / 2
              : Math.min(1, Math.max(0, price)) + (price === 0 ? 0.002 : price === 1 ? -0.002 : 0);
            if (isFine && price === 1) continue;
            const y = TOP + (1 - middle) * HEIGHT;
            const at = rows.indexOf(row);
            const shade = at < 0 ? undefined : shadeOf(sizes[at]!);
            const drawn = colours.flatMap((colour, nth) => (covers(colour, x, y) ? [nth] : []));
            expect(drawn).toEqual(shade === undefined ? [] : [shade]);
            cells += drawn.length;
          }
        }
      }
      expect(cells).toBeGreaterThan(0);
      expect(grid.columns.some(({ gap }) => gap)).toBe(true);
    },
  );

  test('is well-formed, labelled in UTC, and needs nothing else', async () => {
    const { stdout: svg } = await plotted(SLUG);
    const texts = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    expect(texts).toEqual(
      expect.arrayContaining([
        `${SLUG}, up`,
        '07:10',
        '07:11',
        '07:15',
        '2026-04-16, UTC',
        '0.5',
        'midpoint',
        'gap',
        'no book',
      ]),
    );
    expect(svg).not.toMatch(/<script|href=|style=|NaN|undefined|Infinity/);
    // Every element is closed.
    const open: string[] = [];
    for (const [, closing, name, self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (closing === '/') expect(open.pop()).toBe(name);
      else if (self === '') open.push(name!);
    }
    expect(open).toEqual([]);
  });

  test('of more than one day states the first and the last one', async () => {
    const { stdout: svg } = await plotted(SLUG, '--from', '2026-04-15T20:00:00Z');
    expect(svg).toContain('>2026-04-15 to 2026-04-16, UTC</text>');
    expect(svg).toContain('>00:00</text>');
  });

  test('draws a market without books as one without books', async () => {
    const { code, stdout: svg } = await plotted('no-books');
    expect(code).toBe(0);
    expect(svg).not.toContain('>Bids<');
    expect([...rectanglesOf(svg).keys()]).toEqual([]);
  });

  test('writes a file, and replaces one only with --force', async () => {
    const file = join(held.path, 'book.svg');
    const { code, stdout } = await plotted(SLUG, '-o', file, '--columns', '30');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `30 columns from 2026-04-16T07:10:00.000Z to 2026-04-16T07:15:00.000Z, 25 of them with a book, written to '${file}'\n`,
    });
    expect(readFileSync(file, 'utf8')).toBe((await plotted(SLUG, '--columns', '30')).stdout);
    expect(statSync(file).mode & 0o077).toBe(0);
    writeFileSync(file, 'mine');
    const refused = await plotted(SLUG, '-o', file);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('--force');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const report = JSON.parse((await plotted(SLUG, '-o', file, '--force', '--json')).stdout) as object;
    expect(report).toMatchObject({ file, conditionId: CONDITION_ID, columns: 500 });
    expect(readFileSync(file, 'utf8')).toStartWith('<svg ');
  });

  test.each([
    [['nosuch'], 1, "no market has the conditionId or slug 'nosuch'"],
    [[SLUG, '--columns', '0'], 2, 'It must be an integer from 1 to 1500'],
    [[SLUG, '--columns', '1501'], 2, 'It must be an integer from 1 to 1500'],
    [[SLUG, '--from', '2026-04-16T07:15:01Z'], 2, 'the picture would begin at 2026-04-16T07:15:01.000Z, after its end'],
    [[SLUG, '--from', '9007199254740991'], 2, 'up to the year 9999'],
    [[SLUG, '-o', 'picture.png'], 2, 'it must end with .svg; the page of a market in a browser (/view) saves a PNG'],
    [[SLUG, '--outcome', 'left'], 2, 'it must be up or down'],
  ] as const)('%p is refused', async (words, code, sentence) => {
    const file = join(held.path, 'refused.svg');
    const refused = await plotted(...words, '-o', file);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr.toLowerCase()).toContain(sentence.toLowerCase());
    expect(existsSync(file)).toBe(false);
  });
});
