import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import { Importer } from '../../src/import/importer.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, importFile, quotesOf, tradesOf } from '../support/imported.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleCoinPrice,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { CAPTURE, capturedMarket } from './capture.ts';
import { importMapped } from './mapping/mapped-import.ts';
import { book, buy, change, type Frame, sell } from './rebuild/venue-messages.ts';

const SLUG = sampleMarket().slug as string;
const FIRST = book(0, '0.4:10 0.48:30', '0.6:5 0.52:7.25');

/** A frame as a recorder writes it that received it so many milliseconds after the window's start. */
function received(offsetMs: number, payload: Frame): string {
  return JSON.stringify({ recv_ts_ms: START_MS + offsetMs, payload });
}

const withoutArrival = (payload: Frame) => JSON.stringify({ payload });

/** Imports files of lines, each in an import of its own unless they are `together`, into a new archive with the market. */
async function imported<T>(
  files: readonly (readonly string[])[],
  read: (archive: Archive) => T,
  { together = false, every }: { readonly together?: boolean; readonly every?: number } = {},
): Promise<T> {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  await importRecords(place.archive, [sampleMarket()]);
  const paths = files.map((lines, i) => {
    const path = join(directory.path, `${i}.jsonl`);
    writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
    return path;
  });
  const options = { clock: () => NOW_MS, ...(every === undefined ? {} : { every }) };
  for (const command of together ? [paths] : paths.map((path) => [path])) {
    const report = await new Importer(place.archive, options).run(sourcesOf(command));
    expect(report.rejections).toEqual([]);
  }
  return read(place.archive);
}

/** The time of each record and its arrival, both counted from the window's start. */
function arrivals(
  records: readonly { readonly timestampMs: number; readonly receivedMs?: number | undefined }[],
): (readonly [number, number | undefined])[] {
  return records.map(({ timestampMs, receivedMs }) => [
    timestampMs - START_MS,
    receivedMs === undefined ? undefined : receivedMs - START_MS,
  ]);
}

const bookArrivals = (archive: Archive) => arrivals(booksOf(archive, SLUG, 'up'));
const withoutTimes = (archive: Archive) =>
  booksOf(archive, SLUG, 'up').map(({ timestampMs, book }) => ({ timestampMs, book }));

describe('the arrival of a rebuilt book', () => {
  test('is that of the last of the changes of its instant, whatever their order in the file', async () => {
    const lines = [
      received(40, FIRST),
      received(95, change(50, sell('0.52', '1'))),
      received(80, change(50, buy('0.48', '31'))),
      received(70, change(60, buy('0.48', '32'))),
    ];
    expect(await imported([lines], bookArrivals)).toEqual([
      [0, 40],
      [50, 95],
      [60, 70],
    ]);
  });

  test('is the earlier one of a message that two sockets bring', async () => {
    const changed = change(50, buy('0.48', '31'), sell('0.52', '1'));
    const lines = [40, 45].flatMap((ms) => [received(ms, FIRST), received(ms + 50, changed)]);
    for (const file of [lines, lines.toReversed()]) {
      expect(await imported([file], bookArrivals)).toEqual([
        [0, 40],
        [50, 90],
      ]);
    }
  });

  test('is that of the whole book if no changes lead to it, or if it came before the last of them', async () => {
    const lacking = [received(40, FIRST), received(99, book(50, '0.48:31', '0.52:1'))];
    expect(await imported([lacking], bookArrivals)).toEqual([
      [0, 40],
      [50, 99],
    ]);
    const changes = [received(60, change(50, buy('0.48', '31'))), received(90, change(50, sell('0.52', '1')))];
    const whole = (ms: number) => received(ms, book(50, '0.4:10 0.48:31', '0.6:5 0.52:1'));
    expect((await imported([[received(40, FIRST), ...changes, whole(75)]], bookArrivals))[1]).toEqual([50, 75]);
    // The book of a socket that was opened later.
    expect((await imported([[received(40, FIRST), ...changes, whole(9000)]], bookArrivals))[1]).toEqual([50, 90]);
  });

  test('counts messages that arrive in a later import, if they change the book', async () => {
    const first = [received(40, FIRST), received(60, change(50, buy('0.48', '31')))];
    const later = [received(95, change(50, sell('0.52', '1')))];
    expect(await imported([first, later], bookArrivals)).toEqual([
      [0, 40],
      [50, 95],
    ]);
  });

  test('of the last change of its interval, with an interval', async () => {
    const lines = [
      received(40, FIRST),
      received(90, change(50, buy('0.48', '31'))),
      received(99, change(70, buy('0.48', '33'))),
    ];
    expect(await imported([lines], bookArrivals, { every: 1000 })).toEqual([[70, 99]]);
  });
});

test('recordings with and without arrivals give the same books in any order, and none comes twice; the first import decides the arrivals', async () => {
  const frames = [
    FIRST,
    ...[10, 25, 31, 77].map((ms) => change(ms, buy('0.48', String(30 + ms)), sell('0.6', String(ms)))),
  ];
  const stated = frames.map((frame, i) => received(100 + 10 * i, frame));
  const silent = frames.map(withoutArrival);
  const expected = await imported([silent], withoutTimes);
  const known = await imported([stated], bookArrivals);
  for (const [files, found] of [
    [[stated, silent], known],
    [[silent, stated], known.map(([ms]) => [ms, undefined])],
  ] as const) {
    expect(await imported(files, withoutTimes)).toEqual(expected);
    expect(await imported(files, bookArrivals)).toEqual(found as typeof known);
  }
  for (const files of [
    [stated, silent],
    [silent, stated],
  ]) {
    expect(await imported(files, withoutTimes, { together: true })).toEqual(expected);
    expect(await imported(files, bookArrivals, { together: true })).toEqual(known);
  }
});

test('trades and coin prices have the arrival of their message; quotes and midpoints of books that of their book', async () => {
  const trade = { ...FIRST, event_type: 'last_trade_price', bids: undefined, asks: undefined, price: '0.5', size: '3' };
  const twice = [received(70, trade), received(60, trade)];
  const read = (archive: Archive) => {
    const market = archive.markets.findBySlug(SLUG)!;
    const page = { fromMs: 0, toMs: START_MS * 2, order: 'asc', after: undefined, limit: 10 } as const;
    return {
      trades: arrivals(tradesOf(archive, SLUG, 'up')),
      quotes: arrivals(archive.quotes.page(archive.quotes.sources(market, ['up']), page).records),
      prices: arrivals(archive.prices.page(archive.prices.sources(market, ['up']), page).records),
    };
  };
  expect(await imported([[received(40, FIRST), ...twice]], read)).toEqual({
    trades: [[0, 60]],
    quotes: [[0, 40]],
    prices: [
      [0, 40],
      [0, 60],
    ],
  });
});

const FRAME_WITH_ARRIVAL: readonly (readonly [string, string])[] = [
  ['capturedAt in seconds', JSON.stringify({ capturedAt: START_MS / 1000 + 1, payload: FIRST })],
  ['received_at in seconds with decimals', JSON.stringify({ received_at: START_MS / 1000 + 1.0004, payload: FIRST })],
  [
    'recv_wall_ts in milliseconds',
    JSON.stringify({ recv_mono_ns: 17, recv_wall_ts: START_MS + 1000, payload: JSON.stringify(FIRST) }),
  ],
  ['receivedUs', JSON.stringify({ receivedUs: START_MS * 1000 + 1_000_999, data: [FIRST] })],
  ['recv_ns as text', JSON.stringify({ recv_ns: `${START_MS + 1000}123456`, msg: FIRST })],
  ['localTimestamp in ISO 8601', JSON.stringify({ localTimestamp: '2026-04-16T07:10:01.0009Z', message: FIRST })],
  ['captured_at with a space and an offset', JSON.stringify({ captured_at: '2026-04-16 09:10:01+02:00', raw: FIRST })],
  ['a field of the message itself', JSON.stringify({ ...FIRST, received_at: START_MS + 1000 })],
  ['a time before the JSON', `[2026-04-16T07:10:01.000Z] ${JSON.stringify(FIRST)}`],
  ['a pair', JSON.stringify([START_MS / 1000 + 1.0, FIRST])],
  [
    'the inner of two wrappers',
    JSON.stringify({ received_at: 2e12, payload: { recv_ts: START_MS + 1000, data: FIRST } }),
  ],
];

test.each(FRAME_WITH_ARRIVAL)('a frame states its arrival as %s', async (_name, line) => {
  expect(await imported([[line]], bookArrivals)).toEqual([[0, 1000]]);
});

test.each([
  ['a time without a zone', { received_at: '2026-04-16 07:10:01' }],
  ['a monotonic clock', { recv_mono_ns: 81_233_455_678 }],
  ['a flag', { received: true }],
  ['a time of the venue', { ts: START_MS, timestamp: START_MS + 5 }],
])('%s is no arrival', async (_name, fields) => {
  expect(await imported([[JSON.stringify({ ...fields, payload: FIRST })]], bookArrivals)).toEqual([[0, undefined]]);
});

test('own records state receivedAt, and a wrong one is refused', async () => {
  using place = temporaryArchive();
  const { archive } = place;
  const receivedAt = '2026-04-16T07:10:04.150Z';
  const records = [
    sampleMarket(),
    ...[sampleSnapshot, sampleQuote, samplePrice, sampleCoinPrice].map((of) => of({ receivedAt })),
  ];
  expect((await importRecords(archive, records)).total.stored).toBe(5);
  const coin = archive.prices.slicesOfCoin('btc', 0, START_MS * 2).flatMap(({ slices }) => [...slices]);
  const found = [
    ...booksOf(archive, SLUG, 'up'),
    ...quotesOf(archive, SLUG, 'up'),
    ...tradesOf(archive, SLUG, 'up'),
    ...coin.flatMap(({ payload }) => priceCodec.decode(payload)),
  ];
  expect(arrivals(found)).toEqual(Array.from({ length: 4 }, () => [4123, 4150]));
  // The scanner leaves what is not plain to the parser: both read null.
  const later = { timestamp: START_MS + 9000 };
  const { rejections } = await importRecords(archive, [
    sampleSnapshot({ ...later, receivedAt: null }),
    sampleSnapshot({ ...later, receivedAt: 'yesterday' }),
  ]);
  expect(rejections.map(({ reason }) => reason)).toEqual([
    'receivedAt is missing or not a time (ISO 8601 with a zone, or integer Unix milliseconds)',
  ]);
  expect(booksOf(archive, SLUG, 'up').at(-1)!.receivedMs).toBeUndefined();
});

test('Parquet of book messages, CSV of coin prices and mappings state arrivals in columns', async () => {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const { archive } = place;
  await importRecords(archive, [sampleMarket()]);
  const path = join(directory.path, 'books.parquet');
  const data = [JSON.stringify(FIRST)];
  const columnData = [
    { name: 'raw_data', data, type: 'STRING' as const },
    { name: 'timestamp', data: [START_MS / 1000 + 0.033], type: 'DOUBLE' as const },
  ];
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData })));
  expect((await importPaths(archive, path)).rejections).toEqual([]);
  expect(bookArrivals(archive)).toEqual([[0, 33]]);

  await importFile(archive, 'btcusd-chainlink.csv', `feed_ts_ms,value,recv_ms\n${START_MS},60000,${START_MS + 939}\n`);
  const [slice] = archive.prices.slicesOfCoin('btc', 0, START_MS * 2).flatMap(({ slices }) => [...slices]);
  expect(arrivals(priceCodec.decode(slice!.payload))).toEqual([[0, 939]]);

  const toml = `format = "csv"
    [time]
    field = "t"
    unit = "ms"
    [received]
    field = "seen"
    unit = "s"
    [market]
    condition_id = { value = "${CONDITION_ID}" }
    [outcome]
    value = "down"
    [trades]
    price = "p"`;
  const rows = `t,seen,p\n${START_MS},${START_MS / 1000 + 0.25},0.5\n${START_MS + 1},,0.5\n${START_MS + 2},7,0.6\n`;
  const { rejections } = await importMapped(archive, toml, rows);
  expect(rejections.map(({ reason }) => reason)).toEqual([
    'seen 7 is not a time between 2001 and 2286 in s: correct the unit in the mapping',
  ]);
  expect(arrivals(tradesOf(archive, SLUG, 'down'))).toEqual([
    [0, 250],
    [1, undefined],
    [2, undefined],
  ]);
});

interface Arrived {
  readonly ms: number;
  readonly outcome: Outcome;
  readonly timestampMs: number;
  /** A change, or a whole book. */
  readonly change?: string;
  readonly book?: string;
}

/** The statements of frames about books, each with its arrival. */
function statementsIn(lines: readonly string[], tokens: readonly string[]): Arrived[] {
  return lines.flatMap((line) => {
    const { recv_ts_ms: ms, payload } = JSON.parse(line);
    return [payload].flat().flatMap((frame: Frame): Arrived[] => {
      const of = (asset: unknown) => {
        const outcome = OUTCOMES[tokens.indexOf(String(asset))]!;
        return { ms, outcome, timestampMs: Number(frame.timestamp) };
      };
      if (frame.event_type === 'book') return [{ ...of(frame.asset_id), book: sidesOf(frame.bids, frame.asks) }];
      if (frame.event_type !== 'price_change') return [];
      return (frame.price_changes as Frame[]).map((one) => {
        const { asset_id, side, price, size, hash } = one;
        return { ...of(asset_id), change: JSON.stringify([side, price, size, hash]) };
      });
    });
  });
}

/** The levels of both sides, best first. */
function sidesOf(...sides: readonly unknown[]): string {
  const numbers = sides.map((side) =>
    (side as Frame[]).map(({ price, size }) => [Number(price), Number(size)]).reverse(),
  );
  return JSON.stringify(numbers);
}

test.skipIf(CAPTURE === undefined)(
  'of a real capture every book has the arrival that sorting its frames gives',
  async () => {
    const { slug, frames } = capturedMarket(2000);
    const markets = JSON.parse(readFileSync(join(CAPTURE!, 'markets.json'), 'utf8'));
    const tokens: string[] = [markets.current.upTokenId, markets.current.downTokenId];
    // The capture states whole seconds: a delay of some milliseconds each is made up, and a second socket 3 ms later or 2 ms earlier.
    const delayOf = (i: number) => 20 + ((i * 7919) % 61);
    const lines = frames.flatMap((frame, i) => {
      const { payload } = JSON.parse(frame);
      const venueMs = Number([payload].flat()[0].timestamp);
      const ofSocket = (moreMs: number) => JSON.stringify({ recv_ts_ms: venueMs + delayOf(i) + moreMs, payload });
      return [ofSocket(0), ofSocket(i % 3 === 0 ? -2 : 3)];
    });
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'capture.jsonl');
    writeFileSync(path, lines.join('\n'));
    await importPaths(place.archive, join(CAPTURE!, 'markets.json'), path);

    const byInstant = Map.groupBy(
      statementsIn(lines, tokens),
      ({ outcome, timestampMs }) => `${outcome} ${timestampMs}`,
    );
    let compared = 0;
    for (const outcome of OUTCOMES) {
      for (const [at, { timestampMs, receivedMs, book }] of booksOf(place.archive, slug, outcome).entries()) {
        const statements = byInstant.get(`${outcome} ${timestampMs}`)!.toSorted((a, b) => a.ms - b.ms);
        const pairs = (prices: readonly number[], sizes: readonly number[]) =>
          prices.map((price, i) => [price, sizes[i]]);
        const sides = JSON.stringify([pairs(book.bidPrices, book.bidSizes), pairs(book.askPrices, book.askSizes)]);
        const whole = statements.find((one) => one.book === sides)?.ms ?? Infinity;
        const first = new Map<string, number>();
        for (const { change, ms } of statements) {
          if (change !== undefined && !first.has(change)) first.set(change, ms);
        }
        // Without a book before them, changes lead to none.
        const changed = first.size === 0 || at === 0 ? Infinity : Math.max(...first.values());
        expect([outcome, timestampMs, receivedMs]).toEqual([outcome, timestampMs, Math.min(whole, changed)]);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(500);
  },
);
