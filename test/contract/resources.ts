import { expect, test } from 'bun:test';
import type { Client } from './client.ts';
import { expectedMarket, expectedMarkets } from './oracle.ts';
import { BOOKS, EMPTY, ETH, type MarketRecord, MINIMAL, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

/** Checks of field types, by their names in the contract. */
type Kind =
  | 'hex'
  | 'digits'
  | 'text'
  | 'instant'
  | 'instant?'
  | 'number'
  | 'number?'
  | 'boolean'
  | 'outcome'
  | 'outcome?';
type Shape = Readonly<Record<string, Kind | ((value: unknown) => boolean)>>;

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const isInstant = (value: unknown) => typeof value === 'string' && INSTANT.test(value);
const isOutcome = (value: unknown) => value === 'up' || value === 'down';
const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  hex: (value) => typeof value === 'string' && /^0x[0-9a-f]+$/.test(value),
  digits: (value) => typeof value === 'string' && /^\d+$/.test(value),
  text: (value) => typeof value === 'string' && value !== '',
  instant: isInstant,
  'instant?': (value) => value === null || isInstant(value),
  number: isNumber,
  'number?': (value) => value === null || isNumber(value),
  boolean: (value) => typeof value === 'boolean',
  outcome: isOutcome,
  'outcome?': (value) => value === null || isOutcome(value),
};

const listOf = (accepts: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(accepts);
const isLevel = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).sort().join() === 'price,size' &&
  Object.values(value).every(isNumber);
const textsOrAll = (value: unknown) => value === null || listOf((item) => typeof item === 'string')(value);

const OF_OUTCOME: Shape = {
  id: 'digits',
  assetId: 'digits',
  conditionId: 'hex',
  symbol: 'text',
  outcome: 'outcome',
  timeframe: 'text',
  timestamp: 'instant',
};

const OUTCOME_COVERAGE: Shape = {
  outcome: 'outcome',
  assetId: 'digits',
  mirrored: 'boolean',
  count: 'number',
  first: 'instant?',
  last: 'instant?',
  oneSided: 'number',
  crossed: 'number',
  empty: 'number',
  placeholder: 'number',
  recordedSeconds: 'number',
  widestSpread: 'number?',
  longestSilence: (value: unknown) =>
    value === null || hasShape(value, { from: 'instant', to: 'instant', milliseconds: 'number' }),
};

const HEAT_MAP_COLUMN: Shape = {
  from: 'instant',
  to: 'instant',
  gap: 'boolean',
  id: (value: unknown) => value === null || KINDS.digits(value),
  timestamp: 'instant?',
  bidPrice: 'number?',
  askPrice: 'number?',
  mid: 'number?',
  bidRows: listOf(isNumber),
  bidSizes: listOf(isNumber),
  askRows: listOf(isNumber),
  askSizes: listOf(isNumber),
  trades: 'number?',
  tradedShares: 'number?',
  tradeLow: 'number?',
  tradeHigh: 'number?',
  tradeSides: (value: unknown) =>
    value === null ||
    listOf((one) =>
      hasShape(one, {
        side: (side) => side === null || side === 'buy' || side === 'sell',
        ...{ trades: 'number', shares: 'number', low: 'number', high: 'number' },
      }),
    )(value),
};

/** The records of the contract, field by field. The API document is compared with the same table. */
export const SHAPES = {
  Market: {
    conditionId: 'hex',
    marketId: 'digits',
    eventId: 'digits',
    slug: 'text',
    symbol: 'text',
    timeframe: 'text',
    outcomes: (value: unknown) => JSON.stringify(value) === '["up","down"]',
    clobTokenIds: (value: unknown) => listOf(KINDS.digits)(value) && (value as unknown[]).length === 2,
    active: 'boolean',
    closed: 'boolean',
    winner: 'outcome?',
    startTime: 'instant',
    endTime: 'instant',
    volume: 'number',
    liquidity: 'number',
    resolvedAt: 'instant?',
    priceStart: 'number?',
    priceEnd: 'number?',
    createdAt: 'instant',
    updatedAt: 'instant',
  },
  Snapshot: { ...OF_OUTCOME, bids: listOf(isLevel), asks: listOf(isLevel) },
  Quote: {
    ...OF_OUTCOME,
    bidPrice: 'number?',
    bidSize: 'number?',
    askPrice: 'number?',
    askSize: 'number?',
    mid: 'number?',
    spread: 'number?',
  },
  Price: { ...OF_OUTCOME, price: 'number', kind: (value: unknown) => value === 'mid' || value === 'trade' },
  CoinPrice: { id: 'digits', symbol: 'text', source: 'text', timestamp: 'instant', price: 'number' },
  Coverage: {
    conditionId: 'hex',
    slug: 'text',
    symbol: 'text',
    timeframe: 'text',
    startTime: 'instant',
    endTime: 'instant',
    resolution: (value: unknown) => value === null || value === 'recorded' || value === 'assumed',
    outcomes: (value: unknown) => listOf((outcome) => hasShape(outcome, OUTCOME_COVERAGE))(value),
    contradictions: 'number',
    contradictingCount: 'number',
    contradicting: listOf((instant) =>
      hasShape(instant, { assetId: 'digits', outcome: 'outcome', timestamp: 'instant', books: 'number' }),
    ),
    gapCount: 'number',
    recordedSeconds: 'number',
    windowSeconds: 'number',
    gaps: listOf((gap) => hasShape(gap, { from: 'instant', to: 'instant', reason: 'text' })),
  },
  HeatMap: {
    assetId: 'digits',
    conditionId: 'hex',
    slug: 'text',
    symbol: 'text',
    outcome: 'outcome',
    timeframe: 'text',
    from: 'instant',
    to: 'instant',
    prices: listOf(isNumber),
    columns: listOf((column) => hasShape(column, HEAT_MAP_COLUMN)),
  },
  Tier: {
    id: 'text',
    name: 'text',
    coins: textsOrAll,
    routes: textsOrAll,
    requestsPerMinute: 'number',
    monthlyPriceUsd: 'number?',
    priceNote: (value: unknown) => value === null || typeof value === 'string',
  },
} satisfies Record<string, Shape>;

/** Whether a value has the fields of a shape, and no others. */
function hasShape(value: unknown, shape: Shape): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = Object.entries(value);
  if (
    fields
      .map(([field]) => field)
      .sort()
      .join() !== Object.keys(shape).sort().join()
  )
    return false;
  return fields.every(([field, held]) => {
    const kind = shape[field]!;
    return (typeof kind === 'string' ? KINDS[kind] : kind)(held);
  });
}

export function isCoverage(value: unknown): boolean {
  return hasShape(value, SHAPES.Coverage);
}

export function isHeatMap(value: unknown): boolean {
  return hasShape(value, SHAPES.HeatMap);
}

function expectShape(records: readonly unknown[], name: keyof typeof SHAPES): void {
  expect(records.length).toBeGreaterThan(0);
  const shape: Shape = SHAPES[name];
  for (const record of records) {
    const fields = Object.entries(record as object);
    expect(fields.map(([field]) => field).sort()).toEqual(Object.keys(shape).sort());
    const wrong = fields.filter(([field, value]) => {
      const kind = shape[field]!;
      return !(typeof kind === 'string' ? KINDS[kind] : kind)(value);
    });
    expect(wrong).toEqual([]);
  }
}

interface MarketList {
  readonly data: readonly Record<string, unknown>[];
  readonly pagination: {
    readonly limit: number;
    readonly skip: number;
    readonly count: number;
    readonly hasMore: boolean;
  };
}

const marketPath = ({ symbol, conditionId }: MarketRecord) => `/v1/${symbol}/markets/${conditionId}`;

/** Records and market lists: what they contain, how they are ordered and looked up. */
export function resourceTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);

  test.each([
    ['Market', '/v1/btc/markets', 'nextCursor'],
    ['Snapshot', `${marketPath(BOOKS)}/snapshots`, 'nextCursor'],
    ['Snapshot', `${marketPath(BOOKS)}/snapshots/at/${T0}`, 'none'],
    ['Quote', `${marketPath(BOOKS)}/quotes`, 'nextCursor'],
    ['Quote', `${marketPath(RECORDED)}/quotes`, 'nextCursor'],
    ['Price', `${marketPath(BOOKS)}/prices`, 'nextCursor'],
    ['Price', `${marketPath(RECORDED)}/prices`, 'nextCursor'],
    ['CoinPrice', '/v1/btc/prices', 'nextCursor'],
    ['Tier', '/v1/billing/tiers', 'none'],
  ] as const)('%s records of %s have the contract’s fields and no others', async (name, path) => {
    const reply = await get(path);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json');
    const document = reply.json<{ data: unknown[] }>();
    expectShape(document.data, name);
    const beside = Object.keys(document).filter((key) => key !== 'data');
    const paged = path.includes('/at/') || name === 'Tier' ? [] : name === 'Market' ? ['pagination'] : ['nextCursor'];
    expect(beside).toEqual(paged);
  });

  test('one market has its recorded fields, in the wire’s order and units', async () => {
    for (const market of [BOOKS, RECORDED, EMPTY, ETH, SOL]) {
      const reply = await get(marketPath(market));
      expect(reply.status).toBe(200);
      expect(reply.json<unknown>()).toEqual({ data: expectedMarket(market) });
    }
  });

  test('a market with only its required fields is served as an unresolved one', async () => {
    const { data } = (await get(marketPath(MINIMAL))).json<{ data: Record<string, unknown> }>();
    expectShape([data], 'Market');
    const { createdAt, updatedAt, ...stated } = data;
    const { createdAt: _, updatedAt: __, ...expected } = expectedMarket(MINIMAL);
    expect(stated).toEqual(expected);
    expect(createdAt).toBe(updatedAt);
    const unresolved = { marketId: '0', eventId: '0', active: true, closed: false, winner: null, volume: 0 };
    expect(stated).toMatchObject(unresolved);
  });

  test.each([
    ['its conditionId', BOOKS, (market: MarketRecord) => market.conditionId],
    ['its conditionId in lower case', BOOKS, (market: MarketRecord) => market.conditionId.toLowerCase()],
    ['its conditionId in upper case', BOOKS, (market: MarketRecord) => market.conditionId.toUpperCase()],
    ['its slug', BOOKS, (market: MarketRecord) => market.slug],
    ['its slug in another case', RECORDED, (market: MarketRecord) => market.slug.toLowerCase()],
    ['a slug that two coins use', ETH, (market: MarketRecord) => market.slug],
  ] as const)('a market is found by %s, wherever a path takes one', async (_, market, nameOf) => {
    for (const suffix of ['', '/snapshots', `/snapshots/at/${T0}`, '/prices', '/quotes']) {
      const [byId, byName] = [
        await get(`${marketPath(market)}${suffix}`),
        await get(`/v1/${market.symbol}/markets/${nameOf(market)}${suffix}`),
      ];
      expect(byName.status).toBe(200);
      expect(byName.text).toBe(byId.text);
    }
  });

  test.each([
    ['/v1/eth/markets/%', BOOKS.conditionId],
    ['/v1/eth/markets/%', BOOKS.slug],
    ['/v1/btc/markets/%', ETH.conditionId],
    ['/v1/btc/markets/%', '0x00'],
    ['/v1/btc/markets/%', 'no-such-slug'],
    ['/v1/btc/markets/%', encodeURIComponent("' OR 1=1 --")],
    ['/v1/btc/markets/%', '%00'],
    ['/v1/nosuchcoin/markets/%', BOOKS.conditionId],
    ['/v1/xrp/markets/%', BOOKS.conditionId],
  ])('%s with %s is no market: 404 on every path below', async (template, name) => {
    for (const suffix of ['', '/snapshots', `/snapshots/at/${T0}`, '/prices', '/quotes']) {
      expect((await get(`${template.replace('%', name)}${suffix}`)).status).toBe(404);
    }
  });

  test('markets of a coin come latest start first, ties by conditionId descending', async () => {
    const { data, pagination } = (await get('/v1/btc/markets')).json<MarketList>();
    const expected = expectedMarkets('btc');
    expect(data).toEqual(expected);
    expect(pagination).toEqual({ limit: 100, skip: 0, count: expected.length, hasMore: false });
  });

  test.each(['5m', '15m', '1h', '4h', '24h'])(
    'tf=%s leaves the markets of that timeframe, in the same order',
    async (tf) => {
      const { data } = (await get(`/v1/btc/markets?tf=${tf}`)).json<MarketList>();
      expect(data).toEqual(expectedMarkets('btc', tf));
      expect(data.length).toBeGreaterThan(0);
    },
  );

  test('pagination.count is the number of markets in the answer, and limit and skip cut the list anywhere.', async () => {
    for (const tf of [undefined, '5m']) {
      const all = expectedMarkets('btc', tf);
      for (let limit = 1; limit <= all.length + 1; limit += 1) {
        for (let skip = 0; skip <= all.length + 1; skip += 1) {
          const query = `limit=${limit}&skip=${skip}${tf === undefined ? '' : `&tf=${tf}`}`;
          const { data, pagination } = (await get(`/v1/btc/markets?${query}`)).json<MarketList>();
          const expected = all.slice(skip, skip + limit);
          expect(data.map(({ conditionId }) => conditionId)).toEqual(expected.map(({ conditionId }) => conditionId));
          expect(pagination).toEqual({ limit, skip, count: expected.length, hasMore: skip + limit < all.length });
        }
      }
    }
  });

  test('A coin without a recorded market or price is a 404, a timeframe without markets is an empty list, and coin prices take no outcome.', async () => {
    for (const path of ['/v1/eth/markets?tf=24h', '/v1/xrp/markets']) {
      const reply = await get(path);
      expect(reply.status).toBe(200);
      expect(reply.json<MarketList>()).toEqual({
        data: [],
        pagination: { limit: 100, skip: 0, count: 0, hasMore: false },
      });
    }
    expect((await get('/v1/nosuchcoin/markets')).status).toBe(404);
    expect((await get('/v1/nosuchcoin/prices')).status).toBe(404);
  });
}
