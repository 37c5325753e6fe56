import { expect, test } from 'bun:test';
import { unpack } from 'msgpackr';
import { type Client, clientOf, type ProblemDocument } from './client.ts';
import { expectedMarket, expectedPrices, expectedSnapshots, type WireRecord } from './oracle.ts';
import { BOOKS, EMPTY, MARKETS, type MarketRecord, MINIMAL, NEAREST, type Outcome, RECORDED, T0 } from './recording.ts';
import type { Suite } from './target.ts';

interface Day {
  readonly day: string;
  readonly markets: number;
  readonly recordedMarkets: number;
  readonly marketsWithGaps: number;
  readonly snapshots: number;
}
interface Midpoints {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly from: string;
  readonly to: string;
  readonly mids: readonly (number | null)[];
}
type Price = WireRecord & { readonly kind: string; readonly price: number };

const MINUTE = 60_000;
const HAS_GAPS: MarketRecord = {
  ...MINIMAL,
  conditionId: `0x${'9c'.repeat(32)}`,
  slug: 'eth-days',
  symbol: 'eth',
  timeframe: '15m',
  startTime: '2026-05-02T23:50:00.000Z',
  endTime: '2026-05-03T00:05:00.000Z',
};
const at = (time: unknown) => Date.parse(String(time));

/** The days of btc without gaps, found by a scan of the recording. */
function expectedDays({ tf, from = 0, to = Infinity, asOf = Infinity }: DayFilter): Day[] {
  const days = new Map<string, Day>();
  for (const record of MARKETS.filter(({ symbol }) => symbol === 'btc')) {
    const { startTime, createdAt, timeframe } = expectedMarket(record);
    const startMs = at(startTime);
    if (startMs < from || startMs > to || Math.min(startMs, at(createdAt)) > asOf) continue;
    if (tf !== undefined && tf !== timeframe) continue;
    const snapshots = expectedSnapshots(record).filter(({ timestamp }) => at(timestamp) <= asOf).length;
    const day = String(startTime).slice(0, 10);
    const before = days.get(day) ?? { markets: 0, recordedMarkets: 0, marketsWithGaps: 0, snapshots: 0 };
    days.set(day, {
      day,
      markets: before.markets + 1,
      recordedMarkets: before.recordedMarkets + Math.min(snapshots, 1),
      marketsWithGaps: 0,
      snapshots: before.snapshots + snapshots,
    });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

interface DayFilter {
  readonly tf?: string;
  readonly from?: number;
  readonly to?: number;
  readonly asOf?: number;
}

/** The midpoints at the end of each part, from all prices of the market. */
function expectedMids(record: MarketRecord, points: number, outcome: Outcome = 'up', asOf = Infinity) {
  const mids = (expectedPrices(record) as Price[]).filter((price) => price.kind === 'mid' && price.outcome === outcome);
  const { startTime, endTime } = expectedMarket(record);
  const [fromMs, toMs] = [at(startTime), Math.max(at(startTime), at(endTime))];
  const count = Math.min(points, toMs - fromMs + 1);
  const startOf = (part: number) => fromMs + Number((BigInt(part) * BigInt(toMs - fromMs + 1)) / BigInt(count));
  return Array.from({ length: count }, (_, part) => {
    if (startOf(part) > asOf) return null;
    const untilMs = Math.min(startOf(part + 1) - 1, asOf);
    return mids.findLast(({ timestamp }) => at(timestamp) <= untilMs)?.price ?? null;
  });
}

/** What a page with a calendar and small pictures asks for. */
export function overviewTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const daysOf = async (path: string) => (await get(path)).json<{ data: Day[] }>().data;
  const midsOf = async (query: string) => (await get(`/v1/btc/midpoints?${query}`)).json<{ data: Midpoints[] }>().data;

  test('A market belongs to the day (UTC) in which its window starts; days without markets are left out, and at most 4,000 are sent.', async () => {
    const filters: DayFilter[] = [undefined, '5m', '15m', '4h'].flatMap((tf) =>
      [{}, { from: T0 }, { to: T0 - 1 }, { from: T0, to: T0 }, { from: T0 - 20 * MINUTE, to: T0 + 5 * MINUTE }].flatMap(
        (range) =>
          [undefined, T0 - 1, T0 + 1000, T0 + 6 * MINUTE].map((asOf) => ({
            ...range,
            ...(tf !== undefined && { tf }),
            ...(asOf !== undefined && { asOf }),
          })),
      ),
    );
    let counted = 0;
    for (const filter of filters) {
      const query = Object.entries(filter).map(([name, value]) => `${name}=${value}`);
      const days = await daysOf(`/v1/btc/days?${query.join('&')}`);
      expect(days, query.join('&')).toEqual(expectedDays(filter));
      counted += days.length;
    }
    expect(counted).toBeGreaterThan(40);
  });

  test.skipIf(!suite.reach.operated)('A day counts markets with gaps in their window, not missing time.', async () => {
    const { conditionId } = HAS_GAPS;
    const gap = (from: string, to: string) => ({ type: 'gap', conditionId, from, to, reason: 'recorder restarted' });
    const outside = gap('2026-05-02T23:00:00.000Z', '2026-05-02T23:49:59.999Z');
    const inside = gap('2026-05-03T00:01:00.000Z', '2026-05-03T00:02:00.000Z');
    const day = { day: '2026-05-02', markets: 1, recordedMarkets: 0, marketsWithGaps: 0, snapshots: 0 };
    const path = '/v1/eth/days?from=2026-05-01&to=2026-05-31';
    await suite.target.importRecords([HAS_GAPS, outside]);
    expect(await daysOf(path)).toEqual([day]);
    await suite.target.importRecords([inside]);
    expect(await daysOf(path)).toEqual([{ ...day, marketsWithGaps: 1 }]);
    expect(await daysOf(`${path}&asOf=2026-05-03T00:01:59.999Z`)).toEqual([day]);
    expect(await daysOf(`${path}&asOf=2026-05-03T00:02:00.000Z`)).toEqual([{ ...day, marketsWithGaps: 1 }]);
  });

  test.each([1, 2, 7, 32, 100])(
    'Midpoints of a coin are those of its prices at the end of each part, and parts after asOf are null. (%d parts)',
    async (points) => {
      const records = [BOOKS, RECORDED, NEAREST, EMPTY];
      for (const outcome of ['up', 'down', undefined] as const) {
        for (const asOf of [undefined, T0 - 1, T0, T0 + 1500, T0 + 2500, T0 + 150_000]) {
          const names = records.map((record, index) => (index % 2 === 0 ? record.slug : record.conditionId)).join();
          const query = `markets=${names}&points=${points}`;
          const found = await midsOf(
            `${query}${outcome === undefined ? '' : `&outcome=${outcome}`}${asOf === undefined ? '' : `&asOf=${asOf}`}`,
          );
          const listed = records.filter((record) => {
            const { createdAt, startTime } = expectedMarket(record);
            const records = [...expectedPrices(record), ...expectedSnapshots(record)];
            const listedMs = Math.min(at(createdAt), at(startTime), ...records.map(({ timestamp }) => at(timestamp)));
            return listedMs <= (asOf ?? Infinity);
          });
          expect(found.map(({ conditionId }) => conditionId)).toEqual(
            listed.map(({ conditionId }) => conditionId.toLowerCase()),
          );
          for (const [index, record] of listed.entries()) {
            const { startTime, endTime, slug } = expectedMarket(record);
            expect(found[index]).toMatchObject({ slug, outcome: outcome ?? 'up', from: startTime, to: endTime });
            expect(found[index]!.mids).toEqual(expectedMids(record, points, outcome, asOf));
          }
        }
      }
    },
  );

  test('Of the markets that a request for midpoints names, those that are not recorded are left out.', async () => {
    const found = await midsOf(`markets=${NEAREST.slug},no-such-market,${BOOKS.slug.toUpperCase()},${NEAREST.slug}`);
    const ids = [NEAREST, BOOKS, NEAREST].map(({ conditionId }) => conditionId.toLowerCase());
    expect(found.map(({ conditionId }) => conditionId)).toEqual(ids);
    for (const { mids } of found) expect(mids).toHaveLength(32);
    expect(await midsOf('markets=no-such-market')).toEqual([]);
    // A market of another coin.
    expect((await get(`/v1/eth/midpoints?markets=${BOOKS.slug}`)).json<object>()).toEqual({ data: [] });
  });

  test('both come in msgpack', async () => {
    for (const path of ['/v1/btc/days', `/v1/btc/midpoints?markets=${BOOKS.slug}`]) {
      const packed = await get(path, { headers: { accept: 'application/msgpack' } });
      expect(packed.headers.get('content-type')).toBe('application/msgpack');
      expect(unpack(packed.bytes)).toEqual((await get(path)).json<object>());
    }
  });

  test('days need the grant markets, and midpoints need prices', async () => {
    const { key } = await suite.target.makeKey('free');
    const free = clientOf(suite.target.origin, key);
    expect((await free('/v1/btc/days')).status).toBe(200);
    expect((await free(`/v1/btc/midpoints?markets=${BOOKS.slug}`)).status).toBe(200);
    expect((await free('/v1/eth/days')).status).toBe(403);
    expect((await free(`/v1/eth/midpoints?markets=${BOOKS.slug}`)).status).toBe(403);
  });

  const NAMES = 'must be 1 to 50 conditionIds or slugs with commas between them';
  test.each([
    ['', 'markets', NAMES],
    ['markets=', 'markets', NAMES],
    ['markets=a,', 'markets', NAMES],
    ['markets=a,,b', 'markets', NAMES],
    ['markets=a%20b', 'markets', NAMES],
    [`markets=${Array.from({ length: 51 }, () => 'a').join()}`, 'markets', NAMES],
    [`markets=${'a'.repeat(201)}`, 'markets', NAMES],
    ['markets=a&points=0', 'points', 'must be an integer from 1 to 100 in plain digits'],
    ['markets=a&points=101', 'points', 'must be an integer from 1 to 100 in plain digits'],
    ['markets=a&from=0', 'from', 'is not a parameter of this path: the path takes markets, points, outcome, asOf'],
  ])('midpoints?%s is refused', async (query, name, message) => {
    const reply = await get(`/v1/btc/midpoints?${query}`);
    expect(reply.status).toBe(400);
    expect(reply.json<ProblemDocument>().issues).toEqual([{ in: 'query', name, message }]);
  });
}
