import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { OUTCOMES } from '../../../src/domain/outcome.ts';
import { standInConditionId } from '../../../src/domain/stand-in-id.ts';
import { importPaths, importRecords, temporaryArchive } from '../../support/archive.ts';
import { booksOf, coinPricesOf, countsOf, importFile, marketOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { CONDITION_ID, sampleMarket } from '../../support/sample-records.ts';

const SLUG = 'btc-updown-5m-1776323400';
const START_MS = 1776323400_000;
const REAL_SLUG = 'btc-updown-5m-1777108200';
const REAL = realRecording(`snapshots-1s/${REAL_SLUG}.jsonl`);
const NAME = `${SLUG}.jsonl`;

type Fields = Readonly<Record<string, unknown>>;

const line = (type: string, fields: Fields = {}): string => JSON.stringify({ ts: START_MS + 1000, type, ...fields });
const slot = (fields: Fields = {}) =>
  line('slot', { action: 'start', slug: SLUG, startTime: START_MS - 7, endTime: START_MS + 300_000, ...fields });
const book = {
  bids: [
    [0.5, 143.22],
    [0.49, 16],
  ],
  asks: [[0.51, 327.45]],
};
const mirrored = {
  bids: [[0.49, 327.45]],
  asks: [
    [0.5, 143.22],
    [0.51, 16],
  ],
};
const books = (fields: Fields = {}) => line('orderbook_snapshot', { up: book, down: mirrored, ...fields });
const ticker = (fields: Fields = {}) =>
  line('ticker', {
    assetPrice: 77638.28888,
    binancePrice: 77614.98,
    coinbasePrice: 77646.31,
    divergence: 31.330000000001746,
    ...fields,
  });
const resolution = (fields: Fields = {}) =>
  line('resolution', {
    ts: START_MS + 370_000,
    direction: 'UP',
    openPrice: 77643.36752,
    closePrice: 77644.65,
    ...fields,
  });

async function imported(lines: readonly string[], name = NAME) {
  const place = temporaryArchive();
  const report = await importFile(place.archive, name, lines.join('\n'));
  return { ...place, report };
}

describe('lines sampled once a second', () => {
  test('become books of both outcomes of the slot’s market', async () => {
    using place = await imported([slot(), '', books(), books({ ts: START_MS + 2000, down: null })], 'monitor.log');
    expect(countsOf(place.report.total)).toEqual({ read: 3, stored: 3, duplicate: 0, rejected: 0, ignored: 0 });
    expect(marketOf(place.archive, SLUG)).toMatchObject({
      conditionId: standInConditionId(SLUG, START_MS),
      clobTokenIds: ['0', '0'],
      timeframe: '5m',
      startMs: START_MS,
      endMs: START_MS + 300_000,
    });
    expect(booksOf(place.archive, SLUG, 'up')).toMatchObject([
      {
        timestampMs: START_MS + 1000,
        book: { bidPrices: [0.5, 0.49], bidSizes: [143.22, 16], askPrices: [0.51], askSizes: [327.45] },
      },
      { timestampMs: START_MS + 2000 },
    ]);
    expect(booksOf(place.archive, SLUG, 'down')).toMatchObject([
      { book: { bidPrices: [0.49], askPrices: [0.5, 0.51] } },
    ]);
  });

  test('without a slot belong to the market in the file’s name', async () => {
    using place = await imported([books()]);
    expect(place.report.records).toEqual({ market: 1, snapshot: 2 });
  });

  test.each([`${SLUG}.part2.jsonl`, `${SLUG}_002.log`])(
    'without a slot: of a part that is called %s too',
    async (name) => {
      using place = await imported([books()], name);
      expect(place.report.records).toEqual({ market: 1, snapshot: 2 });
    },
  );

  test('belong to a known market', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const report = await importFile(place.archive, NAME, [slot(), books()].join('\n'));
    expect(report.records).toEqual({ snapshot: 2 });
    expect(marketOf(place.archive, SLUG).conditionId).toBe(CONDITION_ID);
  });

  test('belong to a known market of any name', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ slug: 'my-own-market' })]);
    const report = await importFile(place.archive, 'my-own-market.jsonl', books());
    expect(report.records).toEqual({ snapshot: 2 });
  });

  test('belong to the latest slot of their file', async () => {
    const next = 'eth-updown-5m-1776323700';
    using place = await imported(
      [slot(), books(), slot({ slug: next, endTime: START_MS + 600_000 }), books(), ticker()],
      'all.jsonl',
    );
    expect([booksOf(place.archive, SLUG, 'up').length, booksOf(place.archive, next, 'up').length]).toEqual([1, 1]);
    expect(coinPricesOf(place.archive, 'eth', 'chainlink').length).toBe(1);
  });

  test('give the coin’s price of each of three feeds that has one', async () => {
    using place = await imported([ticker(), ticker({ ts: START_MS + 2000, binancePrice: null })]);
    const times = (source: string) => coinPricesOf(place.archive, 'btc', source);
    expect(times('chainlink')).toEqual([
      [START_MS + 1000, 77638.28888],
      [START_MS + 2000, 77638.28888],
    ]);
    expect(times('binance')).toEqual([[START_MS + 1000, 77614.98]]);
    expect(times('coinbase').length).toBe(2);
  });

  test('state the prices and the winner of the market', async () => {
    const priced = line('market_price', { openPrice: 1, gap: -1.01, priceToBeat: 77643.5 });
    using place = await imported([slot(), priced, priced, resolution({ direction: 'down' })]);
    expect(place.report.files[0]!.kinds.find(({ kind }) => kind === 'market_price')).toMatchObject({
      read: 2,
      stored: 1,
      duplicate: 1,
    });
    expect(marketOf(place.archive, SLUG)).toMatchObject({
      winner: 'down',
      closed: true,
      active: false,
      priceEnd: 77644.65,
      resolvedMs: START_MS + 370_000,
    });
  });

  test('without records are counted separately', async () => {
    const nothing = [
      line('remaining', { seconds: 1 }),
      line('slot', { action: 'end', slug: SLUG }),
      books({ up: null, down: null }),
    ];
    using place = await imported([...nothing, ticker({ assetPrice: null, binancePrice: null, coinbasePrice: null })]);
    expect(countsOf(place.report.total)).toEqual({ read: 0, stored: 0, duplicate: 0, rejected: 0, ignored: 4 });
    expect(place.report.files[0]!.kinds.map(({ kind }) => kind)).toEqual([
      'remaining',
      'slot end',
      'orderbook_snapshot without books',
      'ticker without prices',
    ]);
  });
});

describe('a line is rejected, with one reason, and the next one is stored:', () => {
  const cases: [why: string, text: string][] = [
    ['the line is not JSON', '{"ts":1,"type":"ticker"'],
    ['the line is not a JSON object', '[]'],
    ['nested too deeply', `{"type":"ticker","ts":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['type is not one of', line('trade')],
    ['type is not one of', '{"ts":1}'],
    ['ts is missing', books({ ts: null })],
    ['ts is missing', books({ ts: -1 })],
    ['ts 1776323400 looks like Unix seconds', books({ ts: START_MS / 1000 })],
    ['slug is missing', slot({ slug: null })],
    ['the market is unknown: there is no slot line', slot({ slug: 'something-else' })],
    ['endTime is not a time', slot({ endTime: 'x' })],
    ['up and down are both missing', line('orderbook_snapshot')],
    ['up is not an object', books({ up: [] })],
    ['bids is missing', books({ up: { asks: [] } })],
    ['not a pair of price and size', books({ up: { bids: [[0.5]], asks: [] } })],
    ['a size in bids is missing', books({ up: { bids: [{ price: 1 }], asks: [] } })],
    ['lies outside 0…1', books({ up: { bids: [[1.5, 1]], asks: [] } })],
    ['is negative', books({ down: { bids: [], asks: [[0.5, -1]] } })],
    [
      'twice',
      books({
        down: {
          bids: [
            [0.5, 1],
            [0.4, 1],
            [0.5, 2],
          ],
          asks: [],
        },
      }),
    ],
    ['is not a decimal', books({ up: { bids: [['NaN', 1]], asks: [] } })],
    ['is not a decimal', books({ up: { bids: [[0.1234567890123456, 1]], asks: [] } })],
    ['is not a decimal', books().replace('143.22', '1e999')],
    ['are all missing', line('ticker')],
    ['assetPrice is missing', ticker({ assetPrice: {} })],
    ['assetPrice is missing', ticker().replace('77638.28888', '1e999')],
    ['binancePrice -1 is negative', ticker({ binancePrice: -1 })],
    ['coinbasePrice 0 is not the price', ticker({ coinbasePrice: 0 })],
    ['priceToBeat and openPrice are both missing', line('market_price')],
    ['priceToBeat -1 is negative', line('market_price', { priceToBeat: -1 })],
    ['direction is neither', resolution({ direction: null })],
    ['direction is neither', resolution({ direction: 'SIDEWAYS' })],
    ['before the end of the window', resolution({ ts: START_MS })],
    ['closePrice is missing', resolution({ closePrice: 'x' })],
  ];
  test.each(cases)('%s', async (why, text) => {
    using place = await imported([slot(), text, books()]);
    expect(place.report.rejections.map(({ line: number }) => number)).toEqual([2]);
    expect(place.report.rejections[0]!.reason).toContain(why);
    expect(place.report.total.stored).toBe(2);
  });

  test('one without a market', async () => {
    using place = await imported([books(), slot(), books()], 'log.jsonl');
    expect(place.report.rejections.map(({ line: number, reason }) => [number, reason])).toEqual([
      [1, 'the market is unknown: there is no slot line before, and the name of the file is not a slug'],
    ]);
    expect(place.report.total.stored).toBe(2);
  });
});

describe('the real snapshots', () => {
  const lines = (): Fields[] =>
    readFileSync(REAL!, 'utf8')
      .split('\n')
      .filter((text) => text.trim() !== '')
      .map((text) => JSON.parse(text));

  test.skipIf(REAL === undefined)('are all accounted for', async () => {
    using place = temporaryArchive();
    const report = await importPaths(place.archive, REAL!);
    expect(lines().length).toBe(1935);
    expect(countsOf(report.total)).toEqual({ read: 1408, stored: 1052, duplicate: 356, rejected: 0, ignored: 527 });
    expect(report.records).toEqual({ market: 3, snapshot: 1048, coinPrice: 1575 });
    expect(marketOf(place.archive, REAL_SLUG)).toMatchObject({
      timeframe: '5m',
      winner: 'up',
      closed: true,
      priceStart: 77643.36752,
      priceEnd: 77644.65,
      resolvedMs: 1777108570193,
    });
    const again = await importPaths(place.archive, REAL!);
    expect(countsOf(again.total)).toEqual({ read: 1408, stored: 0, duplicate: 1408, rejected: 0, ignored: 527 });
  });

  test.skipIf(REAL === undefined)('One-second snapshots of five levels a side are stored as snapshots.', async () => {
    using place = temporaryArchive();
    await importPaths(place.archive, REAL!);
    for (const outcome of OUTCOMES) {
      const written = lines().flatMap(({ ts, type, [outcome]: side }) =>
        type === 'orderbook_snapshot' && side !== null ? [[ts, side]] : [],
      );
      const stored = booksOf(place.archive, REAL_SLUG, outcome).map(({ timestampMs, book }) => {
        const levels = (prices: readonly number[], sizes: readonly number[]) =>
          prices.map((price, i) => [price, sizes[i]!]);
        return [
          timestampMs,
          { bids: levels(book.bidPrices, book.bidSizes), asks: levels(book.askPrices, book.askSizes) },
        ];
      });
      expect<unknown>(stored).toEqual(written);
    }
    for (const [field, source] of Object.entries({
      assetPrice: 'chainlink',
      binancePrice: 'binance',
      coinbasePrice: 'coinbase',
    })) {
      const written = lines().flatMap(({ ts, type, [field]: price }) => (type === 'ticker' ? [[ts, price]] : []));
      expect<unknown>(coinPricesOf(place.archive, 'btc', source)).toEqual(written);
    }
  });
});
