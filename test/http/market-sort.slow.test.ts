import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MARKET_SORTS, type MarketSort } from '../../src/domain/market-sort.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { type Service, serviceOf } from '../support/service.ts';

/** More than a step looks at, so that a walk stops within equal values. */
const MARKETS = 2600;
const DAY_MS = 86_400_000;

interface Made {
  readonly number: number;
  readonly startMs: number;
  readonly slug: string;
  readonly winner: 'up' | 'down' | null;
  readonly volume: number | null;
  readonly strike: number | undefined;
  readonly final: number | undefined;
  readonly hasGap: boolean;
  readonly snapshots: number;
  readonly recordedMs: number;
}

/** Few different values: ties are long. Markets are stored in another order than that of their windows. */
const made: readonly Made[] = Array.from({ length: MARKETS }, (_, index) => {
  const number = (index * 701) % MARKETS;
  const { startMs } = marketStatement(number);
  // At most 32 s of the window of 5 min are recorded: a tenth is 30 s.
  const snapshots = number % 13 === 0 ? (number % 5) + 1 : 0;
  return {
    number,
    startMs,
    slug: `btc-${(number * 31) % 97}-${number}`,
    winner: number % 3 === 0 ? 'up' : number % 7 === 0 ? 'down' : null,
    volume: number % 2 === 0 ? null : (number % 5) * 100.5,
    strike: number % 4 === 0 ? undefined : 90_000.5 + (number % 6),
    final: number % 5 === 0 ? undefined : 90_000.25 + (number % 7),
    hasGap: number % 11 === 0,
    snapshots,
    recordedMs: snapshots === 0 ? 0 : (snapshots - 1) * 8000,
  };
});

const WINDOW_MS = 300_000;
const held = temporaryArchive();
let service: Service;
beforeAll(() => {
  const { database, markets, snapshots, gaps, recordedTimes, givenIds } = held.archive;
  database.write(() => {
    givenIds.load();
    for (const { number, startMs, slug, winner, volume, strike, final, hasGap, snapshots: count } of made) {
      const prices = { priceStart: strike, priceEnd: final };
      const stated = {
        ...prices,
        slug,
        closed: winner !== null,
        ...(winner && { winner }),
        ...(volume !== null && { volume }),
      };
      const { market } = markets.put(marketStatement(number, stated), NOW_MS);
      // The last one ends as the window begins.
      if (hasGap) gaps.add(market.key, { fromMs: startMs - 5000, toMs: startMs, reason: 'recorder restarted' });
      const books = Array.from({ length: count }, (_, i) => ({
        timestampMs: startMs + i * 8000,
        id: givenIds.take(undefined),
        book: { bidPrices: [0.5], bidSizes: [i + 1], askPrices: [], askSizes: [] },
      }));
      if (count > 0) snapshots.add(market, 'up', books);
      recordedTimes.update(market.key);
    }
    givenIds.save();
  });
  service = serviceOf(held.archive);
});
afterAll(() => held[Symbol.dispose]());

const VALUES: Readonly<Record<string, (market: Made) => string | number>> = {
  window: ({ startMs }) => startMs,
  slug: ({ slug }) => slug,
  winner: ({ winner }) => winner ?? '',
  recorded: ({ recordedMs }) => recordedMs,
  snapshots: ({ snapshots }) => snapshots,
  volume: ({ volume }) => volume ?? -1,
  strike: ({ strike }) => strike ?? -1,
  final: ({ final }) => final ?? -1,
  books: ({ snapshots, recordedMs }) => (snapshots === 0 ? 0 : recordedMs < 30_000 ? 1 : 2),
};

/** The whole list, sorted; no two markets have one window. */
function sorted(sort: MarketSort): readonly Made[] {
  const value = VALUES[sort.replace('-', '')]!;
  const sign = sort.startsWith('-') || sort === 'books' ? -1 : 1;
  const compare = (a: string | number, b: string | number) => (a < b ? -sign : a > b ? sign : 0);
  return made.toSorted((a, b) => compare(value(a), value(b)) || compare(a.startMs, b.startMs));
}

const days = [...new Set(made.map(({ startMs }) => new Date(startMs).toISOString().slice(0, 10)))];
const filters = fc.record(
  {
    winner: fc.constantFrom('up', 'down', 'UP', 'Down'),
    gaps: fc.boolean(),
    recorded: fc.boolean(),
    volumeMin: fc.constantFrom(0, 1, 300),
    date: fc.constantFrom(...days, days[0]!.slice(0, 7), '2020-01'),
    search: fc.constantFrom('btc-5', '1'),
  },
  { requiredKeys: [] },
);

test('A list sorted by any value, with any filters, from any start, equals a sorted scan with its totals: unknown values are below all others.', async () => {
  const asked = fc.record({
    sort: fc.constantFrom(...MARKET_SORTS),
    filter: filters,
    skip: fc.nat(2700),
    limit: fc.integer({ min: 1, max: 40 }),
    totals: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ sort, filter, skip, limit, totals }) => {
      const { winner, gaps, recorded, volumeMin, date, search } = filter;
      const expected = sorted(sort).filter(
        (market) =>
          (winner === undefined || market.winner === winner.toLowerCase()) &&
          (gaps === undefined || market.hasGap === gaps) &&
          (recorded === undefined || market.snapshots > 0 === recorded) &&
          (volumeMin === undefined || (market.volume !== null && market.volume >= volumeMin)) &&
          (date === undefined || new Date(market.startMs).toISOString().startsWith(date)) &&
          (search === undefined || market.slug.includes(search)),
      );
      const from = expected.length === 0 ? skip : skip % (expected.length + 2);
      const query = new URLSearchParams({ sort, skip: String(from), limit: String(limit), include: 'counts' });
      if (totals) query.set('totals', 'true');
      for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
      const { data, pagination } = (await (await service.get(`/btc/markets?${query}`)).json()) as {
        data: { slug: string }[];
        pagination: object;
      };
      const page = expected.slice(from, from + limit);
      expect(data.map(({ slug }) => slug)).toEqual(page.map(({ slug }) => slug));
      expect(pagination).toEqual({
        ...{ limit, skip: from, count: page.length, hasMore: expected.length > from + limit },
        ...(totals && { total: expected.length, recorded: expected.filter(({ snapshots }) => snapshots > 0).length }),
      });
    }),
    { numRuns: 150 },
  );
  expect(days.length * DAY_MS).toBeGreaterThan(8 * DAY_MS);
});

test('A date that does not exist is refused, and so is a sort by values that were not known at asOf.', async () => {
  for (const date of ['2026-02-30', '2026-13', '2026', '2026-1', '']) {
    expect((await service.get(`/btc/markets?date=${date}`)).status, date).toBe(400);
  }
  const asOf = made[0]!.startMs;
  expect((await service.get(`/btc/markets?sort=-volume&asOf=${asOf}`)).status).toBe(400);
  expect((await service.get(`/btc/markets?volumeMin=1&asOf=${asOf}`)).status).toBe(400);
  expect((await service.get(`/btc/markets?sort=window&asOf=${asOf}`)).status).toBe(200);
});

test('A list by books with asOf has the markets first that had a book by then, those last that were over and nearly empty, and counts them.', async () => {
  const list = async (query: string) =>
    (await (await service.get(`/btc/markets?limit=1000&asOf=${asOf}&${query}`)).json()) as {
      data: { slug: string }[];
      pagination: { total: number; recorded: number };
    };
  const recorded = sorted('books').filter(({ snapshots }) => snapshots > 0);
  const asOf = recorded[0]!.startMs - 1;
  const [{ data }, byWindow, ofRecorded] = await Promise.all([
    list('sort=books'),
    list('totals=true'),
    list('recorded=true&totals=true'),
  ]);
  const isNearlyEmpty = ({ startMs, recordedMs }: Made) => startMs + WINDOW_MS <= asOf && recordedMs < WINDOW_MS / 10;
  const known = recorded
    .filter(({ startMs }) => startMs <= asOf)
    .toSorted((a, b) => Number(isNearlyEmpty(a)) - Number(isNearlyEmpty(b)) || b.startMs - a.startMs);
  expect(known.some((market, nth) => isNearlyEmpty(market) && !isNearlyEmpty(known[nth - 1] ?? market))).toBe(true);
  expect(data.slice(0, known.length).map(({ slug }) => slug)).toEqual(known.map(({ slug }) => slug));
  expect(byWindow.pagination.recorded).toBe(known.length);
  expect(byWindow.pagination.total).toBeGreaterThan(known.length);
  expect(ofRecorded.pagination).toMatchObject({ total: known.length, recorded: known.length });
});
