import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { randomsOf } from '../support/random-books.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { VenueOracle } from './venue-oracle.ts';
import { BOOKS_SLUG, VENUE_RECORDINGS } from './venue-recordings.ts';
import { anotherReplay, filledServer, PRESENT_MS, type VenueServer, venueServer } from './venue-server.ts';

/** Number of instants that are checked for each market. */
const INSTANTS = 120;
const NO_BOOK = { status: 404, text: '{"error":"No orderbook exists for the requested token id"}' };

/** The venue's hash, computed from the text of an answer (py-clob-client, utilities.py). */
function hashOf(text: string): string {
  const { market, asset_id, timestamp, bids, asks, min_order_size, tick_size, neg_risk, last_trade_price } =
    JSON.parse(text);
  const hashed = {
    market,
    asset_id,
    timestamp,
    hash: '',
    bids,
    asks,
    min_order_size,
    tick_size,
    neg_risk,
    last_trade_price,
  };
  return createHash('sha1').update(JSON.stringify(hashed)).digest('hex');
}

/** Random instants of a market's records and one millisecond before or after them; each tenth is before the first record. */
function instantsOf(oracle: VenueOracle, seed: number): number[] {
  const random = randomsOf(seed);
  const all = oracle.instants;
  return Array.from({ length: INSTANTS }, (_, index) => {
    const at = all[Math.floor(random() * all.length)]!;
    return index % 10 === 0 ? all[0]! - 1 - Math.floor(random() * 5) : at + Math.floor(random() * 3) - 1;
  });
}

async function expectAsOracle(
  server: VenueServer,
  oracle: VenueOracle,
  { conditionId, clobTokenIds }: StoredMarket,
  outcome: Outcome,
) {
  const assetId = clobTokenIds[OUTCOMES.indexOf(outcome)]!;
  if (assetId === '0') return 0;
  const nowMs = server.replay.clock.nowMs;
  const book = oracle.bookAt(outcome, nowMs);
  const asked = await server.ask(`/book?token_id=${assetId}`);
  const paths = ['midpoint', 'spread', 'price&side=BUY', 'price&side=SELL'].map((name) => {
    const [path, side = ''] = name.split('&');
    return `/${path}?token_id=${assetId}&${side}`;
  });
  const sent = await Promise.all(paths.map((path) => server.ask(path)));
  const trade = oracle.lastTradeAt(outcome, nowMs);
  const last = oracle.priceInBookAt(outcome, nowMs);
  expect(await server.json(`/last-trade-price?token_id=${assetId}`)).toEqual({
    price: String(trade?.price ?? 0.5),
    side: trade?.side ?? '',
  });
  if (book === undefined) {
    expect([asked, ...sent]).toEqual(Array.from({ length: 5 }, () => NO_BOOK));
    return 0;
  }
  const { hash, ...stated } = JSON.parse(asked.text);
  expect(stated).toEqual({
    market: conditionId,
    asset_id: assetId,
    timestamp: String(book.timestampMs),
    bids: book.bids,
    asks: book.asks,
    min_order_size: '5',
    tick_size: oracle.tickAt(nowMs),
    neg_risk: false,
    last_trade_price: last === undefined ? '' : String(last).padEnd(5, last === 1 || last === 0 ? '.000' : '0'),
  });
  expect(hash).toBe(hashOf(asked.text));
  const best = oracle.bestAt(outcome, nowMs)!;
  expect(sent.map(({ text }) => JSON.parse(text))).toEqual([
    { mid: best.mid },
    { spread: best.spread },
    { price: best.bid },
    { price: best.ask },
  ]);
  expect(await server.json(`/tick-size?token_id=${assetId}`)).toEqual({
    minimum_tick_size: Number(oracle.tickAt(nowMs)),
  });
  return 1;
}

for (const { name, isHere, slugs, load } of VENUE_RECORDINGS) {
  test.skipIf(!isHere)(
    `${name}: every answer at any instant is what a scan of the records says, wherever the clock came from`,
    async () => {
      using held = temporaryArchive();
      await load(held.archive);
      await using server = venueServer(held.archive);
      let books = 0;
      for (const slug of slugs) {
        const market = marketOf(held.archive, slug);
        const oracle = new VenueOracle(held.archive, slug);
        for (const instantMs of instantsOf(oracle, 3)) {
          server.replay.clock.seek(instantMs);
          for (const outcome of OUTCOMES) books += await expectAsOracle(server, oracle, market, outcome);
        }
      }
      expect(books).toBeGreaterThan(INSTANTS / 2);
    },
  );
}

/** A market with few records, so that a test can list all answers. */
const BOOK_MS = START_MS + 4000;
const RECORDS: readonly object[] = [
  sampleMarket({ createdAt: '2026-04-15T07:20:00.000Z', winner: 'down', resolvedAt: '2026-04-16T07:15:20.000Z' }),
  sampleSnapshot({ timestamp: BOOK_MS }),
  samplePrice({ timestamp: BOOK_MS + 500, price: 0.512 }),
  sampleSnapshot({ timestamp: BOOK_MS + 1000, asks: [] }),
  sampleSnapshot({ timestamp: BOOK_MS + 2000, bids: [], asks: [] }),
  sampleSnapshot({ timestamp: BOOK_MS + 3000, bids: [{ price: 0.53, size: 1 }] }),
];
const RESOLVED_MS = Date.UTC(2026, 3, 16, 7, 15, 20);

async function sampleServer() {
  const server = await filledServer([RECORDS]);
  server.replay.clock.seek(BOOK_MS + 999);
  return server;
}

test('The price for BUY is the best bid and the price for SELL the best ask, and a side without levels is a bid of 0 or an ask of 1.', async () => {
  await using server = await sampleServer();
  const sent = async () => {
    const [mid, spread, bid, ask] = await Promise.all([
      server.json(`/midpoint?token_id=${UP_ASSET}`),
      server.json(`/spread?token_id=${UP_ASSET}`),
      server.json(`/price?token_id=${UP_ASSET}&side=buy`),
      server.json(`/price?token_id=${UP_ASSET}&side=Sell`),
    ]);
    return [mid.mid, spread.spread, bid.price, ask.price];
  };
  server.replay.clock.seek(BOOK_MS + 1000);
  expect(await sent()).toEqual(['0.755', '0.49', '0.51', '1']);
  server.replay.clock.seek(BOOK_MS + 2000);
  expect(await sent()).toEqual(['0.5', '1', '0', '1']);
  server.replay.clock.seek(BOOK_MS + 3000);
  expect(await sent()).toEqual(['0.525', '-0.01', '0.53', '0.52']);
});

test('a batch has the answer of each asset; assets without an order book are left out', async () => {
  await using server = await sampleServer();
  const ids = [UP_ASSET, DOWN_ASSET, '17', 'no id'];
  const items = ids.map((token_id) => ({ token_id }));
  const alone = (path: string) =>
    Promise.all([UP_ASSET, DOWN_ASSET].map((assetId) => server.json(`/${path}?token_id=${assetId}`)));
  const [up, down] = await alone('book');
  expect(await server.json('/books', items)).toEqual([up, down]);
  for (const [batch, path, field] of [
    ['midpoints', 'midpoint', 'mid'],
    ['spreads', 'spread', 'spread'],
  ] as const) {
    const [one, other] = await alone(path);
    const expected = { [UP_ASSET]: one[field], [DOWN_ASSET]: other[field] };
    expect(await server.json(`/${batch}`, items)).toEqual(expected);
    expect(await server.json(`/${batch}?token_ids=${ids.join(',')}`)).toEqual(expected);
  }
  const prices = [
    { token_id: UP_ASSET, side: 'BUY' },
    { token_id: UP_ASSET, side: 'SELL' },
    { token_id: DOWN_ASSET },
    { token_id: '17', side: 'BUY' },
  ];
  expect(await server.json('/prices', prices)).toEqual({
    [UP_ASSET]: { BUY: '0.51', SELL: '0.52' },
    [DOWN_ASSET]: { SELL: '0.49' },
  });
  expect(await server.json(`/prices?token_ids=${UP_ASSET},${DOWN_ASSET}&sides=BUY,BUY`)).toEqual({
    [UP_ASSET]: { BUY: '0.51' },
    [DOWN_ASSET]: { BUY: '0.48' },
  });
  expect(await server.json('/last-trades-prices', items)).toEqual([
    { token_id: UP_ASSET, price: '0.512', side: '' },
    { token_id: DOWN_ASSET, price: '0.488', side: '' },
  ]);
});

const INVALID_ASSET = [400, { error: 'Invalid token id' }] as const;
const INVALID_PAYLOAD = [400, { error: 'Invalid payload' }] as const;
const NOT_FOUND = [404, { error: 'market not found' }] as const;
const filters = (what: string) => [400, { error: `invalid filters: ${what}` }] as const;
const ONE = { token_id: UP_ASSET };

const INTERVALS = "'interval' must be one of 1h, 6h, 1d, 1w, 1m, max, all";
const HISTORY_REFUSALS: readonly (readonly [query: string, what: string])[] = [
  ['', "'startTs' or 'interval' is missing"],
  ['&endTs=5', "'startTs' or 'interval' is missing"],
  ['&interval=1w', "minimum 'fidelity' for '1w' range is 5"],
  ['&interval=1m&fidelity=9', "minimum 'fidelity' for '1m' range is 10"],
  ...['2d', 'constructor', '__proto__', ''].map((interval) => [`&interval=${interval}`, INTERVALS] as const),
  ['&interval=1h&fidelity=0', "'fidelity' must be a whole number of minutes"],
  ['&startTs=yesterday', "'startTs' must be a Unix time in seconds"],
  ['&startTs=9&endTs=8', "'startTs' must not be later than 'endTs'"],
  ['&startTs=0&endTs=1300000', "'startTs' and 'endTs' interval is too long"],
];

const REFUSALS: readonly (readonly [path: string, body: unknown, refused: readonly [number, object]])[] = [
  ...['book', 'midpoint', 'spread', 'last-trade-price', 'tick-size', 'neg-risk', 'fee-rate', 'prices-history'].map(
    (path) => [`/${path}`, undefined, INVALID_ASSET] as const,
  ),
  ['/book?token_id=', undefined, INVALID_ASSET],
  ['/price?side=BUY', undefined, INVALID_ASSET],
  [`/price?token_id=${UP_ASSET}`, undefined, [400, { error: 'Invalid side' }]],
  [`/price?token_id=${UP_ASSET}&side=both`, undefined, [400, { error: 'Invalid side' }]],
  ['/tick-size?token_id=17', undefined, NOT_FOUND],
  ['/neg-risk/17', undefined, NOT_FOUND],
  ['/fee-rate?token_id=1', undefined, [404, { error: 'fee rate not found for market' }]],
  [`/clob/markets/0x${'00'.repeat(32)}`, undefined, NOT_FOUND],
  [`/markets/0x${'00'.repeat(32)}`, undefined, NOT_FOUND],
  ['/clob/markets?next_cursor=LTE=', undefined, [400, { error: 'next item should be greater than or equal to 0' }]],
  ['/books', {}, INVALID_PAYLOAD],
  ['/books', 'no json', INVALID_PAYLOAD],
  ['/books', '', INVALID_PAYLOAD],
  ['/midpoints', [{ asset_id: UP_ASSET }], INVALID_PAYLOAD],
  ['/spreads', [{ token_id: 17 }], INVALID_PAYLOAD],
  ['/prices', [{ ...ONE, side: 1 }], INVALID_PAYLOAD],
  ['/prices', [{ ...ONE, side: 'both' }], [400, { error: 'Invalid side' }]],
  ['/books', `[${'0'.repeat(1024 * 1024)}]`, INVALID_PAYLOAD],
  ['/books', Array.from({ length: 501 }, () => ONE), [400, { error: 'Payload exceeds the limit' }]],
  ['/midpoints', undefined, INVALID_PAYLOAD],
  ...HISTORY_REFUSALS.map(
    ([query, what]) => [`/prices-history?market=${UP_ASSET}${query}`, undefined, filters(what)] as const,
  ),
];

for (const [path, body, [status, refused]] of REFUSALS) {
  const sent = body === undefined ? '' : ` with ${JSON.stringify(body).slice(0, 40)}`;
  test(`${path}${sent} is refused with ${JSON.stringify(refused)}`, async () => {
    await using server = await sampleServer();
    const { text, ...answer } = await server.ask(path, body);
    expect({ ...answer, body: JSON.parse(text) }).toEqual({ status, body: refused });
  });
}

test('a batch with the venue’s maximum of assets is answered', async () => {
  await using server = await sampleServer();
  const batch = Array.from({ length: 500 }, () => ONE);
  expect(await server.json('/midpoints', batch)).toEqual({ [UP_ASSET]: '0.515' });
});

test('An asset has no order book before its first one and after its resolution (404), and ticks, trades and the market remain.', async () => {
  await using server = await sampleServer();
  const statuses = async (prefix = '') => {
    const paths = ['book', 'midpoint', 'spread'].map((path) => `${prefix}/${path}?token_id=${UP_ASSET}`);
    const sent = await Promise.all(
      [...paths, `${prefix}/tick-size/${UP_ASSET}`, `${prefix}/markets/${CONDITION_ID}`].map((path) =>
        server.ask(path),
      ),
    );
    return sent.map(({ status }) => status);
  };
  expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
  server.replay.clock.seek(Date.UTC(2026, 3, 15, 7, 19, 59, 999));
  expect(await statuses()).toEqual([404, 404, 404, 404, 404]);
  server.replay.clock.seek(Date.UTC(2026, 3, 15, 7, 20));
  expect(await statuses()).toEqual([404, 404, 404, 200, 200]);
  server.replay.clock.seek(RESOLVED_MS - 1);
  expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
  server.replay.clock.seek(RESOLVED_MS);
  expect(await statuses()).toEqual([404, 404, 404, 200, 200]);
  expect(await server.json('/books', [ONE])).toEqual([]);
  expect(await server.json(`/last-trade-price?token_id=${UP_ASSET}`)).toEqual({ price: '0.512', side: '' });
  await importRecords(server.replay.archive, [
    sampleMarket({
      conditionId: `0x${'77'.repeat(32)}`,
      slug: 'eth-updown-5m-1776323400',
      symbol: 'eth',
      clobTokenIds: ['1', '2'],
    }),
  ]);
  const other = anotherReplay(server, { selection: { names: [], coins: ['eth'], timeframes: [] } }, BOOK_MS);
  expect(await statuses(`/replays/${other.id}`)).toEqual([404, 404, 404, 404, 404]);
});

test('a market has no winner, final price or end before it was resolved', async () => {
  await using server = await sampleServer();
  const tokens = (price: number, isOver: boolean) => [
    { token_id: UP_ASSET, outcome: 'Up', price, winner: false },
    { token_id: DOWN_ASSET, outcome: 'Down', price: (1000 - price * 1000) / 1000, winner: isOver },
  ];
  const market = (price: number, isOver: boolean, isAccepting = !isOver) => ({
    ...{ enable_order_book: true, active: true, closed: isOver, archived: false, accepting_orders: isAccepting },
    ...{ minimum_order_size: 5, minimum_tick_size: 0.01, condition_id: CONDITION_ID },
    question: 'Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET',
    ...{ market_slug: 'btc-updown-5m-1776323400', end_date_iso: '2026-04-16T07:15:00Z', neg_risk: false },
    tokens: tokens(price, isOver),
  });
  const asked = () =>
    Promise.all([
      server.json(`/markets/${CONDITION_ID}`),
      server.json(`/clob/markets/${CONDITION_ID.toUpperCase().replace('X', 'x')}`),
    ]);
  expect(await asked()).toEqual([market(0.515, false), market(0.515, false)]);
  // With a wide book the price is that of the last trade.
  server.replay.clock.seek(BOOK_MS + 2000);
  expect(await asked()).toEqual([market(0.512, false), market(0.512, false)]);
  server.replay.clock.seek(RESOLVED_MS);
  expect(await asked()).toEqual([market(0, true), market(0, true)]);
});

test('lists of markets continue at their cursor, and sampling lists leave out markets that take no orders', async () => {
  using held = temporaryArchive();
  const markets = Array.from({ length: 250 }, (_, index) =>
    sampleMarket({
      ...{ conditionId: `0x${(index + 1).toString(16).padStart(64, '0')}`, slug: `btc-updown-5m-${index}` },
      ...{ clobTokenIds: [`${index + 1}1`, `${index + 1}2`], marketId: String(1000 + index) },
      createdAt: new Date(START_MS + index * 300_000 - 1000).toISOString(),
      startTime: new Date(START_MS + index * 300_000).toISOString(),
      endTime: new Date(START_MS + (index + 1) * 300_000).toISOString(),
    }),
  );
  await importRecords(held.archive, markets);
  await using server = venueServer(held.archive);
  server.replay.clock.seek(START_MS + 240 * 300_000);
  const walk = async (path: string) => {
    const seen: string[] = [];
    for (let cursor = 'MA=='; cursor !== 'LTE='; ) {
      const { data, next_cursor, count } = await server.json(`${path}?next_cursor=${encodeURIComponent(cursor)}`);
      expect(count).toBe(data.length);
      seen.push(...data.map((market: { condition_id: string }) => market.condition_id));
      cursor = next_cursor;
    }
    return seen;
  };
  const listed = markets.slice(0, 241).map(({ conditionId }) => conditionId);
  for (const path of ['/markets', '/clob/markets', '/simplified-markets', '/clob/simplified-markets']) {
    expect(await walk(path)).toEqual(listed);
  }
  // Their ends are not recorded, and their windows ended more than five minutes ago.
  for (const path of ['/sampling-markets', '/sampling-simplified-markets'])
    expect(await walk(path)).toEqual(listed.slice(239));
});

test('a rebased replay shifts the time, books with their hashes and price histories by the same time', async () => {
  await using server = await sampleServer();
  const nowMs = BOOK_MS + 999;
  const rebased = anotherReplay(server, { rebase: true }, nowMs);
  // No later window is recorded, so that the clock is a few seconds after the present.
  const shiftMs = PRESENT_MS - START_MS;
  expect([rebased.clock.nowMs, rebased.shiftMs, rebased.aheadMs]).toEqual([nowMs, shiftMs, nowMs - START_MS]);
  const presentSec = Math.floor((nowMs + shiftMs) / 1000);
  const prefix = `/replays/${rebased.id}`;
  expect(await server.ask(`${prefix}/time`)).toEqual({ status: 200, text: String(presentSec) });
  expect(await server.ask('/time')).toEqual({ status: 200, text: String(Math.floor(nowMs / 1000)) });
  const { text } = await server.ask(`${prefix}/book?token_id=${UP_ASSET}`);
  const { hash, timestamp, ...book } = JSON.parse(text);
  const { hash: plainHash, timestamp: plainTimestamp, ...plain } = await server.json(`/book?token_id=${UP_ASSET}`);
  expect(book).toEqual(plain);
  expect([timestamp, plainTimestamp]).toEqual([String(BOOK_MS + shiftMs), String(BOOK_MS)]);
  expect(hash).toBe(hashOf(text));
  expect(hash).not.toBe(plainHash);
  const history = await server.json(`${prefix}/prices-history?market=${UP_ASSET}&interval=1h`);
  expect(history).toEqual({ history: [{ t: presentSec, p: 0.515 }] });
  const startTs = presentSec - 60;
  expect(await server.json(`${prefix}/prices-history?market=${UP_ASSET}&startTs=${startTs}`)).toEqual(history);
});

test.skipIf(REAL_BOOKS === undefined)(
  'A price history has the latest midpoint at each multiple of fidelity, and at its end.',
  async () => {
    using held = temporaryArchive();
    await VENUE_RECORDINGS[1]!.load(held.archive);
    await using server = venueServer(held.archive);
    const market = marketOf(held.archive, BOOKS_SLUG);
    const oracle = new VenueOracle(held.archive, BOOKS_SLUG);
    const { instants } = oracle;
    const random = randomsOf(11);
    const index = oracle.bookAt('up', instants.at(-1)!) !== undefined && market.clobTokenIds[0] !== '0' ? 0 : 1;
    const outcome = OUTCOMES[index]!;
    const [first, last] = [instants[0]!, instants.at(-1)!];
    const midAt = (ms: number) => {
      const best = oracle.bestAt(outcome, ms);
      return best && Number(best.mid);
    };
    let points = 0;
    for (let i = 0; i < 60; i += 1) {
      const nowMs = first - 1000 + Math.floor(random() * (last - first + 400_000));
      server.replay.clock.seek(nowMs);
      const stepMs = 60_000 * (1 + Math.floor(random() * 3));
      const startTs = Math.floor(first / 1000) - 200 + Math.floor(random() * 400);
      const endTs = startTs + Math.floor(random() * 600);
      const asked = i % 2 === 0 ? `startTs=${startTs}&endTs=${endTs}` : 'interval=6h';
      const fromMs = i % 2 === 0 ? startTs * 1000 : nowMs - 6 * 3_600_000;
      // Only the winner is recorded, so the market resolves 20 seconds after its window.
      const resolvedMs = nowMs >= market.endMs + 20_000 ? market.endMs + 20_000 : Infinity;
      const toMs = Math.min(nowMs, i % 2 === 0 ? endTs * 1000 : nowMs, resolvedMs);
      const expected: { t: number; p: number }[] = [];
      for (let ms = Math.ceil(fromMs / stepMs) * stepMs; ms < toMs; ms += stepMs) {
        const p = midAt(ms - 1);
        if (p !== undefined) expected.push({ t: ms / 1000, p });
      }
      const end = toMs < fromMs ? undefined : midAt(toMs);
      if (end !== undefined) expected.push({ t: Math.floor(toMs / 1000), p: end });
      const path = `/prices-history?market=${market.clobTokenIds[index]}&${asked}&fidelity=${stepMs / 60_000}`;
      expect(await server.json(path)).toEqual({ history: expected });
      points += expected.length;
    }
    expect(points).toBeGreaterThan(60);
  },
);

test('The midpoints of a price history are those of /midpoint, also of books with one side and without any.', async () => {
  await using server = await sampleServer();
  for (const [afterMs, up] of [
    [0, 0.515],
    [1000, 0.755],
    [2000, 0.5],
    [3000, 0.525],
  ] as const) {
    server.replay.clock.seek(BOOK_MS + afterMs);
    for (const [assetId, mid] of [
      [UP_ASSET, up],
      [DOWN_ASSET, Number((1 - up).toFixed(3))],
    ] as const) {
      const { history } = await server.json(`/prices-history?market=${assetId}&interval=1h`);
      expect(history.at(-1).p).toBe(mid);
      expect(await server.json(`/midpoint?token_id=${assetId}`)).toEqual({ mid: String(mid) });
    }
  }
});

test('a price history without books has recorded midpoints, or those of the other outcome', async () => {
  const mid = (ms: number, price: number) => samplePrice({ kind: 'mid', timestamp: START_MS + ms, price });
  await using server = await filledServer([[sampleMarket(), mid(30_000, 0.4), mid(90_000, 0.45), mid(91_000, 0.5)]]);
  server.replay.clock.seek(START_MS + 200_000);
  const at = START_MS / 1000;
  const pointsOf = async (assetId: string) =>
    (await server.json(`/prices-history?market=${assetId}&startTs=${at}`)).history.map(
      ({ t, p }: { t: number; p: number }) => [t - at, p],
    );
  expect(await pointsOf(UP_ASSET)).toEqual([
    [60, 0.4],
    [120, 0.5],
    [180, 0.5],
    [200, 0.5],
  ]);
  expect(await pointsOf(DOWN_ASSET)).toEqual([
    [60, 0.6],
    [120, 0.5],
    [180, 0.5],
    [200, 0.5],
  ]);
});

test('a price history ends at the resolution of its market; a later window is empty', async () => {
  await using server = await sampleServer();
  server.replay.clock.seek(RESOLVED_MS + 600_000);
  const history = async (query: string) =>
    (await server.json(`/prices-history?market=${UP_ASSET}&${query}`)).history.map(
      ({ t }: { t: number }) => t * 1000 - START_MS,
    );
  expect(await history('interval=max')).toEqual([60_000, 120_000, 180_000, 240_000, 300_000, 320_000]);
  expect(await history(`startTs=${RESOLVED_MS / 1000 + 1}`)).toEqual([]);
  expect(await history(`startTs=${START_MS / 1000}&endTs=${START_MS / 1000 + 3}`)).toEqual([]);
  expect((await server.json('/prices-history?market=17&interval=max')).history).toEqual([]);
});

test('a midpoint at the instant of a step counts from the next step on; an outcome without books has 1 minus the other’s', async () => {
  using held = temporaryArchive();
  const mid = (price: number, timestamp: number) =>
    sampleSnapshot({ timestamp, bids: [{ price: price - 0.01, size: 1 }], asks: [{ price: price + 0.01, size: 1 }] });
  await importRecords(held.archive, [
    sampleMarket(),
    mid(0.25, START_MS),
    mid(0.5, START_MS + 60_000),
    mid(0.75, START_MS + 120_001),
  ]);
  await using server = venueServer(held.archive);
  const history = async (assetId: string) => {
    const { history: points } = await server.json(`/prices-history?market=${assetId}&interval=1h`);
    return points.map(({ t, p }: { t: number; p: number }) => [t - START_MS / 1000, p]);
  };
  server.replay.clock.seek(START_MS + 60_000);
  expect(await history(UP_ASSET)).toEqual([[60, 0.5]]);
  server.replay.clock.seek(START_MS + 180_000);
  expect(await history(UP_ASSET)).toEqual([
    [60, 0.25],
    [120, 0.5],
    [180, 0.75],
  ]);
  expect(await history(DOWN_ASSET)).toEqual([
    [60, 0.75],
    [120, 0.5],
    [180, 0.25],
  ]);
});

test('A trade of the other outcome counts at 1 minus its price, on the opposite side; /fee-rate is the last trade’s, else takerBaseFee, else the venue’s of then.', async () => {
  using held = temporaryArchive();
  const trade = { side: 'buy', size: 5, feeRateBps: 700 };
  await importRecords(held.archive, [
    sampleMarket(),
    sampleSnapshot({ timestamp: START_MS }),
    samplePrice({ timestamp: START_MS + 1000, price: 0.51, ...trade }),
    samplePrice({ timestamp: START_MS + 2000, price: 0.48, outcome: 'down', ...trade, side: 'sell' }),
    samplePrice({ timestamp: START_MS + 3000, price: 0.5 }),
  ]);
  await using server = venueServer(held.archive);
  const sent = async (nowMs: number) => {
    server.replay.clock.seek(nowMs);
    return await Promise.all(
      [UP_ASSET, DOWN_ASSET].map(async (assetId) => {
        const { price, side } = await server.json(`/last-trade-price?token_id=${assetId}`);
        const [one] = await server.json('/last-trades-prices', [{ token_id: assetId }]);
        expect(one).toEqual({ token_id: assetId, price, side });
        return [price, side, (await server.json(`/fee-rate/${assetId}`)).base_fee];
      }),
    );
  };
  expect(await sent(START_MS + 1999)).toEqual([
    ['0.51', 'BUY', 700],
    ['0.49', 'SELL', 700],
  ]);
  expect(await sent(START_MS + 2000)).toEqual([
    ['0.52', 'BUY', 700],
    ['0.48', 'SELL', 700],
  ]);
  // The last one has no other recorded fields, so the fee is the venue's of then.
  expect(await sent(START_MS + 3000)).toEqual([
    ['0.5', '', 1000],
    ['0.5', '', 1000],
  ]);
});
