import { describe, expect, test } from 'bun:test';
import type { HeatMap } from '../../../src/domain/heat-map.ts';
import { columnResource } from '../../../src/domain/heat-map-json.ts';
import type { OrderBook } from '../../../src/domain/orderbook.ts';
import { heatMapOf } from '../../../src/web/browser/view/heat-map-answer.ts';
import { Recording } from '../../../src/web/browser/view/recording.ts';
import { expectedGrid } from '../../support/heat-map-oracle.ts';
import { type BookStyle, randomBooks, randomsOf } from '../../support/random-books.ts';

const START_MS = Date.UTC(2026, 0, 8, 10, 30);
const LABELS = {
  assetId: '1',
  conditionId: `0x${'1'.repeat(64)}`,
  slug: 'a-market',
  symbol: 'btc',
  outcome: 'up',
  timeframe: '5m',
} as const;
const WITHOUT_TRADES = { trades: null, tradedShares: null, tradeLow: null, tradeHigh: null, tradeSides: null };
const levels = (prices: readonly number[], sizes: readonly number[]) =>
  prices.map((price, i) => ({ price, size: sizes[i]! }));

/** A heat map as the API writes it. */
const writtenMap = ({ prices, columns }: HeatMap, hasTrades: boolean) => ({
  ...LABELS,
  from: new Date(columns[0]!.fromMs).toISOString(),
  to: new Date(columns.at(-1)!.toMs).toISOString(),
  prices: [...prices],
  columns: columns.map((column) => columnResource(column, hasTrades)),
});

function snapshotsOf(books: readonly OrderBook[], times: readonly number[], outcome = 'up') {
  return books.map(({ bidPrices, bidSizes, askPrices, askSizes }, nth) => ({
    ...LABELS,
    outcome,
    id: String(nth + 1),
    timestamp: new Date(times[nth]!).toISOString(),
    bids: levels(bidPrices, bidSizes),
    asks: levels(askPrices, askSizes),
  }));
}

describe('a recording in the browser', () => {
  test.each([
    [1, { priceScale: 2, sizes: 'cents', levelsMax: 30, changesMax: 4 }],
    [2, { priceScale: 3, sizes: 'millionths', levelsMax: 60, changesMax: 6 }],
    [3, { priceScale: 4, sizes: 'mixed', levelsMax: 40, changesMax: 5 }],
    [4, { priceScale: 4, sizes: 'extremes', levelsMax: 80, changesMax: 9 }],
  ] as const satisfies readonly (readonly [number, BookStyle])[])(
    'of random books (seed %d) has the brute-force heat map, and the snapshot before each instant',
    (seed, style) => {
      const random = randomsOf(seed);
      let atMs = START_MS;
      const times = Array.from({ length: 400 }, () => {
        if (random() > 0.3) atMs += Math.floor(random() ** 6 * 4000);
        return atMs;
      });
      const snapshots = snapshotsOf(randomBooks(seed, times.length, style), times);
      const between = () => START_MS - 3000 + Math.floor(random() * (atMs - START_MS + 6000));
      const gaps = Array.from({ length: 5 }, () => {
        const fromMs = random() > 0.5 ? times[Math.floor(random() * times.length)]! : between();
        return { fromMs, toMs: fromMs + Math.floor(random() * 2000) };
      }).sort((a, b) => a.fromMs - b.fromMs);
      const listed = gaps.map((gap) => ({
        from: new Date(gap.fromMs).toISOString(),
        to: new Date(gap.toMs).toISOString(),
      }));
      const recording = new Recording(snapshots, gaps);
      for (let zoom = 0; zoom < 20; zoom += 1) {
        const [a, b] = [between(), between()];
        const window = { fromMs: Math.min(a, b), toMs: Math.max(a, b), columns: 1 + Math.floor(random() * 120) };
        const map = recording.heatMap({ outcome: 'up', ...window });
        const resource = writtenMap(map, false);
        const expected = expectedGrid(snapshots, listed, window);
        const columns = expected.columns.map((column) => ({ ...column, ...WITHOUT_TRADES }));
        expect(resource).toEqual({ ...LABELS, ...expected, columns });
        expect(heatMapOf(resource)).toEqual(map);
        const before = recording.before('up', a);
        expect(before).toEqual(snapshots.findLast(({ timestamp }) => Date.parse(timestamp) <= a));
        expect(recording.neighbour('up', a, 1)).toBe(times.find((time) => time > a));
        expect(recording.neighbour('up', a, -1)).toBe(times.findLast((time) => time < a));
      }
    },
  );

  test('without books has columns without books, and no neighbours', () => {
    const recording = new Recording([], [{ fromMs: START_MS + 2, toMs: START_MS + 3 }]);
    const { columns } = recording.heatMap({ outcome: 'down', fromMs: START_MS, toMs: START_MS + 7, columns: 4 });
    expect(columns.map(({ hasGap, book }) => [hasGap, book])).toEqual([
      [false, undefined],
      [true, undefined],
      [false, undefined],
      [false, undefined],
    ]);
    expect([recording.before('up', START_MS), recording.neighbour('up', START_MS, 1)]).toEqual([undefined, undefined]);
  });

  test('a heat map with trades is read and written as the API has it', () => {
    const sides = [
      { side: 'sell' as const, count: 1, shares: 12.5, lowPrice: 0.49, highPrice: 0.49 },
      { side: undefined, count: 1, shares: 0, lowPrice: 0.51, highPrice: 0.51 },
    ];
    const traded = { count: 2, shares: 12.5, lowPrice: 0.49, highPrice: 0.51, sides };
    const column = { fromMs: START_MS, toMs: START_MS + 9, hasGap: false, book: undefined };
    const map = { prices: [0, 0.01], columns: [{ ...column, traded }, column] };
    const written = writtenMap(map, true);
    expect(written.columns).toMatchObject([
      {
        ...{ trades: 2, tradedShares: 12.5, tradeLow: 0.49, tradeHigh: 0.51 },
        tradeSides: [
          { side: 'sell', trades: 1, shares: 12.5, low: 0.49, high: 0.49 },
          { side: null, trades: 1, shares: 0, low: 0.51, high: 0.51 },
        ],
      },
      { trades: 0, tradedShares: 0, tradeLow: null, tradeHigh: null, tradeSides: [] },
    ]);
    expect(heatMapOf(written).columns[0]!.traded).toEqual(traded);
  });

  test('keeps the outcomes apart', () => {
    const [book] = randomBooks(1, 1, { priceScale: 2, sizes: 'whole', levelsMax: 3, changesMax: 1 });
    const recording = new Recording(
      [...snapshotsOf([book!], [START_MS]), ...snapshotsOf([book!], [START_MS + 5], 'down')],
      [],
    );
    expect(recording.before('up', START_MS + 9)?.timestamp).toBe(new Date(START_MS).toISOString());
    expect(recording.before('down', START_MS + 4)).toBeUndefined();
  });
});
