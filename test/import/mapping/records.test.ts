import { describe, expect, test } from 'bun:test';
import { exported, linesOfNdjson } from '../../export/exported.ts';
import { temporaryArchive } from '../../support/archive.ts';
import { countsOf, marketOf } from '../../support/imported.ts';
import { importMapped, rejectionsOf } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const START_MS = 1776323400_000;
const HASH = `0x${'4f'.repeat(32)}`;

/** The records that an export has after an import, without their ids and their market's. */
async function recordsOf(toml: string, rows: readonly object[]) {
  using place = temporaryArchive();
  const report = await importMapped(
    place.archive,
    toml,
    rows.map((row) => JSON.stringify(row)).join('\n'),
    'rows.jsonl',
  );
  expect(report.rejections).toEqual([]);
  const { bytes } = await exported(place.archive, 'ndjson');
  const records = linesOfNdjson(bytes) as Readonly<Record<string, unknown>>[];
  return records
    .filter(({ type }) => type !== 'market')
    .map(({ id: _id, conditionId: _conditionId, ...record }) => record);
}

const TRADES = `
  format = "json"
  time = { field = "at", unit = "s" }
  market = { slug = "market" }
  [trades]
  price = "px"
  size = "qty"
  side = { field = "taker", buy = ["B"], sell = ["S"] }
  fee_rate_bps = "fee"
  transaction_hash = "tx"
  outcome = { field = "leg", up = ["Y"], down = ["N"] }`;
const trade = (fields: object) => ({ at: START_MS / 1000, market: SLUG, leg: 'Y', px: 0.5, ...fields });

describe('trades', () => {
  test('have the details that the row states, and several may be of one instant', async () => {
    const rows = [
      trade({ qty: '12.5', taker: 'B', fee: 1000, tx: HASH.toUpperCase().replace('0X', '0x') }),
      trade({ px: '0.51', qty: 3, taker: 'S' }),
      trade({ leg: 'N', px: 0.49 }),
      trade({ px: null }),
    ];
    const timestamp = '2026-04-16T07:10:00.000Z';
    const of = (outcome: string) => ({ type: 'price', outcome, timestamp, kind: 'trade' });
    const records = await recordsOf(TRADES, rows);
    expect(records).toHaveLength(3);
    expect(records).toContainEqual({
      ...of('up'),
      price: 0.5,
      size: 12.5,
      side: 'buy',
      feeRateBps: 1000,
      transactionHash: HASH,
    });
    expect(records).toContainEqual({ ...of('up'), price: 0.51, size: 3, side: 'sell' });
    expect(records).toContainEqual({ ...of('down'), price: 0.49 });
  });

  test('are rejected with a detail that is none', async () => {
    const rows = [{ qty: 0 }, { taker: 'X' }, { fee: 1.5 }, { tx: '0x1' }, { leg: '?' }, { px: 1.1 }].map(trade);
    const content = rows.map((row) => JSON.stringify(row)).join('\n');
    expect(await rejectionsOf(TRADES, content, 'rows.jsonl')).toEqual([
      'qty of a trade is 0',
      'taker "X" is not one of B, S',
      'fee 1.5 is not a whole number',
      'tx is not 0x and 64 hex digits',
      'leg "?" is not one of Y, N',
      'px 1.1 lies outside 0…1',
    ]);
  });
});

describe('a list in the row', () => {
  const toml = `
    format = "json"
    time = { field = "at", unit = "ms" }
    market = { slug = "market" }
    [trades]
    each = "fills"
    price = "0"
    size = "1"
    outcome = { value = "down" }
    [[coin_prices]]
    each = "ticks"
    time = { field = "t", unit = "us" }
    coin = "c"
    source = { value = "pyth" }
    price = "p"`;

  test('gives a record for each element, at the time of the row unless the element has one', async () => {
    const row = {
      at: START_MS + 5,
      market: SLUG,
      fills: [
        [0.4, 1],
        ['0.41', '2'],
      ],
      ticks: [{ t: `${START_MS}123`, c: 'ETH', p: 4000.25 }],
    };
    expect(await recordsOf(toml, [row])).toEqual([
      ...[
        [0.4, 1],
        [0.41, 2],
      ].map(([price, size]) => ({
        type: 'price',
        outcome: 'down',
        timestamp: '2026-04-16T07:10:00.005Z',
        price,
        kind: 'trade',
        size,
      })),
      { type: 'coinPrice', symbol: 'eth', source: 'pyth', timestamp: '2026-04-16T07:10:00.000Z', price: 4000.25 },
    ]);
  });

  test('is rejected with its row if it is none, or has an element that is none', async () => {
    const rows = [{ fills: 3 }, { fills: '[]' }, { fills: [7] }].map((row) => ({ at: START_MS, market: SLUG, ...row }));
    const content = rows.map((row) => JSON.stringify(row)).join('\n');
    expect(await rejectionsOf(toml, content, 'rows.jsonl')).toEqual([
      'fills is not a list',
      'fills is a text: add it to rows.json in the mapping if it is JSON',
      'fills has an element that is neither object nor list',
    ]);
  });
});

describe('a value', () => {
  const toml = `
    format = "json"
    time = { field = "at", unit = "ms" }
    market = { slug = { field = "name", pattern = '^market (\\S+)$' } }
    [midpoints.up]
    price = { field = "up", none = ["-", "0"] }`;
  const row = (fields: object) => ({ at: START_MS, name: `market ${SLUG}`, up: 0.5, ...fields });

  test('may be part of a field, and some texts mean that there is none', async () => {
    const rows = [
      row({}),
      row({ at: START_MS + 1, up: '-' }),
      row({ at: START_MS + 2, up: 0 }),
      row({ at: START_MS + 3, up: '0.6' }),
    ];
    expect((await recordsOf(toml, rows)).map(({ price }) => price)).toEqual([0.5, 0.6]);
  });

  test('is rejected if its pattern does not match', async () => {
    const content = JSON.stringify(row({ name: 'else' }));
    expect(await rejectionsOf(toml, content, 'rows.jsonl')).toEqual(['name else does not match ^market (\\S+)$']);
  });

  test('keeps every digit: an id that is a JSON number, a decimal that a double would round', async () => {
    const mapping = `
      format = "json"
      time = { field = "at", unit = "ms" }
      market = { slug = "slug", up_token = "token" }
      [quotes.up]
      bid = "bid"
      bid_size = "size"
      ask = "ask"
      ask_size = "size"`;
    const token = '98879333153580861799018681648381139364382622074357239010764368082362737328219';
    const line = (size: string) =>
      `{"at":${START_MS},"slug":"${SLUG}","token":${token},"bid":0.5,"ask":0.51,"size":${size}}`;
    using place = temporaryArchive();
    const report = await importMapped(
      place.archive,
      mapping,
      [line('0.1234567890123456'), line('1.5')].join('\n'),
      'rows.jsonl',
    );
    expect(report.rejections.map(({ reason }) => reason)).toEqual([
      'size 0.1234567890123456 is not a decimal of at most 12 decimals and 15 significant digits: if that is noise of floating point, state round in the mapping, for example round = 6',
    ]);
    expect(marketOf(place.archive, SLUG).clobTokenIds[0]).toBe(token);
  });
});

test('facts of a market that a later row states replace nothing, and are stored once', async () => {
  const toml = `
    format = "json"
    time = { field = "at", unit = "ms" }
    [market]
    slug = "slug"
    market_id = "m"
    event_id = "e"
    volume = "v"
    liquidity = "l"
    price_end = "p"
    resolved = "r"
    winner = { field = "w", up = ["1"], down = ["2"], none = ["0"] }
    [midpoints.up]
    price = "up"`;
  const rows = [
    { at: START_MS, slug: SLUG, up: 0.5, m: 77, e: '88', v: 10.5, w: 0 },
    { at: START_MS + 1, slug: SLUG, up: 0.5, m: 77, e: '88', v: 10.5, w: 0 },
    { at: START_MS + 400_000, slug: SLUG, m: 77, e: '88', v: 12, l: 0, w: 2, p: 76000.25, r: START_MS + 390_000 },
  ];
  using place = temporaryArchive();
  const content = rows.map((row) => JSON.stringify(row)).join('\n');
  const report = await importMapped(place.archive, toml, content, 'rows.jsonl');
  expect(countsOf(report.total)).toEqual({ read: 3, stored: 3, duplicate: 0, rejected: 0, ignored: 0 });
  expect(report.records).toEqual({ market: 2, price: 2 });
  expect(marketOf(place.archive, SLUG)).toMatchObject({
    ...{ marketId: '77', eventId: '88', volume: 12, liquidity: 0, winner: 'down', closed: true, active: false },
    ...{ priceEnd: 76000.25, resolvedMs: START_MS + 390_000 },
  });
});
