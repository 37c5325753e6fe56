import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { catalogQuery } from '../../src/http/replay/gamma-query.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { anotherReplay, filledServer, PRESENT_MS, venueServer } from './venue-server.ts';

const RESOLVED = realRecording('gamma/resolved-btc-5m-2026-06-08.jsonl.gz');
const EVENTS = realRecording('gamma/gamma_event_crypto_updown.json');
const OPEN = realRecording('gamma/unresolved-sample.jsonl.gz');

type Json = Readonly<Record<string, unknown>>;

const linesOf = (path: string): Json[] =>
  gunzipSync(readFileSync(path))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
/** Times of the venue have up to six decimals, ours three. */
const withMilliseconds = (time: unknown) =>
  String(time)
    .replace(/\.(\d{3})\d*Z$/, '.$1Z')
    .replace('.000Z', 'Z');

describe.skipIf(RESOLVED === undefined || OPEN === undefined || EVENTS === undefined)('objects of real markets', () => {
  /** Recordings have another value than the venue: here a market is listed when it is created. */
  const NEAR = new Set(['startDate', 'startDateIso']);

  test('The fields of a resolved market in Gamma are equal to those of the venue’s own object.', async () => {
    using held = temporaryArchive();
    await importPaths(held.archive, RESOLVED!);
    await using server = venueServer(held.archive);
    server.replay.clock.seek(Date.UTC(2026, 5, 10));
    const raws = linesOf(RESOLVED!).map(({ raw }) => raw as Json);
    expect(raws.length).toBeGreaterThan(200);
    for (const raw of raws) {
      const { events, ...sent } = await server.json(`/markets/${raw.id}`);
      for (const [name, value] of Object.entries(sent)) {
        if (name === 'createdAt') expect(value).toBe(withMilliseconds(raw[name]));
        else if (name === 'orderPriceMinTickSize') expect(value).toBe(0.01);
        else if (!NEAR.has(name)) expect([name, value]).toEqual([name, raw[name]]);
      }
      expect(Object.keys(sent).length).toBeGreaterThan(20);
      expect(Math.abs(Date.parse(sent.startDate) - Date.parse(String(raw.startDate)))).toBeLessThan(15 * 60_000);
      expect(events[0].slug).toBe(raw.slug);
      expect(events[0].closedTime).toBe(raw.closedTime);
    }
  }, 120_000);

  test('have the venue’s names and types of fields', async () => {
    using held = temporaryArchive();
    await importPaths(held.archive, OPEN!, EVENTS!);
    await importRecords(held.archive, [sampleMarket(), sampleSnapshot(), samplePrice()]);
    await using server = venueServer(held.archive);
    server.replay.clock.seek(START_MS + 60_000);
    const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value);
    const kindsOf = (objects: readonly Json[]) => {
      const kinds = new Map<string, Set<string>>();
      for (const object of objects) {
        for (const [name, value] of Object.entries(object)) {
          kinds.set(name, (kinds.get(name) ?? new Set()).add(kindOf(value)));
        }
      }
      return kinds;
    };
    const resolved = linesOf(RESOLVED!).map(({ raw }) => raw as Json);
    const open = linesOf(OPEN!);
    const event = JSON.parse(readFileSync(EVENTS!, 'utf8'))[0] as Json;
    const events = [...open.flatMap((market) => market.events as Json[]), event, { closedTime: '', eventMetadata: {} }];
    const expectKinds = (sent: readonly Json[], real: readonly Json[]) => {
      const kinds = kindsOf(real);
      expect(sent.length).toBeGreaterThan(0);
      for (const [name, own] of kindsOf(sent)) {
        for (const kind of own) expect([name, kind, kinds.get(name)?.has(kind)]).toEqual([name, kind, true]);
      }
    };
    const markets: Json[] = await server.json('/gamma/markets?limit=500');
    expectKinds(markets, [...open, ...resolved]);
    const sent: Json[] = await server.json('/gamma/events?limit=500');
    expectKinds(sent, events);
    expectKinds(
      sent.flatMap(({ markets }) => markets as Json[]),
      [...open, ...resolved],
    );
    expectKinds(
      sent.flatMap(({ series }) => series as Json[]),
      events.flatMap(({ series }) => (series ?? []) as Json[]),
    );
  }, 120_000);

  test('are in the venue’s series', async () => {
    using held = temporaryArchive();
    await importPaths(held.archive, OPEN!, EVENTS!);
    await using server = venueServer(held.archive);
    server.replay.clock.seek(Date.UTC(2026, 6, 1));
    const real = new Map<unknown, Json>();
    for (const market of [
      ...linesOf(OPEN!),
      { slug: 'hype-updown-5m-1782287400', events: JSON.parse(readFileSync(EVENTS!, 'utf8')) },
    ]) {
      const [event] = market.events as Json[];
      const [series] = (event?.series ?? []) as Json[];
      if (series !== undefined) real.set(market.slug, series);
    }
    let compared = 0;
    for (let offset = 0; ; offset += 500) {
      const sent = await server.json(`/events?limit=500&offset=${offset}`);
      if (sent.length === 0) break;
      for (const { slug, series, seriesSlug } of sent) {
        const expected = real.get(slug);
        if (expected === undefined) continue;
        expect([slug, series[0].slug, series[0].id, seriesSlug]).toEqual([
          slug,
          expected.slug,
          expected.id,
          expected.slug,
        ]);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(200);
  });
});

const CREATED = '2026-04-15T07:20:00.250Z';
const RESOLVED_AT = '2026-04-16T07:15:20.000Z';
const known = { createdAt: CREATED, marketId: '2001', eventId: '3001', priceStart: 76_000.5 };
const SLUG = sampleMarket().slug;

const RECORDS: readonly object[] = [
  sampleMarket({ ...known, winner: 'down', resolvedAt: RESOLVED_AT, priceEnd: 75_999, volume: 12, liquidity: 3 }),
  sampleSnapshot({ timestamp: START_MS + 4000 }),
  samplePrice({ timestamp: START_MS + 5000, price: 0.4 }),
  sampleSnapshot({ timestamp: START_MS + 6000, bids: [], asks: [{ price: 0.999, size: 1 }] }),
  sampleMarket({
    ...{
      conditionId: `0x${'11'.repeat(32)}`,
      slug: 'sol-up-or-down-april-16-2026-3am-et',
      symbol: 'sol',
      timeframe: '1h',
    },
    ...{ marketId: '999', clobTokenIds: ['11', '12'], createdAt: '2026-04-14T07:00:00Z' },
    ...{ winner: 'up', resolvedAt: '2026-04-16T08:00:30Z' },
    ...{ startTime: '2026-04-16T07:00:00Z', endTime: '2026-04-16T08:00:00Z' },
  }),
  sampleMarket({
    ...{ conditionId: `0x${'22'.repeat(32)}`, slug: 'btc-updown-5m-1776323700', marketId: '2002', eventId: '3002' },
    ...{
      clobTokenIds: ['21', '22'],
      startTime: '2026-04-16T07:15:00Z',
      endTime: '2026-04-16T07:20:00Z',
      createdAt: '2026-04-15T07:25:00Z',
    },
  }),
];

async function sampleServer() {
  const server = await filledServer([RECORDS]);
  server.replay.clock.seek(START_MS + 5000);
  return server;
}

const TITLE = 'Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET';
const EVENT = {
  id: '3001',
  ticker: SLUG,
  slug: SLUG,
  title: TITLE,
  startDate: CREATED,
  endDate: '2026-04-16T07:15:00Z',
  active: true,
  closed: false,
  archived: false,
  createdAt: CREATED,
  enableOrderBook: true,
  negRisk: false,
  series: [
    {
      id: '10684',
      ticker: 'btc-up-or-down-5m',
      slug: 'btc-up-or-down-5m',
      seriesType: 'single',
      active: true,
      closed: false,
      archived: false,
    },
  ],
  startTime: '2026-04-16T07:10:00Z',
  seriesSlug: 'btc-up-or-down-5m',
};
const MARKET = {
  id: '2001',
  question: TITLE,
  conditionId: CONDITION_ID,
  slug: SLUG,
  endDate: '2026-04-16T07:15:00Z',
  startDate: CREATED,
  outcomes: '["Up", "Down"]',
  outcomePrices: '["0.515", "0.485"]',
  active: true,
  closed: false,
  marketMakerAddress: '',
  createdAt: CREATED,
  archived: false,
  enableOrderBook: true,
  orderPriceMinTickSize: 0.01,
  orderMinSize: 5,
  endDateIso: '2026-04-16',
  startDateIso: '2026-04-15',
  clobTokenIds: `["${UP_ASSET}", "${DOWN_ASSET}"]`,
  acceptingOrders: true,
  negRisk: false,
  spread: 0.01,
  lastTradePrice: 0.4,
  bestBid: 0.51,
  bestAsk: 0.52,
  eventStartTime: '2026-04-16T07:10:00Z',
};

describe('a market at an instant', () => {
  test('Gamma’s objects leave out what no recording states, and volume and liquidity, and ignore filters by these.', async () => {
    await using server = await sampleServer();
    expect(await server.json('/markets/2001')).toEqual({ ...MARKET, events: [EVENT] });
    expect(await server.json('/events/3001')).toEqual({ ...EVENT, markets: [MARKET] });
  });

  test('The price of a market is up’s midpoint, its last trade if the book is wider than 0.1, and 1 or 0 after its resolution.', async () => {
    await using server = await sampleServer();
    server.replay.clock.seek(START_MS + 6000);
    const wide = {
      outcomePrices: '["0.4", "0.6"]',
      bestBid: 0,
      bestAsk: 0.999,
      spread: 0.999,
      orderPriceMinTickSize: 0.001,
    };
    expect(await server.json('/markets/2001')).toMatchObject(wide);
    server.replay.clock.seek(START_MS + 4000);
    const { lastTradePrice, ...early } = await server.json('/markets/2001');
    expect([lastTradePrice, early.outcomePrices]).toEqual([undefined, '["0.515", "0.485"]']);
  });

  test('has the midpoint of a spread of 0.1, and the last trade of a wider one', async () => {
    const bookAt = (offsetMs: number, ask: number) =>
      sampleSnapshot({
        ...{ timestamp: START_MS + offsetMs, bids: [{ price: 0.45, size: 1 }], asks: [{ price: ask, size: 1 }] },
      });
    const trade = samplePrice({ timestamp: START_MS + 1000, price: 0.47 });
    await using server = await filledServer([[sampleMarket(), trade, bookAt(1000, 0.55), bookAt(2000, 0.56)]]);
    for (const [offsetMs, prices] of [
      [1000, '["0.5", "0.5"]'],
      [2000, '["0.47", "0.53"]'],
    ] as const) {
      server.replay.clock.seek(START_MS + offsetMs);
      expect((await server.json(`/gamma/markets?condition_ids=${CONDITION_ID}`))[0].outcomePrices).toBe(prices);
    }
  });

  test('has no prices or times that were unknown before its first book', async () => {
    await using server = await sampleServer();
    server.replay.clock.seek(Date.parse(CREATED));
    const { outcomePrices, spread, lastTradePrice, bestBid, bestAsk, ...early } = MARKET;
    expect(await server.json('/markets/2001')).toEqual({ ...early, events: [EVENT] });
    server.replay.clock.seek(Date.parse(CREATED) - 1);
    expect((await server.ask('/markets/2001')).status).toBe(404);
  });

  test('eventMetadata has the start price once the window is over, and the end price and the winner once the market is resolved.', async () => {
    await using server = await sampleServer();
    server.replay.clock.seek(Date.parse(RESOLVED_AT) - 1);
    const { priceStart } = known;
    const end = { bestBid: 0, bestAsk: 0.999, spread: 0.999, orderPriceMinTickSize: 0.001 };
    const over = { ...EVENT, eventMetadata: { priceToBeat: priceStart } };
    const last = { ...MARKET, ...end, outcomePrices: '["0.4", "0.6"]' };
    expect(await server.json('/events/3001')).toEqual({ ...over, markets: [last] });
    server.replay.clock.seek(Date.parse(RESOLVED_AT));
    const closed = { closed: true, closedTime: '2026-04-16 07:15:20+00' };
    const resolved = { umaResolutionStatus: 'resolved', umaEndDate: '2026-04-16T07:15:20Z', acceptingOrders: false };
    const eventMetadata = { finalPrice: 75_999, priceToBeat: priceStart };
    expect(await server.json('/events/3001')).toEqual({
      ...{ ...EVENT, ...closed, eventMetadata },
      markets: [{ ...last, ...closed, ...resolved, outcomePrices: '["0", "1"]' }],
    });
  });

  test('A market takes orders until its resolution, or for five minutes after its window if no resolution is recorded.', async () => {
    await using server = await sampleServer();
    const acceptsAt = async (time: string) => {
      server.replay.clock.seek(Date.parse(time));
      return (await server.json('/markets/2002')).acceptingOrders;
    };
    expect(await acceptsAt('2026-04-16T07:24:59.999Z')).toBe(true);
    expect(await acceptsAt('2026-04-16T07:25:00Z')).toBe(false);
  });

  test('With --rebase now slugs, times and hashes are those of the present, ids stay, and the recorded slug is not found.', async () => {
    await using server = await sampleServer();
    const replay = anotherReplay(server, { rebase: true }, START_MS + 4000);
    const moved = (ms: number) => new Date(ms + PRESENT_MS - START_MS).toISOString().replace('.000Z', 'Z');
    const slug = `btc-updown-5m-${PRESENT_MS / 1000}`;
    const path = `/replays/${replay.id}`;
    const sent = await server.json(`${path}/markets/slug/${slug}`);
    expect(sent).toMatchObject({
      ...{ slug, id: '2001', conditionId: CONDITION_ID, clobTokenIds: `["${UP_ASSET}", "${DOWN_ASSET}"]` },
      startDate: moved(Date.parse(CREATED)),
      eventStartTime: moved(START_MS),
      endDate: moved(START_MS + 300_000),
      endDateIso: moved(START_MS + 300_000).slice(0, 10),
    });
    expect(sent.events[0]).toMatchObject({
      slug,
      ticker: slug,
      startTime: moved(START_MS),
      endDate: moved(START_MS + 300_000),
    });
    const near = `end_date_min=${moved(START_MS + 300_000)}&end_date_max=${moved(START_MS + 300_000)}`;
    const found = await server.json(`${path}/gamma/markets?${near}`);
    expect(found.map((market: Json) => market.slug)).toEqual([slug]);
    expect(await server.json(`${path}/clob/markets/${CONDITION_ID}`)).toMatchObject({
      market_slug: slug,
      end_date_iso: moved(START_MS + 300_000),
    });
    for (const noun of ['markets', 'events']) {
      const { status } = await server.ask(`${path}/${noun}/slug/${SLUG}`);
      expect([noun, status, await server.json(`${path}/${noun}?slug=${SLUG}`)]).toEqual([noun, 404, []]);
      expect(await server.json(`${path}/${noun}?slug=${slug}`)).toHaveLength(1);
    }
    const [series] = await server.json(`${path}/series?slug=btc-up-or-down-5m`);
    expect(series.events.map((event: Json) => event.slug)).toEqual([slug, `btc-updown-5m-${PRESENT_MS / 1000 + 300}`]);
    const lists = await server.json(`${path}/markets?order=slug`);
    expect(lists.map((market: Json) => market.slug)).toEqual([
      ...[slug, `btc-updown-5m-${PRESENT_MS / 1000 + 300}`],
      'solana-up-or-down-august-31-2026-8pm-et',
    ]);
  });
});

const SOL = 'sol-up-or-down-april-16-2026-3am-et';
const NEXT = 'btc-updown-5m-1776323700';

/** At START_MS + 5000, when no market is closed. Lists are in the order of the ids: 999, 2001, 2002. */
const LISTS: readonly (readonly [query: string, slugs: readonly string[]])[] = [
  ['', [SOL, SLUG, NEXT]],
  [`slug=${SLUG}`, [SLUG]],
  [`slug=${SLUG}&slug=${SOL}`, [SOL, SLUG]],
  [`slug=${SLUG.toUpperCase()}`, [SLUG]],
  ['slug=nothing', []],
  ['closed=true', []],
  ['closed=false', [SOL, SLUG, NEXT]],
  ['active=false', []],
  ['archived=true', []],
  ['series_id=10684', [SLUG, NEXT]],
  ['series_id=10122&series_id=10684', [SOL, SLUG, NEXT]],
  ['series_slug=solana-up-or-down-hourly', [SOL]],
  ['limit=1', [SOL]],
  ['limit=1&offset=1', [SLUG]],
  ['offset=3', []],
  ['limit=0', []],
  ['order=endDate&ascending=false', [SOL, NEXT, SLUG]],
  ['order=end_date', [SLUG, NEXT, SOL]],
  ['order=startTime', [SOL, SLUG, NEXT]],
  ['order=startDate&ascending=false', [NEXT, SLUG, SOL]],
  ['order=id&ascending=false', [NEXT, SLUG, SOL]],
  ['order=slug', [SLUG, NEXT, SOL]],
  ['order=closedTime', [SOL, SLUG, NEXT]],
  ['order=volume24hr&ascending=false', [SOL, SLUG, NEXT]],
  ['end_date_min=2026-04-16T07:15:00Z&end_date_max=2026-04-16T07:20:00Z', [SLUG, NEXT]],
  ['end_date_min=2026-04-16T09:15:00%2B02:00&end_date_max=2026-04-16T07:15:00Z', [SLUG]],
  ['end_date_max=2026-04-16', []],
  ['start_date_max=2026-04-15', [SOL]],
  ['start_time_min=2026-04-16T07:10:00Z', [SLUG, NEXT]],
  ['tag_id=102127&related_tags=true&something=else', [SOL, SLUG, NEXT]],
];
const MARKET_LISTS: typeof LISTS = [
  ['id=2001&id=999', [SOL, SLUG]],
  [`condition_ids=${CONDITION_ID.toUpperCase().replace('X', 'x')}`, [SLUG]],
  ['clob_token_ids=22&clob_token_ids=11', [SOL, NEXT]],
  ['clob_token_ids=22,11', [SOL, NEXT]],
];

const slugsOf = (objects: readonly Json[]) => objects.map(({ slug }) => slug);

test.each(LISTS)('markets and events with %p are %p', async (query, slugs) => {
  await using server = await sampleServer();
  for (const path of ['/markets', '/gamma/markets', '/events', '/gamma/events']) {
    expect(slugsOf(await server.json(`${path}?${query}`))).toEqual([...slugs]);
  }
});

test.each(MARKET_LISTS)('markets with %p are %p', async (query, slugs) => {
  await using server = await sampleServer();
  expect(slugsOf(await server.json(`/markets?${query}`))).toEqual([...slugs]);
});

test('/markets of Gamma lists open markets unless closed is requested, and /events lists all.', async () => {
  await using server = await sampleServer();
  server.replay.clock.seek(Date.parse(RESOLVED_AT));
  expect(slugsOf(await server.json('/markets'))).toEqual([SOL, NEXT]);
  expect(slugsOf(await server.json(`/markets?slug=${SLUG}`))).toEqual([]);
  expect(slugsOf(await server.json(`/markets?slug=${SLUG}&closed=true`))).toEqual([SLUG]);
  expect(slugsOf(await server.json('/events'))).toEqual([SOL, SLUG, NEXT]);
  expect(slugsOf(await server.json('/events?id=3001&id=3002&closed=false'))).toEqual([NEXT]);
});

/** After the resolution of SLUG. Each with the slugs of the page, and those of all pages as totalResults. */
const SEARCHES: readonly (readonly [query: string, slugs: readonly string[], total: number])[] = [
  ['q=btc', [NEXT, SLUG], 2],
  ['q=Bitcoin%20up', [NEXT, SLUG], 2],
  ['q=april 3:15am', [NEXT, SLUG], 2],
  ['q=1776323400 bit', [SLUG], 1],
  ['q=UP', [SOL, NEXT, SLUG], 3],
  ['q=coin', [], 0],
  ['q=btc sol', [], 0],
  ['q=up&events_status=active', [SOL, NEXT], 2],
  ['q=up&events_status=resolved', [SLUG], 1],
  ['q=up&sort=end_date', [SOL, NEXT, SLUG], 3],
  ['q=up&sort=end_date&ascending=true', [SLUG, NEXT, SOL], 3],
  ['q=up&sort=volume_24hr', [SOL, NEXT, SLUG], 3],
  ['q=up&limit_per_type=2', [SOL, NEXT], 3],
  ['q=up&limit_per_type=2&page=2', [SLUG], 3],
  ['q=up&limit_per_type=2&page=3', [], 3],
  ['q=up&events_tag=crypto', [], 0],
];

test('/public-search finds events by the beginnings of words in title and slug, open ones first.', async () => {
  await using server = await sampleServer();
  server.replay.clock.seek(Date.parse(RESOLVED_AT));
  for (const [query, slugs, totalResults] of SEARCHES) {
    const { events, ...rest } = await server.json(`/gamma/public-search?${query}`);
    const isLast = slugs.length === 0 || !query.includes('limit') || query.includes('page');
    const pagination = { hasMore: !isLast, totalResults };
    expect([query, slugsOf(events), rest]).toEqual([query, [...slugs], { tags: [], profiles: [], pagination }]);
    for (const event of events) expect([event]).toEqual(await server.json(`/events?slug=${event.slug}`));
  }
  const rebased = anotherReplay(server, { rebase: true }, START_MS + 4000);
  const path = `/replays/${rebased.id}/public-search`;
  expect((await server.json(`${path}?q=april`)).events).toEqual([]);
  expect(slugsOf((await server.json(`${path}?q=bitcoin august 31 8:00pm`)).events)).toEqual([
    `btc-updown-5m-${PRESENT_MS / 1000}`,
  ]);
});

test('of several markets with one slug, the one that begins last is found by it', async () => {
  const market = (id: string, startTime: string, endTime: string) =>
    sampleMarket({
      conditionId: `0x${id.repeat(64)}`,
      clobTokenIds: [`${id}1`, `${id}2`],
      marketId: id,
      startTime,
      endTime,
    });
  await using server = await filledServer([
    [
      market('5', '2026-04-16T07:10:00Z', '2026-04-16T07:15:00Z'),
      market('6', '2026-04-16T07:20:00Z', '2026-04-16T07:25:00Z'),
      market('7', '2026-04-16T07:15:00Z', '2026-04-16T07:20:00Z'),
    ],
  ]);
  server.replay.clock.seek(START_MS + 900_000);
  expect((await server.json(`/gamma/markets/slug/${sampleMarket().slug}`)).id).toBe('6');
});

test('series have their events, and are found by slug and id', async () => {
  await using server = await sampleServer();
  const { series, ...event } = EVENT;
  const all = await server.json('/series');
  expect(slugsOf(all)).toEqual(['btc-up-or-down-5m', 'solana-up-or-down-hourly']);
  expect(await server.json('/series?slug=solana-up-or-down-hourly')).toEqual([all[1]]);
  expect(await server.json('/gamma/series/10684')).toEqual(all[0]);
  expect(slugsOf(all[0].events)).toEqual([SLUG, NEXT]);
  expect(all[0].events[0]).toEqual({ ...event, series });
});

/** The slugs of a list, page by page; `turned` is called after each page. */
async function walked(server: Awaited<ReturnType<typeof sampleServer>>, noun: string, turned: () => void) {
  const seen: unknown[] = [];
  let cursor: string | undefined;
  do {
    const asked = cursor === undefined ? '' : `&after_cursor=${cursor}`;
    const page = await server.json(`/${noun}/keyset?limit=1${asked}`);
    seen.push(...slugsOf(page[noun]));
    cursor = page.next_cursor;
    turned();
  } while (cursor !== undefined);
  return seen;
}

test('lists that are walked by their cursor have everything once, also while the clock runs', async () => {
  await using server = await sampleServer();
  for (const noun of ['markets', 'events']) {
    server.replay.clock.seek(Date.parse('2026-04-15T07:21:00Z'));
    expect(await walked(server, noun, () => server.replay.clock.seek(START_MS))).toEqual([SOL, SLUG, NEXT]);
  }
});

test('a cursor continues after a market that is no longer in the list', async () => {
  await using server = await sampleServer();
  // By then the first two are closed, and the list has open markets only.
  const closing = () => server.replay.clock.seek(Date.parse('2026-04-16T08:10:00Z'));
  expect(await walked(server, 'markets', closing)).toEqual([SOL, NEXT]);
});

test('a list is ordered by each name once, even if it is repeated', async () => {
  await using server = await sampleServer();
  const query = new URLSearchParams('order=endDate,id,end_date&order=id&order=nothing&order=eventStartTime,startTime');
  const question = { replay: server.replay, query };
  expect(catalogQuery(question, 'market').order).toEqual(['endDate', 'id', 'startTime']);
});

const REFUSALS: readonly (readonly [path: string, status: number, body: object])[] = [
  ['/markets/17', 404, { type: 'not found error', error: 'id not found' }],
  ['/events/17', 404, { type: 'not found error', error: 'id not found' }],
  ['/series/17', 404, { type: 'not found error', error: 'id not found' }],
  ['/markets/slug/nothing', 404, { type: 'not found error', error: 'slug not found' }],
  ['/events/slug/nothing', 404, { type: 'not found error', error: 'slug not found' }],
  ['/markets/nothing', 422, { type: 'validation error', error: 'id is invalid' }],
  [`/gamma/markets/${CONDITION_ID}`, 422, { type: 'validation error', error: 'id is invalid' }],
  ['/events?limit=-1', 422, { type: 'validation error', error: 'limit is invalid' }],
  ['/events?offset=1e3', 422, { type: 'validation error', error: 'offset is invalid' }],
  ['/markets?closed=maybe', 422, { type: 'validation error', error: 'closed is invalid' }],
  ['/markets?end_date_min=tomorrow', 422, { type: 'validation error', error: 'end_date_min is invalid' }],
  ['/markets/keyset?offset=1', 422, { type: 'validation error', error: 'offset is not allowed on keyset endpoints' }],
  ['/events/keyset?after_cursor=zz', 422, { type: 'validation error', error: 'after_cursor is invalid' }],
];

test.each(REFUSALS)('%s is refused with %d, %p', async (path, status, body) => {
  await using server = await sampleServer();
  const answer = await server.ask(path);
  expect({ status: answer.status, body: JSON.parse(answer.text) }).toEqual({ status, body });
});

test('lists show imports during the replay, of its markets', async () => {
  await using server = await sampleServer();
  expect((await server.json('/markets/2002')).closed).toBe(false);
  await importRecords(server.replay.archive, [
    sampleMarket({
      ...{ conditionId: `0x${'22'.repeat(32)}`, slug: NEXT, clobTokenIds: ['21', '22'] },
      ...{ startTime: '2026-04-16T07:15:00Z', endTime: '2026-04-16T07:20:00Z' },
      ...{ winner: 'up', resolvedAt: '2026-04-16T07:20:15Z' },
    }),
    sampleMarket({ conditionId: `0x${'33'.repeat(32)}`, slug: 'btc-updown-5m-new', clobTokenIds: ['31', '32'] }),
  ]);
  server.replay.clock.seek(Date.parse('2026-04-16T07:21:00Z'));
  expect(await server.json('/markets?id=2002&closed=true')).toMatchObject([
    { closed: true, outcomePrices: '["1", "0"]' },
  ]);
  expect(await server.json('/markets?slug=btc-updown-5m-new')).toEqual([]);
  expect(slugsOf(await server.json('/events?order=closedTime'))).toEqual([SLUG, NEXT, SOL]);
});
