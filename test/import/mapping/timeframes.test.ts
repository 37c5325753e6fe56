import { describe, expect, test } from 'bun:test';
import { meantTimeframe } from '../../../src/domain/timeframe.ts';
import { temporaryArchive } from '../../support/archive.ts';
import { marketOf, quotesOf } from '../../support/imported.ts';
import { importMapped, refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const TOML = `
  format = "json"
  time = { field = "t", unit = "s" }
  market = { coin = "coin", start = "from", timeframe = "len" }
  quotes.up = { bid = "bid", ask = "ask" }`;
const rowOf = (len: string | number) =>
  JSON.stringify({ t: 1776323404, from: 1776323400, coin: 'ETH', len, bid: 0.5, ask: 0.6 });

test.each([
  ['5m', ['5m', '5M', '5 min', '5-min', '5 minutes', ' 5 mins ', '05m']],
  ['15m', ['15m', '15 MIN', '15minutes', '15-minute']],
  ['1h', ['1h', '1H', '1 hour', '1hr', '60m', '60 min', 'hourly', 'Hourly']],
  ['4h', ['4h', '4 hours', '4 HRS', '240 min']],
  ['24h', ['24h', '24 h', '1d', '1D', '1 day', '1440m', 'daily']],
] as const)('%s is meant by %j', (timeframe, texts) => {
  expect(texts.map((text) => meantTimeframe(text))).toEqual(texts.map(() => timeframe));
});

test('texts that name no timeframe, or leave it open, mean none', () => {
  const texts = ['7 min', '15', '5', 'm', '5s', '300 s', '5.0m', '1 month', '2d', '1 h 0 m', '15 min 5m', 'weekly', ''];
  const others = ['constructor', '__proto__', '99999h', '-5m'];
  expect([...texts, ...others].filter((text) => meantTimeframe(text) !== undefined)).toEqual([]);
});

test('a field with the length in words states the window', async () => {
  using place = temporaryArchive();
  const report = await importMapped(place.archive, TOML, rowOf('15 min'), 'rows.jsonl');
  expect(report.rejections).toEqual([]);
  expect(marketOf(place.archive, 'eth-updown-15m-1776323400')).toMatchObject({ timeframe: '15m' });
  expect(refusalOfMapping(TOML.replace('"len"', '{ value = "15 min" }'))).toBeUndefined();
});

test('the rejection of another length has the value and the way out', async () => {
  expect(await rejectionsOf(TOML, rowOf('7 min'), 'rows.jsonl')).toEqual([
    `len '7 min' is not a timeframe (5m, 15m, 1h, 4h, 24h): if all rows have the same, write timeframe = { value = "15m" }`,
  ]);
});

const IN_WINDOW = `
  format = "csv"
  [time]
  field = "timestamp"
  format = "iso"
  [market]
  coin = { file_name = '^([A-Z]+)\\.csv$' }
  timeframe = { value = "15m" }
  window = "time"
  [quotes.up]
  bid = "m15_sell"
  ask = "m15_buy"`;

describe('rows that name no market are of the window in which their time lies', () => {
  const rows = [
    '2026-04-16T07:14:59.999Z,0.4,0.6',
    '2026-04-16T07:15:00.000Z,0.5,0.51',
    '2026-04-16T07:29:59.999Z,0.9,0.91',
  ];
  const content = ['timestamp,m15_sell,m15_buy', ...rows].join('\n');

  test('from its first millisecond to the last one before its end', async () => {
    using place = temporaryArchive();
    const report = await importMapped(place.archive, IN_WINDOW, content, 'BTC.csv');
    expect(report.rejections).toEqual([]);
    const [before, after] = [1776322800, 1776323700].map((start) => `btc-updown-15m-${start}`);
    expect(quotesOf(place.archive, before!, 'up').map(({ quote }) => quote.bidPrice)).toEqual([0.4]);
    expect(quotesOf(place.archive, after!, 'up').map(({ quote }) => quote.bidPrice)).toEqual([0.5, 0.9]);
  });

  test('of each timeframe that begins at whole multiples of its length, also by its name of the hour', async () => {
    using place = temporaryArchive();
    const toml = IN_WINDOW.replace('{ value = "15m" }', '"len"');
    const lines = ['5m', '15m', '1h', '4h'].map((len) => `2026-04-16T07:14:00Z,0.4,0.6,${len}`);
    const report = await importMapped(
      place.archive,
      toml,
      `timestamp,m15_sell,m15_buy,len\n${lines.join('\n')}`,
      'ETH.csv',
    );
    expect(report.rejections.map(({ reason }) => reason)).toEqual([
      'the window of 4h that a time lies in depends on New York: state its start',
    ]);
    for (const slug of [
      'eth-updown-5m-1776323400',
      'eth-updown-15m-1776322800',
      'ethereum-up-or-down-april-16-2026-3am-et',
    ]) {
      expect(quotesOf(place.archive, slug, 'up')).toHaveLength(1);
    }
  });

  test.each([
    ['window = "time"\n  slug = "s"', 'market.slug contradicts market.window: remove one'],
    ['window = "time"\n  start = { field = "s", unit = "s" }', 'market.start contradicts market.window: remove one'],
    ['window = "row"', 'market.window'],
  ])('not with %s', (line, problem) => {
    expect(refusalOfMapping(IN_WINDOW.replace('window = "time"', line))).toContain(problem);
  });
  test.each([
    [IN_WINDOW.replace('timeframe = { value = "15m" }', ''), 'market.timeframe is not stated: market.window needs it'],
    [IN_WINDOW.replace('"15m"', '"4h"'), 'market.window is for 5m, 15m, 1h: windows of 4h begin at hours of New York'],
    [IN_WINDOW.replace(/coin = .*/, ''), 'market.coin is not stated'],
    [
      IN_WINDOW.replace('format = "iso"', 'unit = "s"\n  after = "start"'),
      'market.window needs [time] with a time since 1970',
    ],
    [IN_WINDOW.replace('[quotes.up]', '[quotes.up]\n  each = "list"'), 'each contradicts market.window'],
  ])('a mapping that leaves the window open is refused: %#', (toml, problem) => {
    expect(refusalOfMapping(toml)).toContain(problem);
  });
});
