import { expect, spyOn, test } from 'bun:test';
import type { MarketDetails } from '../../src/domain/market-details.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, samplePrice, UP_ASSET } from '../support/sample-records.ts';
import { anotherReplay, filledServer, PRESENT_MS, venueServer } from './venue-server.ts';

const OTHER_ID = `0x${'cd34'.repeat(16)}`;
const OTHER_ASSETS = ['21', '22'];
const TITLE = 'Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET';
const DETAILS: MarketDetails = { ...{ icon: 'https://example.org/btc.png', makerBaseFee: 0, takerBaseFee: 1000 } };
const FEES: MarketDetails = { feeRate: 0.07, feeExponent: 1, feeTakerOnly: true, feeRebateRate: 0.2 };
const REWARDS: MarketDetails = { rewardsMinSize: 50, rewardsMaxSpread: 4.5 };
const OTHER_WINDOW = { startTime: '2026-04-16T07:15:00Z', endTime: '2026-04-16T07:20:00Z' };
const TRADES = 400;

interface TradeFields {
  readonly id: string;
  readonly conditionId: string;
  readonly outcome: string;
  readonly timestamp: number;
  readonly price: number;
  readonly size?: number;
  readonly side?: string;
  readonly feeRateBps?: number;
  readonly transactionHash?: string;
}

/** Trades of both outcomes of two markets, most of them with details; several have one timestamp, and each its own price. */
function tradeFields(): readonly TradeFields[] {
  const random = randomsOf(3);
  return Array.from({ length: TRADES }, (_, index) => ({
    ...{ id: String(index + 1), price: (1 + index) / 1000, timestamp: START_MS + Math.floor(random() * 60) * 500 },
    ...{ conditionId: random() < 0.3 ? OTHER_ID : CONDITION_ID, outcome: random() < 0.5 ? 'up' : 'down' },
    ...(random() < 0.1
      ? {}
      : {
          size: Math.floor(1 + random() * 1000) / 10,
          side: random() < 0.5 ? 'buy' : 'sell',
          feeRateBps: 700,
          transactionHash: `0x${String(index).padStart(64, '0')}`,
        }),
  }));
}

const tradeRecords = () => tradeFields().map((fields) => samplePrice({ ...fields }));

const MARKETS = [
  sampleMarket({ details: { ...DETAILS, ...FEES, ...REWARDS }, eventId: '77', createdAt: '2026-04-15T07:00:00Z' }),
  sampleMarket({
    ...{ conditionId: OTHER_ID, slug: 'btc-updown-5m-1776323700', clobTokenIds: OTHER_ASSETS, ...OTHER_WINDOW },
    ...{ eventId: '78', createdAt: '2026-04-15T07:05:00Z' },
  }),
];

type Shown = Readonly<Record<string, unknown>>;

/** The trades until an instant, the newest first, by a scan of all. */
function tradesUntil(toMs: number): readonly TradeFields[] {
  const known = tradeFields().filter(({ timestamp }) => timestamp <= toMs);
  return known.sort((a, b) => b.timestamp - a.timestamp || Number(b.id) - Number(a.id));
}

/** The objects of the Data API. */
function expectedTrades(toMs: number): readonly Shown[] {
  return tradesUntil(toMs).map(({ conditionId, outcome, timestamp, price, side, size, transactionHash }) => {
    const isOther = conditionId === OTHER_ID;
    const index = outcome === 'up' ? 0 : 1;
    const slug = isOther ? 'btc-updown-5m-1776323700' : 'btc-updown-5m-1776323400';
    return {
      ...(side === undefined ? {} : { side: side.toUpperCase(), size, transactionHash }),
      ...{ asset: (isOther ? OTHER_ASSETS : [UP_ASSET, DOWN_ASSET])[index], conditionId, price },
      ...{ timestamp: Math.floor(timestamp / 1000), slug, eventSlug: slug },
      title: isOther ? 'Bitcoin Up or Down - April 16, 3:15AM-3:20AM ET' : TITLE,
      ...(isOther ? {} : { icon: DETAILS.icon }),
      ...{ outcome: outcome === 'up' ? 'Up' : 'Down', outcomeIndex: index },
    };
  });
}

/** What a trade cost, exactly: sizes have one decimal, prices three. */
function costOf({ size = 0, price }: Shown | TradeFields): number {
  return (Math.round(Number(size) * 10) * Math.round(Number(price) * 1000)) / 10_000;
}

test('/trades has each recorded trade once, the newest first, with the outcome it was recorded for and no unknown wallet.', async () => {
  await using server = await filledServer([[...MARKETS, ...tradeRecords()]]);
  // Its cost is more than the product of the two doubles.
  const inexact = tradeFields().find((trade) => trade.size! * trade.price < costOf(trade))!;
  const queries: readonly [query: string, wanted: (trade: Shown) => boolean][] = [
    ['', () => true],
    [`market=${CONDITION_ID.toUpperCase().replace('X', 'x')}`, (trade) => trade.conditionId === CONDITION_ID],
    [`market=${CONDITION_ID},${OTHER_ID}&takerOnly=false`, () => true],
    [`market=0x${'9'.repeat(64)}`, () => false],
    ['eventId=78', (trade) => trade.conditionId === OTHER_ID],
    ['side=BUY', ({ side }) => side === 'BUY'],
    ['side=SELL&takerOnly=true', ({ side }) => side === 'SELL'],
    ['filterType=TOKENS&filterAmount=50', ({ size = 0 }) => Number(size) >= 50],
    ['filterType=CASH&filterAmount=20.5', (trade) => costOf(trade) >= 20.5],
    [`filterType=CASH&filterAmount=${costOf(inexact)}`, (trade) => costOf(trade) >= costOf(inexact)],
    [`start=${START_MS / 1000 + 5}&end=${START_MS / 1000 + 9}`, ({ timestamp }) => isWithin(timestamp, 5, 9)],
    ['user=0x56687bf447db6ffa42ffe2204a05edaa20f55839', () => false],
    ['unknown=1&asset=2', () => true],
  ];
  const isWithin = (timestamp: unknown, from: number, to: number) =>
    Number(timestamp) >= START_MS / 1000 + from && Number(timestamp) <= START_MS / 1000 + to;
  for (const nowMs of [START_MS - 1, START_MS, START_MS + 7250, START_MS + 40_000]) {
    server.replay.clock.seek(nowMs);
    const all = expectedTrades(nowMs);
    for (const prefix of ['', '/data-api']) {
      for (const [query, wanted] of queries) {
        const expected = all.filter(wanted);
        expect(await server.json(`${prefix}/trades?${query}`)).toEqual(expected.slice(0, 100));
        expect(await server.json(`${prefix}/trades?${query}&limit=10000`)).toEqual(expected);
        expect(await server.json(`${prefix}/trades?${query}&limit=7&offset=5`)).toEqual(expected.slice(5, 12));
      }
    }
  }
  expect(await server.json('/trades?limit=0')).toEqual([]);
  const moved = anotherReplay(server, { rebase: true }, START_MS + 40_000);
  const [first] = await server.json(`/replays/${moved.id}/data-api/trades?limit=1`);
  const { timestamp, price } = tradesUntil(START_MS + 40_000)[0]!;
  expect([first.timestamp, first.price]).toEqual([Math.floor((timestamp + moved.shiftMs) / 1000), price]);
});

test('The last 100 trades of a market are sent, and their user is an empty object, whose fields clients read.', async () => {
  await using server = await filledServer([[...MARKETS, ...tradeRecords()]]);
  const nowMs = START_MS + 40_000;
  server.replay.clock.seek(nowMs);
  const expected = expectedTrades(nowMs).filter(({ conditionId }) => conditionId === CONDITION_ID);
  for (const path of [
    '/live-activity/events',
    '/clob/live-activity/events',
    '/markets/live-activity',
    '/clob/markets/live-activity',
  ]) {
    const events = await server.json(`${path}/${CONDITION_ID}`);
    expect(events).toHaveLength(100);
    for (const [index, event] of events.entries()) {
      const { size, side, transactionHash, price, asset, outcome, outcomeIndex, timestamp } = expected[index]!;
      expect(event).toEqual({
        ...{ event_type: 'trade', user: {}, price: String(price), outcome, outcome_index: outcomeIndex },
        market: {
          ...{ condition_id: CONDITION_ID, asset_id: asset, question: TITLE, icon: DETAILS.icon },
          slug: 'btc-updown-5m-1776323400',
        },
        ...(side === undefined
          ? {}
          : { side, size: String(size), fee_rate_bps: '700', transaction_hash: transactionHash }),
        timestamp: String(timestamp),
      });
    }
  }
  expect(await server.ask(`/live-activity/events/${`0x${'9'.repeat(64)}`}`)).toMatchObject({ status: 404 });
});

test('a market has the recorded fees and rewards; /fee-rate is takerBaseFee before the first trade', async () => {
  await using server = await filledServer([[...MARKETS, ...tradeRecords()]]);
  server.replay.clock.seek(START_MS - 1);
  const feeRate = () => server.json(`/fee-rate?token_id=${UP_ASSET}`);
  expect(await feeRate()).toEqual({ base_fee: 1000 });
  // Its recording has no fee; the venue gave all markets of April 2026 this one.
  expect(await server.json('/fee-rate?token_id=21')).toEqual({ base_fee: 1000 });
  expect((await server.ask('/fee-rate?token_id=1')).status).toBe(404);
  const tokens = (assets: readonly string[]) => assets.map((t, index) => ({ t, o: ['Up', 'Down'][index] }));
  for (const prefix of ['', '/clob']) {
    expect(await server.json(`${prefix}/clob-markets/${CONDITION_ID}`)).toEqual({
      ...{ c: CONDITION_ID, t: tokens([UP_ASSET, DOWN_ASSET]), mos: 5, mts: 0.01, mbf: 0, tbf: 1000, ao: true },
      ...{ fd: { r: 0.07, e: 1, to: true }, r: { mi: 50, ma: 4.5 } },
    });
    expect(await server.json(`${prefix}/clob-markets/${OTHER_ID}`)).toEqual({
      ...{ c: OTHER_ID, t: tokens(OTHER_ASSETS), mos: 5, mts: 0.01, ao: true, r: null },
    });
    expect(await server.json(`${prefix}/markets-by-token/22`)).toEqual({
      ...{ condition_id: OTHER_ID, primary_token_id: '21', secondary_token_id: '22' },
    });
    expect(await server.json(`${prefix}/ok`)).toBe('OK');
  }
  expect(await server.json(`/gamma/markets?condition_ids=${CONDITION_ID}`)).toMatchObject([
    {
      ...{ question: TITLE, icon: DETAILS.icon, makerBaseFee: 0, takerBaseFee: 1000, ...REWARDS },
      feeSchedule: { rate: 0.07, exponent: 1, takerOnly: true, rebateRate: 0.2 },
    },
  ]);
  expect(await server.json(`/clob/markets/${CONDITION_ID}`)).toMatchObject({
    ...{ question: TITLE, icon: DETAILS.icon, maker_base_fee: 0, taker_base_fee: 1000 },
    rewards: { rates: null, min_size: 50, max_spread: 4.5 },
  });
  server.replay.clock.seek(START_MS + 40_000);
  expect(await feeRate()).toEqual({ base_fee: 700 });
});

test('With --rebase now, question and title are made from the moved window, and texts that may have the recorded date are left out.', async () => {
  const details: MarketDetails = { question: 'Higher?', title: 'An event', description: 'On 16 April.', icon: 'i' };
  await using server = await filledServer([[sampleMarket({ details })]]);
  server.replay.clock.seek(START_MS);
  const path = `/gamma/markets?condition_ids=${CONDITION_ID}`;
  const [plain] = await server.json(path);
  expect(plain).toMatchObject({ question: 'Higher?', description: 'On 16 April.', icon: 'i' });
  expect(plain.events[0]).toMatchObject({ title: 'An event', description: 'On 16 April.', icon: 'i' });
  const moved = anotherReplay(server, { rebase: true }, START_MS);
  expect(moved.shiftMs).toBe(PRESENT_MS - START_MS);
  const [shifted] = await server.json(`/replays/${moved.id}${path}`);
  const title = 'Bitcoin Up or Down - August 31, 8:00PM-8:05PM ET';
  expect([shifted.question, shifted.description, shifted.icon]).toEqual([title, undefined, 'i']);
  expect([shifted.events[0].title, shifted.events[0].description]).toEqual([title, undefined]);
});

const MANY = 500;

/** Markets one after another, each with trades in its window. */
function manyMarkets(): object[] {
  return Array.from({ length: MANY }, (_, nth) => {
    const startMs = START_MS + nth * 300_000;
    const conditionId = `0x${String(nth + 1).padStart(64, '0')}`;
    const trade = { conditionId, kind: 'trade', price: 0.5, trade: { size: 10, side: 'buy' } };
    return [
      sampleMarket({
        ...{ conditionId, slug: `btc-updown-5m-${startMs / 1000}`, clobTokenIds: [`7${nth}1`, `7${nth}2`] },
        ...{ startTime: new Date(startMs).toISOString(), endTime: new Date(startMs + 300_000).toISOString() },
        createdAt: new Date(startMs - 86_400_000).toISOString(),
      }),
      ...[0, 1, 2, 3].map((i) => samplePrice({ ...trade, timestamp: startMs + i * 60_000 })),
    ];
  }).flat();
}

test('Searches and /trades work a few milliseconds at a time, others are answered meanwhile, and markets with too early records are not read.', async () => {
  using held = temporaryArchive();
  await importRecords(held.archive, manyMarkets());
  const others: string[] = [];
  const queue = {
    ...{ add: (work: () => void) => work(), remove: () => undefined },
    next: async () => {
      others.push((await server.ask('/ok')).text);
    },
  };
  await using server = venueServer(held.archive, {}, undefined, queue);
  server.replay.clock.seek(START_MS + MANY * 300_000 - 1);
  const reads = spyOn(held.archive.prices, 'page');
  const last = await server.json('/trades?limit=6');
  expect(last.map(({ slug }: { slug: string }) => slug)).toEqual(
    [1, 1, 1, 1, 2, 2].map((nth) => `btc-updown-5m-${START_MS / 1000 + (MANY - nth) * 300}`),
  );
  expect(reads.mock.calls.length).toBeLessThanOrEqual(3);
  others.length = 0;
  expect(await server.json('/trades?filterType=TOKENS&filterAmount=11')).toEqual([]);
  expect(others).toContain('"OK"');
  expect(await server.json('/trades?limit=10000')).toHaveLength(4 * MANY);
  const { pagination, events } = await server.json('/public-search?q=bitcoin');
  expect([pagination, events.length]).toEqual([{ hasMore: true, totalResults: MANY }, 10]);
  // Six markets are listed; each step takes longer than a turn.
  server.replay.clock.seek(START_MS - 86_400_000 + 5 * 300_000);
  let passedMs = 0;
  using _clock = spyOn(performance, 'now').mockImplementation(() => (passedMs += 1000));
  others.length = 0;
  const [series] = await server.json('/series');
  expect([series.events.length, others.length]).toEqual([6, 6]);
}, 120_000);
