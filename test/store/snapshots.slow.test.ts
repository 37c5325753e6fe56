import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { PageQuery } from '../../src/domain/page.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { midsImpliedBy, quotesImpliedBy } from '../support/derived.ts';
import { marketStatement } from '../support/markets.ts';
import { randomBooks, randomsOf } from '../support/random-books.ts';
import { checkRows, inTimeOrder } from './price-series.ts';

const RUNS = { seed: 20260416, numRuns: 30 };
const ALL: PageQuery = { fromMs: 0, toMs: 1e12, order: 'asc', after: undefined, limit: 1e6 };

const held = temporaryArchive();
afterAll(() => held[Symbol.dispose]());
const { archive } = held;
const { database, snapshots, quotes, prices } = archive;
let markets = 0;
let ids = 0;

function newMarket(): StoredMarket {
  markets += 1;
  return database.write(() => archive.markets.put(marketStatement(markets), NOW_MS).market);
}

function nextId<R extends BookRecord>(record: R): R {
  ids += 1;
  return { ...record, id: ids };
}

/** Within a write transaction: one for a whole test, for the disk's sake. */
function merge(market: StoredMarket, batch: readonly BookRecord[], outcome: 'up' | 'down' = 'up') {
  const added = snapshots.newRecords(market, outcome, inTimeOrder(batch));
  snapshots.add(market, outcome, added.map(nextId));
  return added.length;
}

function add(market: StoredMarket, batch: readonly BookRecord[], outcome: 'up' | 'down' = 'up') {
  return database.write(() => merge(market, batch, outcome));
}

function storedBooks(market: StoredMarket): BookRecord[] {
  return [...snapshots.slices(market, 'up', 0, ALL.toMs)].flatMap(({ payload }) => bookCodec.decode(payload));
}

/** Rows of each of a market's series. */
function rowsOf(market: StoredMarket): Record<string, { rows: number; records: number }> {
  const series = database
    .query<{ series_id: number; kind: string }, [number]>('SELECT series_id, kind FROM series WHERE market_key = ?')
    .all(market.key);
  return Object.fromEntries(series.map(({ series_id, kind }) => [kind, checkRows(database, series_id)]));
}

function expectDerivedInStep(market: StoredMarket): void {
  const books = storedBooks(market);
  expect(quotes.page(quotes.sources(market, OUTCOMES), ALL).records).toEqual(
    quotesImpliedBy(books).map((quote) => ({ ...quote, outcome: 'up' })),
  );
  expect(prices.page(prices.sources(market, OUTCOMES), ALL).records).toEqual(
    midsImpliedBy(books).map((mid) => ({ ...mid, outcome: 'up', kind: 'mid' })),
  );
}

function topBook(bid: number | undefined, ask: number | undefined): OrderBook {
  return {
    bidPrices: bid === undefined ? [] : [bid],
    bidSizes: bid === undefined ? [] : [1],
    askPrices: ask === undefined ? [] : [ask],
    askSizes: ask === undefined ? [] : [1],
  };
}

describe('quotes and mids derived from snapshots', () => {
  const recording = fc.record({
    seed: fc.nat(),
    count: fc.integer({ min: 1, max: 600 }),
    spanMs: fc.constantFrom(20, 500, 50_000),
    levelsMax: fc.constantFrom(1, 2, 4),
    batchMax: fc.constantFrom(1, 10, 200),
    disorder: fc.constantFrom(0, 0.1, 1),
  });

  test('are those of all snapshots together, however late and in whatever batches the snapshots come', () => {
    fc.assert(
      fc.property(recording, ({ seed, count, spanMs, levelsMax, batchMax, disorder }) => {
        const market = newMarket();
        const random = randomsOf(seed);
        const books = randomBooks(seed, count, { priceScale: 1, sizes: 'whole', levelsMax, changesMax: 1 });
        const times = books.map(() => Math.floor(random() * spanMs)).sort((a, b) => a - b);
        const records = books
          .map((book, i) => ({ timestampMs: times[i]!, id: 0, book }))
          .map((record, i) => ({ record, at: random() < disorder ? random() * count : i }))
          .sort((a, b) => a.at - b.at)
          .map(({ record }) => record);
        database.write(() => {
          let next = 0;
          for (let from = 0; from < count; ) {
            const size = 1 + Math.floor(random() * batchMax);
            merge(market, records.slice(from, from + size));
            from += size;
            if (from < next) continue;
            expectDerivedInStep(market);
            next = from + count / 8;
          }
          expectDerivedInStep(market);
          expect(merge(market, records)).toBe(0);
          expectDerivedInStep(market);
        });
      }),
      RUNS,
    );
  });

  test('of one outcome do not depend on the other', () => {
    const market = newMarket();
    add(market, [{ timestampMs: 5, id: 0, book: topBook(0.4, 0.6) }], 'up');
    add(market, [{ timestampMs: 6, id: 0, book: topBook(0.1, 0.3) }], 'down');
    expect(
      quotes.page(quotes.sources(market, ['down']), ALL).records.map(({ outcome, quote }) => [outcome, quote.bidPrice]),
    ).toEqual([['down', 0.1]]);
    expect(
      prices.page(prices.sources(market, OUTCOMES), ALL).records.map(({ outcome, price }) => [outcome, price]),
    ).toEqual([
      ['up', 0.5],
      ['down', 0.2],
    ]);
  });

  test('have the ids of their snapshots', () => {
    const market = newMarket();
    add(market, [{ timestampMs: 5, id: 0, book: topBook(0.4, 0.6) }]);
    const { id } = storedBooks(market)[0]!;
    expect(quotes.page(quotes.sources(market, OUTCOMES), ALL).records.map((quote) => quote.id)).toEqual([id]);
    expect(prices.page(prices.sources(market, OUTCOMES), ALL).records.map((mid) => mid.id)).toEqual([id]);
  });

  test('are replaced by recorded ones', () => {
    const market = newMarket();
    add(market, [{ timestampMs: 5, id: 0, book: topBook(0.4, 0.6) }]);
    const quote = { bidPrice: 0.45, bidSize: 3, askPrice: undefined, askSize: undefined };
    database.write(() => {
      quotes.add(market, 'up', [{ timestampMs: 7, id: 999_001, quote }]);
      prices.add(market, 'up', 'mid', [{ timestampMs: 8, id: 999_002, price: 0.25 }]);
      prices.add(market, 'up', 'trade', [{ timestampMs: 6, id: 999_003, price: 0.75 }]);
    });
    expect(quotes.page(quotes.sources(market, OUTCOMES), ALL).records).toEqual([
      { timestampMs: 7, id: 999_001, quote, outcome: 'up' },
    ]);
    expect(prices.page(prices.sources(market, OUTCOMES), ALL).records).toEqual([
      { timestampMs: 6, id: 999_003, price: 0.75, outcome: 'up', kind: 'trade' },
      { timestampMs: 8, id: 999_002, price: 0.25, outcome: 'up', kind: 'mid' },
    ]);
  });
});

test('mirrored snapshots are those before the first recorded one, in any order of import, and the derived series follow', () => {
  const times = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 150 });
  const additions = fc.array(fc.record({ isMirrored: fc.boolean(), times }), { minLength: 2, maxLength: 6 });
  // Few tops, so that a quote may stay the same from a mirrored snapshot to a recorded one.
  const bookAt = (timestampMs: number) =>
    topBook((((timestampMs * 7) % 3) + 1) / 10, timestampMs % 5 === 0 ? undefined : 0.6);
  fc.assert(
    fc.property(additions, (all) => {
      const market = newMarket();
      let mirrored: number[] = [];
      const recorded: number[] = [];
      database.write(() => {
        for (const { isMirrored, times: added } of all) {
          const records = inTimeOrder(added.map((timestampMs) => ({ timestampMs, id: 0, book: bookAt(timestampMs) })));
          if (isMirrored) {
            snapshots.addMirrored(market, 'up', snapshots.newMirrored(market, 'up', records).map(nextId));
            mirrored.push(...added);
          } else {
            snapshots.add(market, 'up', snapshots.newRecords(market, 'up', records).map(nextId));
            recorded.push(...added);
          }
          const firstMs = Math.min(Infinity, ...recorded);
          mirrored = mirrored.filter((timestampMs) => timestampMs < firstMs);
          const expected = [...new Set([...mirrored, ...recorded])].sort((a, b) => a - b);
          expect(storedBooks(market).map(({ timestampMs }) => timestampMs)).toEqual(expected);
          expect(snapshots.recordedFromMs(market, 'up')).toBe(firstMs);
          expectDerivedInStep(market);
        }
      });
    }),
    RUNS,
  );
});

describe('snapshots that come late and one by one leave few short segments', () => {
  /** The number of rows that half-full segments need, and a few more. */
  function expectFewRows(market: StoredMarket): void {
    for (const [kind, { rows, records }] of Object.entries(rowsOf(market))) {
      expect([kind, rows <= Math.ceil(records / (SEGMENT_RECORDS_MAX / 2)) + 2]).toEqual([kind, true]);
    }
  }

  /** The top changes with every snapshot. */
  const moving = (i: number) => topBook(((i * 7) % 40) / 100, (50 + ((i * 7) % 40)) / 100);

  test.each<[string, (random: () => number) => number]>([
    ['anywhere', (random) => Math.floor(random() * 100_000)],
    ['before all', () => -1],
  ])('%s', (_, position) => {
    const market = newMarket();
    const random = randomsOf(7);
    add(
      market,
      Array.from({ length: 600 }, (_, i) => ({ timestampMs: 200_000 + i * 100, id: 0, book: moving(i) })),
    );
    database.write(() => {
      for (let i = 0; i < 300; i += 1) {
        const at = position(random);
        merge(market, [{ timestampMs: at < 0 ? 199_999 - i : 200_000 + at, id: 0, book: moving(i) }]);
      }
    });
    expectFewRows(market);
    expectDerivedInStep(market);
  });

  test('between snapshots whose top stays the same', () => {
    const market = newMarket();
    const still = topBook(0.4, 0.6);
    // The first quote of the quiet period ends a full segment, the next one begins another.
    const before = Array.from({ length: SEGMENT_RECORDS_MAX - 1 }, (_, i) => ({
      timestampMs: i,
      id: 0,
      book: moving(i),
    }));
    const between = Array.from({ length: 400 }, (_, i) => ({ timestampMs: 1000 + i * 10, id: 0, book: still }));
    const after = Array.from({ length: 300 }, (_, i) => ({ timestampMs: 9000 + i, id: 0, book: moving(i) }));
    add(market, [...before, ...between, ...after]);
    database.write(() => {
      for (let i = 0; i < 399; i += 4) merge(market, [{ timestampMs: 1005 + i * 10, id: 0, book: moving(i + 1) }]);
    });
    expectFewRows(market);
    expectDerivedInStep(market);
  });
});

describe('adding snapshots', () => {
  test('stores new ones, each once', () => {
    const market = newMarket();
    const a = { timestampMs: 5, id: 0, book: topBook(0.4, 0.6) };
    const b = { timestampMs: 5, id: 0, book: topBook(0.3, 0.6) };
    expect(add(market, [a, a, b])).toBe(2);
    expect(add(market, [b, a, { ...a, timestampMs: 6 }])).toBe(1);
  });

  test('keeps the ids that were given, even if other snapshots come between', () => {
    const market = newMarket();
    add(
      market,
      [10, 20, 30].map((timestampMs) => ({ timestampMs, id: 0, book: topBook(0.4, 0.6) })),
    );
    const before = storedBooks(market);
    add(
      market,
      [5, 15, 25].map((timestampMs) => ({ timestampMs, id: 0, book: topBook(0.4, 0.6) })),
    );
    expect(storedBooks(market)).toEqual(expect.arrayContaining(before));
  });
});

test('the nearest snapshot of an outcome without any does not exist', () => {
  const market = newMarket();
  expect(snapshots.nearest(market, 'up', 5)).toBeUndefined();
  expect(snapshots.page(market, OUTCOMES, ALL).outcomes).toEqual([]);
});
