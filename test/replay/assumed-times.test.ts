import { expect, test } from 'bun:test';
import { TIMEFRAMES } from '../../src/domain/timeframe.ts';
import { slugOf, WINDOW_MS } from '../../src/venue/slug.ts';
import { START_MS, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { filledServer } from './venue-server.ts';

const HOUR_MS = 3_600_000;
const AHEAD_HOURS = { '5m': 24, '15m': 24, '1h': 48, '4h': 24, '24h': 24 };
/** A 4h window and a 24h window begin at noon in New York too. */
const NOON_MS = Date.UTC(2026, 3, 16, 16);

/** A market of each timeframe from noon on, stored after its end; its only book comes a second after its start. */
const MARKETS = TIMEFRAMES.map((timeframe, index) => {
  const window = { symbol: 'btc', timeframe, startMs: NOON_MS, endMs: NOON_MS + WINDOW_MS[timeframe] };
  return {
    ...{ timeframe, conditionId: `0x${String(index + 1).repeat(64)}`, slug: slugOf(window), endMs: window.endMs },
    assets: [`${index + 1}1`, `${index + 1}2`],
  };
});
const RECORDS = MARKETS.flatMap(({ timeframe, conditionId, slug, endMs, assets }) => [
  sampleMarket({
    ...{ timeframe, conditionId, slug, clobTokenIds: assets, winner: 'down', priceEnd: 75_000.5 },
    ...{ startTime: new Date(NOON_MS).toISOString(), endTime: new Date(endMs).toISOString() },
  }),
  sampleSnapshot({ conditionId, timestamp: NOON_MS + 1000 }),
]);

test('A market whose listing no recording states is listed as far ahead as the venue lists it; its book comes with its first record.', async () => {
  await using server = await filledServer([RECORDS]);
  for (const { timeframe, slug, assets } of MARKETS) {
    const listedMs = NOON_MS - AHEAD_HOURS[timeframe] * HOUR_MS;
    server.replay.clock.seek(listedMs - 1);
    expect((await server.ask(`/markets/slug/${slug}`)).status).toBe(404);
    server.replay.clock.seek(listedMs);
    expect(await server.json(`/markets/slug/${slug}`)).toMatchObject({
      ...{ closed: false, acceptingOrders: true, clobTokenIds: JSON.stringify(assets).replace(',', ', ') },
      startDate: new Date(listedMs).toISOString().replace('.000Z', 'Z'),
    });
    server.replay.clock.seek(NOON_MS + 999);
    expect((await server.ask(`/book?token_id=${assets[0]}`)).status).toBe(404);
    server.replay.clock.seek(NOON_MS + 1000);
    expect((await server.json(`/book?token_id=${assets[0]}`)).asset_id).toBe(assets[0]);
  }
});

test('A recorded listing stays: neither a first record nor the venue’s usual time moves it back.', async () => {
  const createdAt = new Date(START_MS - 70_000).toISOString();
  await using server = await filledServer([[sampleMarket({ createdAt }), sampleSnapshot()]]);
  server.replay.clock.seek(START_MS - 70_001);
  expect(await server.json('/gamma/markets')).toEqual([]);
  server.replay.clock.seek(START_MS - 70_000);
  expect((await server.json('/gamma/markets')).length).toBe(1);
});

test('A market with a winner and without a time of resolution resolves 20 seconds after its window, and nothing shows it before.', async () => {
  await using server = await filledServer([RECORDS]);
  const unresolved = await filledServer([
    RECORDS.map((record) => ({ ...record, winner: undefined, priceEnd: undefined })),
  ]);
  await using _ = unresolved;
  for (const { slug, conditionId, endMs, assets } of MARKETS) {
    const paths = [
      `/markets/slug/${slug}`,
      `/events/slug/${slug}`,
      `/clob/markets/${conditionId}`,
      `/book?token_id=${assets[0]}`,
    ];
    const all = async (from: typeof server) => await Promise.all(paths.map(async (path) => await from.ask(path)));
    for (const each of [server, unresolved]) each.replay.clock.seek(endMs + 19_999);
    expect(await all(server)).toEqual(await all(unresolved));
    server.replay.clock.seek(endMs + 20_000);
    const [market, event, clob, book] = await all(server);
    expect(JSON.parse(market!.text)).toMatchObject({
      ...{ closed: true, acceptingOrders: false, outcomePrices: '["0", "1"]', umaResolutionStatus: 'resolved' },
      closedTime: new Date(endMs + 20_000).toISOString().replace('T', ' ').replace('.000Z', '+00'),
    });
    expect(JSON.parse(event!.text).eventMetadata).toMatchObject({ finalPrice: 75_000.5 });
    expect(JSON.parse(clob!.text).tokens.map(({ winner }: { winner: boolean }) => winner)).toEqual([false, true]);
    expect(book!.status).toBe(404);
  }
});

test('Clients of the market channel get the resolution that a recording does not state, too.', async () => {
  await using server = await filledServer([[sampleMarket({ winner: 'up' }), sampleSnapshot()]]);
  const { clock } = server.replay;
  clock.seek(START_MS + 5000);
  const connection = new RecordingConnection();
  const session = venueSession(server.replay, connection, () => 0);
  session.received(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET], custom_feature_enabled: true }));
  clock.stepTo(START_MS + 320_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  session.closed();
  expect(connection.frames.map((frame) => JSON.parse(frame)).at(-1)).toMatchObject({
    ...{ event_type: 'market_resolved', winning_outcome: 'Up', timestamp: String(START_MS + 320_000) },
  });
});

test('A recorded book that repeats the levels of the one before it is sent, once, also if a trade follows it.', async () => {
  const trade = { type: 'price', conditionId: sampleMarket().conditionId, outcome: 'up', kind: 'trade', price: 0.52 };
  await using server = await filledServer([
    [
      ...[sampleMarket(), sampleSnapshot({ timestamp: START_MS })],
      ...[sampleSnapshot({ timestamp: START_MS + 1000 }), { ...trade, timestamp: START_MS + 1000 }],
    ],
  ]);
  const { clock } = server.replay;
  clock.seek(START_MS);
  const connection = new RecordingConnection();
  const session = venueSession(server.replay, connection, () => 0);
  session.received(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET] }));
  clock.stepTo(START_MS + 1000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  session.closed();
  const frames = connection.frames.flatMap((frame) => [JSON.parse(frame)].flat());
  expect(frames.map(({ event_type, timestamp }) => [event_type, Number(timestamp) - START_MS])).toEqual([
    ['book', 0],
    ['book', 1000],
    ['last_trade_price', 1000],
  ]);
  expect(frames[1].hash).not.toBe(frames[0].hash);
});
