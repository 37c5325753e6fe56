import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import type { Client } from './client.ts';
import {
  expectedCoinPrices,
  expectedPrices,
  expectedQuotes,
  expectedSnapshots,
  filtered,
  type SeriesFilter,
  type WireRecord,
  type WireSnapshot,
} from './oracle.ts';
import { BOOKS, EMPTY, type MarketRecord, NEAREST, type Outcome, RECORDED, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const DURATIONS = {
  '100ms': 100,
  '250ms': 250,
  '1s': 1000,
  '7s': 7000,
  '1m': 60_000,
  '1h': 3_600_000,
  '1d': 86_400_000,
};
const MODES = ['nearest', 'before', 'after'] as const;
type Mode = (typeof MODES)[number];

const of = (market: MarketRecord, kind: string) => `/v1/${market.symbol}/markets/${market.conditionId}/${kind}`;
const at = ({ timestamp }: WireRecord) => Date.parse(timestamp);

interface SampledSeries {
  readonly path: string;
  readonly records: readonly WireRecord[];
  /** The key of a series that is sampled separately. */
  readonly seriesOf: (record: WireRecord) => string;
}

const byOutcome = ({ outcome }: WireRecord) => outcome!;
const SERIES: readonly SampledSeries[] = [
  { path: of(BOOKS, 'snapshots'), records: expectedSnapshots(BOOKS), seriesOf: byOutcome },
  { path: of(BOOKS, 'quotes'), records: expectedQuotes(BOOKS), seriesOf: byOutcome },
  {
    path: of(RECORDED, 'prices'),
    records: expectedPrices(RECORDED),
    seriesOf: (record) => `${record.outcome} ${(record as WireRecord & { kind: string }).kind}`,
  },
  {
    path: '/v1/btc/prices',
    records: expectedCoinPrices('btc'),
    seriesOf: (record) => (record as WireRecord & { source: string }).source,
  },
];

/** The last record of each bucket of each series that matches the filter, found by a scan. */
function sampled({ records, seriesOf }: SampledSeries, filter: SeriesFilter, intervalMs: number): WireRecord[] {
  const ascending = filtered(records, { ...filter, order: 'asc' });
  const kept = ascending.filter((record, index) => {
    const isOfSameBucket = (other: WireRecord) =>
      seriesOf(other) === seriesOf(record) &&
      Math.floor(at(other) / intervalMs) === Math.floor(at(record) / intervalMs);
    return !ascending.slice(index + 1).some(isOfSameBucket);
  });
  return filter.order === 'desc' ? kept.reverse() : kept;
}

/** The best record per outcome at one instant, found by a scan of all records. */
function expectedAt(
  records: readonly WireSnapshot[],
  instantMs: number,
  { mode, maxDistance = Infinity, outcome }: { mode?: Mode; maxDistance?: number; outcome?: Outcome | undefined },
): WireSnapshot[] {
  const distance = (record: WireRecord) => Math.abs(at(record) - instantMs);
  const found = (['up', 'down'] as const).flatMap((side) => {
    const candidates = records
      .filter((record) => record.outcome === side && (outcome ?? side) === side)
      .filter((record) => mode !== 'before' || at(record) <= instantMs)
      .filter((record) => mode !== 'after' || at(record) >= instantMs)
      .sort((a, b) => distance(a) - distance(b) || at(a) - at(b) || Number(BigInt(b.id) - BigInt(a.id)));
    return candidates.slice(0, 1).filter((record) => distance(record) <= maxDistance);
  });
  return found.sort((a, b) => distance(a) - distance(b));
}

const cut = (depth: number | undefined) => (record: WireSnapshot) => ({
  ...record,
  bids: record.bids.slice(0, depth),
  asks: record.asks.slice(0, depth),
});

/** Requests of backtests: one record per interval, the best levels only, the record before an instant, many instants at once. */
export function samplingTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const books = expectedSnapshots(BOOKS);

  async function walk(path: string, query: Record<string, string>): Promise<WireRecord[]> {
    const records: WireRecord[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const search = new URLSearchParams({ ...query, ...(cursor === '' ? {} : { cursor }) });
      const page = (await get(`${path}?${search}`)).json<{ data: WireRecord[]; nextCursor: string | null }>();
      records.push(...page.data);
      cursor = page.nextCursor;
    }
    return records;
  }

  test('interval keeps the last record of each bucket of each series; buckets begin at multiples of it in Unix time, and none is filled.', async () => {
    const anyInstant = fc.integer({ min: T0 - 1000, max: T0 + 90_000 });
    const anyAsked = fc.record({
      series: fc.constantFrom(...SERIES),
      interval: fc.constantFrom(...(Object.keys(DURATIONS) as (keyof typeof DURATIONS)[])),
      order: fc.constantFrom('asc' as const, 'desc' as const),
      bounds: fc.tuple(fc.option(anyInstant), fc.option(anyInstant)),
      limit: fc.integer({ min: 1, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(anyAsked, async ({ series, interval, order, bounds: [a, b], limit }) => {
        const [from, to] = a !== null && b !== null && a > b ? [b, a] : [a, b];
        const filter = { order, from: from ?? undefined, to: to ?? undefined };
        const asked = Object.entries({ ...filter, interval, limit }).filter(([, value]) => value !== undefined);
        const records = await walk(
          series.path,
          Object.fromEntries(asked.map(([name, value]) => [name, String(value)])),
        );
        expect(records).toEqual(sampled(series, filter, DURATIONS[interval]));
      }),
      { seed: 6, numRuns: 80 },
    );
  });

  test('interval: of one outcome, and empty buckets have no record', async () => {
    const filter = { outcome: 'down' as const };
    const expected = sampled(SERIES[0]!, filter, 1000);
    expect(await walk(of(BOOKS, 'snapshots'), { outcome: 'down', interval: '1s', limit: '9' })).toEqual(expected);
    expect(expected.length).toBeGreaterThan(5);
    expect(expected.length).toBeLessThan(filtered(books, filter).length);
    expect(await walk(of(EMPTY, 'snapshots'), { interval: '1s' })).toEqual([]);
  });

  test('interval: a cursor is valid for its interval only', async () => {
    const first = await get(`${of(BOOKS, 'snapshots')}?interval=1s&limit=2`);
    const { nextCursor } = first.json<{ nextCursor: string }>();
    expect((await get(`${of(BOOKS, 'snapshots')}?interval=1s&limit=2&cursor=${nextCursor}`)).status).toBe(200);
    for (const other of ['', '&interval=2s']) {
      expect((await get(`${of(BOOKS, 'snapshots')}?limit=2&cursor=${nextCursor}${other}`)).status).toBe(400);
    }
  });

  test.each(['99ms', '2d', '1441m', '0s', '1', '1 s', '01s', '1S', '-1s', '1.5s', '', '999999999999999s'])(
    'interval=%s is refused',
    async (interval) => {
      const reply = await get(`${of(BOOKS, 'quotes')}?interval=${encodeURIComponent(interval)}`);
      expect(reply.status).toBe(400);
      expect(reply.json<{ detail: string }>().detail).toContain('from 100ms to 1d');
    },
  );

  test('depth: the best levels of each side, in pages of either order, at an instant, in JSON and msgpack', async () => {
    const packr = new Packr({ useRecords: false });
    for (const depth of [1, 2, 3, 10_001]) {
      for (const order of ['asc', 'desc'] as const) {
        const expected = filtered(books, { order }).map(cut(depth));
        const query = { depth: String(depth), order, limit: '170' };
        expect(await walk(of(BOOKS, 'snapshots'), query)).toEqual(expected);
        const path = `${of(BOOKS, 'snapshots')}?${new URLSearchParams({ ...query, limit: '1000' })}`;
        const packed = await get(path, { headers: { accept: 'application/msgpack' } });
        expect(packr.unpack(packed.bytes).data).toEqual(expected.slice(0, 1000));
      }
      const one = await get(`${of(BOOKS, 'snapshots/at')}/${T0 + 5000}?depth=${depth}`);
      expect(one.json<{ data: WireSnapshot[] }>().data).toEqual(expectedAt(books, T0 + 5000, {}).map(cut(depth)));
    }
    const deepest = Math.max(...books.map(({ bids, asks }) => Math.max(bids.length, asks.length)));
    expect(deepest).toBeGreaterThan(3);
  });

  test('depth with interval: both apply', async () => {
    const expected = (sampled(SERIES[0]!, {}, 1000) as WireSnapshot[]).map(cut(2));
    expect(await walk(of(BOOKS, 'snapshots'), { interval: '1s', depth: '2', limit: '8' })).toEqual(expected);
  });

  test.each(['0', '10002', '-1', '1.0', '', '01', 'all'])('depth=%s is refused', async (depth) => {
    expect((await get(`${of(BOOKS, 'snapshots')}?depth=${depth}`)).status).toBe(400);
    expect((await get(`${of(BOOKS, 'snapshots/at')}/1?depth=${depth}`)).status).toBe(400);
  });

  const anyInstant = fc.integer({ min: T0 - 2000, max: T0 + 95_000 });
  const anyQuestion = fc.record({
    market: fc.constantFrom(BOOKS, NEAREST, EMPTY),
    mode: fc.constantFrom(undefined, ...MODES),
    maxDistance: fc.constantFrom(undefined, 0, 1, 40, 1000, Number.MAX_SAFE_INTEGER),
    outcome: fc.constantFrom<(Outcome | undefined)[]>(undefined, 'up', 'down'),
    depth: fc.constantFrom(undefined, 1, 2),
  });
  const searchOf = (asked: object) =>
    new URLSearchParams(
      Object.fromEntries(
        Object.entries(defined(asked)).map(([name, value]): [string, string] => [name, String(value)]),
      ),
    );
  const defined = <T extends object>(asked: T) =>
    Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));

  test('at one instant: mode and maxDistance, compared with a scan', async () => {
    await fc.assert(
      fc.asyncProperty(anyQuestion, anyInstant, async ({ market, ...asked }, instantMs) => {
        const { depth, ...rest } = asked;
        const reply = await get(`${of(market, 'snapshots/at')}/${instantMs}?${searchOf(asked)}`);
        const expected = expectedAt(expectedSnapshots(market), instantMs, defined(rest)).map(cut(depth));
        expect(reply.json<{ data: WireSnapshot[] }>().data).toEqual(expected);
      }),
      { seed: 61, numRuns: 150 },
    );
  });

  test('before is never later than the instant, after never earlier', async () => {
    for (const { timestamp } of books.slice(0, 40)) {
      for (const offset of [-1, 0, 1]) {
        const instantMs = Date.parse(timestamp) + offset;
        for (const mode of ['before', 'after'] as const) {
          const reply = await get(`${of(BOOKS, 'snapshots/at')}/${instantMs}?mode=${mode}`);
          for (const record of reply.json<{ data: WireSnapshot[] }>().data) {
            expect(mode === 'before' ? at(record) <= instantMs : at(record) >= instantMs).toBe(true);
          }
        }
      }
    }
  });

  test('At many instants each gets the answer of a request of its own, and next is the first instant without one.', async () => {
    const packr = new Packr({ useRecords: false });
    await fc.assert(
      fc.asyncProperty(
        anyQuestion,
        fc.array(anyInstant, { minLength: 1, maxLength: 30 }),
        async ({ market, ...asked }, instants) => {
          const { depth, ...rest } = asked;
          const texts = instants.map((ms, index) => (index % 2 === 0 ? String(ms) : new Date(ms).toISOString()));
          const path = `${of(market, 'snapshots/at')}?ts=${texts.join()}&${searchOf(asked)}`;
          const data = instants.map((ms) => {
            const found = expectedAt(expectedSnapshots(market), ms, defined(rest)).map(cut(depth));
            const distance = found[0] === undefined ? null : Math.abs(at(found[0]) - ms);
            return { ts: new Date(ms).toISOString(), distance, data: found };
          });
          expect((await get(path)).json<unknown>()).toEqual({ data, next: null });
          const packed = await get(path, { headers: { accept: 'application/msgpack' } });
          expect(packr.unpack(packed.bytes)).toEqual({ data, next: null });
        },
      ),
      { seed: 62, numRuns: 60 },
    );
  });

  test('a thousand instants are answered; more, or none, are refused', async () => {
    const instants = Array.from({ length: 1000 }, (_, index) => T0 + index * 90);
    const reply = await get(`${of(BOOKS, 'snapshots/at')}?outcome=up&depth=1&ts=${instants.join()}`);
    const { data, next } = reply.json<{ data: { ts: string; data: WireSnapshot[] }[]; next: string | null }>();
    expect(next).toBeNull();
    expect(data.map(({ ts }) => Date.parse(ts))).toEqual(instants);
    for (const ts of [[...instants, 1].join(), '', `${T0},`, `${T0},x`, '253402300800000', '1e3']) {
      expect((await get(`${of(BOOKS, 'snapshots/at')}?ts=${ts}`)).status, ts.slice(0, 40)).toBe(400);
    }
    expect((await get(of(BOOKS, 'snapshots/at'))).status).toBe(400);
  });
}
