import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, countsOf, marketOf, tradesOf } from '../../support/imported.ts';
import { randomsOf } from '../../support/random-books.ts';

/** 14 Feb 2026, 18:00 in New York. */
const END_MS = Date.UTC(2026, 1, 14, 23);
const START_MS = END_MS - 900_000;
const TICKER = 'KXBTC15M-26FEB141800-00';
const OTHER = 'KXETH15M-26FEB141800-00';
/** Slugs are in lower case. */
const MARKET = TICKER.toLowerCase();

type Side = 'yes' | 'no';
const iso = (ms: number) => new Date(ms).toISOString();
/** Messages in the layout of https://docs.kalshi.com/asyncapi.yaml, as aaronwald/ssmd (docs/schemas/kalshi-json.md) shows them. */
const snapshot = (
  seq: number,
  yes: readonly unknown[],
  no: readonly unknown[],
  fields: object = {},
  ticker = TICKER,
) => ({
  type: 'orderbook_snapshot',
  sid: 2,
  seq,
  msg: { market_ticker: ticker, market_id: '9b0f6b43-5b68-4f9f-9f02-9a2d1b8ac1a1', yes, no, ...fields },
});
const delta = (seq: number, ms: number, side: Side, price: number, change: number, ticker = TICKER) => ({
  type: 'orderbook_delta',
  sid: 2,
  seq,
  msg: { market_ticker: ticker, price, price_dollars: (price / 100).toFixed(4), delta: change, side, ts: iso(ms) },
});

const trade = (fields: object = {}) => ({
  ...{ type: 'trade', sid: 3, seq: 1 },
  msg: {
    ...{ market_ticker: TICKER, yes_price: 55, no_price: 45, count: 10, taker_side: 'no', ts: START_MS / 1000 + 1 },
    ...fields,
  },
});

const importLines = (archive: Archive, lines: readonly unknown[]) => importFiles(archive, [lines]);

/** Imports the files of one recording, in their order. */
async function importFiles(archive: Archive, files: readonly (readonly unknown[])[]) {
  using directory = temporaryDirectory();
  const paths = files.map((lines, index) => {
    const path = join(directory.path, `kalshi-${index}.jsonl`);
    writeFileSync(path, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
    return path;
  });
  return await new Importer(archive, { clock: () => NOW_MS }).run(sourcesOf(paths));
}

const wrapped = (message: object, receivedMs: number) => ({ received_at: receivedMs, message });
/** Gaps with their times since the start of the window. */
const gapsOf = (archive: Archive, slug = MARKET) =>
  archive.gaps
    .list(marketOf(archive, slug.toLowerCase()).key)
    .map(({ fromMs, toMs, reason }) => [fromMs - START_MS, toMs - START_MS, reason]);
/** Times since the start of the window, and the sizes of the bids of yes. */
const sizesOf = (archive: Archive, slug = MARKET) =>
  upOf(archive, slug).map(([timestampMs, { bidSizes }]) => [timestampMs - START_MS, bidSizes]);
const upOf = (archive: Archive, slug = MARKET) =>
  booksOf(archive, slug.toLowerCase(), 'up').map(({ timestampMs, book }) => [timestampMs, book] as const);

describe('Kalshi frames', () => {
  test('give the market of the ticker, and after each message the books of both outcomes', async () => {
    using place = temporaryArchive();
    const report = await importLines(place.archive, [
      '{"type":"subscribed","id":1,"msg":{"channel":"orderbook_delta","sid":2}}',
      wrapped(
        snapshot(
          1,
          [
            [45, 100],
            [46, 250],
          ],
          [[53, 120]],
        ),
        START_MS + 1000,
      ),
      wrapped(delta(2, START_MS + 2000, 'yes', 46, -50), START_MS + 2040),
      wrapped(delta(3, START_MS + 2500, 'no', 53, -120), START_MS + 2530),
      wrapped(delta(4, START_MS + 2500, 'no', 52, 7), START_MS + 2531),
      { type: 'ticker', sid: 1, msg: { market_ticker: TICKER, yes_bid: 45, yes_ask: 47, ts: 1771109000 } },
    ]);
    expect(report.rejections).toEqual([]);
    expect(countsOf(report.total)).toEqual({ read: 4, stored: 4, duplicate: 0, rejected: 0, ignored: 2 });
    expect(marketOf(place.archive, MARKET)).toMatchObject({
      ...{ symbol: 'btc', timeframe: '15m', startMs: START_MS, endMs: END_MS },
    });
    const bids = { bidPrices: [0.46, 0.45], bidSizes: [200, 100] };
    expect(upOf(place.archive)).toEqual([
      [START_MS + 1000, { bidPrices: [0.46, 0.45], bidSizes: [250, 100], askPrices: [0.47], askSizes: [120] }],
      [START_MS + 2000, { ...bids, askPrices: [0.47], askSizes: [120] }],
      [START_MS + 2500, { ...bids, askPrices: [], askSizes: [] }],
      [START_MS + 2500, { ...bids, askPrices: [0.48], askSizes: [7] }],
    ]);
    expect(booksOf(place.archive, MARKET, 'down').at(-1)?.book).toEqual({
      ...{ bidPrices: [0.52], bidSizes: [7], askPrices: [0.54, 0.55], askSizes: [200, 100] },
    });
  });

  /** Sizes in hundredths of a contract and prices in hundredths of a cent, kept in maps: no code of the importer. */
  test.each([1, 2])('each book is that of a sum of the changes (seed %d)', async (seed) => {
    const random = randomsOf(seed);
    const below = (count: number) => Math.floor(random() * count);
    const book = { yes: new Map<number, number>(), no: new Map<number, number>() };
    const pairs = (side: Side) =>
      [...book[side]]
        .filter(([, size]) => size > 0)
        .map(([price, size]) => [(price / 10_000).toFixed(4), (size / 100).toFixed(2)]);
    for (const side of ['yes', 'no'] as const)
      for (let i = 0; i < 8; i += 1) book[side].set(25 * (1 + below(190)), 1 + below(90_000));
    const sideOf = (side: Side, sign: 1 | -1) =>
      [...book[side]]
        .filter(([, size]) => size > 0)
        .map(([price, size]) => [(sign === 1 ? price : 10_000 - price) / 10_000, size / 100] as const)
        .sort(([a], [b]) => (b - a) * sign);
    const expected: unknown[] = [];
    const note = (ms: number) => {
      const [bids, asks] = [sideOf('yes', 1), sideOf('no', -1)];
      const columns = (levels: readonly (readonly [number, number])[], at: 0 | 1) => levels.map((level) => level[at]);
      expected.push([
        ms,
        {
          bidPrices: columns(bids, 0),
          bidSizes: columns(bids, 1),
          askPrices: columns(asks, 0),
          askSizes: columns(asks, 1),
        },
      ]);
    };
    const lines: unknown[] = [
      wrapped(
        snapshot(1, [], [], {
          yes: undefined,
          no: undefined,
          yes_dollars_fp: pairs('yes'),
          no_dollars_fp: pairs('no'),
        }),
        START_MS,
      ),
    ];
    note(START_MS);
    for (let seq = 2; seq < 400; seq += 1) {
      const side = random() < 0.5 ? ('yes' as const) : ('no' as const);
      const known = [...book[side]].filter(([, size]) => size > 0);
      const [price, size] =
        random() < 0.5 && known.length > 0 ? known[below(known.length)]! : [25 * (1 + below(190)), 0];
      const before = book[side].get(price) ?? size;
      const change = before > 0 && random() < 0.5 ? -before : 1 + below(5000);
      book[side].set(price, before + change);
      const ms = START_MS + 10 * seq;
      note(ms);
      const msg = {
        market_ticker: TICKER,
        price_dollars: (price / 10_000).toFixed(4),
        delta_fp: (change / 100).toFixed(2),
        side,
        ts_ms: ms,
      };
      lines.push({ type: 'orderbook_delta', sid: 2, seq, msg });
    }
    using place = temporaryArchive();
    const report = await importLines(place.archive, lines);
    expect(report.rejections).toEqual([]);
    expect(upOf(place.archive)).toEqual(expected as never);
    const again = await importLines(place.archive, lines);
    expect(countsOf(again.total)).toMatchObject({ read: lines.length, duplicate: lines.length });
  });

  test('a jump of seq makes every book of the subscription unknown until its next snapshot, and a gap says so', async () => {
    using place = temporaryArchive();
    const report = await importLines(place.archive, [
      wrapped(snapshot(1, [[45, 100]], []), START_MS),
      wrapped(snapshot(2, [[30, 1]], [], {}, OTHER), START_MS),
      delta(3, START_MS + 1000, 'yes', 45, 5),
      delta(6, START_MS + 4000, 'yes', 45, 5),
      delta(7, START_MS + 5000, 'yes', 30, 1, OTHER),
      wrapped(snapshot(8, [[44, 9]], []), START_MS + 6000),
      delta(9, START_MS + 7000, 'yes', 44, 1),
    ]);
    expect(report.rejections).toEqual([]);
    expect(report.total.ignored).toBe(2);
    expect(upOf(place.archive).map(([ms, book]) => [ms - START_MS, book.bidSizes])).toEqual([
      [0, [100]],
      [1000, [105]],
      [6000, [9]],
      [7000, [10]],
    ]);
    expect(upOf(place.archive, OTHER)).toHaveLength(1);
    // No snapshot of the other market follows: its gap ends with the recording.
    expect(gapsOf(place.archive, OTHER)).toEqual([[1000, 7000, 'messages 4 to 5 of the subscription are missing']]);
    expect(place.archive.gaps.list(marketOf(place.archive, MARKET).key)).toEqual([
      expect.objectContaining({
        ...{ fromMs: START_MS + 1000, toMs: START_MS + 6000 },
        reason: 'messages 4 to 5 of the subscription are missing',
      }),
    ]);
  });

  test('a gap without a snapshot after it ends with the window; a window that had ended before the jump has none', async () => {
    using place = temporaryArchive();
    const NEXT = 'KXBTC15M-26FEB141815-15';
    await importLines(place.archive, [
      wrapped(snapshot(1, [[45, 100]], []), END_MS - 5000),
      delta(2, END_MS - 3000, 'yes', 45, 5),
      wrapped(snapshot(3, [[30, 1]], [], {}, NEXT), END_MS + 1000),
      delta(4, END_MS + 2000, 'yes', 30, 1, NEXT),
      delta(9, END_MS + 1_200_000, 'yes', 30, 1, OTHER),
    ]);
    expect(gapsOf(place.archive)).toEqual([]);
    expect(gapsOf(place.archive, NEXT)).toEqual([
      [902_000, 1_800_000, 'messages 5 to 8 of the subscription are missing'],
    ]);
  });

  test('trades between the changes, with a subscription of their own, leave the book as it is', async () => {
    using place = temporaryArchive();
    const report = await importLines(place.archive, [
      trade(),
      wrapped(snapshot(1, [[45, 100]], []), START_MS),
      trade(),
      delta(2, START_MS + 1000, 'yes', 45, 5),
      trade(),
      delta(3, START_MS + 2000, 'yes', 45, 5),
    ]);
    expect(countsOf(report.total)).toEqual({ read: 6, stored: 6, duplicate: 0, rejected: 0, ignored: 0 });
    expect(sizesOf(place.archive)).toEqual([
      [0, [100]],
      [1000, [105]],
      [2000, [110]],
    ]);
    expect(gapsOf(place.archive)).toEqual([]);
  });

  describe('in the next file', () => {
    const first = [wrapped(snapshot(1, [[45, 100]], []), START_MS), delta(2, START_MS + 1000, 'yes', 45, 5)];

    test('the books go on where seq does', async () => {
      using place = temporaryArchive();
      const report = await importFiles(place.archive, [first, [delta(3, START_MS + 2000, 'yes', 45, 5)]]);
      expect(countsOf(report.total)).toMatchObject({ read: 3, stored: 3, ignored: 0 });
      expect(sizesOf(place.archive).at(-1)).toEqual([2000, [110]]);
      expect(gapsOf(place.archive)).toEqual([]);
    });

    test('a snapshot without a time gets that of its next change', async () => {
      using place = temporaryArchive();
      const report = await importFiles(place.archive, [
        [snapshot(1, [[45, 100]], [])],
        [delta(2, START_MS + 2000, 'yes', 45, 5)],
      ]);
      expect(report.rejections).toEqual([]);
      expect(sizesOf(place.archive)).toEqual([
        [2000, [100]],
        [2000, [105]],
      ]);
    });

    test.each<[string, readonly unknown[], readonly unknown[]]>([
      [
        'a jump is a gap up to the last change',
        [delta(5, START_MS + 3000, 'yes', 45, 5), delta(6, START_MS + 4000, 'yes', 45, 5)],
        [[1000, 4000, 'messages 3 to 4 of the subscription are missing']],
      ],
      [
        'changes of a subscription that began again are a gap',
        [delta(2, START_MS + 3000, 'yes', 45, 5)],
        [[1000, 3000, 'the subscription began again (orderbook_delta 2 after 2)']],
      ],
      [
        'a new subscription is a gap up to its snapshot',
        [{ ...wrapped({ ...snapshot(1, [[45, 9]], []), sid: 7 }, START_MS + 4000) }],
        [[1000, 4000, 'the subscription changed']],
      ],
      [
        'a recording of another market is none',
        [wrapped(snapshot(1, [[45, 9]], [], {}, OTHER), START_MS + 4000), delta(2, END_MS, 'yes', 45, 5, OTHER)],
        [],
      ],
      ['a recording of an earlier time is none', [wrapped(snapshot(1, [[45, 9]], []), START_MS - 4000)], []],
    ])('%s', async (_, second, gaps) => {
      using place = temporaryArchive();
      await importFiles(place.archive, [first, second]);
      expect(gapsOf(place.archive)).toEqual(gaps as never);
    });

    test('books of an earlier time, or of the same one, keep their times', async () => {
      using place = temporaryArchive();
      const hourEarlier = [
        wrapped(snapshot(1, [[45, 7]], []), START_MS - 9000),
        delta(2, START_MS - 8000, 'yes', 45, 1),
      ];
      await importFiles(place.archive, [first, hourEarlier]);
      expect(sizesOf(place.archive)).toEqual([
        [-9000, [7]],
        [-8000, [8]],
        [0, [100]],
        [1000, [105]],
      ]);
    });
  });

  test('the market that is in memory for the longest time makes room, with its snapshot and a gap', async () => {
    using place = temporaryArchive();
    const strikes = Array.from({ length: 10_000 }, (_, index) => `KXBTCD-26FEB1418-T${index + 1}`);
    const report = await importLines(place.archive, [
      wrapped(snapshot(1, [[45, 100]], []), START_MS),
      ...strikes.map((ticker, index) => delta(2 + index, START_MS + 1000, 'yes', 45, 5, ticker)),
      delta(10_002, START_MS + 2000, 'yes', 45, 5),
    ]);
    expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 10_001 });
    expect(sizesOf(place.archive)).toEqual([[0, [100]]]);
    expect(gapsOf(place.archive)).toEqual([[1000, 900_000, 'more than 10000 markets were open']]);
  });

  test('a message whose sid is not a number is refused, and its book unknown', async () => {
    using place = temporaryArchive();
    const report = await importLines(place.archive, [
      wrapped(snapshot(1, [[45, 100]], []), START_MS),
      { ...delta(2, START_MS + 1000, 'yes', 45, 5), sid: { id: 2 } },
      delta(2, START_MS + 2000, 'yes', 45, 5),
    ]);
    expect(report.rejections.map(({ reason }) => reason)).toEqual(['sid is not a number']);
    expect(sizesOf(place.archive)).toEqual([[0, [100]]]);
    expect(gapsOf(place.archive)).toEqual([[0, 2000, 'a message has no sid']]);
  });

  test('two strikes of one window are two markets, and the strike is the price at the start', async () => {
    using place = temporaryArchive();
    const tickers = ['KXBTCD-26JUL0414-T79499.99', 'KXBTCD-26JUL0414-T79999.99'];
    const startMs = Date.UTC(2026, 6, 4, 17);
    await importLines(
      place.archive,
      tickers.map((ticker, index) => wrapped(snapshot(index + 1, [[45, 100]], [], {}, ticker), startMs)),
    );
    expect(tickers.map((ticker) => marketOf(place.archive, ticker.toLowerCase()))).toMatchObject([
      { startMs, endMs: startMs + 3_600_000, timeframe: '1h', priceStart: 79_499.99 },
      { startMs, timeframe: '1h', priceStart: 79_999.99 },
    ]);
  });

  test('a trade is of the outcome that its taker bought; equal trades are two', async () => {
    using place = temporaryArchive();
    const report = await importLines(place.archive, [
      trade({}),
      trade({}),
      trade({ taker_side: 'yes', count_fp: '2.50', yes_price_dollars: '0.5525' }),
    ]);
    expect(countsOf(report.total)).toMatchObject({ read: 3, stored: 3 });
    const valuesOf = (outcome: 'up' | 'down') =>
      tradesOf(place.archive, MARKET, outcome).map(({ timestampMs, price, trade: details }) => [
        ...[timestampMs - START_MS, price, details?.size, details?.side],
      ]);
    expect(valuesOf('down')).toEqual([
      [1000, 0.45, 10, 'buy'],
      [1000, 0.45, 10, 'buy'],
    ]);
    expect(valuesOf('up')).toEqual([[1000, 0.5525, 2.5, 'buy']]);
  });

  test('equal trades with different arrivals are two; a trade whose id was read before is not', async () => {
    using place = temporaryArchive();
    const lines = [
      wrapped(trade({ trade_id: 'a' }), START_MS + 2000),
      wrapped(trade({ trade_id: 'b' }), START_MS + 2001),
      wrapped(trade({ trade_id: 'a' }), START_MS + 2002),
    ];
    const report = await importFiles(place.archive, [lines, [wrapped(trade({ trade_id: 'b' }), START_MS + 2003)]]);
    expect(countsOf(report.total)).toMatchObject({ read: 4, stored: 2, duplicate: 2 });
    expect(tradesOf(place.archive, MARKET, 'down')).toHaveLength(2);
    const again = await importLines(place.archive, lines);
    expect(countsOf(again.total)).toMatchObject({ read: 3, stored: 0, duplicate: 3 });
  });

  test.each<[string, readonly unknown[], readonly string[], number]>([
    [
      'a change below 0',
      [snapshot(1, [[45, 5]], []), delta(2, START_MS, 'yes', 45, -6)],
      ['the snapshot has no time', 'delta -6 takes more than the 5 of yes at 0.45'],
      0,
    ],
    ['a price of 101 cents', [snapshot(1, [[101, 5]], [])], ['a price in yes 1.01 lies outside'], 0],
    ['half a cent', [snapshot(1, [[1.5, 5]], [])], ['is not a number of cents'], 0],
    [
      'a price twice',
      [
        snapshot(
          1,
          [
            [45, 5],
            [45, 6],
          ],
          [],
        ),
      ],
      ['yes has the price 0.45 twice'],
      0,
    ],
    ['an hour that is skipped', [snapshot(1, [], [], {}, 'KXBTCD-26MAR0802-T1')], ['is not one instant'], 0],
    ['a month that is none', [snapshot(1, [], [], {}, 'KXBTCD-26FEX0802-T1')], ['is not one instant'], 0],
    ['a minute that is none', [snapshot(1, [], [], {}, 'KXBTC15M-26FEB141899-00')], ['is not one instant'], 0],
    [
      'a minute within a quarter',
      [snapshot(1, [], [], {}, 'KXBTC15M-26FEB141807-00')],
      ['is not the end of a quarter of an hour'],
      0,
    ],
    ['no ticker', [{ type: 'orderbook_delta', sid: 1, seq: 1, msg: { price: 1 } }], ['market_ticker is missing'], 0],
    [
      'another kind of market',
      [
        snapshot(1, [[45, 5]], [], {}, 'KXNFLGAME-25NOV06LVDEN-DEN'),
        snapshot(2, [], [], {}, 'KXBTC-26FEB1614-B101875'),
      ],
      [],
      2,
    ],
  ])('%s is refused or ignored with its reason', async (_, lines, reasons, ignored) => {
    using place = temporaryArchive();
    const { rejections, total } = await importLines(place.archive, [
      ...lines,
      wrapped(snapshot(9, [[45, 5]], [], {}, OTHER), START_MS),
    ]);
    expect(rejections.map(({ reason }) => reason)).toHaveLength(reasons.length);
    for (const [index, reason] of reasons.entries()) expect(rejections[index]!.reason).toContain(reason);
    expect(total.ignored).toBe(ignored);
    expect(upOf(place.archive, OTHER)).toHaveLength(1);
  });
});
