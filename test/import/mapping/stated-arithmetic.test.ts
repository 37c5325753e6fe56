import { describe, expect, test } from 'bun:test';
import { temporaryArchive } from '../../support/archive.ts';
import { booksOf, coinPricesOf, countsOf, marketOf, quotesOf, tradesOf } from '../../support/imported.ts';
import { randomsOf } from '../../support/random-books.ts';
import { importMapped, refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const START_MS = 1776323400_000;
const jsonOf = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const HEAD = `
  format = "json"
  time = { field = "t", unit = "ms" }
  market = { value = "${SLUG}" }`.replace('market = { value', 'market.slug = { value');

describe('cents, and asks that are bids of the other outcome', () => {
  const BOOKS = `${HEAD}
    [books.up]
    bids = { levels = "yes", price = 0, size = 1, scale = 0.01, size_scale = 0.000001 }
    asks = { levels = "no", price = 0, size = 1, scale = 0.01, size_scale = 0.000001, complement = true }
    [books.down]
    bids = { levels = "no", price = 0, size = 1, scale = 0.01, size_scale = 0.000001 }
    asks = { levels = "yes", price = 0, size = 1, scale = 0.01, size_scale = 0.000001, complement = true }`;

  test.each([1, 2, 3])('make the books that whole numbers of cents and of millionths make (seed %d)', async (seed) => {
    const random = randomsOf(seed);
    const side = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => [from - index, 1 + Math.floor(random() * 1e12)] as const);
    const rows = Array.from({ length: 50 }, (_, index) => {
      const best = 1 + Math.floor(random() * 98);
      return { t: START_MS + index, yes: side(best, Math.min(best, 5)), no: side(99 - best, Math.min(99 - best, 7)) };
    });
    using place = temporaryArchive();
    const report = await importMapped(place.archive, BOOKS, jsonOf(rows), 'rows.jsonl');
    expect(report.rejections).toEqual([]);
    const sizes = (levels: readonly (readonly [number, number])[]) => levels.map(([, size]) => size / 1e6);
    const of = (own: readonly (readonly [number, number])[], other: readonly (readonly [number, number])[]) => ({
      bidPrices: own.map(([cents]) => cents / 100),
      bidSizes: sizes(own),
      askPrices: other.map(([cents]) => (100 - cents) / 100),
      askSizes: sizes(other),
    });
    expect(booksOf(place.archive, SLUG, 'up').map(({ book }) => book)).toEqual(rows.map(({ yes, no }) => of(yes, no)));
    expect(booksOf(place.archive, SLUG, 'down').map(({ book }) => book)).toEqual(
      rows.map(({ yes, no }) => of(no, yes)),
    );
  });

  test('make the same books of rows with a level each', async () => {
    const toml = `
      format = "csv"
      time = { field = "t", unit = "ms" }
      market.slug = { value = "${SLUG}" }
      outcome = { value = "up" }
      [levels]
      side = { field = "side", bid = ["yes"], ask = ["no"] }
      price = { field = "cents", scale = 0.01 }
      size = "count"
      complement = true`;
    using place = temporaryArchive();
    const rows = ['t,side,cents,count', ...['yes,45,3', 'yes,44,1', 'no,53,7'].map((row) => `${START_MS},${row}`)];
    await importMapped(place.archive, toml, rows.join('\n'));
    expect(booksOf(place.archive, SLUG, 'up').map(({ book }) => book)).toEqual([
      { bidPrices: [0.45, 0.44], bidSizes: [3, 1], askPrices: [0.47], askSizes: [7] },
    ]);
  });

  test('read a decimal that begins with its point', async () => {
    const toml = `${HEAD}\noutcome = { value = "up" }\n[trades]\nprice = { field = "p", scale = 0.01 }\nsize = "n"`;
    using place = temporaryArchive();
    await importMapped(place.archive, toml, jsonOf([{ t: START_MS, p: '.5', n: 1 }]), 'rows.jsonl');
    expect(tradesOf(place.archive, SLUG, 'up').map(({ price }) => price)).toEqual([0.005]);
  });

  test('make quotes, and a figure is scaled before it is rounded, and rounded before it is taken from 1', async () => {
    const toml = `${HEAD}
      outcome = { value = "up" }
      [quotes]
      bid = { field = "yes", scale = 0.01, round = 2 }
      bid_size = { field = "n", default = "5" }
      ask = { field = "no", scale = 0.01, round = 2, complement = true }
      ask_size = { field = "n", default = "5" }
      [[coin_prices]]
      coin = { value = "btc" }
      source = { value = "pyth" }
      price = { field = "usd", scale = 1e-8 }`;
    using place = temporaryArchive();
    const rows = [
      { t: START_MS, yes: '45.4999999', no: 52.5, n: 3, usd: '7621180123456' },
      { t: START_MS + 1, yes: '0.0', no: 100, usd: '7621180123457' },
    ];
    const report = await importMapped(place.archive, toml, jsonOf(rows), 'rows.jsonl');
    expect(report.rejections).toEqual([]);
    expect(quotesOf(place.archive, SLUG, 'up').map(({ quote }) => quote)).toEqual([
      { bidPrice: 0.45, bidSize: 3, askPrice: 0.47, askSize: 3 },
      { bidPrice: 0, bidSize: 5, askPrice: 0, askSize: 5 },
    ]);
    expect(coinPricesOf(place.archive, 'btc', 'pyth').map(([, price]) => price)).toEqual([
      76211.80123456, 76211.80123457,
    ]);
  });

  test('are refused where they are no prices or have too many digits', async () => {
    const toml = `${HEAD}
      outcome = { value = "up" }
      [trades]
      price = { field = "p", scale = 0.01, complement = true }
      size = { field = "n", scale = 0.0000001 }`;
    const rows = [
      { p: 101, n: 1 },
      { p: 'x', n: 1 },
      { p: 45, n: '0.1234567' },
      { p: '49.010007946879747', n: 1 },
    ].map((row) => ({ t: START_MS, ...row }));
    expect(await rejectionsOf(toml, jsonOf(rows), 'rows.jsonl')).toEqual([
      'p 1.01 lies outside 0…1',
      'p x is not a decimal',
      'n 0.00000001234567 is not a decimal of at most 12 decimals and 15 significant digits: if that is noise of floating point, state round in the mapping, for example round = 6',
      'p 0.49010007946879747 is not a decimal of at most 12 decimals and 15 significant digits: if that is noise of floating point, state round in the mapping, for example round = 6',
    ]);
  });

  test.each([
    ['price = { field = "p", scale = 0 }', 'trades.price.scale must be a number from 1e-12 to 1000000000000'],
    ['price = { field = "p", scale = "x" }', 'trades.price.scale must be a number from 1e-12 to 1000000000000'],
    ['price = { field = "p", complement = "yes" }', 'trades.price.complement must be true or false'],
    [
      'price = "p"\nsize = { field = "n", complement = true }',
      'trades.size.complement is for prices of outcomes: remove it',
    ],
    ['price = { value = "1", default = "2" }', 'trades.price.default contradicts trades.price.value: remove one'],
  ])('%s is refused: %s', (line, problem) => {
    expect(refusalOfMapping(`${HEAD}\noutcome = { value = "up" }\n[trades]\n${line}`)).toContain(problem);
  });
});

describe('times', () => {
  const pricesAt = async (time: string, rows: readonly object[], market = `slug = { value = "${SLUG}" }`) => {
    using place = temporaryArchive();
    const toml = `format = "json"\n[time]\n${time}\n[market]\n${market}\n[quotes.up]\nbid = "p"\nask = { value = "0.9" }`;
    const report = await importMapped(place.archive, toml, jsonOf(rows), 'rows.jsonl');
    const quotes = report.total.stored === 0 ? [] : quotesOf(place.archive, SLUG, 'up');
    const times = quotes.map(({ timestampMs }) => timestampMs - START_MS);
    return { times, rejections: report.rejections.map(({ reason }) => reason) };
  };

  test.each([
    ['after = "start"', [0, 5000, 5123, -1000]],
    ['before = "end"', [300_000, 295_000, 294_877, 301_000]],
    ['after = "end"', [300_000, 305_000, 305_123, 299_000]],
    ['before = "start"', [0, -5000, -5123, 1000]],
  ])('are counted from the window: %s', async (edge, expected) => {
    const rows = ['0', 5, '5.1239', -1].map((t) => ({ t, p: 0.5 }));
    const { times, rejections } = await pricesAt(`field = "t"\nunit = "s"\n${edge}`, rows);
    expect(rejections).toEqual([]);
    expect(times).toEqual(expected.toSorted((a, b) => a - b));
  });

  test('that are counted from the window of an unknown market, or are no numbers, are rejected', async () => {
    const time = 'field = "t"\nunit = "ms"\nafter = "start"';
    const rows = [
      { t: 1, p: 0.5, m: '0x51' },
      { t: 'soon', p: 0.5, m: SLUG },
    ];
    expect((await pricesAt(time, [rows[0]!], 'condition_id = "m"')).rejections[0]).toContain('0x51');
    expect((await pricesAt(time, [rows[1]!], 'slug = "m"')).rejections).toEqual(['t soon is not a number of ms']);
    const far = ['300000000', '99999999999999999999', -172_800_001].map((t) => ({ t, p: 0.5, m: SLUG }));
    expect((await pricesAt(time, far, 'slug = "m"')).rejections).toEqual(
      far.map(({ t }) => `t ${t} is more than two days from the window in ms: correct the unit in the mapping`),
    );
  });

  test.each([
    ['before = "end"', [360, 300, 361, 800], ['t 361 s']],
    ['after = "start"', [360.5, 301, -700], ['t 360.5 s']],
    ['after = "start"', [0, 360, -700], []],
    ['after = "end"', [700], []],
    ['before = "start"', [700], []],
  ])('that are counted across the window and farther are stored with one note: %s %j', async (edge, times, found) => {
    const toml = `format = "json"\n[time]\nfield = "t"\nunit = "s"\n${edge}
      [market]\nslug = { value = "${SLUG}" }\n[quotes.up]\nbid = "p"\nask = "q"`;
    using place = temporaryArchive();
    const { notes, rejections } = await importMapped(
      place.archive,
      toml,
      jsonOf(times.map((t) => ({ t, p: 0.5 }))),
      'rows.jsonl',
    );
    expect(rejections).toEqual([]);
    expect(notes).toEqual(
      found.map(
        (value) =>
          `'rows.jsonl': ${value} is outside of the window, which is 300 s long: check the timeframe and the unit in the mapping`,
      ),
    );
  });

  test('have one note in a file that is read twice, because a later row states the market of an earlier one', async () => {
    const toml = `format = "json"\n[time]\nfield = "t"\nunit = "s"\nafter = "start"
      [market]\ncondition_id = "c"\nslug = "s"\n[quotes.up]\nbid = "p"\nask = "q"`;
    using place = temporaryArchive();
    const rows = [
      { t: 401, c: '0x51', p: 0.5 },
      { t: 401, c: '0x51', s: SLUG, p: 0.5 },
    ];
    const { notes, rejections } = await importMapped(place.archive, toml, jsonOf(rows), 'rows.jsonl');
    expect(rejections).toEqual([]);
    expect(notes).toHaveLength(1);
  });

  test.each([
    ['MM/DD/YY hh:mm:ss A', '04/16/26 07:10:05 AM'],
    ['M/D/YYYY h:mm:ss A', '4/16/2026 7:10:05 am'],
    ['DD MMM YYYY hh:mm:ss', '16 Apr 2026 07:10:05'],
    ['MMMM D, YYYY h:mm:ss A', 'april 16, 2026 7:10:05 AM'],
    ['YYMMMDDhhmmss', '26APR16071005'],
  ])('are written as %s', async (format, t) => {
    const { times, rejections } = await pricesAt(`field = "t"\nformat = "${format}"\nzone = "UTC"`, [{ t, p: 0.5 }]);
    expect(rejections).toEqual([]);
    expect(times).toEqual([5000]);
  });

  test.each([
    ['h:mm A', ['12:10 AM', '1:10 AM', '12:10 PM', '11:10 PM'], ['00:10', '01:10', '12:10', '23:10']],
    ['h:mm', ['0:10', '7:10', '23:10'], ['00:10', '07:10', '23:10']],
  ])('have the hours of a day as %s', async (format, texts, hours) => {
    const rows = texts.map((text) => ({ t: `2026-04-16 ${text}`, p: 0.5 }));
    const { times } = await pricesAt(`field = "t"\nformat = "YYYY-MM-DD ${format}"\nzone = "UTC"`, rows);
    expect(times.map((ms) => new Date(START_MS + ms).toISOString().slice(11, 16))).toEqual(hours);
  });

  test.each(['13:10 AM', '0:10 PM', '24:10 AM'])('have no %s', async (text) => {
    const time = 'field = "t"\nformat = "YYYY-MM-DD h:mm A"\nzone = "UTC"';
    const { rejections } = await pricesAt(time, [{ t: `2026-04-16 ${text}`, p: 0.5 }]);
    expect(rejections).toEqual([`t 2026-04-16 ${text} is not a time as YYYY-MM-DD h:mm A`]);
  });

  test.each([
    ['unit = "s"\nafter = "start"\nbefore = "end"', 'time.after contradicts time.before: remove one'],
    ['format = "iso"\nzone = "UTC"\nafter = "start"', 'time.format contradicts time.after: state a unit instead'],
    ['after = "start"', 'time.unit is not stated'],
    ['unit = "s"\nafter = "noon"', 'time.after must be "start" or "end"'],
    ['format = "YY-MMM-MM-DD hh:mm"\nzone = "UTC"', 'has the month twice'],
  ])('%j is refused: %s', (time, problem) => {
    const toml = `format = "json"\n[time]\nfield = "t"\n${time}\n[market]\nslug = "m"\n[quotes.up]\nbid = "p"\nask = "q"`;
    expect(refusalOfMapping(toml)).toContain(problem);
  });

  test('of markets, arrivals and coin prices are not counted from a window', () => {
    const time = 'time = { field = "t", unit = "s", after = "start" }';
    const refusal = (tables: string) => refusalOfMapping(`format = "json"\n${time}\n${tables}`);
    expect(refusal('market = { coin = "c", start = "s", end = "e" }')).toContain('market.start.unit is not stated');
    const start = 'start = { field = "s", unit = "s", after = "end" }';
    expect(refusal(`market = { coin = "c", ${start}, end = "e" }`)).toContain('market.start.after is for the times of');
    expect(refusal('received = "r"\nmarket.slug = "m"')).toContain('received.unit is not stated');
    const prices = 'market.slug = "m"\n[coin_prices]\ncoin = "c"\nsource = "s"\nprice = "p"';
    expect(refusal(prices)).toContain('coin prices have none: add coin_prices.time');
  });
});

test('A window is stated by its end and its length.', async () => {
  const toml = `
    format = "json"
    time = { field = "t", unit = "ms" }
    market = { coin = { value = "btc" }, end = { field = "expiry", unit = "s" }, timeframe = { value = "5m" } }
    [quotes.up]
    bid = "p"
    ask = "p"`;
  using place = temporaryArchive();
  await importMapped(
    place.archive,
    toml,
    jsonOf([{ t: START_MS + 1, expiry: START_MS / 1000 + 300, p: 0.5 }]),
    'rows.jsonl',
  );
  expect(marketOf(place.archive, SLUG)).toMatchObject({ startMs: START_MS, endMs: START_MS + 300_000 });
});

describe('rows that later rows refer to', () => {
  const toml = (refer: string) => `
    format = "json"
    refer = { field = "type", is = ["market"]${refer} }
    time = { field = "t", unit = "ms" }
    market = { slug = "slug" }
    outcome = { field = "side", up = ["Y"], down = ["N"] }
    [quotes]
    bid = "p"
    ask = "p"`;
  const OTHER = 'eth-updown-5m-1776323400';

  test('name the market of rows that have only its number', async () => {
    const rows = [
      // What is not the name of a market or an outcome is not taken from it.
      { type: 'market', id: 7, slug: SLUG, side: 'Y', t: START_MS, p: 0.9 },
      { type: 'market', id: '8', slug: OTHER, side: 'Y' },
      { type: 'book', market: 8, t: START_MS, p: 0.1 },
      { type: 'book', market: 7, t: START_MS, p: 0.2 },
      { type: 'book', market: 7, t: START_MS + 1, p: 0.3, side: 'N' },
      { type: 'book', market: 9, t: START_MS, p: 0.4 },
      { type: 'book', t: START_MS, p: 0.5 },
      { type: 'book', market: 7, p: 0.6 },
    ];
    using place = temporaryArchive();
    const report = await importMapped(place.archive, toml(', key = "id", by = "market"'), jsonOf(rows), 'rows.jsonl');
    expect(countsOf(report.total)).toEqual({ read: 6, stored: 3, duplicate: 0, rejected: 3, ignored: 2 });
    expect(report.rejections.map(({ reason }) => reason)).toEqual([
      'no row before it states what 9 is',
      'market is missing, which says what the row refers to',
      "the time that the mapping 'my.toml' names is missing",
    ]);
    const bids = (slug: string, outcome: 'up' | 'down') =>
      quotesOf(place.archive, slug, outcome).map(({ quote }) => quote.bidPrice);
    expect([bids(OTHER, 'up'), bids(SLUG, 'up'), bids(SLUG, 'down')]).toEqual([[0.1], [0.2], [0.3]]);
  });

  test('hold for all rows up to the next one, if they have no key', async () => {
    const rows = [
      { type: 'book', t: START_MS, p: 0.1, side: 'Y' },
      { type: 'market', slug: SLUG },
      { type: 'book', t: START_MS, p: 0.2, side: 'Y' },
      { type: 'market', slug: OTHER },
      { type: 'book', t: START_MS, p: 0.3, side: 'Y' },
    ];
    using place = temporaryArchive();
    const report = await importMapped(place.archive, toml(''), jsonOf(rows), 'rows.jsonl');
    expect(report.rejections.map(({ reason }) => reason)).toEqual(['no row before it states what the file is']);
    expect([SLUG, OTHER].map((slug) => quotesOf(place.archive, slug, 'up')[0]?.quote.bidPrice)).toEqual([0.2, 0.3]);
    expect(refusalOfMapping(toml(', by = "market"'))).toContain('refer.key is not stated: refer.by needs it');
  });
});
