import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import {
  CONTRADICTING_LISTED_MAX,
  GAPS_LISTED_MAX,
  SilenceTracker,
  type TimeRange,
} from '../../src/domain/coverage.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { Coverages } from '../../src/store/coverage.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { otherBook, storeAsBefore } from '../support/earlier-archive.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket } from '../support/sample-records.ts';

const levels = (prices: readonly number[], sizes: readonly number[]) =>
  prices.map((price, index) => ({ price, size: sizes[index]! }));

const snapshotOf = (book: OrderBook, outcome: string, timestamp: number) => ({
  type: 'snapshot',
  conditionId: CONDITION_ID,
  outcome,
  timestamp,
  bids: levels(book.bidPrices, book.bidSizes),
  asks: levels(book.askPrices, book.askSizes),
});

/** Counts the books of the test itself. */
function countsOf(books: readonly OrderBook[]) {
  const count = (holds: (bid: number | undefined, ask: number | undefined) => boolean) =>
    books.filter(({ bidPrices, askPrices }) => holds(bidPrices[0], askPrices[0])).length;
  return {
    snapshots: books.length,
    oneSided: count((bid, ask) => (bid === undefined) !== (ask === undefined)),
    empty: count((bid, ask) => bid === undefined && ask === undefined),
    crossed: count((bid, ask) => bid !== undefined && ask !== undefined && bid >= ask),
    placeholder: count((bid, ask) => bid !== undefined && ask !== undefined && bid <= 0.01 && ask >= 0.99),
  };
}

/** The nth books of both outcomes have one time. In units of 0.0001, the finest tick of the test. */
function contradictionsOf(up: readonly OrderBook[], down: readonly OrderBook[]): number {
  const best = ({ bidPrices, askPrices }: OrderBook) =>
    [bidPrices[0], askPrices[0]].map((price = Number.NaN) => Math.round(price * 1e4)) as [number, number];
  return up.filter((book, nth) => {
    const [upBid, upAsk] = best(book);
    const [downBid, downAsk] = best(down[Math.min(nth, down.length - 1)]!);
    if (upBid + downAsk === 1e4 && upAsk + downBid === 1e4) return false;
    return upBid + downBid > 1e4 || upAsk + downAsk < 1e4;
  }).length;
}

const STYLE: BookStyle = { priceScale: 2, sizes: 'cents', levelsMax: 6, changesMax: 4 };

function marketOf(archive: ReturnType<typeof temporaryArchive>['archive'], conditionId = CONDITION_ID): StoredMarket {
  return archive.markets.findByConditionId(conditionId)!;
}

describe('coverage', () => {
  test.each([
    [1, { priceScale: 1, sizes: 'mixed', levelsMax: 3, changesMax: 2 }],
    [2, { priceScale: 2, sizes: 'cents', levelsMax: 6, changesMax: 4 }],
    [3, { priceScale: 4, sizes: 'extremes', levelsMax: 40, changesMax: 5 }],
  ] as const satisfies readonly (readonly [number, BookStyle])[])(
    'of random books (seed %d) is what a scan of the books counts',
    async (seed, style) => {
      using held = temporaryArchive();
      const books = { up: randomBooks(seed, 700, style), down: randomBooks(seed + 100, 300, style) };
      const records = (['up', 'down'] as const).flatMap((outcome) =>
        books[outcome].map((book, index) => snapshotOf(book, outcome, START_MS + 1000 + index * 100)),
      );
      expect((await importRecords(held.archive, [sampleMarket(), ...records])).total.rejected).toBe(0);
      const coverages = new Coverages(held.archive.database.path, nextTurn);
      const { outcomes, contradictions } = await coverages.of(marketOf(held.archive));
      expect(contradictions).toBe(contradictionsOf(books.up, books.down));
      expect(contradictions).toBeGreaterThan(0);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['up', 'down']);
      expect(outcomes[0]).toMatchObject({ ...countsOf(books.up), mirrored: false, firstMs: START_MS + 1000 });
      expect(outcomes[1]).toMatchObject({ ...countsOf(books.down), lastMs: START_MS + 1000 + 299 * 100 });
      for (const field of ['crossed', 'oneSided'] as const) expect(outcomes[0]![field]).toBeGreaterThan(0);
    },
  );

  test('of a market without records has both outcomes, and its gaps', async () => {
    using held = temporaryArchive();
    await importRecords(held.archive, [sampleMarket(), sampleGap()]);
    const { outcomes, gaps } = await new Coverages(held.archive.database.path, nextTurn).of(marketOf(held.archive));
    expect(outcomes).toMatchObject([
      { outcome: 'up', snapshots: 0, firstMs: undefined, mirrored: false },
      { outcome: 'down', snapshots: 0, lastMs: undefined, mirrored: false },
    ]);
    expect(gaps).toEqual([{ fromMs: START_MS + 60_000, toMs: START_MS + 90_500, reason: 'recorder restarted' }]);
  });

  test('Coverage counts every gap and lists the first 10,000.', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [sampleMarket()]);
    const gaps = Array.from({ length: GAPS_LISTED_MAX + 50 }, (_, i) => ({
      fromMs: START_MS + (i >> 2),
      toMs: START_MS + i,
      reason: 'recorder restarted',
    }));
    archive.database.write(() => {
      const { key } = marketOf(archive);
      for (const gap of gaps.toReversed()) archive.gaps.add(key, gap);
    });
    const coverage = await new Coverages(archive.database.path, nextTurn).of(marketOf(archive));
    expect(coverage.gapCount).toBe(gaps.length);
    expect(coverage.gaps).toEqual(gaps.slice(0, GAPS_LISTED_MAX));
  });

  test('lists the first instants at which imports stored different books, counts all, and knows them as of an instant', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [sampleMarket()]);
    const books = randomBooks(7, 500, { ...STYLE, levelsMax: 3 }).map((book, at) => ({
      timestampMs: START_MS + at * 100,
      book: { ...book, bidPrices: [0.3], bidSizes: [1 + at] },
    }));
    const others = books.map(({ timestampMs, book }) => ({ timestampMs, book: otherBook(book) }));
    for (const outcome of ['up', 'down'] as const) storeAsBefore(archive, marketOf(archive), outcome, books);
    storeAsBefore(archive, marketOf(archive), 'up', others.slice(100, 400));
    storeAsBefore(archive, marketOf(archive), 'down', others.slice(120, 130));
    const coverages = new Coverages(archive.database.path, nextTurn);
    const { contradicting, contradictingCount } = await coverages.of(marketOf(archive));
    expect(contradictingCount).toBe(310);
    expect(contradicting).toHaveLength(CONTRADICTING_LISTED_MAX);
    const expected = Array.from({ length: 130 }, (_, at) => START_MS + (100 + at) * 100).flatMap((timestampMs, at) => [
      { timestampMs, books: 2, outcome: 'up' as const },
      ...(at >= 20 && at < 30 ? [{ timestampMs, books: 2, outcome: 'down' as const }] : []),
    ]);
    expect(contradicting).toEqual(expected.slice(0, CONTRADICTING_LISTED_MAX));
    const early = await coverages.of(marketOf(archive), START_MS + 111 * 100);
    // Of the instant itself nothing shows yet that another import stored its second book.
    expect([early.contradictingCount, early.contradicting.at(-1)!.timestampMs]).toEqual([12, START_MS + 111 * 100]);
    expect((await coverages.of(marketOf(archive), START_MS + 99 * 100)).contradicting).toEqual([]);
  });

  test('at once needs no turn of the event loop, and is the same', async () => {
    using held = temporaryArchive();
    await importRecords(held.archive, [LIGHT_MARKET, lightSnapshot(0)]);
    let turns = 0;
    const coverages = () =>
      new Coverages(held.archive.database.path, () => {
        turns += 1;
        return nextTurn();
      });
    const market = marketOf(held.archive, LIGHT_CONDITION_ID);
    const atOnce = await coverages().atOnce(market);
    expect(turns).toBe(0);
    expect(atOnce).toEqual(await coverages().of(market));
    expect(turns).toBe(1);
  });

  test('of markets with many gaps is cached for some of them only', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    const markets = Array.from({ length: 12 }, (_, i) =>
      sampleMarket({
        conditionId: `0x${String(i + 10).repeat(32)}`,
        slug: `gaps-${i}`,
        clobTokenIds: [String(100 + 2 * i), String(101 + 2 * i)],
      }),
    );
    await importRecords(archive, markets);
    const stored = markets.map(({ conditionId }) => marketOf(archive, conditionId));
    archive.database.write(() => {
      for (const { key } of stored)
        for (let i = 0; i < GAPS_LISTED_MAX; i += 1)
          archive.gaps.add(key, { fromMs: START_MS + i, toMs: START_MS + i, reason: '' });
    });
    const coverages = new Coverages(archive.database.path, nextTurn);
    const counted = [];
    for (const market of stored) counted.push(await coverages.of(market));
    // Ten of them are cached: those that were asked for last.
    expect(await coverages.of(stored.at(-1)!)).toBe(counted.at(-1)!);
    expect(await coverages.of(stored[2]!)).toBe(counted[2]!);
    expect(await coverages.of(stored[1]!)).not.toBe(counted[1]!);
  });

  test('states which outcome was made from the other', async () => {
    using held = temporaryArchive();
    await importRecords(held.archive, [
      LIGHT_MARKET,
      ...Array.from({ length: 20 }, (_, index) => lightSnapshot(index)),
    ]);
    held.archive.database.write(() =>
      held.archive.database
        .query("UPDATE series SET recorded_from_ms = NULL WHERE kind = 'book' AND outcome = 'down'")
        .run(),
    );
    const { outcomes } = await new Coverages(held.archive.database.path, nextTurn).of(
      marketOf(held.archive, LIGHT_CONDITION_ID),
    );
    expect(outcomes.map(({ mirrored }) => mirrored)).toEqual([false, true]);
  });

  test('is cached until the market changes, and read again then', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [LIGHT_MARKET, ...Array.from({ length: 200 }, (_, index) => lightSnapshot(index))]);
    const coverages = new Coverages(archive.database.path, nextTurn);
    const before = await coverages.of(marketOf(archive, LIGHT_CONDITION_ID));
    // The disk is not read: the revision of the market is unchanged.
    using sqlite = new Database(archive.database.path);
    sqlite.run('UPDATE segments SET payload = zeroblob(10)');
    expect(await coverages.of(marketOf(archive, LIGHT_CONDITION_ID))).toBe(before);
    archive.database.write(() => archive.markets.touch(before.market.key));
    await expect(coverages.of(marketOf(archive, LIGHT_CONDITION_ID))).rejects.toThrow('a stored segment is damaged');
  });

  test('Coverage describes one state of the market, and is computed in steps between other requests.', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    const snapshots = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => lightSnapshot(from + index, 12));
    await importRecords(archive, [LIGHT_MARKET, ...snapshots(0, 60_000)]);
    const before = marketOf(archive, LIGHT_CONDITION_ID);
    let steps = 0;
    let counting = true;
    const others = (async () => {
      while (counting) {
        steps += 1;
        if (steps === 2) await importRecords(archive, snapshots(60_000, 500));
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    })();
    const counted = await new Coverages(archive.database.path, nextTurn).of(before);
    counting = false;
    await others;
    expect(steps).toBeGreaterThanOrEqual(2);
    expect(counted.market.revision).toBe(before.revision);
    expect(counted.outcomes.map((outcome) => outcome.snapshots)).toEqual([30_000, 30_000]);
    expect(marketOf(archive, LIGHT_CONDITION_ID).revision).not.toBe(before.revision);
  });

  test('is counted once for many requests at the same time', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [LIGHT_MARKET, ...Array.from({ length: 50 }, (_, index) => lightSnapshot(index))]);
    const coverages = new Coverages(archive.database.path, nextTurn);
    const market = marketOf(archive, LIGHT_CONDITION_ID);
    const answers = await Promise.all(Array.from({ length: 200 }, () => coverages.of(market)));
    expect(new Set(answers).size).toBe(1);
  });

  test('is counted after a question that failed', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [LIGHT_MARKET, lightSnapshot(0)]);
    const coverages = new Coverages(archive.database.path, nextTurn);
    const market = marketOf(archive, LIGHT_CONDITION_ID);
    const gone = coverages.of({ ...market, conditionId: '0xdead' });
    const next = coverages.of(market);
    await expect(gone).rejects.toThrow('not recorded here');
    expect((await next).outcomes).toHaveLength(2);
  });

  test('Keys take turns with coverage requests; a key may have 64 of the 256 open ones (429), and all together no more (503).', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    await importRecords(archive, [LIGHT_MARKET, ...Array.from({ length: 200 }, (_, index) => lightSnapshot(index))]);
    const market = marketOf(archive, LIGHT_CONDITION_ID);
    const coverages = new Coverages(archive.database.path, nextTurn);
    const answered: string[] = [];
    const asked = (name: string, asOfMs: number, keyId: string) =>
      coverages.of(market, asOfMs, keyId).then(() => answered.push(name));
    const many = Array.from({ length: 60 }, (_, i) => asked(`a${i}`, market.startMs + i * 10, 'a'));
    await many[0];
    const others = [asked('b0', market.startMs + 605, 'b'), asked('b1', market.startMs + 615, 'b')];
    // Another key may ask what the first one asks last.
    others.push(asked('c', market.startMs + 590, 'c'));
    await Promise.all([...many, ...others]);
    expect(answered.slice(0, 8)).toEqual(['a0', 'a1', 'b0', 'a59', 'c', 'a2', 'b1', 'a3']);
    expect(answered).toHaveLength(63);
  });

  test('From a market’s last record on, every asOf gets the same coverage.', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    const lastMs = START_MS + 90_500;
    await importRecords(archive, [
      sampleMarket(),
      sampleGap(),
      snapshotOf(randomBooks(1, 1, STYLE)[0]!, 'up', START_MS),
    ]);
    const coverages = new Coverages(archive.database.path, nextTurn);
    const market = marketOf(archive);
    const from = await Promise.all(
      [lastMs, lastMs + 1, undefined, lastMs + 7].map((asOfMs) => coverages.of(market, asOfMs)),
    );
    expect(new Set(from).size).toBe(1);
    const before = await coverages.of(market, lastMs - 1);
    expect([before.gapCount, from[0]!.gapCount]).toEqual([0, 1]);
    expect(await coverages.of(market, lastMs - 1)).toBe(before);
  });
});

describe('the longest silence', () => {
  /** The longest step between the edges of the window and what lies inside; the earlier of two as long. */
  function longestStep(times: readonly number[], startMs: number, endMs: number, nowMs: number): TimeRange | undefined {
    const until = Math.min(endMs, nowMs);
    const points = [startMs, ...times.filter((at) => at > startMs).map((at) => Math.min(at, endMs)), until];
    let longest: TimeRange | undefined;
    for (let i = 1; i < points.length; i += 1) {
      const step = { fromMs: points[i - 1]!, toMs: points[i]! };
      if (
        step.toMs > step.fromMs &&
        (longest === undefined || step.toMs - step.fromMs > longest.toMs - longest.fromMs)
      ) {
        longest = step;
      }
    }
    return longest;
  }

  test('The longest silence may begin at the start of the window or end at its end.', () => {
    const time = fc.integer({ min: 0, max: 60 });
    fc.assert(
      fc.property(fc.array(time, { maxLength: 12 }), time, time, time, (unsorted, a, b, nowMs) => {
        const times = [...unsorted].sort((x, y) => x - y);
        const [startMs, endMs] = [Math.min(a, b), Math.max(a, b)];
        const watch = new SilenceTracker(startMs, endMs);
        for (const at of times) watch.add(at);
        expect(watch.longest(nowMs)).toEqual(longestStep(times, startMs, endMs, nowMs));
      }),
      { seed: 20_260_416, numRuns: 600 },
    );
  });

  test('does not exist before the window begins', () => {
    expect(new SilenceTracker(NOW_MS + 1000, NOW_MS + 2000).longest(NOW_MS)).toBeUndefined();
  });
});
