import { expect, test } from 'bun:test';
import type { Client } from './client.ts';
import {
  expectedCoinPrices,
  expectedNearest,
  expectedPrices,
  expectedQuotes,
  expectedSnapshots,
  filtered,
  type SeriesFilter,
  type WireRecord,
} from './oracle.ts';
import { BOOKS, EMPTY, ETH, type MarketRecord, NEAREST, type Outcome, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

interface SeriesDocument {
  readonly data: readonly WireRecord[];
  readonly nextCursor: string | null;
}

interface Series {
  readonly name: string;
  readonly path: string;
  readonly records: readonly WireRecord[];
  readonly hasOutcomes: boolean;
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;
const ALL_BOOKS = expectedSnapshots(BOOKS);
const ORDERS = [undefined, 'asc', 'desc'] as const;

const of = (market: MarketRecord, kind: string) => `/v1/${market.symbol}/markets/${market.conditionId}/${kind}`;

function series(name: string, path: string, records: readonly WireRecord[], hasOutcomes = true): Series {
  return { name, path, records, hasOutcomes };
}

const SERIES: readonly Series[] = [
  series('snapshots', of(BOOKS, 'snapshots'), ALL_BOOKS),
  series('quotes derived from books', of(BOOKS, 'quotes'), expectedQuotes(BOOKS)),
  series('prices derived from books', of(BOOKS, 'prices'), expectedPrices(BOOKS)),
  series('snapshots of a market with recorded quotes', of(RECORDED, 'snapshots'), expectedSnapshots(RECORDED)),
  series('quotes, recorded of up and derived of down', of(RECORDED, 'quotes'), expectedQuotes(RECORDED)),
  series('recorded midpoints and trades', of(RECORDED, 'prices'), expectedPrices(RECORDED)),
  series('coin prices of several sources', '/v1/btc/prices', expectedCoinPrices('btc'), false),
  series('snapshots with the greatest id', of(NEAREST, 'snapshots'), expectedSnapshots(NEAREST)),
  series('quotes with awkward decimals', of(SOL, 'quotes'), expectedQuotes(SOL)),
  series('prices with awkward decimals', of(SOL, 'prices'), expectedPrices(SOL)),
];

function queryOf(filter: SeriesFilter, limit: number | undefined, cursor: string | null): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filter, limit, cursor: cursor ?? undefined })) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.toString();
}

/** Follows nextCursor to the end; each page but the last is full, and the last says so. */
async function walk(get: Client, path: string, filter: SeriesFilter, limit: number | undefined): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  let cursor: string | null = null;
  do {
    const reply = await get(`${path}?${queryOf(filter, limit, cursor)}`);
    expect(reply.status, reply.text.slice(0, 300)).toBe(200);
    const page: SeriesDocument = reply.json();
    if (page.nextCursor !== null) {
      expect(page.nextCursor).toMatch(BASE64URL);
      expect(page.data.length).toBe(limit ?? 100);
    }
    records.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return records;
}

/** Time series: order, ties, windows, cursors, and the nearest record. */
export function seriesTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);

  test('the recording has the cases of these tests', () => {
    const [snapshots] = SERIES;
    const { records } = snapshots!;
    expect(records.length).toBeGreaterThan(300);
    const ties = records.filter((record, index) => record.timestamp === records[index - 1]?.timestamp);
    expect(ties.length).toBeGreaterThan(50);
    const againstIds = records.filter((record, index) => Number(record.id) < Number(records[index - 1]?.id ?? 0));
    expect(againstIds.length).toBeGreaterThan(50);
    const sides = ALL_BOOKS.map(({ bids, asks }) => Math.min(bids.length, asks.length));
    expect(Math.min(...sides)).toBe(0);
  });

  test.each(SERIES)('Recorded quotes and midpoints replace the derived ones. ($name)', async (one) => {
    const { path, records, hasOutcomes } = one;
    const outcomes = hasOutcomes ? ([undefined, 'up', 'down'] as const) : [undefined];
    for (const limit of [undefined, 37, 1000]) {
      for (const outcome of outcomes) {
        for (const order of ORDERS) {
          const filter = { outcome, order };
          expect(await walk(get, path, filter, limit)).toEqual(filtered(records, filter));
        }
      }
    }
  });

  test.each(SERIES)('$name: limit=1 walks through every tie', async ({ path, records }) => {
    const window = records.slice(0, 20);
    const filter = { to: Date.parse(window.at(-1)!.timestamp) };
    for (const order of ['asc', 'desc'] as const) {
      expect(await walk(get, path, { ...filter, order }, 1)).toEqual(filtered(records, { ...filter, order }));
    }
  });

  test.each(SERIES)('$name: from and to are both inclusive, also when they are one instant', async (one) => {
    const { path, records } = one;
    const instants = [...new Set(records.map(({ timestamp }) => Date.parse(timestamp)))];
    const first = instants[0]!;
    const middle = instants[Math.floor(instants.length / 2)]!;
    const last = instants.at(-1)!;
    const windows: readonly SeriesFilter[] = [
      { from: middle, to: middle },
      { from: first, to: first },
      { from: last, to: last },
      { from: last + 1 },
      { to: first - 1 },
      { from: first, to: last },
      { from: first + 1, to: last - 1 },
      { from: middle },
      { to: middle },
      { from: 0, to: Number.MAX_SAFE_INTEGER },
    ].filter(({ from = 0, to = Infinity }) => from <= to);
    for (const window of windows) {
      for (const order of ORDERS) {
        const filter = { ...window, order };
        expect(await walk(get, path, filter, 11)).toEqual(filtered(records, filter));
      }
    }
    const equal = filtered(records, { from: middle, to: middle });
    expect(equal.length).toBeGreaterThan(0);
  });

  test('records that were imported without ids get unique decimal ones, in order', async () => {
    const records = await walk(get, of(ETH, 'snapshots'), {}, 2);
    const ids = records.map(({ id }) => Number(id));
    expect(ids.length).toBe(5);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(records.map(({ id }) => id)).toEqual(ids.map(String));
    expect(records.map(({ timestamp }) => Date.parse(timestamp))).toEqual([0, 1, 2, 3, 4].map((n) => T0 + n * 1000));
  });

  test('mid and spread are exact where binary fractions are not', async () => {
    const { data } = (await get(of(SOL, 'quotes'))).json<{ data: { mid: number | null; spread: number | null }[] }>();
    expect(data.map(({ mid, spread }) => [mid, spread])).toEqual([
      [0.2, 0.2],
      [0.5, 0.9998],
      [0.295, 0.01],
      [0.00305, 0.0001],
      [0.575, 0.01],
      [null, null],
      [null, null],
      [null, null],
      [0.575, 0.01],
      [0.605, -0.01],
      [0.5, 1],
    ]);
    const { data: prices } = (await get(of(SOL, 'prices'))).json<{ data: { price: number; kind: string }[] }>();
    expect(prices.map(({ price }) => price)).toEqual([0.2, 0.5, 0.295, 0.00305, 0.575, 0.575, 0.605, 0.5]);
    expect(new Set(prices.map(({ kind }) => kind))).toEqual(new Set(['mid']));
  });

  test('a market without records has empty series and no nearest one', async () => {
    for (const kind of ['snapshots', 'quotes', 'prices']) {
      expect((await get(of(EMPTY, kind))).json<SeriesDocument>()).toEqual({ data: [], nextCursor: null });
    }
    for (const query of ['', '?outcome=up']) {
      const reply = await get(`${of(EMPTY, 'snapshots')}/at/${T0}${query}`);
      expect(reply.status).toBe(200);
      expect(reply.json<unknown>()).toEqual({ data: [] });
    }
  });

  test('milliseconds and ISO 8601 are equivalent', async () => {
    const atMs = Date.parse(ALL_BOOKS[40]!.timestamp);
    const spellings = [
      new Date(atMs).toISOString(),
      new Date(atMs + 90 * 60_000).toISOString().replace('Z', '+01:30'),
      new Date(atMs - 120 * 60_000).toISOString().replace('Z', '-02:00'),
      new Date(atMs).toISOString().replace('Z', '999999Z'),
    ];
    for (const name of ['from', 'to']) {
      const expected = await get(`${of(BOOKS, 'snapshots')}?${name}=${atMs}&limit=3`);
      for (const spelling of spellings) {
        const reply = await get(`${of(BOOKS, 'snapshots')}?${name}=${encodeURIComponent(spelling)}&limit=3`);
        expect(reply.json<SeriesDocument>().data).toEqual([...expected.json<SeriesDocument>().data]);
      }
    }
    for (const spelling of spellings) {
      const reply = await get(`${of(BOOKS, 'snapshots')}/at/${encodeURIComponent(spelling)}`);
      expect(reply.json<SeriesDocument>().data).toEqual(expectedNearest(ALL_BOOKS, atMs));
    }
    const midnight = await get(`${of(BOOKS, 'snapshots')}?from=2026-04-16&to=2026-04-16T23:59Z&limit=1000`);
    expect(midnight.json<SeriesDocument>().data).toEqual(ALL_BOOKS);
    expect((await get(`${of(BOOKS, 'snapshots')}?from=2026-04-17`)).json<SeriesDocument>().data).toEqual([]);
  });

  const cursorOf = async (path: string, query: string) => {
    const { nextCursor } = (await get(`${path}?${query}`)).json<SeriesDocument>();
    expect(nextCursor).not.toBeNull();
    return nextCursor!;
  };

  test('a cursor works with any page size, and any name of its market', async () => {
    const path = of(BOOKS, 'snapshots');
    const cursor = await cursorOf(path, 'limit=5&outcome=up');
    const rest = filtered(ALL_BOOKS, { outcome: 'up' }).slice(5, 12);
    const same = [
      path,
      `/v1/BTC/markets/${BOOKS.slug}/snapshots`,
      `/v1/btc/markets/${BOOKS.slug.toUpperCase()}/snapshots/`,
    ];
    for (const name of same) {
      const reply = await get(`${name}?outcome=UP&order=asc&limit=7&cursor=${cursor}`);
      expect(reply.json<SeriesDocument>().data).toEqual(rest);
    }
  });

  test('A cursor is refused with another order, outcome, interval, from or to, and works with any limit.', async () => {
    const path = of(BOOKS, 'snapshots');
    const to = T0 + 60_000;
    const asked = `outcome=up&from=${T0}&to=${to}&order=desc`;
    const cursor = await cursorOf(path, `${asked}&limit=5`);
    expect((await get(`${path}?${asked}&cursor=${cursor}`)).status).toBe(200);
    const others = [
      `${path}?outcome=down&from=${T0}&to=${to}&order=desc`,
      `${path}?from=${T0}&to=${to}&order=desc`,
      `${path}?outcome=up&from=${T0 + 1}&to=${to}&order=desc`,
      `${path}?outcome=up&to=${to}&order=desc`,
      `${path}?outcome=up&from=${T0}&to=${to + 1}&order=desc`,
      `${path}?outcome=up&from=${T0}&order=desc`,
      `${path}?outcome=up&from=${T0}&to=${to}&order=asc`,
      `${path}?outcome=up&from=${T0}&to=${to}`,
      `${of(RECORDED, 'snapshots')}?${asked}`,
      `${of(BOOKS, 'quotes')}?${asked}`,
      `${of(BOOKS, 'prices')}?${asked}`,
    ];
    for (const other of others) {
      const reply = await get(`${other}&cursor=${cursor}`);
      expect(reply.status, other).toBe(400);
      expect(reply.json<{ issues: unknown[] }>().issues).toMatchObject([{ in: 'query', name: 'cursor' }]);
    }
    const ofCoin = await cursorOf('/v1/btc/prices', 'limit=5');
    expect((await get(`/v1/xrp/prices?cursor=${ofCoin}`)).status).toBe(400);
    expect((await get(`${path}?cursor=${ofCoin}`)).status).toBe(400);
  });

  test('an altered cursor is refused', async () => {
    const path = of(BOOKS, 'snapshots');
    const cursor = await cursorOf(path, 'limit=5');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const altered = [...cursor].flatMap((char, index) => {
      const at = alphabet.indexOf(char);
      // The nearest other character, and one far from it.
      return [at ^ 1, (at + 32) % 64].map(
        (other) => cursor.slice(0, index) + alphabet[other] + cursor.slice(index + 1),
      );
    });
    const misshapen = [
      `${cursor}A`,
      `${cursor}=`,
      cursor.slice(1),
      cursor.slice(0, -1),
      `${cursor}${cursor}`,
      ` ${cursor}`,
    ];
    for (const wrong of [...altered, ...misshapen]) {
      expect((await get(`${path}?cursor=${encodeURIComponent(wrong)}`)).status, wrong).toBe(400);
    }
  });

  const nearestPath = (market: MarketRecord, atMs: number, outcome?: Outcome) =>
    `${of(market, 'snapshots')}/at/${atMs}${outcome === undefined ? '' : `?outcome=${outcome}`}`;

  test.each([
    ['the nearest of the one outcome', T0 + 1400, 'up', ['502']],
    ['equally far before and after: the earlier one', T0 + 1500, 'up', ['502']],
    ['nearer to the later one by a millisecond', T0 + 1501, 'up', ['505']],
    ['several with that time: the highest id, exactly on it', T0 + 1000, 'up', ['502']],
    ['several with that time: the highest id, from after it', T0 + 2001, 'up', ['505']],
    ['before the first', 0, 'up', ['502']],
    ['after the last', Number.MAX_SAFE_INTEGER, 'up', ['9007199254740991']],
    ['without outcome the nearer of the two first: down', T0 + 2400, undefined, ['511', '505']],
    ['without outcome the nearer of the two first: up', T0 + 2100, undefined, ['505', '511']],
    ['equally far from both outcomes: up before down', T0 + 1000, undefined, ['502', '510']],
    ['each outcome has its own nearest', T0 + 8000, undefined, ['9007199254740991', '511']],
  ] as const)('nearest: %s', async (_, atMs, outcome, ids) => {
    const { data } = (await get(nearestPath(NEAREST, atMs, outcome))).json<SeriesDocument>();
    expect(data.map(({ id }) => id)).toEqual([...ids]);
    expect(data).toEqual(expectedNearest(expectedSnapshots(NEAREST), atMs, outcome));
  });

  test('nearest: an outcome without snapshots is left out', async () => {
    const both = (await get(nearestPath(SOL, T0))).json<SeriesDocument>();
    expect(both.data.map(({ outcome }) => outcome)).toEqual(['up']);
    expect((await get(nearestPath(SOL, T0, 'down'))).json<SeriesDocument>().data).toEqual([]);
  });

  test('nearest: at, before, after and between all records it is the one with the smallest difference', async () => {
    const instants = [...new Set(ALL_BOOKS.map(({ timestamp }) => Date.parse(timestamp)))];
    const middles = instants.slice(1).map((instant, index) => Math.floor((instant + instants[index]!) / 2));
    const targets = [...instants.flatMap((instant) => [instant - 1, instant, instant + 1]), ...middles];
    const sampled = targets.filter((_, index) => index % 3 === 0);
    for (const [index, atMs] of sampled.entries()) {
      const outcome = ([undefined, 'up', 'down'] as const)[index % 3];
      const reply = await get(nearestPath(BOOKS, atMs, outcome));
      expect(reply.json<SeriesDocument>().data).toEqual(expectedNearest(ALL_BOOKS, atMs, outcome));
    }
  });
}
