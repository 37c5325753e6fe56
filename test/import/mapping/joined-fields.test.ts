import { describe, expect, test } from 'bun:test';
import { temporaryArchive } from '../../support/archive.ts';
import { countsOf, marketOf, quotesOf } from '../../support/imported.ts';
import { randomsOf } from '../../support/random-books.ts';
import { importMapped, refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const WINDOW = 'format = "MM/DD/YYYY hh:mm A", zone = "America/New_York"';
const TABLES = `
  format = "csv"
  [time]
  fields = ["Date", "Clock"]
  format = "MM/DD/YYYY hh:mm:ss A"
  zone = "America/New_York"
  [market]
  coin = { field = "Symbol", pattern = '^([A-Z]+)USDT$' }
  start = { fields = ["Date", "Window"], pattern = '^(.+)-', ${WINDOW} }
  end = { fields = ["Date", "Window"], pattern = '^(\\S+) .+-(.+)$', ${WINDOW} }
  winner = { field = "Result", up = ["Up"], down = ["Down"] }
  [quotes.up]
  bid = { field = "UpBid", pattern = '^(.+)%$', scale = 0.01 }
  ask = { field = "UpAsk", pattern = '^(.+)%$', scale = 0.01 }`;
const HEADER = 'Date,Clock,Symbol,Window,UpBid,UpAsk,Result';

/** New York is 4 hours behind UTC in April: 08:05 AM is 12:05. */
const START_MS = Date.UTC(2026, 3, 16, 12, 5);
const MINUTES_MS = 60_000;

test.each([1, 2, 3])(
  'rows with a date, a clock and windows without their date are read exactly (seed %d)',
  async (seed) => {
    const random = randomsOf(seed);
    const two = (number: number) => String(number).padStart(2, '0');
    const rows = Array.from({ length: 120 }, (_, index) => {
      const startMs = START_MS + Math.floor(index / 20) * 5 * MINUTES_MS;
      const [bid, ask] = [1 + Math.floor(random() * 50), 51 + Math.floor(random() * 49)];
      return { startMs, atMs: startMs + (index % 20) * 15_000, bid, ask };
    });
    const clock = (ms: number) => {
      const second = Math.round((ms - START_MS) / 1000) + 8 * 3600 + 300;
      return [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60].map(two);
    };
    const lines = rows.map(({ startMs, atMs, bid, ask }) => {
      const [start, end] = [startMs, startMs + 5 * MINUTES_MS].map((ms) => `${clock(ms).slice(0, 2).join(':')} AM`);
      return `04/16/2026,${clock(atMs).join(':')} AM,SOLUSDT,${start}-${end},${bid}%,${ask}%,Down`;
    });
    using place = temporaryArchive();
    const report = await importMapped(place.archive, TABLES, [HEADER, ...lines].join('\n'));
    expect(report.rejections).toEqual([]);
    for (const startMs of new Set(rows.map((row) => row.startMs))) {
      const slug = `sol-updown-5m-${startMs / 1000}`;
      expect(marketOf(place.archive, slug)).toMatchObject({ startMs, endMs: startMs + 5 * MINUTES_MS, winner: 'down' });
      const stored = quotesOf(place.archive, slug, 'up').map(({ timestampMs, quote }) => [
        timestampMs,
        quote.bidPrice,
        quote.askPrice,
      ]);
      const expected = rows
        .filter((row) => row.startMs === startMs)
        .map((row) => [row.atMs, row.bid / 100, row.ask / 100]);
      expect(stored).toEqual(expected);
    }
  },
);

test('a row that states only some of the fields is rejected, and one that states none has no such value', async () => {
  const row = (date: string, clock: string) => `${date},${clock},SOLUSDT,08:05 AM-08:10 AM,43%,58%,Down`;
  const content = [HEADER, row('04/16/2026', ''), row('', '08:05:00 AM')].join('\n');
  const missing = 'is missing, and';
  expect(await rejectionsOf(TABLES, content)).toEqual([
    `Clock ${missing} Date is stated`,
    `Date ${missing} Clock is stated`,
  ]);
  const untimed = `${HEADER},Slug\n,,SOLUSDT,,43%,58%,Down,sol-updown-5m-1776341100`;
  const market = '[market]\nslug = "Slug"\n[quotes.up]';
  const toml = TABLES.replace(/\[market\][\s\S]*\[quotes\.up\]/, market);
  expect(await rejectionsOf(toml, untimed)).toEqual(["the time that the mapping 'my.toml' names is missing"]);
});

test('rows of levels begin another book where one of the fields changes', async () => {
  const toml = `
    format = "csv"
    [time]
    fields = ["d", "c"]
    format = "iso"
    zone = "UTC"
    [market]
    slug = { value = "btc-updown-5m-1776323400" }
    [outcome]
    value = "up"
    [levels]
    side = { field = "s", bid = ["b"], ask = ["a"] }
    price = "p"
    size = "q"`;
  const rows = ['07:10:01,b,0.5,1', '07:10:01,a,0.6,1', '07:10:02,b,0.4,1'].map((row) => `2026-04-16,${row}`);
  using place = temporaryArchive();
  const report = await importMapped(place.archive, toml, ['d,c,s,p,q', ...rows].join('\n'));
  expect(countsOf(report.total)).toMatchObject({ read: 3, rejected: 0 });
  expect(report.records).toMatchObject({ snapshot: 2 });
});

describe('the groups of a pattern', () => {
  const slugOf = async (pattern: string, text: string) => {
    const toml = `
      format = "csv"
      time = { field = "t", unit = "s" }
      coin_prices = { coin = { value = "btc" }, source = { field = "n", pattern = '${pattern}' }, price = "p" }`;
    using place = temporaryArchive();
    const report = await importMapped(place.archive, toml, `t,n,p\n1776323404,${text},70000`);
    const [rejection] = report.rejections;
    return rejection?.reason ?? place.archive.prices.slicesOfCoin('btc', 0, 1e14).map(({ source }) => source);
  };

  test.each([
    ['^(..)-(..)$', 'ab-cd', 'ab cd'],
    ['^((a|b)c)', 'bcd', 'bc'],
    ['^(?:(a)|(b))', 'b', 'b'],
    ['^(a)?(b)', 'b', 'b'],
    ['(?=.*(z))(a)', 'a-z', 'z a'],
  ])('%s on %s are %s', async (pattern, text, expected) => {
    expect(await slugOf(pattern, text)).toEqual([expected]);
  });

  test('of which none took part are no value', async () => {
    expect(await slugOf('^(a)?(b)?', 'c')).toBe('n c does not match ^(a)?(b)?');
  });
});

test.each([
  ['field = "a"\nfields = ["b"]', 'time.field contradicts time.fields: remove one'],
  ['fields = []', 'time.fields must be a list of texts in quotes'],
  ['fields = "a"', 'time.fields must be a list of texts in quotes'],
])('%j is refused: %s', (keys, problem) => {
  expect(refusalOfMapping(TABLES.replace('fields = ["Date", "Clock"]', keys))).toContain(problem);
});
