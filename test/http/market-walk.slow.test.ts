import { afterAll, beforeAll, expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { type Service, serviceOf } from '../support/service.ts';

/** More than a filter looks at in one step, and with counts as of an instant many times as many. */
const MARKETS = 4500;
const RECORDED_EVERY = 9;
const FIRST = marketStatement(0).startMs;

const held = temporaryArchive();
let service: Service;
beforeAll(() => {
  const { database, markets, snapshots, givenIds } = held.archive;
  database.write(() => {
    givenIds.load();
    for (let number = 0; number < MARKETS; number += 1) {
      const { market } = markets.put(marketStatement(number, { closed: number < 300 }), NOW_MS);
      if (number % RECORDED_EVERY !== 0) continue;
      for (const outcome of OUTCOMES) {
        const books = [0, 1, 2].map((index) => ({
          timestampMs: market.startMs + index * 1000,
          id: givenIds.take(undefined),
          book: { bidPrices: [0.5], bidSizes: [index + 1], askPrices: [], askSizes: [] },
        }));
        snapshots.add(market, outcome, books);
      }
    }
    givenIds.save();
  });
  service = serviceOf(held.archive);
});
afterAll(() => held[Symbol.dispose]());

const numbers = Array.from({ length: MARKETS }, (_, index) => MARKETS - 1 - index);
const isRecorded = (number: number) => number % RECORDED_EVERY === 0;
const CASES: readonly (readonly [query: string, takes: (number: number) => boolean])[] = [
  ['recorded=true', isRecorded],
  ['recorded=false', (number) => !isRecorded(number)],
  ['closed=true', (number) => number < 300],
  ['closed=true&recorded=true', (number) => number < 300 && isRecorded(number)],
  [`to=${FIRST + 300_000 * 10}`, (number) => number <= 10],
  [`from=${FIRST + 300_000 * 4480}`, (number) => number >= 4479],
  ['include=counts', () => true],
];

test.each(CASES)('%s: a list made in many steps equals a scan, from any start', async (query, takes) => {
  const expected = numbers.filter(takes);
  for (const skip of [0, 7, expected.length - 3, expected.length, 4499]) {
    const { data, pagination } = (await (await service.get(`/btc/markets?limit=20&skip=${skip}&${query}`)).json()) as {
      data: { startTime: string }[];
      pagination: object;
    };
    const page = expected.slice(skip, skip + 20);
    expect(data.map(({ startTime }) => (Date.parse(startTime) - FIRST) / 300_000)).toEqual(page);
    expect(pagination).toEqual({ limit: 20, skip, count: page.length, hasMore: expected.length > skip + 20 });
  }
});

test('counts as of an instant equal those of each market, also over many steps', async () => {
  const asOf = FIRST + 300_000 * 4491 + 1500;
  const reply = await service.get(`/btc/markets?limit=1000&include=counts&asOf=${asOf}`);
  const { data } = (await reply.json()) as { data: { startTime: string; snapshotCount: number }[] };
  expect(data).toHaveLength(1000);
  for (const { startTime, snapshotCount } of data) {
    const number = (Date.parse(startTime) - FIRST) / 300_000;
    expect([number, snapshotCount]).toEqual([number, isRecorded(number) ? (number === 4491 ? 4 : 6) : 0]);
  }
});

test('a search reads all markets in steps, and a whole conditionId takes one', async () => {
  const slugOf = (number: number) => marketStatement(number).slug;
  const listOf = async (search: string) => {
    const reply = await service.get(`/btc/markets?limit=1000&search=${search}`);
    return ((await reply.json()) as { data: { slug: string; conditionId: string }[] }).data;
  };
  const text = slugOf(4321).slice(-6, -3);
  const expected = Array.from({ length: MARKETS }, (_, number) => slugOf(number)).filter((slug) => slug.includes(text));
  expect((await listOf(text)).map(({ slug }) => slug)).toEqual(expected.reverse());
  const [oldest] = await listOf(slugOf(0));
  expect(oldest!.slug).toBe(slugOf(0));
  const search = oldest!.conditionId.toUpperCase();
  expect(await listOf(search)).toEqual([oldest!]);
  const filter = { timeframe: undefined, recorded: undefined, closed: undefined, fromMs: 0, toMs: Infinity };
  // Two steps would be needed if the list were read from its beginning.
  const { keys, last } = held.archive.markets.walk('btc', { ...filter, search }, 2);
  expect(keys).toHaveLength(1);
  expect(last).toBeUndefined();
});

test.each([undefined, FIRST + 300_000 * 4491 + 1500])(
  'days counted in many steps equal a scan, as of %p',
  async (asOf) => {
    const reply = await service.get(`/btc/days${asOf === undefined ? '' : `?asOf=${asOf}`}`);
    const { data } = (await reply.json()) as { data: { day: string; markets: number; snapshots: number }[] };
    const dayOf = (number: number) => new Date(FIRST + number * 300_000).toISOString().slice(0, 10);
    const listed = numbers.toReversed().filter((number) => FIRST + number * 300_000 <= (asOf ?? Infinity));
    const expected = [...Map.groupBy(listed, dayOf)].map(([day, all]) => {
      const recorded = all.filter(isRecorded);
      const snapshots = recorded.reduce((sum, number) => sum + (asOf !== undefined && number === 4491 ? 4 : 6), 0);
      return { day, markets: all.length, recordedMarkets: recorded.length, marketsWithGaps: 0, snapshots };
    });
    expect(data).toEqual(expected);
    expect(data.length).toBeGreaterThan(15);
  },
);

test('other requests are served while a filter reads many markets', async () => {
  let turns = 0;
  let isMade = false;
  const count = () => {
    turns += 1;
    if (!isMade) setImmediate(count);
  };
  setImmediate(count);
  await service.get('/btc/markets?closed=true&limit=1');
  isMade = true;
  expect(turns).toBeGreaterThanOrEqual(2);
});
