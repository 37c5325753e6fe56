import { describe, expect, test } from 'bun:test';
import type { Context, NewOrder, Order, Strategy } from '../../src/client/strategy.ts';
import { formatInstant } from '../../src/domain/instant.ts';
import { StrategyFailure } from '../../src/trading/lockstep.ts';
import { decimalOf } from '../../src/trading/market-tally.ts';
import { randomMarket } from '../paper/random-market.ts';
import {
  START_MS,
  sampleCoinPrice,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { scribe, stepped } from './backtesting.ts';

const at = (ms: number) => formatInstant(START_MS + ms);
const book = (ms: number, bid: number, ask: number) =>
  sampleSnapshot({ timestamp: at(ms), bids: [{ price: bid, size: 100 }], asks: [{ price: ask, size: 100 }] });
const timeOf = (record: object) => {
  const { timestamp, from } = record as { timestamp?: string; from?: string };
  return Date.parse(timestamp ?? from ?? at(0));
};

describe('A strategy sees nothing that is later than the recording’s millisecond.', () => {
  test.each([1, 2, 3, 4])(
    'What it can read and what happens to it up to t is the same when the recording after t is another (%d)',
    async (seed) => {
      const [market, ...records] = randomMarket(seed, 'both', 400);
      const middleMs = timeOf(records[Math.floor(records.length / 2)]!);
      const runs = await Promise.all(
        [undefined, 'up', 'down'].map(async (winner, nth) => {
          const later = randomMarket(seed + 100 * nth, 'both', 400)
            .slice(1)
            .filter((record) => timeOf(record) > middleMs);
          const known = records.filter((record) => timeOf(record) <= middleMs && !('from' in record));
          const written: string[] = [];
          await stepped(
            [{ ...market, winner, closed: winner !== undefined }, ...known, ...later],
            scribe(seed, written),
          );
          return written;
        }),
      );
      const until = runs.map((written) => written.filter((line) => Number.parseInt(line, 10) <= middleMs));
      expect(until[0]!.length).toBeGreaterThan(100);
      expect(until[0]!.some((line) => line.includes('["fill"'))).toBe(true);
      expect(until[1]).toEqual(until[0]!);
      expect(until[2]).toEqual(until[0]!);
      expect(runs[1]).not.toEqual(runs[0]!);
    },
  );
});

test.each(['up', 'both', 'alternating'] as const)(
  'The same strategy on the same recording is called with the same, and the profit is what the fills and the winner make (%s)',
  async (recorded) => {
    const records = randomMarket(7, recorded, 500);
    const [market, ...rest] = records as [Record<string, unknown>, ...object[]];
    const decided = [{ ...market, winner: 'up', closed: true, active: false }, ...rest];
    const [first, second]: [string[], string[]] = [[], []];
    const {
      traded: { tally },
      endMs,
    } = await stepped(decided, scribe(7, first));
    await stepped(decided, scribe(7, second));
    expect(second).toEqual(first);
    const { fills, pnl, fees, points, shares } = tally.totals(endMs);
    expect(fills.length).toBeGreaterThan(20);
    let [cash, up] = [0, 0];
    for (const { side, outcome, cost, fee, shares: size } of fills) {
      cash += (side === 'buy' ? -cost : cost) - fee;
      if (outcome === 'up') up += side === 'buy' ? size : -size;
    }
    expect(pnl).toBe(cash + up);
    expect(fees).toBe(fills.reduce((sum, { fee }) => sum + fee, 0));
    expect(shares).toBe(fills.reduce((sum, each) => sum + each.shares, 0));
    expect(points.at(-1)![1]).toBe(pnl);
    expect(points.every(([atMs], i) => i === 0 || atMs >= points[i - 1]![0])).toBe(true);
  },
);

test('The assumption about queues changes the fills of a recording with trades, and the shares in front of an order only make it better.', async () => {
  const records = [
    sampleMarket(),
    book(0, 0.5, 0.52),
    samplePrice({ timestamp: at(5000), price: 0.5, side: 'sell', size: 70 }),
    book(9000, 0.5, 0.52),
  ];
  const filled = async (queue: 'behind' | 'mid' | 'front') => {
    const strategy: Strategy = { onStart: (context) => void context.buy({ outcome: 'up', price: 0.5, size: 30 }) };
    const {
      traded: { tally },
      endMs,
    } = await stepped(records, strategy, { queue });
    return decimalOf(tally.totals(endMs).shares);
  };
  // 70 shares were sold, and 100, 50 and 0 were ahead.
  expect([await filled('behind'), await filled('mid'), await filled('front')]).toEqual([0, 20, 30]);
});

test('A run pauses when a quarter of a second has passed, however few moments that are.', async () => {
  const records = [
    sampleMarket(),
    ...[0, 1, 2, 3, 4, 5].map((second) => book(second * 1000, 0.5, 0.52 + second / 100)),
  ];
  const pausesOf = async (callMs: number) => {
    let [calls, pauses] = [0, 0];
    const onBook = (_: unknown, outcome: string) => {
      if (outcome === 'up') calls += 1;
    };
    const onYield = () => {
      pauses += 1;
    };
    await stepped(records, { onBook }, { monotonicMs: () => calls * callMs, onYield });
    return [calls, pauses];
  };
  expect([await pausesOf(1), await pausesOf(125), await pausesOf(20_000)]).toEqual([
    [5, 0],
    [5, 2],
    [5, 5],
  ]);
});

describe('Orders', () => {
  const RECORDS = [
    sampleMarket({ winner: 'up', closed: true, resolvedAt: at(310_000) }),
    sampleCoinPrice({ timestamp: at(500), price: 84_000 }),
    sampleCoinPrice({ timestamp: at(2500), price: 84_001, source: 'binance' }),
    book(1000, 0.5, 0.52),
    book(2000, 0.5, 0.52),
    book(3000, 0.5, 0.51),
  ];

  test('arrive after the latency, are told about in order, and are paid at the end', async () => {
    const told: unknown[] = [];
    const {
      traded: { tally },
      endMs,
    } = await stepped(
      RECORDS,
      {
        onStart: (context) => void context.buy({ outcome: 'up', price: 0.52, dollars: 26, type: 'FAK' }),
        onOrder: ({ nowMs }, { state, filled }) => void told.push([nowMs - START_MS, state, filled]),
        onFill: ({ nowMs }, { size, price, fee, role }) => void told.push([nowMs - START_MS, role, size, price, fee]),
        onEnd: ({ nowMs, account }) => void told.push([nowMs - START_MS, account.cash, account.shares('up')]),
      },
      { latencyMs: 250 },
    );
    // 50 shares of 0.52; the fee is 50 × 0.07 × 0.52 × 0.48.
    expect(told).toEqual([
      [1250, 'taker', 50, 0.52, 0.8736],
      [1250, 'matched', 50],
      [310_000, 1000 - 26 - 0.8736 + 50, 0],
    ]);
    expect(decimalOf(tally.totals(endMs).pnl)).toBe(50 - 26 - 0.8736);
  });

  test('that the venue refuses are refused, and what is no order throws', async () => {
    const orders: Order[] = [];
    const thrown: unknown[] = [];
    const attempts: NewOrder[] = [
      { outcome: 'up', price: 0.505, size: 10 },
      { outcome: 'up', price: 1, size: 10 },
      { outcome: 'up', price: 0.5, size: 4.999999 },
      { outcome: 'up', price: 0.52, dollars: 0.99, type: 'FOK' },
      { outcome: 'up', price: 0.52, size: 10, postOnly: true },
      { outcome: 'up', price: 0.52, dollars: 500, type: 'FOK' },
      { outcome: 'up', price: 0.5, size: 100_000 },
      { outcome: 'up', price: 0.1 + 0.2, size: 10 },
      { outcome: 'up', price: Number.NaN, size: 10 },
      { outcome: 'up', price: 0.5, dollars: 10 },
      { outcome: 'up', price: 0.5, size: 10, type: 'GTD' },
      { outcome: 'sideways' as 'up', price: 0.5, size: 10 },
      { outcome: 'up', price: 0.5, size: 10, type: 'GTD', expiresMs: START_MS + 90_000.5 },
      { outcome: 'up', price: 0.5, size: 10, type: 'GTD', expiresMs: 1e300 },
      { outcome: 'up', price: 0.5, size: '10' as unknown as number },
      { outcome: 'up', price: 0.5, size: -10 },
      { outcome: 'up', price: 0.52, dollars: -10, type: 'FOK' },
    ];
    const {
      traded: { tally },
      endMs,
    } = await stepped(RECORDS, {
      onBook(context) {
        for (const order of attempts.splice(0)) {
          try {
            context.buy(order);
          } catch (error) {
            thrown.push((error as Error).message);
          }
        }
      },
      onOrder: (_, order) => void orders.push(order),
    });
    expect(orders.map(({ state, reason, price }) => [state, reason ?? price])).toEqual([
      ...['tick', 'tick', 'minimum', 'minimum', 'post-only', 'short', 'funds'].map((reason) => ['refused', reason]),
      // The sum of two doubles is no obstacle.
      ['live', 0.3],
      ['ended', 0.3],
    ]);
    expect(thrown).toEqual([
      'the price of an order must be a number, not NaN',
      'a buy of type GTC needs size, not dollars',
      'expiresMs is needed for GTD, in whole milliseconds, and only for it',
      'the outcome is up or down, not sideways',
      'expiresMs is needed for GTD, in whole milliseconds, and only for it',
      'expiresMs is needed for GTD, in whole milliseconds, and only for it',
      "the size of an order must be a number from 0 to less than 1000000000, not '10'",
      'the size of an order must be a number from 0 to less than 1000000000, not -10',
      'the dollars of an order must be a number from 0 to less than 1000000000, not -10',
    ]);
    const { orders: count, refused, refusals } = tally.totals(endMs);
    expect({ count, refused, refusals }).toEqual({
      count: 8,
      refused: 7,
      refusals: { tick: 2, minimum: 2, 'post-only': 1, short: 1, funds: 1 },
    });
  });

  test('are cancelled after the latency, pairs are merged, and books and prices are those of now', async () => {
    const seen: unknown[] = [];
    await stepped(
      RECORDS,
      {
        onStart(context) {
          seen.push(context.price(), context.book('up').bid, context.book('down').ask);
          context.buy({ outcome: 'up', price: 0.52, dollars: 10.4, type: 'FAK' });
          context.buy({ outcome: 'down', price: 0.5, dollars: 10, type: 'FAK' });
          context.cancel(context.buy({ outcome: 'up', price: 0.2, size: 10 }));
        },
        onBook(context, outcome) {
          if (outcome === 'down') return;
          seen.push(context.book('down').bid);
          if (context.nowMs === START_MS + 2000) {
            context.merge(20);
            expect(() => context.merge(1)).toThrow('fewer than 1 free shares');
          }
        },
        onPrice: (context, { source, price }) => void seen.push(source, price, context.price('chainlink')),
        onOrder: (_, { state }) => void seen.push(state),
        onEnd: ({ account }) => void seen.push(account.cash),
      },
      { fees: 'none' },
    );
    expect(seen).toEqual([
      ...[84_000, undefined, undefined],
      // The book of 1000, then what happens at 1040, the book of 2000, the price, the book of 3000.
      ...[0.48, 'matched', 'matched', 'live', 'cancelled', 0.48, 'binance', 84_001, 84_000, 0.49],
      1000 - 20.4 + 20,
    ]);
  });

  test.each([
    ['throws', () => Math.max(...(undefined as unknown as number[])), TypeError],
    ['is async', async () => undefined, TypeError],
    ['throws no error', () => Promise.reject('a reason'), TypeError],
  ])('A function that %s ends the run with its name and the instant', async (_, onBook, kind) => {
    const failure = await stepped(RECORDS, { onBook: onBook as () => void }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StrategyFailure);
    const { callback, atMs, cause } = failure as StrategyFailure;
    expect([callback, atMs]).toEqual(['onBook', START_MS + 1000]);
    expect(cause).toBeInstanceOf(kind);
  });
});

test('The price of a coin from any source is the latest one, also before the first one of the run.', async () => {
  const seen: unknown[] = [];
  const records = [
    sampleMarket(),
    sampleCoinPrice({ timestamp: at(500), price: 84_000 }),
    sampleCoinPrice({ timestamp: at(800), price: 84_001, source: 'binance' }),
    book(1000, 0.5, 0.52),
  ];
  await stepped(records, { onStart: (context) => void seen.push(context.price(), context.price('chainlink')) });
  expect(seen).toEqual([84_001, 84_000]);
});

test('The time that orders rest in gaps counts once where gaps overlap.', async () => {
  const gap = (fromMs: number, toMs: number) => sampleGap({ from: at(fromMs), to: at(toMs) });
  const records = [sampleMarket(), book(0, 0.5, 0.52), gap(6000, 16_000), gap(7000, 8000), gap(10_000, 20_000)];
  const { traded, endMs } = await stepped([...records, book(60_000, 0.5, 0.52)], {
    onStart: (context) => void context.buy({ outcome: 'up', price: 0.4, size: 10 }),
  });
  expect(traded.tally.totals(endMs).restedInGapsMs).toBe(14_000);
});

test('A market whose first book comes after the end of the run calls no function: nothing later is seen.', async () => {
  const seen: unknown[] = [];
  const see = (context: Context) => void seen.push(context.nowMs, context.price());
  const records = [sampleMarket(), sampleCoinPrice({ timestamp: at(500) }), book(1000, 0.5, 0.52)];
  await stepped(records, { onStart: see, onEnd: see }, { toMs: START_MS + 400 });
  expect(seen).toEqual([]);
});
