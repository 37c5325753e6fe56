import { expect, test } from 'bun:test';
import type { Client } from './client.ts';
import { expectedMarket, expectedMarkets, expectedSnapshots } from './oracle.ts';
import { BOOKS, EMPTY, ETH, MARKETS, type MarketRecord, NEAREST, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

type Fields = Record<string, unknown>;
interface MarketList {
  readonly data: readonly Fields[];
  readonly pagination: Fields;
}

const MINUTE = 60_000;
const at = (time: unknown) => (time === null ? Infinity : Date.parse(String(time)));
const of = (market: MarketRecord) => `/v1/${market.symbol}/markets/${market.conditionId}`;

/** How many snapshots a market had at `asOfMs`. */
function countOf(conditionId: unknown, asOfMs = Infinity): number {
  const market = MARKETS.find((record) => record.conditionId.toLowerCase() === conditionId)!;
  return expectedSnapshots(market).filter(({ timestamp }) => at(timestamp) <= asOfMs).length;
}

/** The seconds between books that are at most a minute apart, in the window; no market of the recording has gaps. */
function recordedSeconds(market: MarketRecord, asOfMs = Infinity): number {
  const times = expectedSnapshots(market).map(({ timestamp }) => at(timestamp));
  const known = times.filter((ms) => ms <= asOfMs).sort((a, b) => a - b);
  const inside = (ms: number) => Math.min(Math.max(ms, at(market.startTime)), at(market.endTime));
  const steps = known.slice(1).map((to, index) => [known[index]!, to] as const);
  const close = steps.filter(([from, to]) => to - from <= MINUTE);
  return close.reduce((sum, [from, to]) => sum + inside(to) - inside(from), 0) / 1000;
}

interface Filter {
  readonly tf?: string | undefined;
  readonly search?: string | undefined;
  readonly recorded?: boolean | undefined;
  readonly closed?: boolean | undefined;
  readonly window?: readonly [from: number | undefined, to?: number] | undefined;
  readonly asOf?: number | undefined;
}

/** The expected list, computed from the recording. */
function expectedList({ tf, search = '', recorded, closed, window = [undefined], asOf }: Filter): Fields[] {
  const text = search.toLowerCase();
  const [from = -Infinity, to = Infinity] = window;
  return expectedMarkets('btc', tf)
    .filter((market) => asOf === undefined || Math.min(at(market.createdAt), at(market.startTime)) <= asOf)
    .filter(
      ({ slug, conditionId }) => String(slug).toLowerCase().includes(text) || String(conditionId).startsWith(text),
    )
    .filter((market) => at(market.startTime) <= to && at(market.endTime) >= from)
    .filter((market) => recorded === undefined || recorded === countOf(market.conditionId, asOf) > 0)
    .filter((market) => {
      const isClosed = market.closed === true && (asOf === undefined || at(market.resolvedAt) <= asOf);
      return closed === undefined || closed === isClosed;
    });
}

function searchOf({ tf, search, recorded, closed, window = [undefined], asOf }: Filter): string {
  const values = { tf, search, recorded, closed, from: window[0], to: window[1], asOf };
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${value}`));
  return given.join('&');
}

const FLAGS = [undefined, true, false];
const WINDOWS = [
  undefined,
  [T0],
  [undefined, T0],
  [T0 + 5 * MINUTE, T0 + 5 * MINUTE],
  [T0 + 5 * MINUTE + 1, T0 + 5 * MINUTE + 1],
  [T0 - 16 * MINUTE, T0 - 10 * MINUTE],
  [T0 - 10 * MINUTE + 1, T0 - 1],
  [0, T0 - 599 * MINUTE],
  [T0 + 9000 * MINUTE],
] as const;
/** Every fifth combination: any two values of different filters are in one. */
const FILTERS: readonly Filter[] = [undefined, '5m', '15m', '4h']
  .flatMap((tf) =>
    FLAGS.flatMap((recorded) =>
      FLAGS.flatMap((closed) =>
        WINDOWS.flatMap((window) =>
          [undefined, T0 - 1, T0 + 1000, T0 + 6 * MINUTE].map((asOf) => ({ tf, recorded, closed, window, asOf })),
        ),
      ),
    ),
  )
  .filter((_, index) => index % 5 === 0);

/** The market list's filters, and the number of snapshots of each market. */
export function marketFilterTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const listOf = async (search: string) => {
    const reply = await get(`/v1/btc/markets?${search}`);
    expect(reply.status, search).toBe(200);
    return reply.json<MarketList>();
  };

  test('Filters of the market list can be combined: a market must match all of them.', async () => {
    let found = 0;
    for (const filter of FILTERS) {
      const search = searchOf(filter);
      const expected = expectedList(filter).map(({ conditionId }) => ({
        conditionId,
        snapshotCount: countOf(conditionId, filter.asOf),
      }));
      const { data, pagination } = await listOf(`include=counts&limit=1000&${search}`);
      const named = data.map(({ conditionId, snapshotCount }) => ({ conditionId, snapshotCount }));
      expect(named, search).toEqual(expected);
      expect(pagination, search).toEqual({ limit: 1000, skip: 0, count: expected.length, hasMore: false });
      found += expected.length;
    }
    expect(found).toBeGreaterThan(200);
  });

  test('a filtered list has whole markets, and is paged by skip and limit like any list', async () => {
    const filters: Filter[] = [{ recorded: true }, { closed: false }, { window: [T0 - 15 * MINUTE, T0], tf: '5m' }];
    for (const filter of filters) {
      const expected = expectedList(filter);
      expect(expected.length).toBeGreaterThan(1);
      for (let skip = 0; skip <= expected.length + 1; skip += 1) {
        for (const limit of [1, 2, 5]) {
          const data = expected.slice(skip, skip + limit);
          const pagination = { limit, skip, count: data.length, hasMore: skip + limit < expected.length };
          expect(await listOf(`${searchOf(filter)}&limit=${limit}&skip=${skip}`)).toEqual({ data, pagination });
        }
      }
    }
  });

  test('search compares a text with slugs, anywhere, and with the beginnings of conditionIds; a whole conditionId finds its market by the index.', async () => {
    const slugs = MARKETS.flatMap(({ slug }) => slug ?? []);
    const parts = slugs.flatMap((slug) => [slug, slug.slice(2, 7), slug.slice(-4).toUpperCase()]);
    const ids = MARKETS.flatMap(({ conditionId }) => [conditionId, conditionId.slice(0, 8), conditionId.slice(3, 9)]);
    const counts = new Set<number>();
    for (const search of new Set([...parts, ...ids, '0x', '-', '.', '_', 'nothing-has-this', 'a'.repeat(200)])) {
      for (const filter of [
        { search },
        { search, tf: '5m', recorded: true },
        { search, asOf: T0 + 1000, closed: false },
      ]) {
        const { data } = await listOf(`limit=1000&${searchOf(filter)}`);
        const found = data.map(({ conditionId }) => conditionId);
        expect(found, searchOf(filter)).toEqual(expectedList(filter).map(({ conditionId }) => conditionId));
        counts.add(found.length);
      }
    }
    expect(counts.size).toBeGreaterThan(3);
  });

  test.each(['', '%25', 'a%20b', 'a+b', "'", 'ä', 'a'.repeat(201), '*'])('search=%s is refused', async (text) => {
    expect((await get(`/v1/btc/markets?search=${text}`)).status).toBe(400);
  });

  test('A market has snapshotCount, recordedSeconds and windowSeconds only with include=counts.', async () => {
    for (const market of [BOOKS, RECORDED, NEAREST, EMPTY, ETH, SOL]) {
      const expected = expectedMarket(market);
      const counted = (await get(`${of(market)}?include=counts`)).json<{ data: Fields }>();
      expect(counted.data).toEqual({
        ...expected,
        // Unknown is null here, and 0 in the fixed record.
        volume: market.volume === undefined ? null : expected.volume,
        liquidity: market.liquidity === undefined ? null : expected.liquidity,
        snapshotCount: countOf(expected.conditionId),
        recordedSeconds: recordedSeconds(market),
        windowSeconds: (at(market.endTime) - at(market.startTime)) / 1000,
      });
      expect((await get(of(market))).json<unknown>()).toEqual({ data: expected });
      for (const asOf of [T0, T0 + 1, T0 + 1999, T0 + 2000, T0 + 2500, T0 + 30_000]) {
        const { data } = (await get(`${of(market)}?include=counts&asOf=${asOf}`)).json<{ data: Fields }>();
        expect(data.snapshotCount).toBe(countOf(expected.conditionId, asOf));
        expect(data.recordedSeconds).toBe(recordedSeconds(market, asOf));
      }
    }
  });

  test('counts of one market come in msgpack and with an entity tag of their own', async () => {
    const packed = await get(`${of(BOOKS)}?include=counts`, { headers: { accept: 'application/msgpack' } });
    expect(packed.headers.get('content-type')).toBe('application/msgpack');
    const counted = await get(`${of(BOOKS)}?include=counts`);
    const tag = counted.headers.get('etag')!;
    expect(tag).not.toBe((await get(of(BOOKS))).headers.get('etag')!);
    const again = await get(`${of(BOOKS)}?include=counts`, { headers: { 'if-none-match': tag } });
    expect(again.status).toBe(304);
  });

  test('from later than to is refused', async () => {
    expect((await get(`/v1/btc/markets?from=${T0 + 1}&to=${T0}`)).status).toBe(400);
    expect((await get(`/v1/btc/markets?from=${T0}&to=${T0}`)).status).toBe(200);
  });
}
