import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { standInConditionId } from '../../../src/domain/stand-in-id.ts';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { booksOf, coinPricesOf, countsOf, marketOf, quotesOf } from '../../support/imported.ts';
import { CONDITION_ID, sampleMarket } from '../../support/sample-records.ts';
import { importMapped } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const START_MS = 1776323400_000;
const AT_MS = START_MS + 5123;
const UP = { bidPrices: [0.51, 0.5], bidSizes: [120.5, 3], askPrices: [0.52], askSizes: [44.000001] };
const DOWN = { bidPrices: [0.48], bidSizes: [44.000001], askPrices: [0.49, 0.5], askSizes: [120.5, 3] };

/** Each is one row with both books, at AT_MS. */
const LAYOUTS: Readonly<Record<string, { readonly toml: string; readonly content: string; readonly name?: string }>> = {
  'columns by pattern': {
    toml: `
      format = "csv"
      [time]
      field = "ts"
      unit = "ms"
      [market]
      slug = "slug"
      [books.up]
      bids = { prices = "up_bid_price_0..1", sizes = "up_bid_size_0..1" }
      asks = { prices = "up_ask_price_0..1", sizes = "up_ask_size_0..1" }
      [books.down]
      bids = { prices = "down_bid_price_0..1", sizes = "down_bid_size_0..1" }
      asks = { prices = "down_ask_price_0..1", sizes = "down_ask_size_0..1" }`,
    content: [
      `ts,slug,${['up', 'down'].flatMap((outcome) => ['bid', 'ask'].flatMap((side) => [0, 1].flatMap((level) => ['price', 'size'].map((what) => `${outcome}_${side}_${what}_${level}`)))).join()}`,
      `${AT_MS},${SLUG},0.51,120.5,0.5,3,0.52,44.000001,,,0.48,44.000001,,,0.49,120.5,0.5,3`,
    ].join('\n'),
  },
  'pairs in JSON': {
    toml: `
      format = "json"
      [time]
      field = "t"
      unit = "us"
      [market]
      slug = { file_name = '^(.+)\\.jsonl$' }
      [books.up]
      bids = { levels = "up.bids", price = 0, size = 1 }
      asks = { levels = "up.asks", price = 0, size = 1 }
      [books.down]
      bids = { levels = "down.bids", price = 0, size = 1 }
      asks = { levels = "down.asks", price = 0, size = 1 }`,
    content: `{"t":${AT_MS}999,"up":{"bids":[["0.50","3"],["0.51","120.5"]],"asks":[[0.52,44.000001]]},"down":{"bids":[[0.48,44.000001]],"asks":[[0.49,120.5],[0.5,3]]}}`,
    name: `${SLUG}.jsonl`,
  },
  'elements of a list, with what the object around it states': {
    toml: `
      format = "json"
      rows = { list = "page.items" }
      [time]
      field = "t"
      unit = "ms"
      [market]
      slug = "slug"
      [books.up]
      bids = { levels = "ub", price = 0, size = 1 }
      asks = { levels = "ua", price = 0, size = 1 }
      [books.down]
      bids = { levels = "db", price = 0, size = 1 }
      asks = { levels = "da", price = 0, size = 1 }`,
    content: `{"slug":"${SLUG}","t":1,"page":{"next":null,"items":[{"t":${AT_MS},"ub":[[0.51,120.5],[0.5,3]],"ua":[[0.52,44.000001]],"db":[[0.48,44.000001]],"da":[[0.49,120.5],[0.5,3]]}]}}`,
    name: 'page.json',
  },
  'lists, dicts and tuples as Python prints them': {
    toml: `
      format = "csv"
      rows = { json = ["up", "down_bids", "down_asks"] }
      [time]
      field = "ts"
      unit = "ms"
      [market]
      slug = "slug"
      [books.up]
      bids = { levels = "up.bids", price = "price", size = "size" }
      asks = { levels = "up.asks", price = "price", size = "size" }
      [books.down]
      bids = { levels = "down_bids", price = 0, size = 1 }
      asks = { levels = "down_asks", price = "key", size = "value" }`,
    content: [
      'ts,slug,up,down_bids,down_asks',
      `${AT_MS},${SLUG},"{'bids': [{'price': '0.51', 'size': '120.5'}, {'price': '0.5', 'size': '3'}], 'asks': [{'price': 0.52, 'size': 44.000001}]}","[(Decimal('0.48'), 44.000001)]","{0.49: 120.5, 0.5: 3}"`,
    ].join('\n'),
  },
  'JSON of Python, with NaN where nothing is known': {
    toml: `
      format = "json"
      [time]
      field = "t"
      unit = "ms"
      [market]
      slug = "slug"
      [books.up]
      bids = { levels = "ub", price = 0, size = 1 }
      asks = { levels = "ua", price = 0, size = 1 }
      [books.down]
      bids = { levels = "db", price = 0, size = 1 }
      asks = { levels = "da", price = 0, size = 1 }
      [[coin_prices]]
      coin = { value = "btc" }
      source = { value = "binance" }
      price = "spot"`,
    content: `{"t":${AT_MS},"slug":"${SLUG}","note":"\\"NaN","spot":NaN,"lag":-Infinity,"ub":[[0.51,120.5],[0.5,3]],"ua":[[0.52,44.000001]],"db":[[0.48,44.000001]],"da":[[0.49,120.5],[0.5,3]]}`,
  },
  'objects of which each member is a level': {
    toml: `
      format = "json"
      [time]
      field = "t"
      unit = "ms"
      [market]
      slug = "slug"
      [books.up]
      bids = { levels = "up.bids", price = "key", size = "value" }
      asks = { levels = "up.asks", price = "key", size = "value" }
      [books.down]
      bids = { levels = "down.bids", price = "key", size = "value" }
      asks = { levels = "down.asks", price = "key", size = "value" }`,
    content: `{"t":${AT_MS},"slug":"${SLUG}","up":{"bids":{"0.50":"3","0.51":120.5},"asks":{"0.52":"44.000001"}},"down":{"bids":{"0.48":"44.000001"},"asks":{"0.49":"120.5","0.5":3}}}`,
  },
  'objects in an array of JSON over many lines': {
    toml: `
      format = "json"
      [time]
      field = "at"
      format = "iso"
      zone = "America/New_York"
      [market]
      coin = { field = "symbol", pattern = '^([A-Z]+)USDT$' }
      start = { field = "window", unit = "s" }
      timeframe = { value = "5m" }
      [books.up]
      bids = { levels = "yes.bids", price = "p", size = "s" }
      asks = { levels = "yes.asks", price = "p", size = "s" }
      [books.down]
      bids = { levels = "no.bids", price = "p", size = "s" }
      asks = { levels = "no.asks", price = "p", size = "s" }`,
    content: `[
      {"at": "2026-04-16 03:10:05.123456", "symbol": "BTCUSDT", "window": ${START_MS / 1000},
       "yes": {"bids": [{"p": 0.51, "s": 120.5}, {"p": 0.5, "s": 3}], "asks": [{"p": 0.52, "s": 44.000001}]},
       "no": {"bids": [{"p": 0.48, "s": 44.000001}], "asks": [{"p": 0.49, "s": 120.5}, {"p": 0.5, "s": 3}]}}
    ]`,
    name: 'ticks.json',
  },
  'parallel lists as text, with a delimiter of its own': {
    toml: `
      format = "csv"
      rows = { delimiter = ";" }
      [time]
      field = "when"
      format = "DD.MM.YYYY hh:mm:ss.f"
      zone = "+02:00"
      [market]
      slug = "market"
      [books]
      [books.up]
      bids = { prices = "ubp", sizes = "ubs", separator = "," }
      asks = { prices = "uap", sizes = "uas", separator = "," }
      [books.down]
      bids = { prices = "dbp", sizes = "dbs", separator = "," }
      asks = { prices = "dap", sizes = "das", separator = "," }`,
    content: `when;market;ubp;ubs;uap;uas;dbp;dbs;dap;das\n16.04.2026 09:10:05.123;${SLUG};0.51, 0.5;120.5, 3;0.52;44.000001;0.48;44.000001;0.49,0.5;120.5,3\n`,
  },
};

describe.each(Object.entries(LAYOUTS))('%s', (_, { toml, content, name }) => {
  test('gives both books, exactly, and a market with a stand-in', async () => {
    using place = temporaryArchive();
    const report = await importMapped(place.archive, toml, content, name);
    expect(report.rejections).toEqual([]);
    expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 0 });
    expect(booksOf(place.archive, SLUG, 'up')).toMatchObject([{ timestampMs: AT_MS, book: UP }]);
    expect(booksOf(place.archive, SLUG, 'down')).toMatchObject([{ timestampMs: AT_MS, book: DOWN }]);
    expect(marketOf(place.archive, SLUG).conditionId).toBe(standInConditionId(SLUG, START_MS));
  });

  test('is a duplicate when it is imported again, compressed too', async () => {
    using place = temporaryArchive();
    await importMapped(place.archive, toml, content, name);
    const again = await importMapped(place.archive, toml, gzipSync(content), `${name ?? 'rows.csv'}.gz`);
    expect(countsOf(again.total)).toEqual({ read: 1, stored: 0, duplicate: 1, rejected: 0, ignored: 0 });
  });

  test('is stored under the condition id of a known market', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({})]);
    const report = await importMapped(place.archive, toml, content, name);
    expect(report.records).toEqual({ snapshot: 2 });
    expect(marketOf(place.archive, SLUG).conditionId).toBe(CONDITION_ID);
  });
});

test('one book a row: JSON in columns, the token names market and outcome', async () => {
  const toml = `
    format = "csv"
    [rows]
    json = ["bids", "asks"]
    [time]
    field = "timestamp"
    unit = "s"
    [market]
    token = "token_id"
    [books]
    bids = { levels = "bids", price = "price", size = "size" }
    asks = { levels = "asks", price = "price", size = "size" }`;
  const level = (price: number, size: number) => `{""price"": ""${price}"", ""size"": ""${size}""}`;
  const content = `token_id,timestamp,bids,asks\n22,${AT_MS / 1000},"[${level(0.48, 44.000001)}]","[${level(0.49, 120.5)}, ${level(0.5, 3)}]"\n`;
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'] })]);
  const report = await importMapped(place.archive, toml, content);
  expect(report.rejections).toEqual([]);
  expect(booksOf(place.archive, SLUG, 'down')).toMatchObject([{ timestampMs: AT_MS, book: DOWN }]);
  expect(booksOf(place.archive, SLUG, 'up')).toEqual([]);
});

test('quotes, reference prices, a winner and the facts of a market in one row', async () => {
  const toml = `
    format = "csv"
    [time]
    field = "ts"
    unit = "ms"
    [market]
    condition_id = "cid"
    slug = "slug"
    up_token = "up"
    down_token = "down"
    winner = { field = "result", up = ["YES"], down = ["NO"], none = ["OPEN"] }
    price_start = "open"
    [quotes]
    [quotes.up]
    bid = "ub"
    bid_size = "ubs"
    ask = "ua"
    ask_size = "uas"
    [quotes.down]
    bid = "db"
    bid_size = "dbs"
    ask = "da"
    ask_size = "das"
    [[coin_prices]]
    coin = { value = "BTC" }
    source = { value = "binance" }
    price = "binance"
    [[coin_prices]]
    coin = { value = "bitcoin" }
    source = { value = "chainlink" }
    price = "chainlink"`;
  const rows = [
    'ts,cid,slug,up,down,result,open,ub,ubs,ua,uas,db,dbs,da,das,binance,chainlink',
    `${AT_MS},0x51,${SLUG},11,22,OPEN,,0.51,3,0.52,4,,,0.49,0,76000.5,`,
    `${AT_MS + 1},0x51,${SLUG},11,22,YES,75999.1234567,0.5,3,0.52,4,0.48,1,0.5,2,,76001`,
  ];
  using place = temporaryArchive();
  const report = await importMapped(place.archive, toml, rows.join('\n'));
  expect(report.rejections).toEqual([]);
  expect(report.records).toEqual({ market: 2, quote: 4, coinPrice: 2 });
  expect(marketOf(place.archive, SLUG)).toMatchObject({
    conditionId: '0x51',
    clobTokenIds: ['11', '22'],
    winner: 'up',
    closed: true,
    priceStart: 75999.1234567,
  });
  expect(quotesOf(place.archive, SLUG, 'down').map(({ quote }) => quote)).toEqual([
    { bidPrice: undefined, bidSize: undefined, askPrice: undefined, askSize: undefined },
    { bidPrice: 0.48, bidSize: 1, askPrice: 0.5, askSize: 2 },
  ]);
  expect(coinPricesOf(place.archive, 'btc', 'binance')).toEqual([[AT_MS, 76000.5]]);
  expect(coinPricesOf(place.archive, 'btc', 'chainlink')).toEqual([[AT_MS + 1, 76001]]);
});

test('histories: lists of points by outcome become midpoints', async () => {
  const toml = `
    format = "json"
    [market]
    condition_id = "condition_id"
    [midpoints]
    time = { field = "t", unit = "s" }
    price = "p"
    up = { each = "up" }
    down = { each = "down" }`;
  const points = (...prices: number[]) => prices.map((p, index) => ({ t: START_MS / 1000 + index, p }));
  const content = JSON.stringify({ condition_id: CONDITION_ID, up: points(0.5, 0.515), down: points(0.5, 0.485) });
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket({})]);
  const report = await importMapped(place.archive, toml, content, 'h.json');
  expect(report.rejections).toEqual([]);
  expect(report.records).toEqual({ price: 4 });
});
