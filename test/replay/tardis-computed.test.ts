import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DecimalSum } from '../../src/domain/decimal.ts';
import { computationOf } from '../../src/replay/tardis/computation.ts';
import { dataTypeOf } from '../../src/replay/tardis/data-type.ts';
import type {
  BookChange,
  BookSnapshot,
  RecordLevel,
  Trade,
  TradeBar,
} from '../../src/replay/tardis/normalized-record.ts';
import { randomsOf } from '../support/random-books.ts';
import { FoldedBook } from './folded-book.ts';
import { TARDIS_DEV, type TardisDev } from './tardis-judge.ts';

const SYMBOL = '71';
const about = (ms: number) => ({
  symbol: SYMBOL,
  exchange: 'polymarket' as const,
  timestamp: new Date(ms),
  localTimestamp: new Date(ms),
});

function change(ms: number, bids: RecordLevel[], asks: RecordLevel[], isSnapshot = false): BookChange {
  return { type: 'book_change', isSnapshot, bids, asks, ...about(ms) };
}

function trade(ms: number, price: number, amount: number, side: Trade['side'] = 'buy'): Trade {
  return { type: 'trade', id: '1', price, amount, side, ...about(ms) };
}

const computed = (name: string, records: readonly (BookChange | Trade)[]) => {
  const computation = computationOf(dataTypeOf(name))!;
  return records.flatMap((record) => computation.of(record));
};
const level = (price: number, amount: number) => ({ price, amount });

/** Realistic changes: prices on the tick's grid, sizes of up to six decimals, sometimes a whole book. */
function randomChanges(seed: number, count: number, decimals: number): BookChange[] {
  const random = randomsOf(seed);
  const ticks = 10 ** decimals;
  const priceOf = (isBid: boolean) => {
    const tick = 1 + Math.floor((random() * ticks) / 2 - 1);
    return (isBid ? Math.max(1, tick) : Math.min(ticks - 1, ticks - tick)) / ticks;
  };
  const levelsOf = (isBid: boolean, most: number) =>
    [...new Set(Array.from({ length: Math.floor(random() * (most + 1)) }, () => priceOf(isBid)))].map((price) =>
      level(price, random() < 0.25 ? 0 : Math.floor(random() * 1e9 + 1) / 1e6),
    );
  let ms = 1_000_000;
  return Array.from({ length: count }, (_, nth) => {
    ms += Math.floor(random() * 400);
    if (nth > 0 && random() > 0.02) return change(ms, levelsOf(true, 2), levelsOf(false, 2));
    const full = (isBid: boolean) => levelsOf(isBid, 40).filter(({ amount }) => amount > 0);
    return change(ms, full(true), full(false), true);
  });
}

describe('a grouped snapshot', () => {
  test('has every level in its exact group', () => {
    const ten = Array.from({ length: 99 }, (_, tick) => (tick + 1) / 100);
    for (const price of ten) {
      const book = [change(1, [level(price, 1)], [level(price, 1)], true)];
      const [finest] = computed('book_snapshot_1_grouped0.01_0ms', book) as BookSnapshot[];
      expect([finest!.bids[0], finest!.asks[0]]).toEqual([level(price, 1), level(price, 1)]);
      const [coarse] = computed('book_snapshot_1_grouped0.05_0ms', book) as BookSnapshot[];
      const cents = Math.round(price * 100);
      expect(coarse!.bids[0]!.price).toBe((Math.floor(cents / 5) * 5) / 100);
      expect(coarse!.asks[0]!.price).toBe((Math.ceil(cents / 5) * 5) / 100);
    }
  });

  test('Grouped snapshots and volumes are exact, and empty groups are removed.', () => {
    const asks = [level(0.51, 0.1), level(0.52, 0.2), level(0.61, 3)];
    const gone = [level(0.61, 0)];
    const [first, second] = computed('book_snapshot_3_grouped0.1_0ms', [
      change(1, [], asks, true),
      change(2, [], gone),
    ]);
    expect((first as BookSnapshot).asks).toEqual([level(0.6, 0.3), level(0.7, 3), {}]);
    expect((second as BookSnapshot).asks).toEqual([level(0.6, 0.3), {}, {}]);
    expect((second as BookSnapshot).grouping).toBe(0.1);
  });

  test.skipIf(TARDIS_DEV === undefined)('is that of tardis-dev, apart from floating point', async () => {
    const { compute, computeBookSnapshots } = (await import(TARDIS_DEV!)) as TardisDev;
    // With whole numbers the arithmetic of tardis-dev is exact too.
    const whole = (levels: readonly RecordLevel[]) =>
      levels.map(({ price, amount }) => level(Math.round(price * 100), Math.round(amount * 1e6)));
    let compared = 0;
    for (let seed = 1; seed <= 5; seed += 1) {
      // tardis-dev keeps empty groups: these books always have the same number of groups, so it makes no difference.
      const everywhere = Array.from({ length: 9 }, (_, nth) => nth);
      const bottom = change(
        0,
        everywhere.map((n) => level((5 * n + 2) / 100, 5)),
        everywhere.map((n) => level((95 - 5 * n) / 100, 5)),
        true,
      );
      const changes = [bottom, ...randomChanges(seed, 400, 2).filter(({ isSnapshot }) => !isSnapshot)].map((each) => ({
        ...each,
        bids: each.bids.filter(({ price, amount }) => amount > 0 || Math.round(price * 100) % 5 !== 2),
        asks: each.asks.filter(({ price, amount }) => amount > 0 || Math.round(price * 100) % 5 !== 0),
      }));
      for (const interval of [0, 1000]) {
        const ours = computed(`book_snapshot_3_grouped0.1_${interval}ms`, changes) as BookSnapshot[];
        async function* scaled() {
          for (const each of changes) yield { ...each, bids: whole(each.bids), asks: whole(each.asks) };
        }
        const theirs: unknown[] = [];
        const factory = computeBookSnapshots({ name: 'x', depth: 3, interval, grouping: 10 });
        for await (const record of compute(scaled(), factory)) if (record.type === 'book_snapshot') theirs.push(record);
        expect(
          ours.map((each) => ({
            ...each,
            name: 'x',
            grouping: 10,
            bids: whole(each.bids as RecordLevel[]),
            asks: whole(each.asks as RecordLevel[]),
          })),
        ).toEqual(theirs as never);
        compared += ours.length;
      }
    }
    expect(compared).toBeGreaterThan(300);
  });
});

describe('a snapshot', () => {
  test('has the best levels of an independently rebuilt book', () => {
    for (const [seed, decimals] of [
      [1, 2],
      [2, 3],
      [3, 4],
    ] as const) {
      const changes = randomChanges(seed, 300, decimals);
      const computation = computationOf(dataTypeOf('book_snapshot_4_0ms'))!;
      let book = new FoldedBook();
      let sent: BookSnapshot | undefined;
      for (const each of changes) {
        if (each.isSnapshot) book = new FoldedBook();
        for (const { price, amount } of each.bids) book.set(true, price, amount);
        for (const { price, amount } of each.asks) book.set(false, price, amount);
        sent = (computation.of(each).at(-1) as BookSnapshot | undefined) ?? sent;
        const { bidPrices, bidSizes, askPrices, askSizes } = book.book();
        const best = (prices: readonly number[], sizes: readonly number[]) =>
          Array.from({ length: 4 }, (_, nth) => (nth < prices.length ? level(prices[nth]!, sizes[nth]!) : {}));
        expect([sent?.bids, sent?.asks]).toEqual([best(bidPrices, bidSizes), best(askPrices, askSizes)]);
      }
    }
  });

  test('does not exist before the first book', () => {
    expect(computed('quote', [change(1, [level(0.5, 1)], [])])).toEqual([]);
  });
});

describe('a bar', () => {
  test('has exact volumes by side, and the average price of trades with a size', () => {
    const trades = [
      trade(1000, 0.4, 0.1),
      trade(1500, 0.6, 0.2, 'sell'),
      trade(1900, 0.5, 0, 'unknown'),
      trade(2000, 0.7, 1),
    ];
    const [bar, ...others] = computed('trade_bar_1s', trades) as TradeBar[];
    expect(others).toEqual([]);
    expect(bar).toMatchObject({
      volume: 0.3,
      buyVolume: 0.1,
      sellVolume: 0.2,
      trades: 3,
      open: 0.4,
      close: 0.5,
      high: 0.6,
      low: 0.4,
    });
    expect(bar!.vwap).toBeCloseTo(0.16 / 0.3, 12);
    expect(bar!.timestamp).toEqual(new Date(2000));
  });

  test('of shares ends at their exact number', () => {
    const trades = Array.from({ length: 20 }, (_, nth) => trade(1000 + nth, 0.5, 0.1));
    const bars = computed('trade_bar_1vol', trades) as TradeBar[];
    expect(bars.map(({ volume, trades: count }) => [volume, count])).toEqual([
      [1, 10],
      [1, 10],
    ]);
  });

  test('without sizes has no volume and no average', () => {
    const [bar] = computed('trade_bar_1ticks', [trade(1, 0.5, 0, 'unknown')]) as TradeBar[];
    expect(JSON.parse(JSON.stringify(bar))).toMatchObject({ volume: 0, buyVolume: 0, sellVolume: 0, vwap: null });
  });
});

test('a sum of decimals has the digits of the decimals', () => {
  const decimal = fc.tuple(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 6 }));
  fc.assert(
    fc.property(fc.array(decimal, { maxLength: 50 }), (values) => {
      const sum = new DecimalSum();
      let units = 0n;
      for (const [digits, scale] of values) {
        sum.add(digits / 10 ** scale);
        units += BigInt(digits) * 10n ** BigInt(6 - scale);
      }
      const text = units.toString().padStart(7, '0');
      expect(sum.value).toBe(Number(`${text.slice(0, -6)}.${text.slice(-6)}`));
    }),
  );
});
