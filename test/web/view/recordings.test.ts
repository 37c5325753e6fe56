import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { BrowseQuery } from '../../../src/web/browser/view/browse-query.ts';
import { Recordings } from '../../../src/web/browser/view/recordings.ts';
import { RequestRefused } from '../../../src/web/browser/view/request-refused.ts';
import { ManualTimers } from './manual-timers.ts';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 0, 1);
const QUERY: BrowseQuery = {
  ...{ coin: undefined, timeframe: undefined, date: '', search: '', recorded: undefined, winner: undefined },
  ...{ gaps: undefined, volumeMin: undefined, sort: 'books', replay: undefined },
};
/** More than a request of midpoints may have. */
const SHOWN = 60;

interface ServedMarket {
  readonly symbol: string;
  readonly conditionId: string;
  readonly startTime: string;
  readonly snapshotCount: number;
}

/** Markets every hour for three days, the latest first; every fifth has no snapshots. */
function marketsOf(coin: string, count = 72): ServedMarket[] {
  return Array.from({ length: count }, (_, i) => ({
    symbol: coin,
    conditionId: `${coin}-${i}`,
    startTime: new Date(FIRST_MS + i * (DAY_MS / 24)).toISOString(),
    snapshotCount: i % 5 === 0 ? 0 : i,
  })).reverse();
}

function isRecorded({ snapshotCount }: ServedMarket): boolean {
  return snapshotCount > 0;
}

/** A service with two coins. `refused`: what it answers to all requests, if anything. */
function started(query: Partial<BrowseQuery> = {}, granted = ['markets', 'quotes']) {
  const timers = new ManualTimers();
  const served: Record<string, ServedMarket[]> = { btc: marketsOf('btc'), eth: marketsOf('eth') };
  const asked: string[] = [];
  const service: { refusal: RequestRefused | undefined } = { refusal: undefined };
  const answer = (path: string): unknown => {
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    const [, , coin = '', resource] = pathname.split('/');
    if (coin === 'coins')
      return {
        data: Object.entries(served).map(([symbol, markets]) => ({
          ...{ symbol, timeframes: ['1h'], recordedMarkets: markets.filter(isRecorded).length },
        })),
      };
    const all = served[coin]!;
    if (resource === 'days') {
      const days = Object.groupBy(all.toReversed(), ({ startTime }) => startTime.slice(0, 10));
      return {
        data: Object.entries(days).map(([day, markets]) => {
          return { day, markets: markets!.length, recordedMarkets: markets!.length, marketsWithGaps: 0, snapshots: 1 };
        }),
      };
    }
    if (resource === 'midpoints') {
      const markets = searchParams.get('markets')!.split(',');
      return { data: markets.map((conditionId) => ({ conditionId, mids: [0.5, markets.indexOf(conditionId)] })) };
    }
    const [text, date] = [searchParams.get('search') ?? '', searchParams.get('date') ?? ''];
    // The recorded markets of a list by days are all: see its counts.
    const recorded = text === '' ? null : searchParams.get('recorded');
    const found = all.filter(
      (market) =>
        market.conditionId.includes(text) &&
        market.startTime.startsWith(date) &&
        (recorded === null || isRecorded(market) === (recorded === 'true')),
    );
    if (text !== '' && searchParams.get('sort') === 'books')
      found.sort((a, b) => Number(isRecorded(b)) - Number(isRecorded(a)));
    const [skip, limit] = [Number(searchParams.get('skip')), Number(searchParams.get('limit'))];
    const totals = searchParams.has('totals') && { total: found.length, recorded: found.filter(isRecorded).length };
    return { data: found.slice(skip, skip + limit), pagination: { hasMore: skip + limit < found.length, ...totals } };
  };
  const recordings = new Recordings(
    { ...QUERY, ...query },
    {
      later: timers.later,
      connection: {
        grants: (route) => granted.includes(route),
        get: async <T>(path: string, { signal }: { signal?: AbortSignal } = {}) => {
          asked.push(path);
          await Bun.sleep(0);
          signal?.throwIfAborted();
          if (service.refusal !== undefined) throw service.refusal;
          // The caller names the type, as with a real connection.
          return answer(path) as T;
        },
      },
    },
  );
  recordings.start();
  /** Lets answers arrive, and shows rows. */
  const settle = async (first = 0, end = 10) => {
    for (let round = 0; round < 6; round += 1) {
      await Bun.sleep(0);
      recordings.show(first, end);
      timers.pass(200);
    }
  };
  const rows = () => {
    const list = recordings.markets.value!;
    return Array.from({ length: list.count! }, (_, i) => list.row(i)?.conditionId);
  };
  return { recordings, timers, served, asked, service, settle, rows };
}

test('shows the first coin: its days, and its markets with midpoints of those that are recorded', async () => {
  const { recordings, served, asked, settle, rows } = started();
  await settle(0, SHOWN);
  expect(recordings.coin).toBe('btc');
  expect(recordings.days.value!.map(({ day, markets }) => [day, markets])).toEqual([
    ['2026-01-01', 24],
    ['2026-01-02', 24],
    ['2026-01-03', 24],
  ]);
  expect(rows()).toEqual(served.btc!.map(({ conditionId }) => conditionId));
  const shown = served.btc!.slice(0, SHOWN).filter(({ snapshotCount }) => snapshotCount > 0);
  expect(shown.map((market) => recordings.midpoints(market as never)?.[0])).toEqual(shown.map(() => 0.5));
  expect(recordings.midpoints(served.btc!.at(-1) as never)).toBeUndefined();
  expect(asked.map((path) => path.replace(/(&markets=).*/, '$1…'))).toEqual([
    '/v1/coins',
    '/v1/btc/days',
    '/v1/btc/markets?include=counts&recorded=true&sort=books&limit=72&skip=0',
    '/v1/btc/midpoints?points=48&markets=…',
  ]);
});

test.each([
  ['2026-01-02', 24, 48],
  ['2026-01-03', 48, 72],
  ['2026-01', 0, 72],
  ['2025-12', 0, 0],
])('the markets of %s are a part of the list', async (date, from, to) => {
  const { served, asked, settle, rows } = started({ date, coin: 'eth', timeframe: '1h' });
  await settle();
  const expected = served.eth!.filter((_, i) => 72 - to <= i && i < 72 - from);
  expect(rows()).toEqual(expected.map(({ conditionId }) => conditionId));
  expect(asked[1]).toBe('/v1/eth/days?tf=1h');
});

test('a search lists what the service finds, and what is chosen next replaces it', async () => {
  const { recordings, settle, rows, asked } = started();
  await settle();
  recordings.choose({ search: 'btc-7' });
  await settle();
  expect(rows()).toEqual(['btc-71', 'btc-7', 'btc-70']);
  // Every coin is asked once, that of the page first.
  expect(asked.filter((path) => path.includes('search='))).toEqual(
    ['btc', 'eth'].map(
      (coin) => `/v1/${coin}/markets?include=counts&search=btc-7&sort=books&limit=100&skip=0&totals=true`,
    ),
  );
  recordings.choose({ search: '-7' });
  await settle();
  expect(rows()).toEqual(['btc-71', 'btc-7', 'eth-71', 'eth-7', 'btc-70', 'eth-70']);
  expect(asked.filter((path) => path.endsWith('/days')).length).toBe(1);
  recordings.choose({ search: '', coin: 'eth', date: '2026-01-01' });
  await settle();
  expect(rows().length).toBe(24);
  expect(rows()[0]).toBe('eth-23');
});

test('a search for a coin finds all of its markets, also those with another name of the coin in their slugs', async () => {
  const { recordings, settle, rows, asked, served } = started();
  await settle();
  served.eth = served.eth!.map((market) => ({ ...market, conditionId: market.conditionId.replace('eth', 'ethereum') }));
  recordings.choose({ search: 'ETH' });
  await settle(0, 80);
  expect(recordings.found!.markets).toBe(served.eth.length);
  expect(rows().toSorted()).toEqual(served.eth.map(({ conditionId }) => conditionId).toSorted());
  expect(asked.filter((path) => path.startsWith('/v1/eth/markets'))[0]).not.toContain('search=');
});

const ofSearch = fc.record({
  markets: fc.array(
    fc.record({ coin: fc.constantFrom('btc', 'eth', 'sol'), isFound: fc.boolean(), isRecorded: fc.boolean() }),
    { maxLength: 260 },
  ),
  coin: fc.constantFrom('btc', 'eth', 'sol'),
  recorded: fc.constantFrom(undefined, 'yes' as const, 'no' as const, 'all' as const),
});

test('A search lists the recorded matches of all coins before the others, those of the chosen coin first in both, each in the order of the service; it counts them all, and asks a coin only for what is shown.', async () => {
  const check = async ({ markets, coin, recorded }: typeof ofSearch extends fc.Arbitrary<infer T> ? T : never) => {
    const { served, recordings, settle, rows, asked } = started({ coin, recorded, search: 'found' });
    const coins = ['btc', 'eth', 'sol'];
    for (const symbol of coins) served[symbol] = [];
    for (const [nth, one] of markets.entries()) {
      const [conditionId, startTime] = [
        `${one.coin}-${one.isFound ? 'found' : 'other'}-${nth}`,
        '2026-01-01T00:00:00Z',
      ];
      served[one.coin]!.push({ symbol: one.coin, conditionId, startTime, snapshotCount: Number(one.isRecorded) });
    }
    await settle();
    const wanted = { yes: 1, no: 0 }[recorded as string];
    // The page has the coins with recorded markets first.
    const all = coins
      .toSorted((a, b) => Number(served[b]!.some(isRecorded)) - Number(served[a]!.some(isRecorded)))
      .flatMap((symbol) => served[symbol]!)
      .filter(
        ({ conditionId, snapshotCount }) =>
          conditionId.includes('found') && (wanted === undefined || snapshotCount === wanted),
      )
      .sort((a, b) => b.snapshotCount - a.snapshotCount || Number(b.symbol === coin) - Number(a.symbol === coin));
    const kinds = new Set(all.map(({ symbol }) => symbol)).size;
    expect(recordings.found).toEqual({
      markets: all.length,
      recordedMarkets: all.filter(isRecorded).length,
      coins: kinds,
    });
    const before = asked.length;
    // The last page before the second one.
    for (const at of [all.length - 1, 150]) if (at > 100) await settle(at, at + 1);
    expect(rows()).toEqual(all.map(({ conditionId }) => conditionId));
    expect(asked.length - before).toBeLessThanOrEqual(12);
  };
  await fc.assert(fc.asyncProperty(ofSearch, check), { numRuns: 60 });
});

test('rows that wait for midpoints are not asked for at another coin', async () => {
  const { recordings, timers, service, settle, asked } = started();
  await settle();
  recordings.choose({ search: 'btc-1' });
  await Bun.sleep(0);
  recordings.show(0, 10);
  await Bun.sleep(0);
  recordings.show(0, 10);
  service.refusal = new RequestRefused('The server does not answer.', 'unreachable');
  recordings.choose({ coin: 'eth', search: '' });
  timers.pass(1000);
  await settle();
  expect(asked.filter((path) => path.includes('/eth/midpoints'))).toEqual([]);
});

test('When rows show that a market was added, the days are counted again, at most every 30 s.', async () => {
  const { recordings, served, settle, rows, asked } = started();
  await settle();
  served.btc!.unshift({ symbol: 'btc', conditionId: 'new', startTime: '2026-01-04T00:00:00.000Z', snapshotCount: 1 });
  recordings.choose({ sort: 'window' });
  await settle();
  expect(rows().length).toBe(73);
  expect(recordings.days.value!.at(-1)!.day).toBe('2026-01-04');
  served.btc!.unshift({ symbol: 'btc', conditionId: 'newer', startTime: '2026-01-04T01:00:00.000Z', snapshotCount: 1 });
  recordings.choose({ sort: '-window' });
  await settle();
  expect(asked.filter((path) => path.endsWith('/days')).length).toBe(2);
});

test('a tier without quotes gets the list, and no request for midpoints', async () => {
  const { settle, rows, asked } = started({}, ['markets']);
  await settle();
  expect(rows().length).toBe(72);
  expect(asked.some((path) => path.includes('midpoints'))).toBe(false);
});

test('A service that does not answer is asked again every 5 s, and after a refusal only when the person says so.', async () => {
  const { recordings, timers, service, settle, rows, asked } = started();
  service.refusal = new RequestRefused('The server does not answer.', 'unreachable');
  await settle();
  expect(recordings.failure.value).toBe(service.refusal);
  expect(asked).toEqual(['/v1/coins']);
  service.refusal = undefined;
  timers.pass(5000);
  await settle();
  expect([recordings.failure.value, rows().length]).toEqual([undefined, 72]);

  service.refusal = new RequestRefused('Your tier does not grant eth.', 'forbidden', 403);
  recordings.choose({ coin: 'eth' });
  await settle();
  const sent = asked.length;
  timers.pass(60_000);
  await settle();
  expect([recordings.failure.value, asked.length]).toEqual([service.refusal, sent]);
  service.refusal = undefined;
  recordings.retry();
  await settle();
  expect([recordings.failure.value, rows()[0]]).toEqual([undefined, 'eth-71']);
});

test('rows that were shown stay while the service does not answer, and the others follow', async () => {
  const { recordings, timers, served, service, settle, rows } = started();
  served.btc = marketsOf('btc', 500);
  await settle();
  service.refusal = new RequestRefused('The server does not answer.', 'unreachable');
  await settle(300, 310);
  expect([rows()[0], rows()[300]]).toEqual(['btc-499', undefined]);
  expect(recordings.failure.value).toBe(service.refusal);
  service.refusal = undefined;
  timers.pass(5000);
  await settle(300, 310);
  expect([recordings.failure.value, rows()[300]]).toEqual([undefined, 'btc-199']);
});

test('an archive without coins asks for nothing more', async () => {
  const { recordings, served, settle, asked } = started();
  delete served.btc;
  delete served.eth;
  await settle();
  expect([recordings.coin, recordings.coins.value, asked]).toEqual([undefined, [], ['/v1/coins']]);
});

test('Filters and the order are sent with the list, and the recorded markets of a date come first, if it has any.', async () => {
  const { recordings, asked, settle } = started();
  await settle();
  recordings.choose({ winner: 'up', gaps: false, volumeMin: 1000, sort: '-volume', date: '2026-01-02' });
  await settle();
  expect(asked.findLast((path) => path.includes('/markets?'))).toBe(
    '/v1/btc/markets?include=counts&recorded=true&date=2026-01-02&winner=up&gaps=false&volumeMin=1000&sort=-volume&limit=100&skip=0&totals=true',
  );
  // Nothing is recorded there.
  recordings.choose({ ...QUERY, date: '2025-12' });
  expect(recordings.recorded).toBe('all');
  recordings.choose({ recorded: 'no', date: '' });
  expect(recordings.recorded).toBe('no');
});

test('A timeframe that is asked for is among the choices, also if the coin has none of it.', async () => {
  const choices = async (timeframe?: string) => {
    const { recordings, settle } = started({ timeframe });
    await settle();
    return recordings.timeframes;
  };
  expect([await choices(), await choices('1h'), await choices('24h')]).toEqual([['1h'], ['1h'], ['1h', '24h']]);
});

test('The day of a list is that of its date, or the one on which all found markets begin.', async () => {
  const dayOf = async (query: Partial<BrowseQuery>) => {
    const { recordings, settle } = started(query);
    await settle();
    return recordings.onlyDay;
  };
  expect(await dayOf({ date: '2026-01-02' })).toBe('2026-01-02');
  expect(await dayOf({ date: '2026-01' })).toBeUndefined();
  // Hours 1 and 10 to 19, and hours 2 and 20 to 29.
  expect(await dayOf({ search: 'btc-1' })).toBe('2026-01-01');
  expect(await dayOf({ search: 'btc-2' })).toBeUndefined();
});
