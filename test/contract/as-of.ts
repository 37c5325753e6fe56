import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Client } from './client.ts';
import {
  expectedCoinPrices,
  expectedMarket,
  expectedMarkets,
  expectedNearest,
  expectedPrices,
  expectedQuotes,
  expectedSnapshots,
  filtered,
  type WireRecord,
  type WireSnapshot,
} from './oracle.ts';
import { BOOKS, EMPTY, ETH, MARKETS, type MarketRecord, MINIMAL, NEAREST, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const MINUTE = 60_000;
const of = (market: MarketRecord, kind = '') => `/v1/${market.symbol}/markets/${market.conditionId}${kind}`;
const at = (time: unknown) => (time === null ? Infinity : Date.parse(String(time)));

/** The time from which a market was listed, according to its records. */
const listedMs = (market: Record<string, unknown>) => Math.min(at(market.createdAt), at(market.startTime));

/** A market as known to a listener at that instant. */
function knownThen(market: Record<string, unknown>, asOfMs: number): Record<string, unknown> {
  const isResolved = at(market.resolvedAt) <= asOfMs;
  // The record is the only statement of the venue's ids.
  const isStated = at(market.updatedAt) <= asOfMs;
  const unresolved = { winner: null, resolvedAt: null, priceEnd: null, closed: false, active: true };
  return {
    ...market,
    ...(isStated ? {} : { marketId: '0', eventId: '0' }),
    ...(isResolved ? {} : unresolved),
    priceStart: at(market.startTime) <= asOfMs ? market.priceStart : null,
    createdAt: at(market.createdAt) <= asOfMs ? market.createdAt : null,
    volume: null,
    liquidity: null,
    updatedAt: null,
  };
}

/** Answers as of an instant have no later records. */
export function asOfTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const anyAsOf = fc.integer({ min: T0 - 2000, max: T0 + 95_000 });

  test.each([
    ['snapshots', of(BOOKS, '/snapshots'), expectedSnapshots(BOOKS)],
    ['quotes', of(BOOKS, '/quotes'), expectedQuotes(BOOKS)],
    ['prices', of(BOOKS, '/prices'), expectedPrices(BOOKS)],
    ['coin prices', '/v1/btc/prices', expectedCoinPrices('btc')],
  ] as const)('%s: exactly those that had been recorded by then', async (_, path, records) => {
    await fc.assert(
      fc.asyncProperty(anyAsOf, fc.constantFrom('asc' as const, 'desc' as const), async (asOfMs, order) => {
        const found: WireRecord[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const search = new URLSearchParams({ asOf: String(asOfMs), order, limit: '250', ...(cursor && { cursor }) });
          const reply = await get(`${path}?${search}`);
          expect(reply.status, reply.text).toBe(200);
          expect(reply.headers.get('etag')).toBeNull();
          const page = reply.json<{ data: WireRecord[]; nextCursor: string | null }>();
          found.push(...page.data);
          cursor = page.nextCursor;
        }
        expect(found).toEqual(filtered(records, { to: asOfMs, order }));
      }),
      { seed: 7, numRuns: 25 },
    );
  });

  test('nearest: the nearest record of those known then', async () => {
    const instants = fc.tuple(anyAsOf, anyAsOf, fc.constantFrom(BOOKS, NEAREST), fc.constantFrom('nearest', 'before'));
    await fc.assert(
      fc.asyncProperty(instants, async ([asOfMs, instantMs, market, mode]) => {
        const limit = mode === 'before' ? Math.min(asOfMs, instantMs) : asOfMs;
        const known = filtered(expectedSnapshots(market), { to: limit });
        const reply = await get(`${of(market, '/snapshots/at')}/${instantMs}?asOf=${asOfMs}&mode=${mode}`);
        expect(reply.json<unknown>()).toEqual({ data: expectedNearest(known, instantMs) });
        const many = await get(`${of(market, '/snapshots/at')}?ts=${instantMs}&asOf=${asOfMs}&mode=${mode}`);
        expect(many.json<{ data: { data: WireSnapshot[] }[] }>().data[0]!.data).toEqual(
          expectedNearest(known, instantMs),
        );
        const after = await get(`${of(market, '/snapshots/at')}/${instantMs}?asOf=${asOfMs}&mode=after`);
        for (const { timestamp } of after.json<{ data: WireSnapshot[] }>().data) {
          expect(at(timestamp) >= instantMs && at(timestamp) <= asOfMs).toBe(true);
        }
      }),
      { seed: 71, numRuns: 80 },
    );
  });

  const instants = [T0 - 3 * 86_400_000, T0 - 86_400_123, T0 - 1, T0, T0 + 5 * MINUTE, T0 + 5 * MINUTE + 7123];

  test.each([BOOKS, EMPTY, SOL, ETH])('a market has the fields known then: $slug', async (market) => {
    const record = expectedMarket(market);
    for (const asOfMs of [...instants, at(record.resolvedAt) - 1, T0 + 86_400_000].filter(Number.isFinite)) {
      const reply = await get(`${of(market)}?asOf=${asOfMs}`);
      if (listedMs(record) > asOfMs) {
        expect(reply.status).toBe(404);
        for (const kind of [
          '/snapshots',
          '/quotes',
          '/prices',
          '/coverage',
          '/heatmap',
          '/export',
          '/stream',
          `/snapshots/at/${T0}`,
        ]) {
          expect((await get(`${of(market, kind)}?asOf=${asOfMs}`)).status, kind).toBe(404);
        }
      } else {
        expect(reply.json<unknown>()).toEqual({ data: knownThen(record, asOfMs) });
      }
    }
    const [before, since] = [at(record.resolvedAt) - 1, at(record.resolvedAt)];
    if (record.winner === null) return;
    expect((await get(`${of(market)}?asOf=${before}`)).json<{ data: { winner: unknown } }>().data.winner).toBeNull();
    expect((await get(`${of(market)}?asOf=${since}`)).json<{ data: { winner: unknown } }>().data.winner).toBe(
      record.winner,
    );
  });

  test('a list has the markets that were listed then, as known then', async () => {
    for (const asOfMs of [...instants, T0 + 3 * 86_400_000]) {
      for (const tf of [undefined, '5m', '4h']) {
        const expected = expectedMarkets('btc', tf)
          .filter((market) => listedMs(market) <= asOfMs)
          .map((market) => knownThen(market, asOfMs));
        const reply = await get(`/v1/btc/markets?limit=1000&asOf=${asOfMs}${tf === undefined ? '' : `&tf=${tf}`}`);
        if (reply.status === 404)
          expect(expectedMarkets('btc').some((market) => listedMs(market) <= asOfMs)).toBe(false);
        else expect(reply.json<{ data: unknown }>().data).toEqual(expected);
      }
    }
    const some = await get(`/v1/btc/markets?limit=3&skip=2&asOf=${T0}`);
    const listed = expectedMarkets('btc').filter((market) => listedMs(market) <= T0);
    expect(some.json<unknown>()).toEqual({
      data: listed.slice(2, 5).map((market) => knownThen(market, T0)),
      pagination: { limit: 3, skip: 2, count: 3, hasMore: listed.length > 5 },
    });
  });

  test('With asOf, a list has a market from its creation on, or from the start of its window, never more than 7 days before it.', async () => {
    expect(MARKETS).toContain(MINIMAL);
    expect((await get(`${of(MINIMAL)}?asOf=${T0 - 1}`)).status).toBe(404);
    const { data } = (await get(`${of(MINIMAL)}?asOf=${T0}`)).json<{ data: Record<string, unknown> }>();
    expect(data).toMatchObject({ createdAt: null, updatedAt: null, startTime: new Date(T0).toISOString() });
  });

  test('a coin that was not known then is a 404', async () => {
    for (const path of ['/v1/eth/markets', '/v1/eth/prices']) {
      expect((await get(`${path}?asOf=1000`)).status, path).toBe(404);
      expect((await get(`${path}?asOf=${T0 + 86_400_000}`)).status, path).toBe(200);
    }
  });

  test('coverage counts the records known then', async () => {
    const books = expectedSnapshots(BOOKS);
    for (const asOfMs of [T0 - 1, T0 + 3000, T0 + 20_000, T0 + 86_400_000]) {
      const reply = await get(`${of(BOOKS, '/coverage')}?asOf=${asOfMs}`);
      expect(reply.headers.get('etag')).toBeNull();
      const { data } = reply.json<{ data: { outcomes: { outcome: string; count: number; last: string | null }[] } }>();
      for (const { outcome, count, last } of data.outcomes) {
        const known = books.filter((record) => record.outcome === outcome && at(record.timestamp) <= asOfMs);
        expect({ count, last }).toEqual({ count: known.length, last: known.at(-1)?.timestamp ?? null });
      }
    }
  });

  test('an export ends there, has the market as known then, and is refused as segments', async () => {
    const asOfMs = T0 + 20_000;
    const reply = await get(`${of(BOOKS, '/export')}?asOf=${asOfMs}`);
    const lines = reply.text.trimEnd().split('\n');
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const [market, ...rest] = records;
    expect(market).toMatchObject({ type: 'market', priceStart: 76211.8 });
    for (const field of ['winner', 'resolvedAt', 'priceEnd', 'closed', 'active', 'volume', 'liquidity', 'updatedAt']) {
      expect(Object.keys(market!)).not.toContain(field);
    }
    expect(rest.filter(({ type }) => type === 'snapshot')).toHaveLength(
      filtered(expectedSnapshots(BOOKS), { to: asOfMs }).length,
    );
    for (const { timestamp, to } of rest) expect(at(timestamp ?? to)).toBeLessThanOrEqual(asOfMs);
    const refused = await get(`${of(BOOKS, '/export')}?asOf=${asOfMs}&format=segments`);
    expect(refused.status).toBe(400);
    expect(refused.json<{ detail: string }>().detail).toContain('format must not be segments with asOf');
  });

  test('it is one instant in any accepted spelling', async () => {
    const iso = encodeURIComponent(new Date(T0).toISOString());
    const one = await get(`${of(BOOKS)}?asOf=${T0}`);
    expect((await get(`${of(BOOKS)}?asOf=${iso}`)).text).toBe(one.text);
    const refused = await get(`${of(BOOKS, '/snapshots')}?asOf=yesterday`);
    expect(refused.status).toBe(400);
    expect(refused.json<{ issues: unknown[] }>().issues).toHaveLength(1);
    const seconds = await get(`${of(BOOKS, '/snapshots')}?asOf=1776323400`);
    expect(seconds.headers.get('x-bookreel-warning') ?? '').not.toMatch(/asOf.*asOf/);
  });
}
