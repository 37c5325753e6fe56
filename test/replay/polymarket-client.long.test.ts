import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { REAL_BOOKS, realRecording } from '../support/real-recordings.ts';
import {
  clobClientV2,
  gammaPathsOfClient,
  HAS_POLYMARKET_CLIENT,
  marketChannelClient,
  polymarketClient,
} from './polymarket-client.ts';
import { VenueOracle } from './venue-oracle.ts';
import { VENUE_RECORDINGS } from './venue-recordings.ts';
import { type VenueServer, venueServer } from './venue-server.ts';

const GAMMA = realRecording('gamma');
const [CAPTURE] = VENUE_RECORDINGS;

/** The trades in the recording itself. */
function rawTrades() {
  const lines = readFileSync(`${realRecording('ws-capture-5m')}/market-ws.jsonl`, 'utf8')
    .trim()
    .split('\n');
  return lines.flatMap((line) => JSON.parse(line).payload).filter((frame) => frame.event_type === 'last_trade_price');
}

const clientOf = ({ origin }: Pick<VenueServer, 'origin'>) =>
  polymarketClient({ gamma: `${origin}/gamma`, clob: `${origin}/clob`, data: `${origin}/data-api` });

type Client = Awaited<ReturnType<typeof polymarketClient>>;

/** What no replay has: its lists are empty, and one of them by its name is not found. */
async function expectNothing({ ask, all }: Client): Promise<void> {
  const address = `0x${'ab'.repeat(20)}`;
  expect(await all('listTags')).toEqual([]);
  expect(await all('listTeams')).toEqual([]);
  expect(await all('listMarketClarifications')).toEqual([]);
  expect(await all('listComments', { parentEntityId: 1, parentEntityType: 'Event' })).toEqual([]);
  expect(await all('listCommentsByUserAddress', { address })).toEqual([]);
  expect(await ask('fetchCommentsById', { id: '1' })).toEqual([]);
  expect(await ask('listSports', {})).toEqual([]);
  expect(await ask('fetchSportsMarketTypes', {})).toEqual({ marketTypes: [] });
  expect(await ask('fetchPublicProfile', { address })).toBe(null);
  for (const tag of [{ id: '21' }, { slug: 'crypto' }]) {
    expect(ask('fetchTag', tag)).rejects.toMatchObject({ status: 404 });
    expect(await ask('fetchRelatedTags', tag)).toEqual([]);
    expect(await ask('fetchRelatedTagResources', tag)).toEqual([]);
  }
}

describe.skipIf(!HAS_POLYMARKET_CLIENT)('@polymarket/client, which validates every answer,', () => {
  test.skipIf(GAMMA === undefined || REAL_BOOKS === undefined)(
    'Ids that no recording states are stand-ins of 16 digits, other missing fields are empty, and the client parses everything.',
    async () => {
      using held = temporaryArchive();
      // The books' markets have no ids, questions or fees.
      await importPaths(
        held.archive,
        ...['resolved-btc-5m-2026-06-08.jsonl.gz', 'unresolved-sample.jsonl.gz'].map((name) => `${GAMMA}/${name}`),
        `${GAMMA}/gamma_event_crypto_updown.json`,
        `${REAL_BOOKS}/markets.ndjson`,
      );
      await using server = venueServer(held.archive);
      server.replay.clock.seek(Date.UTC(2026, 6, 1));
      const { ask, all } = await clientOf(server);
      const events = [
        ...(await all('listEvents', { pageSize: 500 })),
        ...(await all('listEvents', { pageSize: 500, closed: true })),
      ];
      const open = await all('listMarkets', { pageSize: 500 });
      const closed = await all('listMarkets', { pageSize: 500, closed: true });
      const stored = held.archive.database.read(() => server.replay.listedAt(Date.UTC(2026, 6, 1)));
      expect(stored.length).toBeGreaterThan(600);
      expect(new Set([...open, ...closed].map(({ conditionId }) => conditionId))).toEqual(
        new Set(stored.map(({ conditionId }) => conditionId)),
      );
      for (const nouns of [events, [...open, ...closed]]) {
        expect(new Set(nouns.map(({ id }) => id)).size).toBe(stored.length);
      }
      for (const { slug, title, markets } of events) {
        expect([slug, title]).toEqual([markets[0].slug, markets[0].question]);
        expect(title).toMatch(/^[A-Z][A-Za-z]+ Up or Down (?:- [A-Z][a-z]+ \d+, .* ET|on [A-Z][a-z]+ \d+\?)$/);
      }
      const series = await all('listSeries', { pageSize: 50 });
      expect(series.length).toBeGreaterThan(10);
      for (const { id } of series) expect((await ask('fetchSeries', { id })).id).toBe(id);
      // The first of the books' markets has a stand-in for its ids.
      for (const market of [open[0], open.at(-1), closed[0], closed.find(({ id }) => id.length === 16)]) {
        expect(await ask('fetchMarket', { id: market.id })).toEqual(market);
        expect((await ask('fetchMarket', { slug: market.slug })).id).toBe(market.id);
        const url = `https://polymarket.com/event/${market.slug}`;
        const event = await ask('fetchEvent', { url });
        expect(event.markets).toEqual([{ ...market, events: [] }]);
        expect(await ask('fetchEvent', { id: event.id })).toEqual(event);
        expect(await ask('fetchMarketTags', { id: market.id })).toEqual([]);
        expect(await ask('fetchEventTags', { id: event.id })).toEqual([]);
        expect(market.events).toEqual([{ id: event.id, slug: event.slug, title: event.title }]);
        expect(await all('listMarkets', { ids: [Number(market.id)], closed: market.state.closed })).toEqual([market]);
        expect(await all('search', { q: `${event.title.toUpperCase()} ${market.slug}` })).toEqual([
          { events: [event], profiles: [], tags: [] },
        ]);
      }
      const query = { q: 'bitcoin jun', sort: 'end_date', eventsStatus: 'resolved', ascending: true };
      const pages = await all('search', { ...query, pageSize: 100 });
      const bitcoin = events.filter(({ title, state }) => state.closed && /^Bitcoin .* June /.test(title));
      const ends = (list: readonly (typeof events)[number][]) => list.map(({ schedule }) => schedule.endDate);
      expect(bitcoin.length).toBeGreaterThan(200);
      expect(pages.length).toBe(Math.ceil(bitcoin.length / 100));
      expect(ends(pages.flatMap((page) => page.events))).toEqual(ends(bitcoin).sort());
      await expectNothing(await clientOf(server));
      // A call that the client gets with another version is asked here as well.
      const asked = [...server.paths].map((path) => path.replace('/gamma/', ''));
      const isOf = (path: string) => new RegExp(`^${path.replaceAll('*', '[^/]+')}$`);
      const known = gammaPathsOfClient();
      for (const path of known) {
        expect([path, asked.some((each) => each === path || (!known.has(each) && isOf(path).test(each)))]).toEqual([
          path,
          true,
        ]);
      }
    },
    120_000,
  );

  test.skipIf(!CAPTURE!.isHere)('parses every answer of the CLOB and of the Data API', async () => {
    using held = temporaryArchive();
    await CAPTURE!.load(held.archive);
    await using server = venueServer(held.archive);
    const market = marketOf(held.archive, CAPTURE!.slugs[0]!);
    const oracle = new VenueOracle(held.archive, market.slug);
    const nowMs = oracle.instants.at(-1)!;
    server.replay.clock.seek(nowMs);
    const { ask, all } = await clientOf(server);
    const requests = market.clobTokenIds.map((tokenId) => ({ tokenId }));
    const best = OUTCOMES.map((outcome) => oracle.bestAt(outcome, nowMs)!);
    const byToken = (values: readonly unknown[]) =>
      Object.fromEntries(market.clobTokenIds.map((tokenId, index) => [tokenId, values[index]]));
    expect(await ask('fetchMidpoints', requests)).toEqual(byToken(best.map(({ mid }) => mid)));
    expect(await ask('fetchSpreads', requests)).toEqual(byToken(best.map(({ spread }) => spread)));
    const sides = requests.flatMap((request) => ['BUY', 'SELL'].map((side) => ({ ...request, side })));
    expect(await ask('fetchPrices', sides)).toEqual(byToken(best.map(({ bid, ask: SELL }) => ({ BUY: bid, SELL }))));
    const books = await ask('fetchOrderBooks', requests);
    expect(await ask('fetchLastTradePrices', requests)).toHaveLength(2);
    for (const [index, request] of requests.entries()) {
      const { bid, mid, spread } = best[index]!;
      expect(await ask('fetchOrderBook', request)).toEqual(books[index]);
      expect(await ask('fetchMidpoint', request)).toBe(mid);
      expect(await ask('fetchSpread', request)).toBe(spread);
      expect(await ask('fetchPrice', { ...request, side: 'BUY' })).toBe(bid);
      const { price, side } = oracle.lastTradeAt(OUTCOMES[index]!, nowMs)!;
      expect(await ask('fetchLastTradePrice', request)).toEqual({ price: String(price), side });
      expect((await ask('fetchPriceHistory', { ...request, interval: '1h' })).length).toBeGreaterThan(0);
      expect(String(await ask('fetchTickSize', request))).toBe(oracle.tickAt(nowMs));
      expect(await ask('fetchNegRisk', request)).toBe(false);
      expect(await ask('resolveConditionByToken', request)).toBe(market.conditionId);
    }
    expect(await ask('fetchMarketInfo', { conditionId: market.conditionId })).toEqual({
      feeInfo: { rate: 0, exponent: 0 },
      tokens: market.clobTokenIds.map((tokenId, index) => ({ tokenId, outcome: ['Up', 'Down'][index] })),
    });
    const trades = await all('listTrades', { market: [market.conditionId], pageSize: 7 });
    const recorded = rawTrades().filter(({ market: conditionId }) => conditionId === market.conditionId);
    expect(recorded.length).toBeGreaterThan(20);
    expect(
      trades
        .map(({ tokenId, price, size, side, transactionHash, timestamp }) =>
          [tokenId, price, size, side, transactionHash, timestamp].join(),
        )
        .sort(),
    ).toEqual(
      recorded
        .map(({ asset_id, price, size, side, transaction_hash, timestamp }) =>
          [asset_id, Number(price), Number(size), side, transaction_hash, Math.floor(timestamp / 1000) * 1000].join(),
        )
        .sort(),
    );
    const times = trades.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });
});

describe.skipIf(!HAS_POLYMARKET_CLIENT || !CAPTURE!.isHere)('of a real recording', () => {
  test('clob-client-v2 gets the markets, their parameters, books and trades', async () => {
    using held = temporaryArchive();
    await CAPTURE!.load(held.archive);
    await using server = venueServer(held.archive);
    const market = marketOf(held.archive, CAPTURE!.slugs[0]!);
    const oracle = new VenueOracle(held.archive, market.slug);
    const nowMs = oracle.instants.at(-1)!;
    server.replay.clock.seek(nowMs);
    const { conditionId, clobTokenIds } = market;
    for (const path of ['', '/clob']) {
      const client = await clobClientV2(`${server.origin}${path}`);
      expect(await client.getOk()).toBe('OK');
      expect(await client.getServerTime()).toBe(Math.floor(nowMs / 1000));
      const info = await client.getClobMarketInfo(conditionId);
      expect([info.c, info.t.map(({ t }: { t: string }) => t), info.mos]).toEqual([conditionId, [...clobTokenIds], 5]);
      expect((await client.getMarket(conditionId)).condition_id).toBe(conditionId);
      expect((await client.getMarkets()).data.map((each: typeof info) => each.condition_id)).toContain(conditionId);
      for (const [index, assetId] of clobTokenIds.entries()) {
        const outcome = OUTCOMES[index]!;
        // A new client has to find the market of the asset first.
        expect(await (await clobClientV2(`${server.origin}${path}`)).getFeeExponent(assetId)).toBe(0);
        expect(await client.getTickSize(assetId)).toBe(oracle.tickAt(nowMs));
        expect(await client.getNegRisk(assetId)).toBe(false);
        expect(await client.getFeeRateBps(assetId)).toBe(oracle.lastTradeAt(outcome, nowMs)!.feeRateBps!);
        expect(await client.getMidpoint(assetId)).toEqual({ mid: oracle.bestAt(outcome, nowMs)!.mid });
        const book = await client.getOrderBook(assetId);
        const { hash } = book;
        expect(await client.getOrderBookHash(book)).toBe(hash);
      }
      const events = await client.getMarketTradesEvents(conditionId);
      const raw = rawTrades().filter((frame) => frame.market === conditionId);
      expect(events.map((event: typeof info) => event.transaction_hash).sort()).toEqual(
        raw.map((frame) => frame.transaction_hash).sort(),
      );
    }
  });

  test('polymarket-websocket-client gets the books, then every trade, and a book after it', async () => {
    await using replaying = await startReplaying(CAPTURE!.load);
    const market = marketOf(replaying.archive, CAPTURE!.slugs[0]!);
    const oracle = new VenueOracle(replaying.archive, market.slug);
    const fromMs = oracle.instants[Math.floor(oracle.instants.length / 4)]!;
    const { clock } = replaying.replays.create({ ...EVERYTHING, fromMs, speed: 'max' });
    const client = await marketChannelClient(`${replaying.origin.replace('http', 'ws')}/ws/market`);
    const trades: string[] = [];
    const afterTrades = new Set<string>();
    const expected = rawTrades().filter((frame) => frame.market === market.conditionId && frame.timestamp > fromMs);
    const opened = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<void>();
    // It takes no lists, of which the first books are one, but hands them on as they are.
    client.on('rawMessage', opened.resolve);
    client.onBook(({ asset_id }) => afterTrades.add(asset_id));
    client.onLastTradePrice(({ transaction_hash }) => {
      trades.push(transaction_hash);
      if (trades.length === expected.length) ended.resolve();
    });
    try {
      await client.connect();
      client.subscribe([...market.clobTokenIds]);
      const expectedBooks = market.clobTokenIds.map((asset_id, index) => {
        const { bids, asks } = oracle.bookAt(OUTCOMES[index]!, fromMs)!;
        return { asset_id, bids, asks };
      });
      expect(JSON.parse(await opened.promise)).toMatchObject(expectedBooks);
      clock.resume();
      await ended.promise;
      expect([...afterTrades].sort()).toEqual(market.clobTokenIds.toSorted());
      expect(trades.toSorted()).toEqual(expected.map((frame) => frame.transaction_hash).sort());
    } finally {
      client.disconnect();
    }
  });
});
