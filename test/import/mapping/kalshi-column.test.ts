import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { Importer } from '../../../src/import/importer.ts';
import { inspect } from '../../../src/import/inspection/inspection.ts';
import { suggestedMapping } from '../../../src/import/inspection/suggested-mapping.ts';
import { mappingCodec } from '../../../src/import/mapping/mapping-codec.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, countsOf, marketOf, tradesOf } from '../../support/imported.ts';
import { randomsOf } from '../../support/random-books.ts';
import { importMapped, mappingOf, refusalOfMapping } from './mapped-import.ts';

/** 4 Jul 2026, 13:00 to 14:00 in New York. */
const START_MS = Date.UTC(2026, 6, 4, 17);
const TICKERS = ['KXBTCD-26JUL0414-T79499.99', 'KXBTCD-26JUL0414-T79999.99'] as const;
const STRIKES = [79_499.99, 79_999.99];

interface Row {
  readonly atMs: number;
  readonly raw: string;
}
const rowOf = (afterMs: number, message: unknown): Row => ({
  atMs: START_MS + afterMs,
  raw: typeof message === 'string' ? message : JSON.stringify(message),
});
const snapshot = (seq: number, msg: object, ticker: string = TICKERS[0]) => ({
  ...{ type: 'orderbook_snapshot', sid: 2, seq },
  msg: { market_ticker: ticker, ...msg },
});
const delta = (seq: number, afterMs: number, price: number, change: number, side = 'yes') => ({
  ...{ type: 'orderbook_delta', sid: 2, seq },
  msg: { market_ticker: TICKERS[0], price, delta: change, side, ts_ms: START_MS + afterMs },
});

const csvOf = (rows: readonly Row[]) =>
  `id,at,raw\n${rows.map(({ atMs, raw }, id) => `${id},${atMs},"${raw.replaceAll('"', '""')}"\n`).join('')}`;

/** Tables with a message in each row, and when it was received. */
const TABLES: readonly (readonly [string, (path: string, rows: readonly Row[]) => void])[] = [
  ['rows.csv', (path, rows) => writeFileSync(path, csvOf(rows))],
  [
    'rows.jsonl',
    (path, rows) =>
      writeFileSync(path, rows.map(({ atMs, raw }) => `${JSON.stringify({ at: atMs, text: { raw } })}\n`).join('')),
  ],
  [
    'rows.db',
    (path, rows) => {
      using database = new Database(path, { create: true });
      database.run('CREATE TABLE messages (id INTEGER PRIMARY KEY, at INTEGER, raw TEXT)');
      const insert = database.query('INSERT INTO messages (at, raw) VALUES (?, ?)');
      database.transaction(() => {
        for (const { atMs, raw } of rows) insert.run(atMs, raw);
      })();
    },
  ],
  [
    'rows.parquet',
    (path, rows) => {
      const columnData = [
        { name: 'at', data: rows.map(({ atMs }) => BigInt(atMs)), type: 'INT64' as const },
        { name: 'raw', data: rows.map(({ raw }) => raw), type: 'STRING' as const },
      ];
      writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData })));
    },
  ],
];

/** The random messages of two strikes of an hour with one jump of `seq`, and their books by sums in maps: no code of the importer. */
function recording(seed: number) {
  const random = randomsOf(seed);
  const below = (count: number) => Math.floor(random() * count);
  const books = TICKERS.map(() => ({ yes: new Map<number, number>(), no: new Map<number, number>() }));
  const expected: unknown[][] = TICKERS.map(() => []);
  const isKnown = [false, false];
  const rows: Row[] = [];
  const levelsOf = (at: number, side: 'yes' | 'no') => [...books[at]![side]].filter(([, size]) => size > 0);
  const note = (at: number, ms: number) => {
    const bids = levelsOf(at, 'yes').sort(([a], [b]) => b - a);
    const asks = levelsOf(at, 'no').sort(([a], [b]) => b - a);
    expected[at]!.push([
      ms,
      bids.map(([price, size]) => [price / 100, size / 100]),
      asks.map(([price, size]) => [(100 - price) / 100, size / 100]),
    ]);
  };
  let seq = 0;
  const give = (at: number, ms: number, type: string, msg: object) => {
    seq += 1;
    const frame = { type, sid: 5, seq, msg: { market_ticker: TICKERS[at], ...msg } };
    // Some rows have an array, some the time of their own arrival.
    rows.push({ atMs: START_MS + ms, raw: JSON.stringify(seq % 7 === 0 ? [frame] : frame) });
  };
  const state = (at: number, ms: number) => {
    const texts = (side: 'yes' | 'no') => levelsOf(at, side).map(([price, size]) => [price, size / 100]);
    give(at, ms, 'orderbook_snapshot', { yes: texts('yes'), no: texts('no') });
    isKnown[at] = true;
    note(at, ms);
  };
  const change = (at: number, ms: number) => {
    const side = random() < 0.5 ? 'yes' : 'no';
    const price = 1 + below(99);
    const before = books[at]![side].get(price) ?? 0;
    const by = before > 0 && random() < 0.6 ? -(1 + below(before)) : 1 + below(50_000);
    books[at]![side].set(price, before + by);
    if (isKnown[at] === true) note(at, ms);
    return () =>
      give(at, ms, 'orderbook_delta', { price, delta_fp: (by / 100).toFixed(2), side, ts_ms: START_MS + ms });
  };
  state(0, 1000);
  state(1, 1001);
  let ms = 1001;
  const later = () => {
    ms += 10;
    return ms;
  };
  for (let i = 0; i < 150; i += 1) change(below(2), later())();
  const lastMs = ms;
  // Three messages are not recorded, and the books are unknown until their snapshots.
  isKnown.fill(false);
  for (let i = 0; i < 3; i += 1) change(0, later());
  seq += 3;
  change(1, later())();
  state(0, later());
  const knownMs = [ms, ms + 20];
  change(0, later())();
  state(1, later());
  for (let i = 0; i < 50; i += 1) change(below(2), later())();
  const reason = 'messages 153 to 155 of the subscription are missing';
  return { rows, expected, gaps: knownMs.map((toMs) => [lastMs, toMs, reason]) };
}

const pairs = (prices: readonly number[], sizes: readonly number[]) => prices.map((price, at) => [price, sizes[at]]);
function upOf(archive: Archive, ticker: string = TICKERS[0]) {
  return booksOf(archive, ticker.toLowerCase(), 'up').map(({ timestampMs, book }) => [
    timestampMs - START_MS,
    pairs(book.bidPrices, book.bidSizes),
    pairs(book.askPrices, book.askSizes),
  ]);
}
const gapsOf = (archive: Archive, ticker: string = TICKERS[0]) =>
  archive.gaps
    .list(marketOf(archive, ticker.toLowerCase()).key)
    .map(({ fromMs, toMs, reason }) => [fromMs - START_MS, toMs - START_MS, reason]);

const TOML = `format = "csv"
[frames]
field = "raw"
venue = "kalshi"
[received]
field = "at"
unit = "ms"`;

describe('Messages of Kalshi in a column are read as those in a file: books, gaps where `seq` jumps, windows and strikes of tickers.', () => {
  test.each(TABLES.flatMap(([name, write]) => [3, 4].map((seed) => [name, seed, write] as const)))(
    'in %s (seed %d), by the mapping that inspect proposes',
    async (name, seed, write) => {
      using place = temporaryArchive();
      using directory = temporaryDirectory();
      const { rows, expected, gaps } = recording(seed);
      const path = join(directory.path, name);
      write(path, rows);
      const [source] = sourcesOf([path]);
      const inspection = await inspect(source!);
      expect(inspection.recording).toBeUndefined();
      const proposal = suggestedMapping(inspection, inspection.tables[0]!);
      expect(proposal).toContain(`field = "${name === 'rows.jsonl' ? 'text.raw' : 'raw'}"\nvenue = "kalshi"\n`);
      // A person removes the signs of comments.
      const toml = proposal.replace(/^# (?=\[received\]|field = "at"|unit = "ms")/gm, '');
      expect(mappingOf(toml).received).toEqual({ field: 'at', unit: 'ms' });
      for (const counts of [{ stored: rows.length - 1 }, { duplicate: rows.length - 1 }]) {
        const importer = new Importer(place.archive, { clock: () => NOW_MS, mapping: mappingOf(toml) });
        const { total, rejections } = await importer.run([source!]);
        expect(rejections).toEqual([]);
        expect(countsOf(total)).toMatchObject({ read: rows.length - 1, ignored: 1, ...counts });
      }
      for (const [at, ticker] of TICKERS.entries()) {
        expect(upOf(place.archive, ticker)).toEqual(expected[at] as never);
        expect(gapsOf(place.archive, ticker)).toEqual([gaps[at]!]);
        expect(marketOf(place.archive, ticker.toLowerCase())).toMatchObject({
          ...{
            symbol: 'btc',
            timeframe: '1h',
            startMs: START_MS,
            endMs: START_MS + 3_600_000,
            priceStart: STRIKES[at],
          },
        });
      }
    },
  );
});

test('messages as objects of JSON rows are read too, and a snapshot without arrival gets the time of its next change', async () => {
  using place = temporaryArchive();
  const toml = 'format = "json"\nframes = { field = "raw", venue = "kalshi" }';
  const rows = [snapshot(1, { yes: [[45, 5]], no: [] }), delta(2, 3000, 45, 1)].map((raw) => JSON.stringify({ raw }));
  const { rejections } = await importMapped(place.archive, toml, rows.join('\n'), 'rows.jsonl');
  expect(rejections).toEqual([]);
  expect(upOf(place.archive)).toEqual([
    [3000, [[0.45, 5]], []],
    [3000, [[0.45, 6]], []],
  ]);
});

test('what is no message about a book or a trade is ignored or rejected, row by row, and the books go on', async () => {
  using place = temporaryArchive();
  const trade = {
    ...{ type: 'trade', sid: 3, seq: 1 },
    msg: { market_ticker: TICKERS[0], yes_price: 55, count: 2, taker_side: 'no', ts: START_MS / 1000 + 2 },
  };
  const polymarket = { event_type: 'book', asset_id: '1', market: '0x1', timestamp: '1', bids: [], asks: [] };
  const rows = [
    rowOf(0, { type: 'subscribed', id: 1, msg: { channel: 'orderbook_delta', sid: 2 } }),
    rowOf(1000, snapshot(1, { yes: [[45, 5]], no: [[53, 7]] })),
    rowOf(1100, 'PONG'),
    rowOf(1200, ''),
    rowOf(1300, '{"type":"orderbook_delta","sid":2,"seq":'),
    rowOf(1400, '17'),
    rowOf(1500, { type: 'ticker', sid: 1, msg: { market_ticker: TICKERS[0], yes_bid: 45, ts: 1 } }),
    rowOf(1600, polymarket),
    rowOf(1700, trade),
    rowOf(1800, snapshot(2, { yes: [], no: [] }, 'KXNFLGAME-25NOV06LVDEN-DEN')),
    rowOf(2000, delta(3, 2000, 45, -2)),
  ];
  const { total, rejections } = await importMapped(place.archive, TOML, csvOf(rows));
  expect(rejections.map(({ line, reason }) => [line, reason])).toEqual([
    [6, 'the line is not JSON'],
    [7, 'the frame is not a JSON object'],
  ]);
  expect(countsOf(total)).toMatchObject({ stored: 3, rejected: 2 });
  expect(upOf(place.archive)).toEqual([
    [1000, [[0.45, 5]], [[0.47, 7]]],
    [2000, [[0.45, 3]], [[0.47, 7]]],
  ]);
  expect(tradesOf(place.archive, TICKERS[0].toLowerCase(), 'down')).toMatchObject([{ price: 0.45 }]);
  expect(gapsOf(place.archive)).toEqual([]);
});

test.each([
  ['a size below 0', delta(2, 2000, 45, -6), 'delta -6 takes more than the 5 of yes at 0.45'],
  ['a price of 101 cents', delta(2, 2000, 101, 1), 'price 1.01 lies outside'],
  ['a side that is neither', delta(2, 2000, 45, 1, 'up'), 'side is neither yes nor no'],
  ['an infinite change', JSON.stringify(delta(2, 2000, 45, 7)).replace(':7,', ':1e999,'), 'delta is not a decimal'],
])('%s is rejected with its row, and the book is unknown from there on', async (_, message, reason) => {
  using place = temporaryArchive();
  const rows = [
    rowOf(1000, snapshot(1, { yes: [[45, 5]], no: [] })),
    rowOf(2000, message),
    rowOf(3000, delta(3, 3000, 45, 1)),
  ];
  const { rejections, total } = await importMapped(place.archive, TOML, csvOf(rows));
  expect(rejections.map(({ line }) => line)).toEqual([3]);
  expect(rejections[0]!.reason).toContain(reason);
  expect(total.ignored).toBeGreaterThan(0);
  expect(upOf(place.archive)).toEqual([[1000, [[0.45, 5]], []]]);
  expect(gapsOf(place.archive)).toEqual([[1000, 3000, 'a change cannot be read']]);
});

test('a growing file of such rows waits until it is complete, since each change needs the book before', () => {
  expect(mappingCodec(mappingOf(TOML)).lines).toBeUndefined();
  expect(mappingCodec(mappingOf(TOML.replace('venue = "kalshi"', ''))).lines).toBe('csv');
});

test.each([
  ['venue = "other"', 'frames.venue must be "kalshi"'],
  ['venue = "kalshi"\ntimestamp = "at"', 'frames.timestamp contradicts frames.venue: remove it'],
  ['venue = "kalshi"\nasset_id = "id"', 'frames.asset_id contradicts frames.venue: remove it'],
])('a mapping of frames with %j is refused', (keys, problem) => {
  expect(refusalOfMapping(`format = "csv"\n[frames]\nfield = "raw"\n${keys}`)).toContain(problem);
});
