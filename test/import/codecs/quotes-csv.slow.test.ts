import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { standInConditionId } from '../../../src/domain/stand-in-id.ts';
import { importPaths, importRecords, temporaryArchive } from '../../support/archive.ts';
import { countsOf, importFile, marketOf, quotesOf } from '../../support/imported.ts';
import { listMarkets } from '../../support/markets.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { CONDITION_ID, sampleMarket } from '../../support/sample-records.ts';

const REAL = realRecording('quotes-15m-csv/btc-15m-quotes.csv.gz');
const NAME = 'quotes.csv';
const SLUG = 'btc-updown-5m-1776323400';
const START_SEC = 1776323400;
const AT_MS = START_SEC * 1000 + 5000;

const VALUES = {
  market_slug: SLUG,
  question: '"Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET"',
  coin: 'BTC',
  up_token_id: '11',
  down_token_id: '22',
  market_end_ts: String(START_SEC + 300),
  up_book_ts: String(AT_MS),
  down_book_ts: String(AT_MS + 1),
  up_bid: '0.02',
  up_bid_size: '1824.21',
  up_ask: '0.03',
  up_ask_size: '519.51',
  down_bid: '0.97',
  down_bid_size: '519.51',
  down_ask: '0.98',
  down_ask_size: '1824.21',
};
type Values = Partial<Record<keyof typeof VALUES, string>>;

const HEADER = `${Object.keys(VALUES).join(',')}\n`;

function row(values: Values = {}): string {
  return `${Object.values({ ...VALUES, ...values }).join(',')}\n`;
}

const quote = (bidPrice?: number, bidSize?: number, askPrice?: number, askSize?: number) => ({
  bidPrice,
  bidSize,
  askPrice,
  askSize,
});

describe('a row of best quotes', () => {
  test('gives a quote of each outcome, at its own time, and the market', async () => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, `${HEADER}${row()}`);
    expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 0 });
    expect(quotesOf(place.archive, SLUG, 'up')).toMatchObject([
      { timestampMs: AT_MS, quote: quote(0.02, 1824.21, 0.03, 519.51) },
    ]);
    expect(quotesOf(place.archive, SLUG, 'down')).toMatchObject([
      { timestampMs: AT_MS + 1, quote: quote(0.97, 519.51, 0.98, 1824.21) },
    ]);
    expect(marketOf(place.archive, SLUG)).toMatchObject({
      conditionId: standInConditionId(SLUG, START_SEC * 1000),
      symbol: 'btc',
      timeframe: '5m',
      startMs: START_SEC * 1000,
      endMs: (START_SEC + 300) * 1000,
      clobTokenIds: ['11', '22'],
    });
  });

  test('is a duplicate if both of its quotes are known', async () => {
    using place = temporaryArchive();
    const rows = [
      row(),
      row({ up_bid: '0.01', up_book_ts: String(AT_MS + 7) }),
      row(),
      row({ up_bid: '0.01', up_book_ts: String(AT_MS + 7) }),
    ];
    const report = await importFile(place.archive, NAME, HEADER + rows.join(''));
    expect(countsOf(report.total)).toEqual({ read: 4, stored: 2, duplicate: 2, rejected: 0, ignored: 0 });
    expect([quotesOf(place.archive, SLUG, 'up').length, quotesOf(place.archive, SLUG, 'down').length]).toEqual([2, 1]);
  });

  const sides: [what: string, values: Values, up: object][] = [
    ['without a bid', { up_bid: '', up_bid_size: '' }, quote(undefined, undefined, 0.03, 519.51)],
    ['without an ask', { up_ask: '', up_ask_size: '' }, quote(0.02, 1824.21)],
    ['with a bid of nothing', { up_bid: '0.0', up_bid_size: '0.0' }, quote(undefined, undefined, 0.03, 519.51)],
    ['with an ask of nothing', { up_ask: '1.0', up_ask_size: '0' }, quote(0.02, 1824.21)],
    ['with four decimals', { up_bid: '0.0201', up_bid_size: '1.234567' }, quote(0.0201, 1.234567, 0.03, 519.51)],
  ];
  test.each(sides)('may be %s', async (_, values, up) => {
    using place = temporaryArchive();
    await importFile(place.archive, NAME, `${HEADER}${row(values)}`);
    expect(quotesOf(place.archive, SLUG, 'up')).toMatchObject([{ quote: up }]);
  });

  test('may have no values of one outcome', async () => {
    using place = temporaryArchive();
    const silent = { down_book_ts: '', down_bid: '', down_bid_size: '', down_ask: '', down_ask_size: '' };
    await importFile(place.archive, NAME, `${HEADER}${row(silent)}`);
    expect([quotesOf(place.archive, SLUG, 'up').length, quotesOf(place.archive, SLUG, 'down').length]).toEqual([1, 0]);
  });
});

describe('the market of a row', () => {
  test('is found by its assets', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'] })]);
    const report = await importFile(place.archive, NAME, `${HEADER}${row()}`);
    expect(report.records).toEqual({ quote: 2 });
    expect(marketOf(place.archive, SLUG).conditionId).toBe(CONDITION_ID);
  });

  test('is found by its slug, and gets its assets', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '0'] })]);
    await importFile(place.archive, NAME, `${HEADER}${row()}`);
    expect(marketOf(place.archive, SLUG)).toMatchObject({ conditionId: CONDITION_ID, clobTokenIds: ['11', '22'] });
    expect(quotesOf(place.archive, SLUG, 'down').length).toBe(1);
  });

  test('gets its real conditionId from a market record that comes later', async () => {
    using place = temporaryArchive();
    await importFile(place.archive, NAME, `${HEADER}${row()}`);
    await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'] })]);
    expect(marketOf(place.archive, SLUG).conditionId).toBe(CONDITION_ID);
    expect(quotesOf(place.archive, SLUG, 'up').length).toBe(1);
    const again = await importFile(place.archive, NAME, `${HEADER}${row()}`);
    expect(countsOf(again.total)).toEqual({ read: 1, stored: 0, duplicate: 1, rejected: 0, ignored: 0 });
  });

  test('has the year of its end if the slug has no year', async () => {
    using place = temporaryArchive();
    const slug = 'bitcoin-up-or-down-march-12-8am-et';
    const end = (year: number) => String(Date.UTC(year, 2, 12, 13) / 1000);
    const rows = [
      row({ market_slug: slug, market_end_ts: end(2025) }),
      row({ market_slug: slug, market_end_ts: end(2026), up_token_id: '33', down_token_id: '44' }),
    ];
    const report = await importFile(place.archive, NAME, HEADER + rows.join(''));
    expect(report.rejections).toEqual([]);
    expect(
      listMarkets(place.archive.markets, 'btc', '1h', 10, 0).map(({ startMs, clobTokenIds }) => [
        startMs,
        clobTokenIds,
      ]),
    ).toEqual([
      [Date.UTC(2026, 2, 12, 12), ['33', '44']],
      [Date.UTC(2025, 2, 12, 12), ['11', '22']],
    ]);
  });

  const contradictions: [why: string, values: Values][] = [
    ['the asset ids are stated twice, and differ', { up_token_id: '22', down_token_id: '11' }],
    ['the asset ids are stated twice, and differ', { down_token_id: '23' }],
    ['market_slug eth-updown-5m-1776323400 contradicts', { market_slug: 'eth-updown-5m-1776323400', coin: '' }],
    ['coin eth contradicts', { coin: 'ETH' }],
    ['market_end_ts 1776323701000 contradicts', { market_end_ts: '1776323701' }],
  ];
  test.each(contradictions)('must not contradict the known one: %s', async (why, values) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, HEADER + row() + row(values));
    expect(report.rejections.map(({ line, reason }) => [line, reason.includes(why)])).toEqual([[3, true]]);
  });
});

describe('a row is rejected, with one reason, and the next one is stored:', () => {
  const cases: [why: string, values: Values][] = [
    ['market_slug is missing', { market_slug: '' }],
    ['market_slug is not made of', { market_slug: 'a b' }],
    ['its window is not stated', { market_slug: 'some-market' }],
    ['the window is stated as', { market_end_ts: String(START_SEC + 900) }],
    ['its window lasts 10m', { market_end_ts: String(START_SEC + 600) }],
    ['market_end_ts is not a time', { market_end_ts: 'later' }],
    ['coin is stated as btc and as sol', { coin: 'sol' }],
    ['up_token_id is not a string of decimal digits', { up_token_id: '0x11' }],
    ['up_token_id and down_token_id are the same asset', { down_token_id: '11' }],
    ['up_book_ts is missing', { up_book_ts: '' }],
    ['up_book_ts is missing', { up_book_ts: '-1' }],
    ['up_book_ts 1776323405 looks like Unix seconds', { up_book_ts: '1776323405' }],
    ['up_bid 1.01 lies outside', { up_bid: '1.01' }],
    ['up_bid -0.1 lies outside', { up_bid: '-0.1' }],
    ['up_bid NaN is not a decimal', { up_bid: 'NaN' }],
    ['up_bid a"b,c is not a decimal', { up_bid: '"a""b,c"' }],
    ['up_ask 0.1234567890123456 is not a decimal', { up_ask: '0.1234567890123456' }],
    ['up_ask 1e999 is not a decimal', { up_ask: '1e999' }],
    ['up_bid_size -3 is negative', { up_bid_size: '-3' }],
    ['up_bid_size  is not a decimal', { up_bid_size: '' }],
    ['up_bid  is not a decimal', { up_bid: '' }],
    ['the row has', { question: 'a,b' }],
    ['the row has a quote', { question: '"a' }],
  ];
  test.each(cases)('%s: %j', async (why, values) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, NAME, HEADER + row(values) + row());
    expect(report.rejections.map(({ line }) => line)).toEqual([2]);
    expect(report.rejections[0]!.reason).toContain(why);
    expect(report.total.stored).toBe(1);
  });

  test('up_book_ts and down_book_ts are both missing', async () => {
    using place = temporaryArchive();
    const empty = Object.fromEntries(
      Object.keys(VALUES)
        .filter((name) => /^(?:up|down)_(?!token)/.test(name))
        .map((name) => [name, '']),
    );
    const report = await importFile(place.archive, NAME, HEADER + row(empty));
    expect(report.rejections.map(({ reason }) => reason)).toEqual(['up_book_ts and down_book_ts are both missing']);
    expect(place.archive.markets.findBySlug(SLUG)).toBeUndefined();
  });
});

test.skipIf(REAL === undefined)('the real quotes are stored quote for quote', async () => {
  using place = temporaryArchive();
  const report = await importPaths(place.archive, REAL!);
  expect(countsOf(report.total)).toEqual({ read: 4000, stored: 4000, duplicate: 0, rejected: 0, ignored: 0 });
  expect(report.records).toEqual({ market: 2, quote: 4015 });
  const [header, ...lines] = gunzipSync(readFileSync(REAL!)).toString().trimEnd().split('\n');
  // Only the question has a comma.
  const cells = (line: string) => line.replace(/"[^"]*"/, '').split(',');
  const names = cells(header!);
  const expected = new Map<string, Set<string>>();
  for (const line of lines) {
    const values = cells(line);
    const of = (name: string) => values[names.indexOf(name)]!;
    for (const outcome of ['up', 'down']) {
      const key = `${of('market_slug')} ${outcome}`;
      const side = (price: string, size: string) => (Number(size) === 0 ? '- -' : `${Number(price)} ${Number(size)}`);
      const bid = side(of(`${outcome}_bid`), of(`${outcome}_bid_size`));
      const ask = side(of(`${outcome}_ask`), of(`${outcome}_ask_size`));
      const quotes = expected.get(key) ?? new Set();
      expected.set(key, quotes.add(`${of(`${outcome}_book_ts`)} ${bid} ${ask}`));
    }
  }
  expect(expected.size).toBe(4);
  for (const [key, quotes] of expected) {
    const [slug, outcome] = key.split(' ') as [string, Outcome];
    const stored = quotesOf(place.archive, slug, outcome).map(({ timestampMs, quote: top }) => {
      const { bidPrice = '-', bidSize = '-', askPrice = '-', askSize = '-' } = top;
      return `${timestampMs} ${bidPrice} ${bidSize} ${askPrice} ${askSize}`;
    });
    expect(new Set(stored)).toEqual(quotes);
    expect(stored.length).toBe(quotes.size);
  }
  const again = await importPaths(place.archive, REAL!);
  expect(countsOf(again.total)).toEqual({ read: 4000, stored: 0, duplicate: 4000, rejected: 0, ignored: 0 });
});
