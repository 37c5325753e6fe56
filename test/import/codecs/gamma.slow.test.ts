import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { importPaths, temporaryArchive } from '../../support/archive.ts';
import { countsOf, factsOf, importFile, marketOf, refusalOf } from '../../support/imported.ts';
import { listMarkets } from '../../support/markets.ts';
import { realRecording } from '../../support/real-recordings.ts';

const GAMMA = realRecording('gamma');
const SLUG = 'btc-updown-5m-1776323400';
const START = '2026-04-16T07:10:00Z';
const END = '2026-04-16T07:15:00Z';
const [UP, DOWN] = ['111', '222'];

type Fields = Readonly<Record<string, unknown>>;

/** A market as the venue returns it after its end. */
function gammaMarket(fields: Fields = {}): Fields {
  return {
    id: '1990001',
    question: 'Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET',
    conditionId: `0x${'ab12'.repeat(16)}`,
    slug: SLUG,
    resolutionSource: 'https://data.chain.link/streams/btc-usd',
    endDate: END,
    startDate: '2026-04-15T07:12:00.630868Z',
    eventStartTime: START,
    outcomes: '["Up", "Down"]',
    outcomePrices: '["1", "0"]',
    clobTokenIds: `["${UP}", "${DOWN}"]`,
    active: true,
    closed: true,
    volume: '30335.869374999984',
    volumeNum: 30335.869374999984,
    liquidity: '0',
    createdAt: '2026-04-15T07:11:05.044029Z',
    updatedAt: '2026-04-16T07:16:24.49797Z',
    closedTime: '2026-04-16 07:15:16+00',
    umaEndDate: '2026-04-16T07:15:17Z',
    // Fields that are not read may have any number.
    volume1mo: 30335.869375000013,
    spread: 0.01,
    events: [
      {
        id: '412',
        startTime: START,
        seriesSlug: 'btc-up-or-down-5m',
        eventMetadata: { priceToBeat: 76211.80016560019, finalPrice: 76220.01 },
      },
    ],
    ...fields,
  };
}

const open = { closed: false, outcomePrices: '["0.495", "0.505"]', closedTime: undefined, umaEndDate: undefined };

/** Imports one object. */
async function stated(object: object, name = 'gamma.jsonl') {
  using place = temporaryArchive();
  const report = await importFile(place.archive, name, `${JSON.stringify(object)}\n`);
  expect(report.rejections).toEqual([]);
  const kinds = report.files[0]!.kinds.filter(({ read }) => read > 0).map(({ kind }) => kind);
  return { ...factsOf(place.archive, SLUG), kinds };
}

const everything = {
  conditionId: `0x${'ab12'.repeat(16)}`,
  slug: SLUG,
  symbol: 'btc',
  timeframe: '5m' as const,
  clobTokenIds: [UP, DOWN] as const,
  startMs: Date.parse(START),
  endMs: Date.parse(END),
  marketId: '1990001',
  eventId: '412',
  active: false,
  closed: true,
  winner: 'up' as const,
  volume: 30335.869374999984,
  liquidity: 0,
  resolvedMs: Date.parse('2026-04-16T07:15:16Z'),
  priceStart: 76211.80016560019,
  priceEnd: 76220.01,
  createdMs: Date.parse('2026-04-15T07:11:05.044Z'),
  updatedMs: Date.parse('2026-04-16T07:16:24.497Z'),
  kinds: ['market'],
};

describe('a Gamma market', () => {
  test('states its window, winner, prices and time of resolution', async () => {
    expect(await stated(gammaMarket())).toEqual(everything);
  });

  test('has its assets in the order of its outcome labels', async () => {
    const turned = { outcomes: '["Down", "Up"]', outcomePrices: '["0", "1"]', clobTokenIds: `["${DOWN}", "${UP}"]` };
    expect(await stated(gammaMarket(turned))).toEqual(everything);
    expect(await stated(gammaMarket({ ...turned, outcomePrices: '["1", "0"]' }))).toMatchObject({ winner: 'down' });
  });

  test('may have arrays instead of text, and outcomes in any case', async () => {
    const lists = { outcomes: ['UP', 'down'], outcomePrices: ['1', '0'], clobTokenIds: [UP, DOWN] };
    expect(await stated(gammaMarket(lists))).toEqual(everything);
  });

  test('of the second version has its assets in positionIds', async () => {
    const second = gammaMarket({ version: 'v2', positionIds: ['77', '78'] });
    expect(await stated(second)).toMatchObject({ clobTokenIds: ['77', '78'] });
    expect(await stated(gammaMarket({ version: 'v1', positionIds: ['77', '78'] }))).toMatchObject({
      clobTokenIds: [UP, DOWN],
    });
  });

  test('that is split is closed and has no winner', async () => {
    const split = await stated(gammaMarket({ outcomePrices: '["0.5", "0.5"]' }));
    expect([split.closed, split.winner, split.resolvedMs]).toEqual([true, undefined, undefined]);
  });

  test.each(['["0.9995", "0.0005"]', '["1", "1"]', '["0", "0"]', null])(
    'that is closed at %p has no winner',
    async (outcomePrices) => {
      expect((await stated(gammaMarket({ outcomePrices }))).winner).toBeUndefined();
    },
  );

  test('that is open has no winner, even at 1 and 0', async () => {
    const { winner, active, closed } = await stated(gammaMarket({ ...open, outcomePrices: '["1", "0"]' }));
    expect([winner, active, closed]).toEqual([undefined, true, false]);
  });

  test('is resolved at umaEndDate if closedTime is missing', async () => {
    const { resolvedMs } = await stated(gammaMarket({ closedTime: null }));
    expect(resolvedMs).toBe(Date.parse('2026-04-16T07:15:17Z'));
  });

  test('has its start from the event, else from the slug', async () => {
    expect(await stated(gammaMarket({ eventStartTime: undefined }))).toEqual(everything);
    const bare = await stated(gammaMarket({ eventStartTime: undefined, events: undefined }));
    expect([bare.startMs, bare.eventId, bare.priceStart]).toEqual([everything.startMs, '0', undefined]);
  });

  test('has unknown assets while the venue lists none', async () => {
    expect((await stated(gammaMarket({ clobTokenIds: undefined }))).clobTokenIds).toEqual(['0', '0']);
  });

  test.each([
    ['volume', '0.12345678901234567891', 'volume'],
    ['liquidity', '123456789012345678.5', 'liquidity'],
  ])('is kept without its %s when that has more digits than can be kept', async (field, text, name) => {
    const market = await stated(gammaMarket({ [field]: text, [`${field}Num`]: undefined }));
    // 0 is unknown.
    expect(Object.entries(market).find(([key]) => key === name)?.[1]).toBe(0);
    expect(market.winner).toBe('up');
  });

  test('has its figures from volumeNum and liquidityNum if the texts are missing', async () => {
    const numbers = { volume: undefined, volumeNum: 12.5, liquidity: '', liquidityNum: 0.75 };
    expect(await stated(gammaMarket(numbers))).toMatchObject({ volume: 12.5, liquidity: 0.75 });
  });
});

describe('the timeframe is the length of the window', () => {
  const windows: [slug: string, start: string, end: string, timeframe: string][] = [
    ['btc-updown-15m-1776323400', START, '2026-04-16T07:25:00Z', '15m'],
    ['btc-updown-4h-1776323400', START, '2026-04-16T11:10:00Z', '4h'],
    ['bitcoin-up-or-down-march-12-8am-et', '2026-03-12T12:00:00Z', '2026-03-12T13:00:00Z', '1h'],
    ['bitcoin-up-or-down-on-march-13', '2026-03-12T16:00:00Z', '2026-03-13T16:00:00Z', '24h'],
    ['bitcoin-up-or-down-on-march-8', '2026-03-07T17:00:00Z', '2026-03-08T16:00:00Z', '24h'],
    ['bitcoin-up-or-down-on-november-1', '2026-10-31T16:00:00Z', '2026-11-01T17:00:00Z', '24h'],
    ['bitcoin-up-or-down-november-1-1am-et', '2026-11-01T05:00:00Z', '2026-11-01T06:00:00Z', '1h'],
    ['bitcoin-up-or-down-november-1-1am-et', '2026-11-01T06:00:00Z', '2026-11-01T07:00:00Z', '1h'],
  ];
  test.each(windows)('%s from %s to %s is %s', async (slug, eventStartTime, endDate, timeframe) => {
    using place = temporaryArchive();
    // The series is not read.
    const events = [{ id: '1', seriesSlug: 'btc-up-or-down-5m', series: [{ recurrence: 'daily' }] }];
    const market = gammaMarket({ ...open, slug, eventStartTime, endDate, events });
    const report = await importFile(place.archive, 'gamma.json', JSON.stringify(market));
    expect(report.rejections).toEqual([]);
    expect(marketOf(place.archive, slug)).toMatchObject({ timeframe, startMs: Date.parse(eventStartTime) });
  });
});

describe('a market that never closed', () => {
  test('A market that was settled at 0.5 has no winner, and one that never closed is stale: neither active nor closed.', async () => {
    const stale = await stated(gammaMarket({ ...open, outcomePrices: null, updatedAt: '2026-04-17T07:15:00.001Z' }));
    expect([stale.active, stale.closed, stale.winner, stale.kinds]).toEqual([
      false,
      false,
      undefined,
      ['stale market'],
    ]);
  });

  test('is not called stale within a day of its end', async () => {
    const { active, kinds } = await stated(gammaMarket({ ...open, updatedAt: '2026-04-17T07:15:00Z' }));
    expect([active, kinds]).toEqual([true, ['market']]);
  });

  test('that closed later is not stale', async () => {
    const { closed, kinds } = await stated(gammaMarket({ updatedAt: '2026-05-17T07:15:00Z' }));
    expect([closed, kinds]).toEqual([true, ['market']]);
  });
});

/** The market in the fields of a recorder, with the object itself in `raw`. */
function wrapped(outer: Fields = {}, raw: unknown = gammaMarket()): Fields {
  return {
    slug: SLUG,
    asset: 'btc',
    interval_sec: 300,
    condition_id: `0x${'AB12'.repeat(16)}`,
    token_ids: [UP, DOWN],
    start_sec: Date.parse(START) / 1000,
    end_sec: Date.parse(END) / 1000,
    resolved: true,
    outcome_prices: ['1', '0'],
    strike_value: '63236641805000000000000',
    raw,
    ...outer,
  };
}

describe('an object in `raw`', () => {
  test.each([
    ['63236641805000000000000', 63236.641805],
    // More digits than a double carries: the nearest one, which is what a feed publishes as its `value`.
    ['76211800165600191234567', 76211.80016560019],
    ['0076211800165600191234567', 76211.80016560019],
  ])('has the strike %s', async (strike_value, priceStart) => {
    const { events, ...bare } = gammaMarket();
    expect(await stated(wrapped({ strike_value }, bare))).toMatchObject({ priceStart });
  });

  test('is read, and agrees with the fields around it', async () => {
    expect(await stated(wrapped())).toEqual(everything);
  });

  test('is completed by the fields around it', async () => {
    const { events, eventStartTime, clobTokenIds, outcomePrices, ...bare } = gammaMarket();
    expect(await stated(wrapped({}, bare))).toEqual({
      ...everything,
      eventId: '0',
      priceStart: 63236.641805,
      priceEnd: undefined,
    });
  });

  test('may be missing: then only the recorder’s fields are read', async () => {
    const { kinds, marketId, winner, closed, timeframe, clobTokenIds } = await stated(wrapped({}, null));
    expect({ kinds, marketId, winner, closed, timeframe, clobTokenIds }).toEqual({
      kinds: ['market'],
      marketId: '0',
      winner: 'up',
      closed: true,
      timeframe: '5m',
      clobTokenIds: [UP, DOWN],
    });
  });

  test('may be older than the winner that the recorder states', async () => {
    expect(await stated(wrapped({}, gammaMarket(open)))).toMatchObject({ winner: 'up', closed: true, active: false });
  });

  const contradictions: [what: string, outer: Fields][] = [
    ['slug', { slug: 'btc-updown-5m-1776323700' }],
    ['conditionId', { condition_id: '0x1' }],
    ['asset ids', { token_ids: [DOWN, UP] }],
    ['start of the window', { start_sec: 1776323401 }],
    ['end of the window', { end_sec: 1776323701 }],
    ['winner', { outcome_prices: ['0', '1'] }],
    ['winner', { winner: 'Down' }],
    ['coin', { asset: 'ETH' }],
  ];
  test.each(contradictions)('is rejected when its %s differs from the recorder’s', async (what, outer) => {
    expect(await refusalOf('gamma.jsonl', JSON.stringify(wrapped(outer)))).toContain(what);
  });
});

describe('an event', () => {
  const event = (markets: unknown) => ({
    id: '625005',
    slug: SLUG,
    seriesSlug: 'btc-up-or-down-5m',
    startTime: START,
    endDate: END,
    eventMetadata: { priceToBeat: 1.5, finalPrice: '2.5' },
    markets,
  });

  test('gives its markets its id, start and prices', async () => {
    const { events, eventStartTime, ...market } = gammaMarket();
    expect(await stated(event([market]))).toEqual({ ...everything, eventId: '625005', priceStart: 1.5, priceEnd: 2.5 });
  });

  test('states each of its markets', async () => {
    using place = temporaryArchive();
    const other = gammaMarket({
      conditionId: '0x2',
      slug: 'eth-updown-5m-1776323400',
      resolutionSource: '',
      clobTokenIds: '["3", "4"]',
    });
    const both = [event([gammaMarket()]), { ...event([other, gammaMarket({ slug: 7 })]), seriesSlug: null }];
    const report = await importFile(place.archive, 'events.json', JSON.stringify(both));
    expect(countsOf(report.total)).toEqual({ read: 3, stored: 2, duplicate: 0, rejected: 1, ignored: 0 });
    expect(marketOf(place.archive, 'eth-updown-5m-1776323400').symbol).toBe('eth');
  });

  test('without markets is rejected', async () => {
    expect(await refusalOf('events.json', JSON.stringify(event([])))).toContain('not a Gamma market');
  });
});

describe('a file of Gamma objects', () => {
  const second = gammaMarket({
    conditionId: '0x2',
    slug: 'btc-updown-5m-1776323700',
    eventStartTime: END,
    endDate: '2026-04-16T07:20:00Z',
    clobTokenIds: '["3", "4"]',
  });
  const [one, two] = [JSON.stringify(gammaMarket()), JSON.stringify(second)];
  const pretty = (value: unknown, indent: number | string) => JSON.stringify(value, null, indent);
  const layouts: [layout: string, text: string][] = [
    ['one a line', `${one}\n${two}\n`],
    ['one a line, the last without an end', `${one}\r\n\r\n${two}`],
    ['a list on one line', `[${one},${two}]`],
    ['a list of lines', `[\n${one},\n${two}\n]\n`],
    ['lists on lines', `[${one}]\n[${two}]\n`],
    ['pretty, one after another', `${pretty(gammaMarket(), 2)}\n${pretty(second, 2)}\n`],
    ['a pretty list', pretty([gammaMarket(), second], '\t')],
    ['a list of lists', pretty([[gammaMarket()], [second]], 1)],
    [
      'texts with brackets and quotes',
      pretty(
        [
          { ...gammaMarket(), question: '"[{ \\' },
          { ...second, question: ']}\\"' },
        ],
        2,
      ),
    ],
    ['a pretty list with a byte order mark', `\uFEFF${pretty([gammaMarket(), second], 1)}`],
    ['objects without anything between', `${one}${two}`],
  ];
  test.each(layouts)('may hold %s', async (_, text) => {
    for (const bytes of [Buffer.from(text), Bun.gzipSync(Buffer.from(text)), Bun.zstdCompressSync(text)]) {
      using place = temporaryArchive();
      const report = await importFile(place.archive, 'markets.json', bytes);
      expect(countsOf(report.total)).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0, ignored: 0 });
    }
  });

  test('stores the good lines around bad ones, and reports the line of each bad one', async () => {
    using place = temporaryArchive();
    const lines = [one.slice(0, 700), '', '"text"', one, '{"a":', '[]', 'null', two, `[${'['.repeat(100_000)}`];
    const report = await importFile(place.archive, 'markets.jsonl', lines.join('\n'));
    expect(report.total).toMatchObject({ stored: 2, rejected: 5 });
    expect(report.rejections.map(({ line }) => line)).toEqual([1, 3, 5, 7, 9]);
  });

  test('over many lines reports the line where the bad value begins', async () => {
    using place = temporaryArchive();
    const text = pretty([gammaMarket(), gammaMarket({ slug: null }), second], 2);
    const report = await importFile(place.archive, 'markets.json', text);
    const line = text.slice(0, text.indexOf('"slug": null')).split('\n').length - 4;
    expect(report.rejections).toMatchObject([{ line, reason: 'slug is missing or not a text' }]);
    expect(report.total.stored).toBe(2);
  });

  test('that is cut off is read up to the cut', async () => {
    using place = temporaryArchive();
    const text = pretty([gammaMarket(), second], 2);
    const report = await importFile(place.archive, 'markets.json', text.slice(0, -300));
    expect(report.rejections.map(({ reason }) => reason)).toEqual(['the JSON is cut off']);
    expect(report.total.stored).toBe(1);
  });

  test('may have a value that is too large, and is read after it', async () => {
    using place = temporaryArchive();
    const huge = gammaMarket({ conditionId: '0x3', description: 'x'.repeat(17 * 1024 * 1024) });
    const report = await importFile(place.archive, 'markets.json', `[\n${one},\n${JSON.stringify(huge)},\n${two}\n]`);
    expect(report.rejections).toMatchObject([{ line: 3 }]);
    expect(report.rejections[0]!.reason).toContain('longer than');
    expect(report.total.stored).toBe(2);
  });

  test('imported again adds nothing', async () => {
    using place = temporaryArchive();
    await importFile(place.archive, 'markets.jsonl', `${one}\n${two}\n`);
    const report = await importFile(place.archive, 'markets.jsonl', `${two}\n${one}\n`);
    expect(countsOf(report.total)).toEqual({ read: 2, stored: 0, duplicate: 2, rejected: 0, ignored: 0 });
  });
});

test('Markets of stocks that go up or down are ignored and counted, like all other kinds of markets.', async () => {
  using place = temporaryArchive();
  const share = { ...open, slug: 'msft-up-or-down-on-march-11-2026', resolutionSource: 'https://x.com', events: [] };
  const day = { eventStartTime: '2026-03-11T13:30:00Z', endDate: '2026-03-12T13:30:00Z' };
  const markets = [
    { ...share, ...day },
    { ...share, ...day, endDate: '2026-03-11T20:00:00Z' },
    { ...share, eventStartTime: undefined },
    { ...share, ...day, slug: 's-p-500-up-or-down-on-march-11-2026' },
    { ...share, ...day, slug: 'msft-up-or-down' },
    open,
  ];
  const lines = markets.map((fields) => JSON.stringify(gammaMarket(fields)));
  const report = await importFile(place.archive, 'markets.jsonl', lines.join('\n'));
  expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 5 });
  expect(report.files[0]!.kinds).toContainEqual(
    expect.objectContaining({ kind: 'market of another kind', ignored: 5, read: 0 }),
  );
});

describe('a Gamma object is rejected, with one reason,', () => {
  const notOurs = 'is not an up-or-down market of a coin with a window of 5m, 15m, 1h, 4h or 24h: ';
  const unplanned = { ...open, slug: 'btc-updown-30m-1', events: [] };
  const cases: [why: string, fields: Fields][] = [
    [
      `${notOurs}its window lasts 6h30m`,
      { ...unplanned, eventStartTime: '2026-03-11T13:30:00Z', endDate: '2026-03-11T20:00:00Z' },
    ],
    [`${notOurs}its window is not stated`, { ...unplanned, eventStartTime: undefined }],
    [`${notOurs}its outcomes are Yes and No`, { outcomes: '["Yes", "No"]' }],
    [`${notOurs}its outcomes are Up and Up`, { outcomes: '["Up", "Up"]' }],
    [
      `${notOurs}its window lasts 1ms`,
      { ...unplanned, eventStartTime: '2026-03-11T13:30:00.000Z', endDate: '2026-03-11T13:30:00.001Z' },
    ],
    ['means 5m from 2026-04-16T07:10:00.000Z', { eventStartTime: '2026-04-16T07:05:00Z', endDate: START, events: [] }],
    ['is stated as 15m', { endDate: '2026-04-16T07:25:00Z' }],
    ['the end of the window is not after its start', { endDate: START }],
    [
      'coin is stated as btc and as eth',
      { resolutionSource: 'https://data.chain.link/streams/eth-usd-twap-60s-streams' },
    ],
    ['coin is stated as btc and as sol', { resolutionSource: 'https://www.binance.com/en/trade/SOL_USDT' }],
    ['coin is stated as btc and as xrp', { events: [{ startTime: START, seriesSlug: 'xrp-up-or-down-5m' }] }],
    ['outcomes is missing', { outcomes: null }],
    ['outcomes is not a list', { outcomes: { up: 1 } }],
    ['outcomes is not a list', { outcomes: 7 }],
    ['outcomes is not a list in JSON', { outcomes: 'Up, Down' }],
    ['slug is missing', { slug: undefined }],
    ['slug is missing', { slug: [SLUG] }],
    ['slug is not made of', { slug: 'btc up/down' }],
    ['slug is not made of', { slug: '0xabc' }],
    ['conditionId is missing', { conditionId: 'abc' }],
    ['conditionId is missing', { conditionId: null }],
    ['id is not a string of decimal digits', { id: -5 }],
    ['id is not a string of decimal digits', { id: 'x1' }],
    ['clobTokenIds is not a string of decimal digits', { clobTokenIds: '["1", "-2"]' }],
    // JSON numbers would be rounded.
    ['clobTokenIds is not a string of decimal digits', { clobTokenIds: `[${'9'.repeat(77)}, ${'8'.repeat(77)}]` }],
    ['clobTokenIds is not a list of one asset id per outcome', { clobTokenIds: '["1"]' }],
    ['clobTokenIds is not a list of one asset id per outcome', { clobTokenIds: '["1", "2", "3"]' }],
    ['clobTokenIds names one asset twice', { clobTokenIds: '["1", "1"]' }],
    ['clobTokenIds is not a list in JSON', { clobTokenIds: '[' }],
    ['outcomePrices is not a list of one price per outcome', { outcomePrices: '["1"]' }],
    ['outcomePrices is not a number', { outcomePrices: '["1", "none"]' }],
    ['closed is neither true nor false', { closed: 'true' }],
    ['active is neither true nor false', { ...open, active: 1 }],
    ['volume is not a number', { volume: 'NaN' }],
    ['volume is not a number', { volume: 'Infinity' }],
    ['volume is not a number', { volume: [1] }],
    ['volume -1 is negative', { volume: '-1' }],
    ['liquidity -0.5 is negative', { liquidity: -0.5 }],
    ['endDate is not a time', { endDate: '2026-02-30T00:00:00Z' }],
    ['endDate is not a time', { endDate: true }],
    ['eventStartTime is not a time', { eventStartTime: 'noon' }],
    ['closedTime is not a time', { closedTime: '2026-04-16 07:15:16' }],
    ['updatedAt is not a time', { updatedAt: -1 }],
    ['createdAt is not a time', { createdAt: '1969-01-01T00:00:00Z' }],
    ['priceToBeat -3 is negative', { events: [{ startTime: START, eventMetadata: { priceToBeat: -3 } }] }],
  ];
  test.each(cases)('%s: %j', async (why, fields) => {
    // A good object first, so that the format is recognised.
    const good = JSON.stringify(
      gammaMarket({
        conditionId: '0x9',
        clobTokenIds: undefined,
        slug: 'eth-updown-5m-1776323400',
        resolutionSource: '',
        events: [],
      }),
    );
    expect(await refusalOf('gamma.jsonl', JSON.stringify(gammaMarket(fields)), `${good}\n`)).toContain(why);
  });

  test.each(['1e999', '-1e999', '0.12345678901234567890123'])('but not for a figure like %s', async (figure) => {
    const line = JSON.stringify(gammaMarket({ volumeNum: '@', spread: '@' })).replaceAll('"@"', figure);
    expect(await refusalOf('gamma.jsonl', line)).toBeUndefined();
  });
});

test('a price history is rejected: it does not name its market', async () => {
  const history = '{"history":[{"t":1782201484,"p":0.5},{"t":1782201544,"p":0.5}]}';
  expect(await refusalOf('prices.json', history)).toBe(
    'a price history does not name its market and outcome: it cannot be imported',
  );
});

describe('the real Gamma objects', () => {
  const text = (name: string) => readFileSync(`${GAMMA}/${name}`);
  const objects = (name: string): Record<string, never>[] =>
    gunzipSync(text(name))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  test.skipIf(GAMMA === undefined)('are all accounted for', async () => {
    using place = temporaryArchive();
    const report = await importPaths(place.archive, GAMMA!);
    const files = new Map(report.files.map((file) => [file.path.split('/').at(-1), file]));
    const counts = (name: string) => countsOf(files.get(name)!);
    const none = { duplicate: 0, rejected: 0, ignored: 0 };
    expect(counts('resolved-btc-5m-2026-06-08.jsonl.gz')).toEqual({ ...none, read: 292, stored: 292 });
    expect(counts('unresolved-sample.jsonl.gz')).toEqual({ ...none, read: 392, stored: 392, ignored: 12 });
    // One market, alone and in its event.
    expect(counts('gamma_event_crypto_updown.json')).toEqual({ ...none, read: 1, stored: 1 });
    expect(counts('gamma_market_updown.json')).toEqual({ ...none, read: 1, stored: 0, duplicate: 1 });
    expect(counts('clob_prices_history.json')).toEqual({ ...none, read: 1, stored: 0, rejected: 1 });
    const stale = files.get('unresolved-sample.jsonl.gz')!.kinds.find(({ kind }) => kind === 'stale market');
    expect(stale).toMatchObject({ read: 13, stored: 13 });
  });

  test.skipIf(GAMMA === undefined)('that are resolved are served as they say', async () => {
    using place = temporaryArchive();
    await importPaths(place.archive, `${GAMMA}/resolved-btc-5m-2026-06-08.jsonl.gz`);
    const ups: string[] = [];
    let strikes = 0;
    for (const { slug, raw, start_sec, end_sec, strike_value, token_ids, outcome_prices } of objects(
      'resolved-btc-5m-2026-06-08.jsonl.gz',
    )) {
      const { closedTime, volume, id, conditionId, createdAt, updatedAt }: Record<string, string> = raw as never;
      const market = marketOf(place.archive, slug!);
      const time = (iso: string) => Math.floor(new Date(iso).getTime());
      // A strike is stored if the shortest text of the double nearest to it has exactly its digits.
      const strike = strike_value === null ? undefined : Number(`${strike_value}e-18`);
      expect(market).toMatchObject({
        conditionId: conditionId!,
        marketId: id!,
        symbol: 'btc',
        timeframe: '5m',
        startMs: Number(start_sec) * 1000,
        endMs: Number(end_sec) * 1000,
        clobTokenIds: token_ids!,
        winner: outcome_prices![0] === '1' ? 'up' : 'down',
        closed: true,
        active: false,
        volume: Number(volume),
        resolvedMs: time(closedTime!.replace(' ', 'T').replace('+00', 'Z')),
        createdMs: time(createdAt!),
        updatedMs: time(updatedAt!),
      });
      expect(market.priceStart).toBe(strike);
      if (strike !== undefined) strikes += 1;
      if (market.winner === 'up') ups.push(slug!);
    }
    expect(ups.length).toBe(137);
    const known = listMarkets(place.archive.markets, 'btc', '5m', 1000, 0).filter(
      ({ priceStart }) => priceStart !== undefined,
    );
    expect(known.length).toBe(strikes);
    expect(strikes).toBe(288);
  });

  test.skipIf(GAMMA === undefined)('that are open are of every timeframe and coin', async () => {
    using place = temporaryArchive();
    await importPaths(place.archive, `${GAMMA}/unresolved-sample.jsonl.gz`);
    const tally: Record<string, number> = {};
    const expected: Record<string, number> = {};
    const lengths: Record<number, string> = { 300: '5m', 900: '15m', 3600: '1h', 14400: '4h', 86400: '24h' };
    const names: Record<string, string> = { bitcoin: 'btc', ethereum: 'eth', solana: 'sol', dogecoin: 'doge' };
    for (const { slug, eventStartTime, endDate, updatedAt } of objects('unresolved-sample.jsonl.gz')) {
      const length = lengths[(Date.parse(endDate!) - Date.parse(eventStartTime!)) / 1000];
      if (length === undefined) continue;
      const name = String(slug).split('-')[0]!;
      const key = `${names[name] ?? name} ${length}`;
      expected[key] = (expected[key] ?? 0) + 1;
      const { symbol, timeframe, active, closed } = marketOf(place.archive, slug!);
      tally[`${symbol} ${timeframe}`] = (tally[`${symbol} ${timeframe}`] ?? 0) + 1;
      expect([active, closed]).toEqual([Date.parse(updatedAt!) - Date.parse(endDate!) <= 86_400_000, false]);
    }
    expect(tally).toEqual(expected);
    expect(Object.keys(tally).sort()).toEqual(
      'bnb 1h,bnb 24h,btc 15m,btc 1h,btc 4h,btc 5m,doge 1h,eth 15m,eth 1h,eth 24h,eth 5m,hype 1h,sol 15m,sol 1h,sol 4h,sol 5m,xrp 15m,xrp 1h,xrp 4h,xrp 5m'.split(
        ',',
      ),
    );
  });
});
