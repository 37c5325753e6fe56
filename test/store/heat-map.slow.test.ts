import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sumOfDecimals } from '../../src/domain/decimal.ts';
import { FINE_ROW_PRICES } from '../../src/domain/fine-rows.ts';
import { CENT_ROW_PRICES, columnsOf, type HeatMapQuery } from '../../src/domain/heat-map.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { Archive } from '../../src/store/archive.ts';
import { heatMapSteps } from '../../src/store/heat-map.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import {
  expectedGrid,
  expectedTrades,
  type OracleGap,
  type OracleSnapshot,
  type OracleTrade,
  type OracleWindow,
} from '../support/heat-map-oracle.ts';
import { type BookStyle, randomBooks, randomsOf } from '../support/random-books.ts';
import { CONDITION_ID, START_MS, sampleMarket } from '../support/sample-records.ts';

/** Snapshots of up as a recording has them, with ids. */
function snapshotsOf(books: readonly OrderBook[], timeOf: (nth: number) => number) {
  const levels = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((price, i) => ({ price, size: sizes[i]! }));
  return books.map(({ bidPrices, bidSizes, askPrices, askSizes }, nth) => ({
    type: 'snapshot',
    conditionId: CONDITION_ID,
    outcome: 'up',
    id: String(nth + 1),
    timestamp: new Date(timeOf(nth)).toISOString(),
    bids: levels(bidPrices, bidSizes),
    asks: levels(askPrices, askSizes),
  }));
}

const contentOf = ({ timestamp, bids, asks }: OracleSnapshot) => JSON.stringify([timestamp, bids, asks]);

const gapFrom = (fromMs: number, toMs: number) => ({
  type: 'gap',
  conditionId: CONDITION_ID,
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  reason: 'recorder restarted',
});

async function archiveOf(records: readonly object[]) {
  const held = temporaryArchive();
  const { total } = await importRecords(held.archive, [sampleMarket(), ...records]);
  expect(total.rejected).toBe(0);
  return held;
}

/** The heat map of up, with the number of its steps. */
function heatMapOf(archive: Archive, window: OracleWindow, more: Partial<HeatMapQuery> = {}) {
  const market = archive.markets.findByConditionId(CONDITION_ID)!;
  return archive.database.read(() => {
    const steps = heatMapSteps(archive, market, { outcome: 'up', asOfMs: undefined, ...window, ...more });
    for (let count = 1; ; count += 1) {
      const { done, value } = steps.next();
      if (done === true) return { ...value, steps: count };
    }
  });
}

/** The heat map in the form of the oracle's, without the times of its columns. */
function gridOf(archive: Archive, window: OracleWindow) {
  const { prices, columns } = heatMapOf(archive, window);
  return {
    prices,
    columns: columns.map(({ hasGap, book }) => ({
      gap: hasGap,
      id: book === undefined ? null : String(book.id),
      bidPrice: book?.bidPrice ?? null,
      askPrice: book?.askPrice ?? null,
      bidRows: book?.bids.rows ?? [],
      bidSizes: book?.bids.sizes ?? [],
      askRows: book?.asks.rows ?? [],
      askSizes: book?.asks.sizes ?? [],
    })),
  };
}

function oracleGridOf(snapshots: readonly OracleSnapshot[], gaps: readonly OracleGap[], window: OracleWindow) {
  const { prices, columns } = expectedGrid(snapshots, gaps, window);
  return { prices, columns: columns.map(({ from: _, to: __, timestamp: ___, mid: ____, ...column }) => column) };
}

describe('a heat map', () => {
  test.each([
    [1, { priceScale: 2, sizes: 'cents', levelsMax: 30, changesMax: 4 }],
    [2, { priceScale: 3, sizes: 'millionths', levelsMax: 60, changesMax: 6 }],
    [3, { priceScale: 4, sizes: 'mixed', levelsMax: 40, changesMax: 5 }],
    [4, { priceScale: 4, sizes: 'extremes', levelsMax: 80, changesMax: 9 }],
    [5, { priceScale: 1, sizes: 'whole', levelsMax: 4, changesMax: 2 }],
  ] as const satisfies readonly (readonly [number, BookStyle])[])(
    'of random books (seed %d) is the brute-force grid at random zooms, with gaps and as of an instant',
    async (seed, style) => {
      const random = randomsOf(seed);
      // Some instants have several books, and there are silences.
      let atMs = START_MS;
      const times = Array.from({ length: 600 }, () => {
        if (random() > 0.3) atMs += Math.floor(random() ** 6 * 4000);
        return atMs;
      });
      const all = snapshotsOf(randomBooks(seed, times.length, style), (nth) => times[nth]!);
      // Imports drop books that repeat another one of the same time.
      const snapshots = [...new Map(all.toReversed().map((each) => [contentOf(each), each])).values()].reverse();
      const between = () => START_MS - 3000 + Math.floor(random() * (atMs - START_MS + 6000));
      const gaps = Array.from({ length: 5 }, () => {
        // Gaps begin and end at snapshots, as importers write them, or anywhere.
        const fromMs = random() > 0.5 ? times[Math.floor(random() * times.length)]! : between();
        const after = times.find((time) => time > fromMs + 200);
        return gapFrom(fromMs, random() > 0.5 && after !== undefined ? after : fromMs + Math.floor(random() * 2000));
      });
      using held = await archiveOf([...snapshots, ...gaps]);
      for (let zoom = 0; zoom < 20; zoom += 1) {
        const [a, b] = [between(), between()];
        const [fromMs, toMs] = zoom % 4 === 0 ? [a, a + Math.floor(random() * 300)] : [Math.min(a, b), Math.max(a, b)];
        const window = { fromMs, toMs, columns: 1 + Math.floor(random() * 120) };
        const asked = zoom % 3 === 0 ? { ...window, asOfMs: between() } : window;
        expect(gridOf(held.archive, asked)).toEqual(oracleGridOf(snapshots, gaps, asked));
      }
    },
  );

  test('of a market without records has columns without books', async () => {
    using held = await archiveOf([]);
    const { prices, columns } = heatMapOf(held.archive, { fromMs: 0, toMs: 9, columns: 2 });
    expect(prices).toEqual(CENT_ROW_PRICES);
    expect(columns).toEqual([
      { fromMs: 0, toMs: 4, hasGap: false, book: undefined },
      { fromMs: 5, toMs: 9, hasGap: false, book: undefined },
    ]);
  });

  test('shows a book up to a gap, and again from the first snapshot after it', async () => {
    const [book] = randomBooks(1, 1, { priceScale: 2, sizes: 'whole', levelsMax: 3, changesMax: 1 });
    const snapshots = snapshotsOf([book!, book!, book!], (nth) => START_MS + [0, 50, 90][nth]!);
    using held = await archiveOf([...snapshots, gapFrom(START_MS + 20, START_MS + 50)]);
    const { columns } = heatMapOf(held.archive, { fromMs: START_MS, toMs: START_MS + 99, columns: 10 });
    const at = (shows: (column: (typeof columns)[number]) => boolean) =>
      columns.flatMap((column, i) => (shows(column) ? [i] : []));
    expect(at(({ hasGap }) => hasGap)).toEqual([2, 3, 4, 5]);
    expect(at(({ book }) => book === undefined)).toEqual([2, 3, 4]);
    expect(columns.map(({ book }) => book?.timestampMs)).toEqual([
      ...[START_MS, START_MS, undefined, undefined, undefined],
      ...[START_MS + 50, START_MS + 50, START_MS + 50, START_MS + 50, START_MS + 90],
    ]);
  });

  test('Rows are 0.01 apart, or 0.001 below 0.04 and from 0.96 on for finer prices, and sum their levels exactly: at most 173.', async () => {
    const prices = Array.from({ length: 10_001 }, (_, i) => (10_000 - i) / 10_000);
    const snapshots = snapshotsOf(
      [1, 2, 3].map((size) => ({ bidPrices: prices, bidSizes: prices.map(() => size), askPrices: [], askSizes: [] })),
      (nth) => START_MS + nth * 1000,
    );
    using held = await archiveOf(snapshots);
    const { columns, steps, ...map } = heatMapOf(held.archive, { fromMs: START_MS, toMs: START_MS + 2999, columns: 3 });
    expect(map.prices).toEqual(FINE_ROW_PRICES);
    expect(steps).toBeGreaterThan(1);
    for (const [i, { book }] of columns.entries()) {
      expect(book!.bids.rows).toHaveLength(FINE_ROW_PRICES.length);
      // 10,001 prices: ten per thousandth, and 1 itself.
      expect(sumOfDecimals(book!.bids.sizes)).toBe(10_001 * (i + 1));
      expect(book!.bids.sizes.slice(0, 2)).toEqual([i + 1, 10 * (i + 1)]);
      expect(book!.bids.sizes[FINE_ROW_PRICES.indexOf(0.5)]).toBeGreaterThan(0);
    }
  });

  test('Columns of a heat map have the trades of the outcome itself, and by side, and a trade without a size is not in the sum of shares.', async () => {
    const random = randomsOf(12);
    const trades = Array.from({ length: 9000 }, () => ({
      ms: START_MS + Math.floor(random() ** 2 * 60_000),
      price: Math.floor(random() * 1001) / 1000,
      size: random() < 0.1 ? undefined : Number(((1 + Math.floor(random() * 1e9)) / 1e6).toFixed(6)),
      ...[{}, { side: 'buy' as const }, { side: 'sell' as const }][Math.floor(random() * 3)],
    })).sort((a, b) => a.ms - b.ms);
    const records = trades.map(({ ms, price, size, side }: OracleTrade, nth) => ({
      ...{
        type: 'price',
        kind: 'trade',
        conditionId: CONDITION_ID,
        outcome: 'up',
        id: String(nth + 1),
        price,
        size,
        side,
      },
      timestamp: new Date(ms).toISOString(),
    }));
    using held = await archiveOf(records);
    for (let zoom = 0; zoom < 20; zoom += 1) {
      const fromMs = START_MS + Math.floor(random() * 50_000) - 1000;
      const toMs = fromMs + Math.floor(random() ** 2 * 60_000);
      const window = { fromMs, toMs, columns: 1 + Math.floor(random() * 40), asOfMs: START_MS + zoom * 4000 };
      const { columns } = heatMapOf(held.archive, window, { hasTrades: true });
      expect(
        columns.map(({ traded }) => ({
          trades: traded?.count ?? 0,
          tradedShares: traded?.shares ?? 0,
          tradeLow: traded?.lowPrice ?? null,
          tradeHigh: traded?.highPrice ?? null,
          tradeSides: (traded?.sides ?? []).map(({ side = null, count, shares, lowPrice, highPrice }) => {
            return { side, trades: count, shares, low: lowPrice, high: highPrice };
          }),
        })),
      ).toEqual<ReturnType<typeof expectedTrades>>(expectedTrades(trades, window));
    }
    const whole = { fromMs: START_MS, toMs: START_MS + 60_000, columns: 2 };
    expect(heatMapOf(held.archive, whole, { hasTrades: true }).steps).toBe(5);
    expect(
      heatMapOf(held.archive, { ...whole }, { outcome: 'down', hasTrades: true }).columns[0]!.traded,
    ).toBeUndefined();
    expect(heatMapOf(held.archive, whole).columns.every(({ traded }) => traded === undefined)).toBe(true);
  });

  test('with many gaps is made in steps of a thousand', async () => {
    using held = await archiveOf([]);
    const { archive } = held;
    const { key } = archive.markets.findByConditionId(CONDITION_ID)!;
    archive.database.write(() => {
      for (let i = 0; i < 20_000; i += 1)
        archive.gaps.add(key, { fromMs: START_MS + 2 * i, toMs: START_MS + 2 * i, reason: '' });
    });
    const { columns, steps } = heatMapOf(archive, { fromMs: START_MS, toMs: START_MS + 39_999, columns: 3 });
    expect(columns.every(({ hasGap }) => hasGap)).toBe(true);
    expect(steps).toBeGreaterThanOrEqual(18);
  });
});

test('columns divide a window without overlap, differ by a millisecond at most, and are exact over 8,000 years', () => {
  const instant = fc.integer({ min: 0, max: 253_402_300_799_999 });
  fc.assert(
    fc.property(instant, instant, fc.integer({ min: 1, max: 1500 }), (a, b, count) => {
      const [fromMs, toMs] = [Math.min(a, b), Math.max(a, b)];
      const columns = columnsOf(fromMs, toMs, count);
      expect(columns).toHaveLength(Math.min(count, toMs - fromMs + 1));
      expect([columns[0]!.fromMs, columns.at(-1)!.toMs]).toEqual([fromMs, toMs]);
      for (const [i, column] of columns.entries()) {
        if (i > 0) expect(column.fromMs).toBe(columns[i - 1]!.toMs + 1);
        const length = BigInt(toMs - fromMs + 1);
        expect(column.fromMs).toBe(fromMs + Number((BigInt(i) * length) / BigInt(columns.length)));
      }
    }),
    { seed: 20_260_416, numRuns: 80 },
  );
});

test('A sum of more than 15 significant digits is the nearest double.', () => {
  expect(sumOfDecimals([])).toBe(0);
  expect(sumOfDecimals([0.1, 0.2])).toBe(0.3);
  expect(sumOfDecimals([1e14, 1e-12])).toBe(1e14);
  expect(sumOfDecimals([1e-12, 2e-12])).toBe(3e-12);
  expect(sumOfDecimals(Array.from({ length: 10 }, () => 99_999_999.999_999))).toBe(999_999_999.999_99);
});
