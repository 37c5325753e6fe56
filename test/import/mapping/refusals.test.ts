import { describe, expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { booksOf, countsOf, marketOf, quotesOf } from '../../support/imported.ts';
import { CONDITION_ID, sampleMarket } from '../../support/sample-records.ts';
import { importMapped, MAPPING_NAME, refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1776323405_123;

/** The tables of a mapping that is complete; tests leave out or replace some. */
const TABLES = {
  format: 'format = "csv"',
  rows: '',
  time: '[time]\nfield = "ts"\nunit = "ms"',
  market: '[market]\nslug = "slug"',
  outcome: '[outcome]\nfield = "outcome"\nup = ["Up", "Yes"]\ndown = ["Down"]',
  records: '[quotes]\nbid = "bid"\nbid_size = "bid_size"\nask = "ask"\nask_size = "ask_size"',
};
type Tables = Partial<typeof TABLES>;
const mapping = (tables: Tables = {}) => Object.values({ ...TABLES, ...tables }).join('\n');

const VALUES = { ts: String(AT_MS), slug: SLUG, outcome: 'Up', bid: '0.51', bid_size: '3', ask: '0.52', ask_size: '4' };
type Values = Partial<Record<keyof typeof VALUES, string>>;
const HEADER = Object.keys(VALUES).join();
const rowOf = (values: Values = {}) => Object.values({ ...VALUES, ...values }).join();
const csv = (...rows: string[]) => [HEADER, ...rows].join('\n');

const books = (bids: string) => `[books]\nbids = ${bids}\nasks = { levels = "asks", price = 0, size = 1 }`;
const midpoints = (keys: string) => `[midpoints]\n${keys}`;

describe('A mapping never guesses: it is refused in one sentence that names the key, before a file is read.', () => {
  const cases: [tables: Tables, problem: string][] = [
    [{ format: '' }, 'format is not stated: add format = "csv", "json", "sqlite" or "parquet"'],
    [{ format: 'format = "xml"' }, 'format must be "csv" or "json" or "sqlite" or "parquet"'],
    [{ format: 'formt = "csv"' }, 'formt is not a key: did you mean format?'],
    [{ records: `${TABLES.records}\nbidsize = "x"` }, 'quotes.bidsize is not a key: did you mean quotes.bid_size?'],
    [
      { records: '[quotes]\nbid = "bid"\nbid_size = "x"\nask = "y"' },
      'quotes.ask_size is not stated: add it, or remove the other',
    ],
    [
      { records: '', market: '' },
      'no table makes records: add one of [books], [levels], [quotes], [midpoints], [trades], [coin_prices]',
    ],
    [{ outcome: '', records: '[[quotes]]\n[[quotes]]' }, 'quotes[0].bid is not stated: add it'],
    [{ format: 'format = "csv"\nquotes = 3', records: '' }, 'quotes must be a table'],
    [{ time: '' }, 'time is not stated: add a table [time]'],
    [
      { time: '[time]\nfield = "ts"' },
      'time.unit is not stated: add unit = "s", "ms", "us", "ns" for numbers, or time.format',
    ],
    [{ time: '[time]\nfield = 3\nunit = "s"' }, 'time.field must be a text in quotes'],
    [{ time: '[time]\nunit = "s"' }, 'time does not state where its value is: add field, value or file_name'],
    [{ time: '[time]\nfield = "a"\nvalue = "b"\nunit = "s"' }, 'time.field contradicts time.value: remove one'],
    [{ time: '[time]\nfield = "a"\nunit = "sec"' }, 'time.unit must be "s" or "ms" or "us" or "ns"'],
    [{ time: '[time]\nfield = "a"\nunit = "s"\nformat = "iso"' }, 'time.unit contradicts time.format: remove one'],
    [{ time: '[time]\nfield = "a"\nunit = "s"\nzone = "UTC"' }, 'time.zone contradicts time.unit'],
    [
      { time: '[time]\nfield = "a"\nformat = "YYYY-MM-DD hh:mm:ss"' },
      'time.zone is not stated, and time.format has none: add zone = "UTC"',
    ],
    [
      { time: '[time]\nfield = "a"\nformat = "YYYY-MM-DD hh:mmZ"\nzone = "UTC"' },
      'time.zone contradicts the Z in time.format',
    ],
    [
      { time: '[time]\nfield = "a"\nformat = "MM-DD hh:mm:ss"\nzone = "UTC"' },
      'time.format "MM-DD hh:mm:ss" lacks YYYY',
    ],
    [{ time: '[time]\nfield = "a"\nformat = "YYYY-MM-DD-DD hh:mm"\nzone = "UTC"' }, 'has the day twice'],
    [
      { time: '[time]\nfield = "a"\nformat = "iso"\nzone = "Mars"' },
      'time.zone "Mars" is not a time zone: write UTC, an offset like +02:00',
    ],
    [{ market: '' }, 'market is not stated: add a table [market] that names the market of quotes'],
    [{ market: '[market]' }, 'nothing names the market: add market.slug, market.condition_id, market.token'],
    [{ market: '[market]\ncoin = "c"' }, 'market.start is not stated'],
    [{ market: '[market]\nstart = "s"' }, 'market.coin is not stated: add it, for example coin = { value = "btc" }'],
    [{ market: '[market]\ncoin = "c"\nstart = "s"' }, 'market.end is not stated: add it, or market.timeframe'],
    [
      { market: '[market]\nslug = "s"\nstart = "a"\nend = "e"\ntimeframe = "t"' },
      'market.timeframe contradicts market.start and market.end: remove one',
    ],
    [
      { market: '[market]\nslug = "s"\nwinner = "w"' },
      'market.winner.up is not stated: add the texts that mean up, as a list',
    ],
    [{ market: '[market]\nslug = { file_name = "(" }' }, 'market.slug.file_name is not a regular expression'],
    [
      { market: '[market]\nslug = { file_name = "x" }' },
      'market.slug.file_name has no group: put ( ) around the part that is the value',
    ],
    [{ market: '[market]\nslug = { value = "x", pattern = "(x)" }' }, 'market.slug.pattern is for a field only'],
    [{ market: '[market]\nslug = 7' }, 'market.slug must be the name of a field in quotes, or a table'],
    [
      { outcome: '' },
      'outcome is not stated: add a table [outcome], the tables [quotes.up] and [quotes.down], or market.token',
    ],
    [{ outcome: '[outcome]\nfield = "o"' }, 'outcome.up is not stated'],
    [{ outcome: '[outcome]\nfield = "o"\nup = ["a"]\ndown = ["a"]' }, 'outcome.up and outcome.down both have "a"'],
    [{ outcome: '[outcome]\nfield = "o"\nup = "a"\ndown = ["b"]' }, 'outcome.up must be a list of texts in quotes'],
    [{ outcome: '[outcome]\nvalue = "yes"' }, 'outcome.value must be "up" or "down"'],
    [{ outcome: '[outcome]\nvalue = "up"\nup = ["a"]' }, 'outcome.up contradicts outcome.value'],
    [{ records: `${TABLES.records}\noutcome = { value = "up" }` }, 'quotes.outcome contradicts outcome: remove one'],
    [
      { records: `[midpoints]\noutcome = { value = "up" }\nup = { price = "p" }` },
      'midpoints.outcome contradicts midpoints.up',
    ],
    [{ records: midpoints('') }, 'midpoints.price is not stated: add it, or midpoints.bid and midpoints.ask'],
    [{ records: midpoints('price = "p"\nbid = "b"') }, 'midpoints.price contradicts midpoints.bid and ask'],
    [{ records: midpoints('bid = "b"') }, 'midpoints.ask is not stated'],
    [
      { records: books('{ levels = "bids" }') },
      "books.bids.price is not stated: add the name of a level's price, or 0",
    ],
    [{ records: books('{ levels = "bids", price = 0 }') }, 'books.bids.size is not stated'],
    [{ records: books('{ prices = "p" }') }, 'books.bids.sizes is not stated'],
    [{ records: books('{ prices = "p_0..9", sizes = "s_0..8" }') }, 'are not the same number of columns'],
    [{ records: books('{ prices = "p_9..0", sizes = "s_9..0" }') }, 'are not the same number of columns'],
    [{ records: books('{ levels = "a", prices = "p" }') }, 'books.bids.levels contradicts books.bids.prices and sizes'],
    [
      { records: books('{ levels = "a", price = true, size = 1 }') },
      'books.bids.price must be the name of a member in quotes, or an index',
    ],
    [{ rows: '[rows]\ntable = "t"' }, 'rows.table is for format = "sqlite" only: remove it'],
    [{ format: 'format = "sqlite"' }, 'rows.table is not stated: add it, or rows.query'],
    [{ format: 'format = "sqlite"', rows: '[rows]\ntable = "t"\nquery = "q"' }, 'rows.table contradicts rows.query'],
    [{ format: 'format = "json"', rows: '[rows]\ndelimiter = ";"' }, 'rows.delimiter is for format = "csv" only'],
    [{ rows: '[rows]\ndelimiter = ";;;"' }, 'rows.delimiter must be one or two characters in quotes'],
    [{ rows: '[rows]\nrepeats = "drop"' }, 'rows.repeats must be "keep"'],
    [{ rows: '[rows]\nonly = { field = "x" }' }, 'rows.only.is is not stated'],
  ];
  test.each(cases)('%j: %s', (tables, problem) => {
    const sentence = refusalOfMapping(mapping(tables));
    expect(sentence).toStartWith(`in the mapping '${MAPPING_NAME}' `);
    expect(sentence).toContain(problem);
    expect(sentence).not.toContain('\n');
  });

  test('unless it is complete', () => {
    expect(refusalOfMapping(mapping())).toBeUndefined();
    expect(
      refusalOfMapping(mapping({ records: books('{ prices = "p_01..20", sizes = "s_01..20" }') })),
    ).toBeUndefined();
  });
});

describe('An invalid mapped row is rejected with one reason, for example a time before 2001 or after 2286, and the next one is stored.', () => {
  const cases: [values: Values, reason: string][] = [
    [{ ts: '' }, 'the time that the mapping'],
    [{ ts: 'soon' }, 'ts soon is not a number of ms since 1970'],
    [{ ts: '1776323405' }, 'ts 1776323405 is not a time between 2001 and 2286 in ms: correct the unit in the mapping'],
    [{ ts: '1776323405123000' }, 'is not a time between 2001 and 2286 in ms'],
    [{ slug: '' }, 'the row does not name its market'],
    [{ slug: 'a b' }, 'slug is not made of letters'],
    [{ slug: 'bitcoin-up-or-down-someday' }, 'its window is not stated'],
    [{ outcome: 'up' }, 'outcome "up" is not one of Up, Yes, Down'],
    [{ outcome: '' }, 'the row does not state its outcome'],
    [{ bid: '1.01' }, 'bid 1.01 lies outside 0…1'],
    [{ bid: '0.1234567890123' }, 'bid 0.1234567890123 is not a decimal of at most 12 decimals'],
    [{ bid: '' }, 'bid_size is stated without bid'],
    [{ ask_size: '-4' }, 'ask_size -4 is negative'],
    [{ ask_size: 'NaN' }, 'ask_size NaN is not a decimal'],
    [{ ask_size: '4,5' }, 'the row has 8 fields, but the header has 7'],
  ];
  test.each(cases)('%j: %s', async (values, reason) => {
    using place = temporaryArchive();
    const report = await importMapped(place.archive, mapping(), csv(rowOf(values), rowOf()));
    expect(report.rejections.map(({ line }) => line)).toEqual([2]);
    expect(report.rejections[0]!.reason).toContain(reason);
    expect(report.records).toEqual({ market: 1, quote: 1 });
  });

  test('a market of another kind is ignored', async () => {
    using place = temporaryArchive();
    const report = await importMapped(place.archive, mapping(), csv(rowOf({ slug: 'will-it-rain' }), rowOf()));
    expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 1 });
  });
});

describe('two rows of one instant', () => {
  const changed = rowOf({ bid: '0.5' });

  test('If two rows contradict each other about an instant, the second is rejected, unless repeats are kept.', async () => {
    const reasons = await rejectionsOf(mapping(), csv(rowOf(), rowOf({ ts: String(AT_MS + 1) }), changed));
    expect(reasons).toEqual([
      'row 2 has a different quote of up at 2026-04-16T07:10:05.123Z: if both are right, state rows.repeats = "keep" in the mapping',
    ]);
  });

  test('that are equal: the second is a duplicate', async () => {
    using place = temporaryArchive();
    const report = await importMapped(place.archive, mapping(), csv(rowOf(), rowOf()));
    expect(countsOf(report.total)).toEqual({ read: 2, stored: 1, duplicate: 1, rejected: 0, ignored: 0 });
  });

  test('are both stored if the mapping says so', async () => {
    using place = temporaryArchive();
    const report = await importMapped(
      place.archive,
      mapping({ rows: '[rows]\nrepeats = "keep"' }),
      csv(rowOf(), changed),
    );
    expect(report.records).toEqual({ market: 1, quote: 2 });
  });
});

describe('A row is rejected if it names two markets, or a winner other than the known one.', () => {
  const OTHER = sampleMarket({
    conditionId: '0x77',
    slug: 'eth-updown-5m-1776323400',
    symbol: 'eth',
    clobTokenIds: ['33', '44'],
  });
  const toml = mapping({
    format: 'format = "json"',
    market: `[market]
      condition_id = "cid"
      slug = "slug"
      coin = "coin"
      start = { field = "start", unit = "s" }
      up_token = "up"
      down_token = "down"
      token = "token"
      winner = { field = "winner", up = ["up"], down = ["down"] }`,
  });
  const line = (fields: object) =>
    JSON.stringify({ ts: AT_MS, outcome: 'Up', bid: 0.5, bid_size: 1, ask: 0.6, ask_size: 1, ...fields });
  const cases: [fields: object, reason: string][] = [
    [{ cid: CONDITION_ID, slug: 'eth-updown-5m-1776323400' }, 'but slug eth-updown-5m-1776323400 is of market 0x77'],
    [{ cid: CONDITION_ID, up: '33' }, 'but asset 33 is of market 0x77'],
    [{ cid: '0x99', slug: SLUG }, `slug ${SLUG} is of market ${CONDITION_ID}, but the row names market 0x99`],
    [{ cid: CONDITION_ID, up: '22', down: '11' }, 'asset 22 is down in market'],
    [{ cid: CONDITION_ID, up: '12' }, 'the asset ids are stated twice, and differ'],
    [{ cid: CONDITION_ID, up: '11', down: '11' }, 'up_token and down_token are the same asset 11'],
    [{ slug: SLUG, token: '22' }, 'the row says that asset 22 is up, but its market says down'],
    [{ slug: SLUG, coin: 'SOL' }, 'coin sol contradicts market'],
    [{ slug: SLUG, start: 1776323700 }, 'start 1776323700000 contradicts market'],
    [{ slug: SLUG, winner: 'down' }, 'is stated as down, but is known as up'],
    [{ cid: 'x' }, 'cid is missing or not 0x and up to 64 hex digits'],
    [{ cid: '0x99' }, 'market 0x99 is unknown'],
    [{ token: '99' }, 'no market record states asset 99: import the market records first'],
  ];
  test.each(cases)('%j: %s', async (fields, reason) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'], winner: 'up' }), OTHER]);
    const report = await importMapped(place.archive, toml, line(fields), 'rows.jsonl');
    expect(report.rejections.map((rejection) => rejection.reason).join()).toContain(reason);
    expect(report.records).toEqual({});
    expect(report.total.rejected).toBe(1);
  });
});

test('A refused value of a mapped row rejects only its own record.', async () => {
  const toml = mapping({ outcome: '', records: '[midpoints.up]\nprice = "bid"\n[midpoints.down]\nprice = "ask"' });
  using place = temporaryArchive();
  const report = await importMapped(place.archive, toml, csv(rowOf({ ask: '2' })));
  expect(report.records).toEqual({ market: 1, price: 1 });
  expect(place.archive.markets.findBySlug(SLUG)).toBeDefined();
});

test('a file without a column of the mapping is not read, and the sentence has the columns', async () => {
  using place = temporaryArchive();
  const { files } = await importMapped(place.archive, mapping(), `ts,slug\n${AT_MS},${SLUG}\n`);
  expect(files[0]!.error).toContain(
    'has no header with each of the columns ts, slug, outcome, bid, bid_size, ask, ask_size once',
  );
});

test('A mapped table in UTF-16 is not read, and the sentence says how to convert it.', async () => {
  for (const text of [csv(rowOf()), `\ufeff${csv(rowOf())}`]) {
    using place = temporaryArchive();
    const { files } = await importMapped(place.archive, mapping(), Buffer.from(text, 'utf16le'));
    expect(files[0]!.error).toContain('is not a text in UTF-8: convert it, for example with iconv -f UTF-16 -t UTF-8');
  }
});

describe('A quoted field of a mapped table may have line breaks', () => {
  const noted = (note: string, values: Values = {}) => `${rowOf(values)},${note}`;

  test('of which no line is a row, also one that looks like it.', async () => {
    const copy = noted('copy', { bid: '0.01' });
    const rows = [noted('"said ""a"",\r\n\r\n  and b"'), noted(`"\n${copy}\n"`, { ts: '1776323406000', bid: '0.5' })];
    expect(await quotesOfTable(...rows, '', noted('', { ts: '1776323407000', bid: '0.49' }))).toEqual({
      rejected: [],
      bids: [0.51, 0.5, 0.49],
    });
  });

  test('and one without an end takes no other row with it.', async () => {
    const rows = [
      noted('', { ts: '1776323406000', bid: '0.5' }),
      noted('"b\nc"', { ts: '1776323407000', bid: '0.49' }),
    ];
    expect(await quotesOfTable(noted('"a'), '', ...rows, noted('"d'))).toEqual({
      rejected: [2, 7].map((line) => [line, 'the row has a quote that is not closed, or text next to a quoted field']),
      bids: [0.5, 0.49],
    });
  });

  async function quotesOfTable(...rows: string[]) {
    using place = temporaryArchive();
    const { rejections } = await importMapped(place.archive, mapping(), [`${HEADER},note`, ...rows, ''].join('\n'));
    return {
      rejected: rejections.map(({ line, reason }) => [line, reason]),
      bids: quotesOf(place.archive, SLUG, 'up').map(({ quote }) => quote.bidPrice),
    };
  }
});

test('Importing a mapped file fails if all of its rows are ignored.', async () => {
  const toml = mapping({ format: 'format = "json"' });
  expect(await rejectionsOf(toml, '{"a":1}\n{"a":2}\n', 'rows.jsonl')).toEqual([
    `none of the 2 rows has a record: the mapping '${MAPPING_NAME}' does not fit the file`,
  ]);
});

test('A local time that its zone repeats or skips is rejected.', async () => {
  const toml = mapping({
    time: '[time]\nfield = "ts"\nformat = "iso"\nzone = "America/New_York"',
    market: '[market]\nslug = { value = "btc-updown-5m-1776323400" }',
  });
  const reasons = await rejectionsOf(
    toml,
    csv(
      rowOf({ ts: '2026-11-01 01:30:00' }),
      rowOf({ ts: '2026-03-08T02:30:00' }),
      rowOf({ ts: '2026-11-01T01:30:00-04:00' }),
    ),
  );
  expect(reasons).toEqual([
    'ts 2026-11-01 01:30:00 exists twice in America/New_York: its clocks go back over it',
    'ts 2026-03-08T02:30:00 does not exist in America/New_York: its clocks skip it',
  ]);
});

test('a text in a field of JSON, and JSON in a text that the mapping does not state, are rejected', async () => {
  const toml = mapping({
    format: 'format = "json"',
    records: '[books]\nbids = { levels = "bids", price = 0, size = 1 }\nasks = { prices = "ap", sizes = "as" }',
  });
  const line = (fields: object) =>
    JSON.stringify({ ts: AT_MS, slug: SLUG, outcome: 'Up', bids: [], ap: [], as: [], ...fields });
  const lines = [
    { bids: '[[0.5, 1]]' },
    { bids: [[0.5]] },
    { ap: '0.5' },
    { ap: [0.5] },
    { ap: null, as: null },
    { bids: 4 },
  ].map(line);
  expect(await rejectionsOf(toml, lines.join('\n'), 'rows.jsonl')).toEqual([
    'bids is a text: add it to rows.json in the mapping if it is JSON',
    'bids has a level without 1',
    'ap is a text: add it to rows.json in the mapping if it is JSON, or state the separator of the side',
    'ap has 1 prices, but as has 0 sizes',
    'ap is missing, and the other side is stated',
    'bids is not a list of levels',
  ]);
  using place = temporaryArchive();
  await importMapped(place.archive, toml, [...lines, line({})].join('\n'), 'rows.jsonl');
  expect(booksOf(place.archive, SLUG, 'up').length).toBe(1);
  expect(marketOf(place.archive, SLUG).clobTokenIds).toEqual(['0', '0']);
});
