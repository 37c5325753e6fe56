import { expect, test } from 'bun:test';
import { meantTimeframe } from '../../../src/domain/timeframe.ts';
import { temporaryArchive } from '../../support/archive.ts';
import { marketOf } from '../../support/imported.ts';
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
