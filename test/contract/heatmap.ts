import { expect, test } from 'bun:test';
import { expectedGrid, expectedTrades, type OracleGap } from '../support/heat-map-oracle.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Client, clientOf, type ProblemDocument } from './client.ts';
import { expectedPrices, expectedSnapshots, type WireSnapshot } from './oracle.ts';
import { BOOKS, EMPTY, type MarketRecord, MINIMAL, NEAREST, type Outcome, RECORDED, SOL, T0 } from './recording.ts';
import { isHeatMap } from './resources.ts';
import type { Suite } from './target.ts';

interface HeatMapDocument {
  readonly data: ReturnType<typeof expectedGrid> & Readonly<Record<string, unknown>>;
}

const MARKETS = [BOOKS, RECORDED, NEAREST, SOL, EMPTY];
const HAS_GAPS: MarketRecord = {
  ...MINIMAL,
  conditionId: `0x${'9b'.repeat(32)}`,
  slug: 'eth-map',
  symbol: 'eth',
  timeframe: '5m',
  endTime: new Date(T0 + 300_000).toISOString(),
};

const pathOf = ({ symbol, conditionId }: MarketRecord, kind: string) => `/v1/${symbol}/markets/${conditionId}/${kind}`;
const windowOf = ({ startTime, endTime }: MarketRecord) => ({
  fromMs: Date.parse(startTime),
  toMs: Date.parse(endTime),
});

/** The heat map: a grid of one outcome over time. */
export function heatMapTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const heatMap = async (market: MarketRecord, query: string) => {
    const { data } = (await get(pathOf(market, `heatmap?${query}`))).json<HeatMapDocument>();
    expect(isHeatMap(data)).toBe(true);
    return data;
  };

  test.each(MARKETS)('Columns of a heat map do not depend on asOf. ($slug at random zooms)', async (market) => {
    const random = randomsOf(market.conditionId.length + market.slug.length);
    const all: readonly WireSnapshot[] = expectedSnapshots(market);
    const times = all.map(({ timestamp }) => Date.parse(timestamp));
    const [firstMs, lastMs] = [Math.min(T0, ...times) - 500, Math.max(T0, ...times) + 500];
    const instant = () => firstMs + Math.floor(random() * (lastMs - firstMs));
    for (let zoom = 0; zoom < 20; zoom += 1) {
      const outcome: Outcome = random() > 0.5 ? 'up' : 'down';
      const [a, b] = [instant(), instant()];
      const window = { fromMs: Math.min(a, b), toMs: Math.max(a, b), columns: 1 + Math.floor(random() ** 3 * 400) };
      const asOfMs = zoom % 3 === 0 ? { asOfMs: instant() } : {};
      const { fromMs, toMs, columns } = window;
      const asOf = asOfMs.asOfMs === undefined ? '' : `&asOf=${asOfMs.asOfMs}`;
      const data = await heatMap(market, `from=${fromMs}&to=${toMs}&columns=${columns}&outcome=${outcome}${asOf}`);
      const snapshots = all.filter((snapshot) => snapshot.outcome === outcome);
      expect(data).toMatchObject({
        ...expectedGrid(snapshots, [], { ...window, ...asOfMs }),
        slug: market.slug,
        symbol: market.symbol,
        outcome,
      });
    }
  });

  test('has the recorded trades of each column, at random zooms and as of an instant', async () => {
    const random = randomsOf(11);
    const prices = expectedPrices(RECORDED) as (ReturnType<typeof expectedPrices>[number] & {
      kind: string;
      price: number;
    })[];
    let traded = 0;
    for (let zoom = 0; zoom < 30; zoom += 1) {
      const outcome: Outcome = zoom % 2 === 0 ? 'up' : 'down';
      const trades = prices
        .filter((record) => record.kind === 'trade' && record.outcome === outcome)
        .map(({ timestamp, price }) => ({ ms: Date.parse(timestamp), price, size: undefined }));
      const fromMs = T0 + Math.floor(random() * 4000) - 500;
      const window = {
        ...{ fromMs, toMs: fromMs + Math.floor(random() * 8000), columns: 1 + Math.floor(random() * 40) },
        ...(zoom % 3 === 0 && { asOfMs: T0 + 100 + Math.floor(random() * 6000) }),
      };
      const asOf = window.asOfMs === undefined ? '' : `&asOf=${window.asOfMs}`;
      const query = `from=${fromMs}&to=${window.toMs}&columns=${window.columns}&outcome=${outcome}${asOf}`;
      const { columns } = await heatMap(RECORDED, query);
      const expected = expectedTrades(trades, window);
      expect(columns, query).toMatchObject(expected);
      traded += expected.filter(({ trades }) => trades > 0).length;
    }
    expect(traded).toBeGreaterThan(20);
  });

  test.skipIf(!suite.reach.operated)('Without the grant prices, the trades of a heat map are null.', async () => {
    const { key } = await suite.target.makeKey('free');
    const free = clientOf(suite.target.origin, key);
    const path = pathOf(RECORDED, 'heatmap?columns=3');
    const whole = (await get(path)).json<HeatMapDocument>().data;
    try {
      await suite.target.setTier('free', { routes: ['snapshots'] });
      for (let time = 0; time < 3; time += 1) {
        const { data } = (await free(path)).json<HeatMapDocument>();
        const none = { trades: null, tradedShares: null, tradeLow: null, tradeHigh: null, tradeSides: null };
        expect(data).toEqual({ ...whole, columns: whole.columns.map((column) => ({ ...column, ...none })) });
        expect((await get(path)).json<HeatMapDocument>().data).toEqual(whole);
      }
      await suite.target.setTier('free', { routes: ['snapshots', 'prices'] });
      expect((await free(path)).json<HeatMapDocument>().data).toEqual(whole);
    } finally {
      await suite.target.setTier('free', { routes: ['markets', 'prices'] });
    }
  });

  test('Left out, the window of a heat map is that of the market, the outcome is up, and it has 300 columns.', async () => {
    const data = await heatMap(BOOKS, '');
    const snapshots = expectedSnapshots(BOOKS).filter(({ outcome }) => outcome === 'up');
    expect(data).toMatchObject(expectedGrid(snapshots, [], { ...windowOf(BOOKS), columns: 300 }));
    expect(data).toMatchObject({ outcome: 'up', conditionId: BOOKS.conditionId.toLowerCase() });
    const bySlug = await get(`/v1/btc/markets/${BOOKS.slug}/heatmap`);
    expect(bySlug.json<HeatMapDocument>().data).toEqual(data);
  });

  test('A cell of a heat map is the size that rests at the end of its column, not a mean or a maximum.', async () => {
    const { columns, prices } = await heatMap(BOOKS, 'columns=60&outcome=down');
    const shown = columns.filter(({ id }) => id !== null);
    expect(shown.length).toBeGreaterThan(10);
    for (const column of shown) {
      const path = pathOf(BOOKS, `snapshots/at/${column.to}?mode=before&outcome=down`);
      const [book] = (await get(path)).json<{ data: WireSnapshot[] }>().data;
      expect(column).toMatchObject({ id: book!.id, timestamp: book!.timestamp });
      expect(column.bidPrice).toBe(book!.bids[0]?.price ?? null);
      expect(column.askPrice).toBe(book!.asks[0]?.price ?? null);
      for (const { price } of book!.bids) expect(column.bidRows).toContain(prices.findLastIndex((row) => row <= price));
    }
  });

  test.skipIf(!suite.reach.operated)('A gap shows no book, and each column that it touches is marked.', async () => {
    const iso = (ms: number) => new Date(T0 + ms).toISOString();
    const gap = (from: number, to: number) => ({
      ...{ type: 'gap', conditionId: HAS_GAPS.conditionId, from: iso(from), to: iso(to) },
      reason: 'recorder restarted',
    });
    const snapshot = (ms: number) => ({
      ...{ type: 'snapshot', conditionId: HAS_GAPS.conditionId, outcome: 'up', timestamp: iso(ms) },
      ...{ bids: [{ price: 0.4, size: ms + 1 }], asks: [{ price: 0.41, size: 3 }] },
    });
    await suite.target.importRecords([HAS_GAPS, gap(1000, 7000), gap(50_000, 50_000)]);
    const gapsOnly = await heatMap(HAS_GAPS, 'columns=300');
    expect(gapsOnly.columns.every(({ id }) => id === null)).toBe(true);
    await suite.target.importRecords([0, 500, 7000, 9000, 49_999, 61_000].map(snapshot));
    const { gaps } = (await get(pathOf(HAS_GAPS, 'coverage'))).json<{ data: { gaps: OracleGap[] } }>().data;
    expect(gaps).toHaveLength(2);
    const { data: served } = (await get(pathOf(HAS_GAPS, 'snapshots'))).json<{ data: WireSnapshot[] }>();
    for (const columns of [1, 2, 7, 300, 301, 1500]) {
      const window = { ...windowOf(HAS_GAPS), columns };
      const data = await heatMap(HAS_GAPS, `columns=${columns}`);
      expect(data).toMatchObject(expectedGrid(served, gaps, window));
      expect(data.columns.some(({ gap }) => gap)).toBe(true);
    }
  });

  test('a window of fewer milliseconds than columns has a column for each of them', async () => {
    const { columns } = await heatMap(BOOKS, `from=${T0}&to=${T0 + 9}&columns=1500`);
    expect(columns).toHaveLength(10);
    expect((await heatMap(BOOKS, `from=${T0}&to=${T0}`)).columns).toHaveLength(1);
  });

  test.each([
    ['columns=0', 'columns', 'must be an integer from 1 to 1500 in plain digits'],
    ['columns=1501', 'columns', 'must be an integer from 1 to 1500 in plain digits'],
    ['columns=1e2', 'columns', 'must be an integer from 1 to 1500 in plain digits'],
    [`from=${T0 + 1}&to=${T0}`, 'from', 'must not be later than to'],
    [`from=${T0 + 300_001}`, 'from', 'must not be later than the end of the market: give to too'],
    [`to=${T0 - 1}`, 'to', 'must not be earlier than the start of the market: give from too'],
    [`to=${253_402_300_800_000}`, 'to', 'must not be after the year 9999'],
    ['from=253402300800000&to=9007199254740991', 'from', 'must not be after the year 9999'],
    ['outcome=both', 'outcome', 'must be up or down'],
    ['interval=1s', 'interval', 'is not a parameter of this path: the path takes from, to, columns, outcome, asOf'],
  ])('%s is refused', async (query, name, message) => {
    const reply = await get(pathOf(BOOKS, `heatmap?${query}`));
    expect(reply.status).toBe(400);
    expect(reply.json<ProblemDocument>().issues).toEqual([{ in: 'query', name, message }]);
  });

  test('the whole of time is a valid window', async () => {
    const { columns } = await heatMap(BOOKS, 'from=0&to=253402300799999&columns=1500');
    expect(columns).toHaveLength(1500);
    expect(columns.at(-1)!.to).toBe('9999-12-31T23:59:59.999Z');
  });
}
