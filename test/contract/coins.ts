import { beforeAll, expect, test } from 'bun:test';
import { unpack } from 'msgpackr';
import { type Client, clientOf } from './client.ts';
import { expectedMarkets, expectedSnapshots } from './oracle.ts';
import { COIN_PRICES, MARKETS, T0, type TierId } from './recording.ts';
import { AMPLE_RPM, type Suite } from './target.ts';

const at = (time: unknown) => (time === null ? Infinity : Date.parse(String(time)));
const SYMBOLS = [...new Set([...MARKETS, ...COIN_PRICES].map(({ symbol }) => symbol))].sort();
const TIMEFRAMES = ['5m', '15m', '1h', '4h', '24h'];
/** The coins of the recording that each tier grants. */
const GRANTED: Readonly<Record<TierId, readonly string[]>> = {
  free: ['btc'],
  starter: ['btc', 'eth'],
  pro: ['btc', 'eth', 'sol', 'xrp'],
  enterprise: SYMBOLS,
};

/** The expected coins, found by a scan of the recording. */
function expectedCoins(symbols: readonly string[], asOfMs = Infinity): object[] {
  return symbols.flatMap((symbol) => {
    const markets = expectedMarkets(symbol).filter(
      ({ createdAt, startTime }) => Math.min(at(createdAt ?? null), at(startTime)) <= asOfMs,
    );
    const hasPrices = COIN_PRICES.some((price) => price.symbol === symbol && price.timestamp <= asOfMs);
    if (markets.length === 0 && !hasPrices) return [];
    const times = markets.map(({ conditionId }) => {
      const record = MARKETS.find((market) => market.conditionId.toLowerCase() === conditionId)!;
      return expectedSnapshots(record).flatMap(({ timestamp }) => (at(timestamp) <= asOfMs ? timestamp : []));
    });
    const all = times.flat().sort();
    return {
      symbol,
      timeframes: TIMEFRAMES.filter((name) => markets.some(({ timeframe }) => timeframe === name)),
      markets: markets.length,
      recordedMarkets: times.filter(({ length }) => length > 0).length,
      snapshots: all.length,
      firstAt: all[0] ?? null,
      lastAt: all.at(-1) ?? null,
    };
  });
}

/** `/v1/coins`. */
export function coinTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const keys = new Map<TierId, string>();
  const as = (tier: TierId): Client => clientOf(suite.target.origin, keys.get(tier)!);
  beforeAll(async () => {
    for (const tier of ['free', 'starter', 'pro', 'enterprise'] as const) {
      keys.set(tier, (await suite.target.makeKey(tier, { rpm: AMPLE_RPM })).key);
    }
  });

  test.each(['free', 'starter', 'pro', 'enterprise'] as const)(
    '/v1/coins lists the coins that a key may see by name, with their timeframes, markets and snapshots, and has no ETag. (%s)',
    async (tier) => {
      const reply = await as(tier)('/v1/coins');
      expect(reply.status).toBe(200);
      expect(reply.headers.get('etag')).toBeNull();
      expect(reply.json<unknown>()).toEqual({ data: expectedCoins(GRANTED[tier]) });
    },
  );

  test('A coin with prices but without markets is in the list of coins, with zeros.', async () => {
    const { data } = (await get('/v1/coins')).json<{ data: { symbol: string }[] }>();
    expect(data.find(({ symbol }) => symbol === 'xrp')).toEqual({
      ...{ symbol: 'xrp', timeframes: [] },
      ...{ markets: 0, recordedMarkets: 0, snapshots: 0, firstAt: null, lastAt: null },
    });
  });

  test('With asOf, /v1/coins counts what was known at that instant.', async () => {
    const days = [-3, -1, 0, 1, 3].map((count) => T0 + count * 86_400_000);
    const seconds = [-1, 0, 1, 999, 1000, 1001, 1999, 2000, 2500, 9001, 30_000, 95_000].map((ms) => T0 + ms);
    for (const asOf of [0, T0 - 86_400_123, T0 - 86_400_124, ...days, ...seconds]) {
      for (const tier of ['free', 'enterprise'] as const) {
        const reply = await as(tier)(`/v1/coins?asOf=${asOf}`);
        expect(reply.json<unknown>(), `${asOf}`).toEqual({ data: expectedCoins(GRANTED[tier], asOf) });
      }
    }
  });

  test('the same document comes in msgpack', async () => {
    const reply = await get('/v1/coins', { headers: { accept: 'application/msgpack' } });
    expect(reply.headers.get('content-type')).toBe('application/msgpack');
    expect(unpack(reply.bytes)).toEqual({ data: expectedCoins(SYMBOLS) });
  });

  test('it takes asOf and no other parameter, and GET only', async () => {
    expect((await get('/v1/coins?limit=1')).status).toBe(400);
    expect((await get('/v1/coins?asOf=yesterday')).status).toBe(400);
    expect((await get('/v1/coins', { method: 'DELETE' })).status).toBe(405);
    expect((await clientOf(suite.target.origin)('/v1/coins')).status).toBe(401);
    expect((await get('/v1/coins/')).json<unknown>()).toEqual({ data: expectedCoins(SYMBOLS) });
  });

  test.skipIf(!suite.reach.operated)(
    'a tier needs the grant of markets for it, and its coins are followed',
    async () => {
      const free = as('free');
      await suite.target.setTier('free', { routes: ['prices'] });
      try {
        expect((await free('/v1/coins')).status).toBe(403);
        await suite.target.setTier('free', { routes: ['markets'], coins: ['sol', 'btc'] });
        expect((await free('/v1/coins')).json<unknown>()).toEqual({ data: expectedCoins(['btc', 'sol']) });
      } finally {
        await suite.target.setTier('free', { routes: ['markets', 'prices'], coins: ['btc'] });
      }
    },
  );

  test.skipIf(!suite.reach.anew)('an import changes the next answer, and an empty archive has no coins', async () => {
    await using target = await suite.open([]);
    const client = clientOf(target.origin, (await target.makeKey('pro', { rpm: AMPLE_RPM })).key);
    expect((await client('/v1/coins')).json<unknown>()).toEqual({ data: [] });
    expect((await client(`/v1/coins?asOf=${T0}`)).json<unknown>()).toEqual({ data: [] });
    const [market] = MARKETS.filter(({ symbol }) => symbol === 'sol');
    await target.importRecords([market!]);
    const coin = { symbol: 'sol', timeframes: [market!.timeframe], markets: 1 };
    const counts = { recordedMarkets: 0, snapshots: 0, firstAt: null, lastAt: null };
    expect((await client('/v1/coins')).json<unknown>()).toEqual({ data: [{ ...coin, ...counts }] });
    const { conditionId } = market!;
    const book = { type: 'snapshot', conditionId, outcome: 'up', timestamp: T0, bids: [], asks: [] };
    await target.importRecords([book]);
    const recorded = { recordedMarkets: 1, snapshots: 1, firstAt: new Date(T0).toISOString() };
    expect((await client('/v1/coins')).json<unknown>()).toEqual({
      data: [{ ...coin, ...recorded, lastAt: recorded.firstAt }],
    });
  });
}
