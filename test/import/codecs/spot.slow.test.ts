import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { DomainError } from '../../../src/domain/errors.ts';
import { spotFrame } from '../../../src/import/parse/spot-frames.ts';
import { parseJsonFigures } from '../../../src/record/exact-json.ts';
import { importPaths, temporaryArchive } from '../../support/archive.ts';
import { coinPricesOf, countsOf, importFile, refusalOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';

const SPOT = realRecording('spot/btcusd-chainlink-2026-06-08.csv.gz');
const SESSIONS = realRecording('sessions-15m');
const HEADER = 'feed_ts_ms,value,full_accuracy_value,server_ts_ms,recv_ms';
const NAME = 'btcusd-chainlink-2026-06-08.csv';
const AT_MS = 1780876800000;
const ROW = `${AT_MS},63304.20030119507,63304200301195075000000,1780876800939,1780876801156`;

describe('a spot price CSV', () => {
  test('has a price per row, in order, even if one corrects another of the same second', async () => {
    using place = temporaryArchive();
    const rows = [
      ROW,
      `${AT_MS + 1000},7,7000000000000000000,1,1`,
      `${AT_MS + 1000},8.5,8500000000000000000,1,2`,
      `${AT_MS + 1000},7,,1,3`,
    ];
    const report = await importFile(place.archive, NAME, [HEADER, ...rows].join('\r\n'));
    expect(countsOf(report.total)).toEqual({ read: 4, stored: 4, duplicate: 0, rejected: 0, ignored: 0 });
    expect(coinPricesOf(place.archive, 'btc', 'chainlink')).toEqual([
      [AT_MS, 63304.20030119507],
      [AT_MS + 1000, 7],
      [AT_MS + 1000, 8.5],
      [AT_MS + 1000, 7],
    ]);
  });

  const layouts: [layout: string, text: string][] = [
    ['in any order of columns', `recv_ms,note,value,feed_ts_ms\n1,x,63304.5,${AT_MS}\n`],
    ['with quotes', `"feed_ts_ms","value"\n"${AT_MS}","63304.5"\n`],
    ['with commas in fields', `feed_ts_ms,note,value\n${AT_MS},"a ""b"", c",63304.5\n`],
    ['with the exact value as a decimal', `${HEADER}\n${AT_MS},63304.5,63304.50000000,,\n`],
    ['with the exact value as a decimal, alone', `feed_ts_ms,full_accuracy_value\n${AT_MS},63304.50000000\n`],
    ['with the exact value alone', `feed_ts_ms,full_accuracy_value\n${AT_MS},63304500000000000000000\n`],
    ['with the number missing in a row', `${HEADER}\n${AT_MS},,63304500000000000000000,1,1\n`],
    ['with a byte order mark', `\uFEFFfeed_ts_ms,value\n${AT_MS},63304.5\n`],
    ['put together of two files', `feed_ts_ms,value\n${AT_MS},63304.5\nfeed_ts_ms,value\n`],
  ];
  test.each(layouts)('may come %s', async (_, text) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, text);
    expect(report.rejections).toEqual([]);
    expect(report.total.read).toBe(1);
    expect(coinPricesOf(place.archive, 'btc', 'chainlink')).toEqual([[AT_MS, 63304.5]]);
  });

  const names: [name: string, symbol: string, source: string][] = [
    [NAME, 'btc', 'chainlink'],
    ['BTC-prices-2026-07-24.csv', 'btc', 'chainlink'],
    ['AVAX-prices-2026-07-24.csv', 'avax', 'chainlink'],
    ['ethereum-2026-07-24.csv', 'eth', 'chainlink'],
    ['BTC-twap60s-2026-08-10.csv', 'btc', 'chainlink-twap-60s'],
    ['BTC-prices-twap30s-2026-08-10.csv', 'btc', 'chainlink-twap-30s'],
    ['solusdt_binance_20260724.part.1.csv', 'sol', 'binance'],
    ['xrpusd.csv', 'xrp', 'chainlink'],
  ];
  test.each(names)('named %s has prices of %s from %s', async (name, symbol, source) => {
    using place = temporaryArchive();
    await importFile(place.archive, name, `${HEADER}\n${ROW}\n`);
    expect(coinPricesOf(place.archive, symbol, source).length).toBe(1);
  });

  test.each([
    'prices.csv',
    'spot-2026-06-08.csv',
    'btcusd-kraken-2026-06-08.csv',
    'mine.csv',
    '2026-06-08.csv',
    'btc-binance-pyth.csv',
  ])('called %s is not read, and the report says how to call it', async (name) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, name, `${HEADER}\n${ROW}\n`);
    expect(report.total.read).toBe(0);
    expect(report.files[0]!.error).toContain('btcusd-chainlink-2026-06-08.csv');
  });

  const bad: [why: string, row: string][] = [
    ['feed_ts_ms is missing or not a time', ',1,,,'],
    ['feed_ts_ms is missing or not a time', 'x,1,,,'],
    ['feed_ts_ms is missing or not a time', '-5,1,,,'],
    ['feed_ts_ms is missing or not a time', '1e12,1,,,'],
    ['feed_ts_ms 1780876800 looks like Unix seconds', '1780876800,1,,,'],
    ['value is missing', `${AT_MS},,,,`],
    ['value is missing, not a number', `${AT_MS},NaN,,,`],
    ['value is missing, not a number', `${AT_MS},Infinity,,,`],
    ['value is missing, not a number', `${AT_MS},1e999,,,`],
    ['value is missing, not a number', `${AT_MS},0x10,,,`],
    ['has more digits than can be kept', `${AT_MS},63304.200301195075,,,`],
    ['has more digits than can be kept', `${AT_MS},,63304200301195075000000,,`],
    ['value -1 is negative', `${AT_MS},-1,,,`],
    ['value 0 is not the price', `${AT_MS},0,,,`],
    ['value 1e+300 is not the price', `${AT_MS},1e300,,,`],
    ['are different prices', `${AT_MS},63304.20030119508,63304200301195075000000,,`],
    ['are different prices', `${AT_MS},63304.2,63304200301195075000000,,`],
    ['value 1 and full_accuracy_value 1.5 are different prices', `${AT_MS},1,1.5,,`],
    ['full_accuracy_value is neither an integer nor a decimal', `${AT_MS},1,-1000000000000000000,,`],
    ['full_accuracy_value is neither an integer nor a decimal', `${AT_MS},1,1.,,`],
    ['the row has 2 fields, but the header has 5', `${AT_MS},1`],
    ['the row has 6 fields, but the header has 5', `${AT_MS},1,,,,`],
    ['the row has a quote', `${AT_MS},"1,,,`],
    ['the row has a quote', ',"1,,,'],
    ['the row has a quote', `${AT_MS},1"2",,,`],
    ['the row has a quote', `${AT_MS},"1"2,,,`],
  ];
  test.each(bad)('rejects a row and continues: %s: %s', async (why, row) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, `${HEADER}\n${row}\n${ROW}\n`);
    expect(report.rejections.map(({ line }) => line)).toEqual([2]);
    expect(report.rejections[0]!.reason).toContain(why);
    expect(report.total.stored).toBe(1);
  });

  test('rejects rows that are too long, and rows that are not text', async () => {
    using place = temporaryArchive();
    const parts = [
      `${HEADER}\n`,
      `${AT_MS},"`,
      'x'.repeat(17 * 1024 * 1024),
      '\n',
      `"${'""'.repeat(4_000_000)}\n`,
      ','.repeat(2_000_000),
      '\n',
    ];
    const bytes = Buffer.concat([
      ...parts.map((part) => Buffer.from(part)),
      Buffer.from([0xff, 0xfe, 10]),
      Buffer.from(ROW),
    ]);
    const report = await importFile(place.archive, NAME, bytes);
    expect(report.rejections.map(({ line }) => line)).toEqual([2, 3, 4, 5]);
    expect(report.total.stored).toBe(1);
  });

  test('with a column twice is not read', async () => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, `feed_ts_ms,value,feed_ts_ms\n${AT_MS},1,${AT_MS}\n`);
    expect(report.files[0]!.error).toContain('feed_ts_ms once');
  });

  test('is read with any other columns that RFC 4180 allows', async () => {
    // Writes fields as RFC 4180 says.
    const written = (field: string) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);
    const noteText = fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', 'é', "'"), maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(noteText, { minLength: 1, maxLength: 6 }), async (notes) => {
        using place = temporaryArchive();
        const names = notes.map((_, i) => `note${i}`);
        const rows = [
          [...names, 'feed_ts_ms'],
          [...notes, String(AT_MS)],
        ].map((fields) => `${fields.map(written).join(',')},`);
        const report = await importFile(place.archive, NAME, `${rows[0]}value\n${rows[1]}12.5\n`);
        expect(report.rejections).toEqual([]);
        expect(coinPricesOf(place.archive, 'btc', 'chainlink')).toEqual([[AT_MS, 12.5]]);
      }),
      { numRuns: 10, seed: 20260608 },
    );
  });

  test.skipIf(SPOT === undefined)(
    'A price is stored from value, and full_accuracy_value must agree with it.',
    async () => {
      using place = temporaryArchive();
      const report = await importPaths(place.archive, SPOT!);
      const rows = gunzipSync(readFileSync(SPOT!)).toString().trimEnd().split('\n').slice(1);
      expect(rows.length).toBe(84_558);
      expect(countsOf(report.total)).toEqual({ read: 84_558, stored: 84_558, duplicate: 0, rejected: 0, ignored: 0 });
      const stored = coinPricesOf(place.archive, 'btc', 'chainlink').map(([ms, price]) => `${ms},${price}`);
      const written = rows.map((row) => {
        const [ms, value] = row.split(',');
        // Python writes 63000.0 where JavaScript writes 63000.
        return `${ms},${value!.replace(/\.0$/, '')}`;
      });
      expect(stored.join('\n') === written.join('\n')).toBe(true);
    },
  );
});

/** Prices of a frame as source, coin, time, price. */
function framePrices(frame: unknown) {
  const read = spotFrame(frame);
  return read?.items.map((item) => {
    if (item.type !== 'coinPrice') throw new Error(`a ${item.type} in a price frame`);
    return [item.source, item.symbol, item.timestampMs, item.price];
  });
}

test('a trade of Binance has its number of coins and the side of its taker, as far as the frame has them', () => {
  const trade = { e: 'trade', s: 'ETHUSDT', p: '2285.17', T: AT_MS };
  const details = (more: object) =>
    spotFrame({ ...trade, ...more })?.items.map((item) => 'trade' in item && item.trade);
  const side = { size: undefined, side: undefined, feeRateBps: undefined, transactionHash: undefined };
  expect(details({ q: '0.00390000', m: true })).toEqual([{ ...side, size: 0.0039, side: 'sell' }]);
  expect(details({ q: '12', m: false })).toEqual([{ ...side, size: 12, side: 'buy' }]);
  expect(details({ m: false })).toEqual([{ ...side, side: 'buy' }]);
  expect(details({ q: '0.00000000' })).toEqual([undefined]);
  expect(details({})).toEqual([undefined]);
  expect(() => details({ q: 'many' })).toThrow('q');
  expect(() => details({ m: 'yes' })).toThrow('m is');
});

describe('a frame of a price feed', () => {
  const payload = {
    symbol: 'btc/usd',
    timestamp: AT_MS,
    value: 76211.80016560019,
    full_accuracy_value: '76211800165600190000000',
  };
  const rtds = (topic: string, fields: object = {}) => ({
    topic,
    type: 'update',
    timestamp: AT_MS + 900,
    payload: { ...payload, ...fields },
  });
  const trade = { e: 'trade', E: AT_MS + 1, s: 'ETHUSDT', t: 1, p: '2285.17000000', q: '0.0039', T: AT_MS };
  const ticker = {
    type: 'ticker',
    product_id: 'SOL-USD',
    price: '83.59',
    time: '2026-06-08T00:00:00.000999Z',
    best_bid: '83.590',
  };
  const pyth = (price: object, id = 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43') => ({
    binary: {},
    parsed: [{ id, price: { price: '7679389243704', expo: -8, publish_time: AT_MS / 1000, ...price } }],
  });
  const history = [
    { timestamp: AT_MS, value: 76248.86816336501 },
    { timestamp: AT_MS + 1000, value: 76249 },
  ];

  const frames: [what: string, frame: unknown, kind: string, prices: unknown[]][] = [
    ['Chainlink', rtds('crypto_prices_chainlink'), 'chainlink price', [['chainlink', 'btc', AT_MS, 76211.80016560019]]],
    [
      'Chainlink’s average of a minute',
      rtds('crypto_prices_twap_sixty'),
      'chainlink-twap-60s price',
      [['chainlink-twap-60s', 'btc', AT_MS, 76211.80016560019]],
    ],
    [
      'an average that says its length',
      rtds('crypto_prices_twap_x', { window_s: 45 }),
      'chainlink-twap-45s price',
      [['chainlink-twap-45s', 'btc', AT_MS, 76211.80016560019]],
    ],
    [
      'Binance through the venue',
      rtds('crypto_prices', { symbol: 'ethusdt', full_accuracy_value: '76211.8001656001900' }),
      'binance price',
      [['binance', 'eth', AT_MS, 76211.80016560019]],
    ],
    [
      'the history of a subscription',
      { topic: 'crypto_prices', type: 'subscribe', payload: { symbol: 'btc/usd', data: history } },
      'chainlink price history',
      [
        ['chainlink', 'btc', AT_MS, 76248.86816336501],
        ['chainlink', 'btc', AT_MS + 1000, 76249],
      ],
    ],
    ['Binance', { stream: 'ethusdt@trade', data: trade }, 'binance price', [['binance', 'eth', AT_MS, 2285.17]]],
    ['Binance, one stream', trade, 'binance price', [['binance', 'eth', AT_MS, 2285.17]]],
    ['Coinbase', ticker, 'coinbase price', [['coinbase', 'sol', AT_MS, 83.59]]],
    ['Pyth', pyth({}), 'pyth price', [['pyth', 'btc', AT_MS, 76793.89243704]]],
    ['Coinbase about itself', { type: 'subscriptions', channels: [] }, 'subscriptions', []],
    ['Coinbase without news', { type: 'heartbeat', product_id: 'BTC-USD' }, 'heartbeat', []],
    ['the venue without a payload', { topic: 'crypto_prices', type: 'subscribed' }, 'crypto_prices subscribed', []],
  ];
  test.each(frames)('of %s', (_, frame, kind, prices) => {
    expect(spotFrame(frame)?.kind).toBe(kind);
    expect<unknown>(framePrices(frame)).toEqual(prices);
  });

  const foreign: unknown[] = [
    null,
    7,
    'PONG',
    [],
    {},
    { event_type: 'book' },
    { topic: 'comments', payload: {} },
    { stream: 'btcusdt@depth', data: { b: [] } },
    { type: 'ticker', ts: 1, assetPrice: 2 },
  ];
  test.each(foreign.map((frame): [unknown] => [frame]))('of an unknown feed is ignored: %j', (frame) => {
    expect(spotFrame(frame)).toBeUndefined();
  });

  const bad: [why: string, frame: unknown][] = [
    ['value is missing', rtds('crypto_prices_chainlink', { value: null, full_accuracy_value: null })],
    ['value is missing', rtds('crypto_prices_chainlink', { value: Number.NaN })],
    ['value is missing', rtds('crypto_prices_chainlink', { value: [1], full_accuracy_value: undefined })],
    ['are different prices', rtds('crypto_prices_chainlink', { value: 1 })],
    ['timestamp is missing', rtds('crypto_prices_chainlink', { timestamp: 'x' })],
    ['timestamp 1780876800 looks like', rtds('crypto_prices_chainlink', { timestamp: 1780876800 })],
    ['"btc/eur" is not the price of a coin in usd', rtds('crypto_prices_chainlink', { symbol: 'btc/eur' })],
    ['is not the price of a coin', rtds('crypto_prices', { symbol: 7 })],
    ['has no window_s', rtds('crypto_prices_twap_x')],
    ['data is not an array', { topic: 'crypto_prices', payload: { symbol: 'btc/usd', data: { 0: 1 } } }],
    ['an entry that is not an object', { topic: 'crypto_prices', payload: { symbol: 'btc/usd', data: [null] } }],
    ['"ETHBTC" is not the price of a coin in usdt', { ...trade, s: 'ETHBTC' }],
    ['T is missing', { ...trade, T: undefined }],
    ['p -1 is negative', { ...trade, p: '-1' }],
    ['price 0 is not the price', { ...ticker, price: '0' }],
    ['time is missing', { ...ticker, time: 'now' }],
    ['"BTC-EUR"', { ...ticker, product_id: 'BTC-EUR' }],
    ['the coin of Pyth', pyth({}, 'ab')],
    ['price is not an integer as text', pyth({ expo: '8' })],
    ['price is not an integer as text', pyth({ price: 12 })],
    ['price 7.679389243704e+42 is not the price', pyth({ expo: 30 })],
    ['publish_time is missing', pyth({ publish_time: '5' })],
    ['an entry without a price', { parsed: [7] }],
  ];
  test.each(bad)('is rejected: %s: %j', (why, frame) => {
    const read = () => spotFrame(frame);
    expect(read).toThrow(DomainError);
    expect(read).toThrow(why);
  });

  test.skipIf(SESSIONS === undefined)('of the real sessions are all read', () => {
    const kinds: Record<string, number> = {};
    const sum: Record<string, number> = {};
    for (const session of [
      'm9-pyth-proxy-natural-20260428a',
      'm9-rtds-chainlink-smoke-20260428b',
      'm9-rtds-natural-20260428d',
    ]) {
      for (const line of readFileSync(`${SESSIONS}/${session}/raw_messages.jsonl`, 'utf8').trimEnd().split('\n')) {
        const { source, payload } = JSON.parse(line);
        const frame = spotFrame(parseJsonFigures(payload));
        expect(frame === undefined).toBe(source === 'polymarket_clob');
        if (frame === undefined) continue;
        kinds[frame.kind] = (kinds[frame.kind] ?? 0) + 1;
        sum[frame.kind] = (sum[frame.kind] ?? 0) + frame.items.length;
      }
    }
    expect(kinds).toEqual({
      'binance price': 75,
      subscriptions: 15,
      'coinbase price': 60,
      'pyth price': 10,
      'chainlink price history': 15,
      'chainlink price': 60,
    });
    // Three coins a Pyth frame; histories of 3·59, 3·59 twice more, 3·58 and 3·57 seconds.
    expect(sum).toMatchObject({
      'pyth price': 30,
      'chainlink price history': 3 * (59 * 3 + 58 + 57),
      subscriptions: 0,
    });
  });
});

test('a file of prices is unreadable only for its name, never for its rows', async () => {
  expect(await refusalOf(NAME, `${AT_MS},x,,,`, `${HEADER}\n`)).toContain('value');
});
