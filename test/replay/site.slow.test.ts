import { expect, test } from 'bun:test';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleCoinPrice,
  sampleMarket,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { anotherReplay, filledServer, PRESENT_MS } from './venue-server.ts';

const WINDOW_MS = 300_000;
const at = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

/** The nth 5m window of BTC after the sample's. */
function window(index: number, fields: object = {}) {
  const startMs = START_MS + index * WINDOW_MS;
  return sampleMarket({
    ...{ conditionId: `0x${String(index).padStart(64, '0')}`, slug: `btc-updown-5m-${startMs / 1000}` },
    ...{
      clobTokenIds: [`${index}1`, `${index}2`],
      startTime: at(startMs),
      endTime: at(startMs + WINDOW_MS),
      ...fields,
    },
  });
}

/** The first two windows have both prices, the third has them only as ticks of Chainlink, the fourth has none. */
const RECORDS = [
  window(1, { priceStart: 76_211.80016, priceEnd: 76_300.1, winner: 'up' }),
  window(2, { priceStart: 76_300.1, priceEnd: 76_200, winner: 'down' }),
  window(3, { winner: 'up' }),
  window(4, { winner: 'up' }),
  sampleCoinPrice({ timestamp: START_MS + 3 * WINDOW_MS, price: 76_200 }),
  sampleCoinPrice({ timestamp: START_MS + 4 * WINDOW_MS, price: 76_201.25 }),
  // Half a second early: not the price of the end of the fourth.
  sampleCoinPrice({ timestamp: START_MS + 5 * WINDOW_MS - 500, price: 76_000 }),
];

test('crypto-price has the price to beat from the start of the window on, and the final price from the resolution on', async () => {
  await using server = await filledServer([RECORDS]);
  const prices = async (index: number, nowMs: number, query = 'variant=fiveminute') => {
    const startMs = START_MS + index * WINDOW_MS;
    server.replay.clock.seek(nowMs);
    const { timestamp, cached, ...rest } = await server.json(
      `/api/crypto/crypto-price?symbol=BTC&eventStartTime=${at(startMs)}&${query}&endDate=${at(startMs + WINDOW_MS)}`,
    );
    expect([timestamp, cached]).toEqual([nowMs, false]);
    return rest;
  };
  const unknown = { openPrice: null, closePrice: null, completed: false, incomplete: true };
  for (const [index, openPrice, closePrice] of [
    [1, 76_211.80016, 76_300.1],
    [2, 76_300.1, 76_200],
    [3, 76_200, 76_201.25],
  ] as const) {
    const startMs = START_MS + index * WINDOW_MS;
    expect(await prices(index, startMs - 1)).toEqual(unknown);
    expect(await prices(index, startMs)).toEqual({ ...unknown, openPrice, incomplete: false });
    expect(await prices(index, startMs + WINDOW_MS + 19_999)).toEqual({ ...unknown, openPrice, incomplete: false });
    expect(await prices(index, startMs + WINDOW_MS + 20_000, 'variant=five')).toEqual({
      ...{ openPrice, closePrice, completed: true, incomplete: false },
    });
  }
  const lastMs = START_MS + 6 * WINDOW_MS;
  expect(await prices(4, lastMs, 'twap=true')).toEqual({
    ...{ openPrice: 76_201.25, closePrice: null, completed: false, incomplete: false },
  });
  // A window that is not recorded.
  expect(await prices(9, lastMs)).toEqual(unknown);
  const of = async (query: string) => (await server.ask(`/api/crypto/crypto-price?${query}`)).status;
  expect(await of(`symbol=BTC&eventStartTime=${at(START_MS)}&variant=minutely`)).toBe(400);
  expect(await of(`symbol=BTC&eventStartTime=soon&variant=five`)).toBe(400);
  expect(await of(`eventStartTime=${at(START_MS)}&variant=five`)).toBe(400);
});

test('past-results has the resolved windows before one, the oldest first', async () => {
  await using server = await filledServer([RECORDS]);
  server.replay.clock.seek(START_MS + 4 * WINDOW_MS + 20_000);
  const results = async (index: number, more = '') =>
    await server.json(
      `/api/past-results?symbol=btc&variant=fiveminute&assetType=crypto&currentEventStartTime=${at(START_MS + index * WINDOW_MS)}${more}`,
    );
  const all = [
    ['up', 1, 76_211.80016, 76_300.1],
    ['down', 2, 76_300.1, 76_200],
    ['up', 3, 76_200, 76_201.25],
  ].map(([outcome, index, openPrice, closePrice]) => ({
    startTime: new Date(START_MS + Number(index) * WINDOW_MS).toISOString(),
    endTime: new Date(START_MS + (Number(index) + 1) * WINDOW_MS).toISOString(),
    ...{ openPrice, closePrice, outcome },
  }));
  expect(await results(5)).toEqual({ status: 'success', data: { results: all } });
  expect((await results(3, '&count=1')).data.results).toEqual([all[1]]);
  // Not known before the third resolves.
  server.replay.clock.seek(START_MS + 4 * WINDOW_MS + 19_999);
  expect((await results(5)).data.results).toEqual(all.slice(0, 2));
});

test('the page of an event has its data as programs read it, and follows --rebase now', async () => {
  await using server = await filledServer([RECORDS], { rebase: true });
  const replay = anotherReplay(server, { rebase: true }, START_MS + 2 * WINDOW_MS + 10_000);
  const [event] = await server.json(
    `/replays/${replay.id}/events?closed=false&limit=1&start_time_min=${at(PRESENT_MS - WINDOW_MS)}`,
  );
  const page = await server.ask(`/replays/${replay.id}/event/${event.slug}`);
  const json = /<script id="__NEXT_DATA__" type="application\/json">(.*?)<\/script>/s.exec(page.text)![1]!;
  const { queries } = JSON.parse(json).props.pageProps.dehydratedState;
  const dataOf = (kind: string) => queries.find(({ queryKey }: { queryKey: string[] }) => queryKey[0] === kind);
  expect(dataOf('/api/event/slug').state.data).toEqual(event);
  expect(dataOf('/api/event/slug').queryKey).toEqual(['/api/event/slug', event.slug]);
  const { startTime, endDate } = event;
  expect(dataOf('crypto-prices')).toEqual({
    state: { data: { openPrice: 76_300.1, closePrice: null } },
    queryKey: ['crypto-prices', 'price', 'BTC', startTime, 'fiveminute', endDate],
  });
  expect(dataOf('past-results').state.data.results.map((result: { closePrice: number }) => result.closePrice)).toEqual([
    76_300.1,
  ]);
  // Some programs search the text.
  expect(json).toContain(
    `"state":{"data":{"openPrice":76300.1,"closePrice":null}},"queryKey":["crypto-prices","price","BTC","${startTime}"`,
  );
  expect((await server.ask('/event/none')).status).toBe(404);
});

test('Of several markets with one slug the page of an event is of the latest, as Gamma’s answer is, whatever their ids are.', async () => {
  const ids = { 1: '900', 2: '100' } as const;
  const both = ([1, 2] as const).map((index) =>
    window(index, { slug: 'btc-same', marketId: ids[index], eventId: ids[index] }),
  );
  await using server = await filledServer([both]);
  server.replay.clock.seek(START_MS + 2 * WINDOW_MS);
  const { startTime } = await server.json('/events/slug/btc-same');
  expect(startTime).toBe(at(START_MS + 2 * WINDOW_MS));
  expect((await server.ask('/event/btc-same')).text).toContain(`"startTime":"${startTime}"`);
});

test('The host decides between the CLOB’s and Gamma’s paths; at another host their form does.', async () => {
  await using server = await filledServer([[sampleMarket(), sampleSnapshot()]]);
  server.replay.clock.seek(START_MS + 10_000);
  const clob = { host: 'clob.polymarket.com' };
  const gamma = { host: 'GAMMA-API.polymarket.com:443' };
  const shape = async (path: string, headers?: Record<string, string>) => {
    const { status, text } = await server.ask(path, undefined, headers);
    const body = JSON.parse(text);
    if (status !== 200) return body;
    return Array.isArray(body) ? 'list' : body.condition_id === undefined ? 'page' : 'CLOB';
  };
  for (const [path, atClob, atGamma, elsewhere] of [
    ['/markets', 'page', 'list', 'list'],
    ['/markets?next_cursor=', 'page', 'list', 'page'],
    [`/markets/${CONDITION_ID}`, 'CLOB', { type: 'validation error', error: 'id is invalid' }, 'CLOB'],
    [
      '/markets/12',
      { error: 'market not found' },
      { type: 'not found error', error: 'id not found' },
      { type: 'not found error', error: 'id not found' },
    ],
  ] as const) {
    expect([path, await shape(path, clob), await shape(path, gamma), await shape(path)]).toEqual([
      path,
      atClob,
      atGamma,
      elsewhere,
    ]);
  }
});

test('POST /books takes an object with token_ids, as many programs send it, and refuses one without any', async () => {
  await using server = await filledServer([[sampleMarket(), sampleSnapshot()]]);
  server.replay.clock.seek(START_MS + 10_000);
  const assets = [UP_ASSET, DOWN_ASSET];
  const books = await server.json(
    '/books',
    assets.map((token_id) => ({ token_id })),
  );
  expect(books.length).toBe(2);
  expect(await server.json('/books', { token_ids: assets })).toEqual(books);
  expect(await server.json('/midpoints', { token_ids: assets })).toEqual({
    [UP_ASSET]: '0.515',
    [DOWN_ASSET]: '0.485',
  });
  for (const body of [{ token_ids: [] }, { token_ids: [1] }, { token_ids: UP_ASSET }, {}]) {
    expect(await server.ask('/books', body)).toEqual({ status: 400, text: '{"error":"Invalid payload"}' });
  }
});

test('Lists of a wallet at the Data API are empty, and its positions are worth nothing', async () => {
  await using server = await filledServer([[sampleMarket()]]);
  const user = `0x${'aB'.repeat(20)}`;
  for (const prefix of ['', '/data-api']) {
    for (const path of ['/positions', '/closed-positions', '/activity']) {
      expect(await server.json(`${prefix}${path}?user=${user}&limit=500&sizeThreshold=0.1`)).toEqual([]);
    }
    expect(await server.json(`${prefix}/value?user=${user}`)).toEqual([{ user, value: 0 }]);
    for (const query of ['', '?user=0x12'])
      expect(await server.ask(`${prefix}/positions${query}`)).toEqual({
        ...{ status: 400, text: `{"error":"required query param 'user' not provided"}` },
      });
  }
});
