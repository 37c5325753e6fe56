import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { ExportFormat } from '../../src/export/format.ts';
import type { ImportReport } from '../../src/import/report.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { importFile } from '../support/imported.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../support/sample-records.ts';
import { book, type Frame } from './rebuild/venue-messages.ts';

/** A damaged record, and what the reason for its rejection says. */
interface Damage {
  readonly title: string;
  readonly damage: (record: Frame) => Frame;
  readonly reason: string;
}

/** A format that others write: a file has one record in each of its lines or rows. */
interface Format {
  readonly title: string;
  readonly file: string;
  /** The format that the report names. */
  readonly reported: string;
  readonly records: readonly Frame[];
  /** One record as a line, or as the text in a row. */
  readonly textOf: (record: Frame) => string;
  /** The file of these lines or rows. */
  readonly bytesOf: (texts: readonly string[]) => string | Uint8Array;
  /** The line or row of the first record. */
  readonly first: number;
  readonly damages: readonly Damage[];
  /** The reason if the text of a record is cut in its middle; undefined if the others are not found after it. */
  readonly cutReason?: string | undefined;
  /** Whether it needs a market record. */
  readonly needsMarket?: boolean;
}

const linesOf = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join('');
const inLines = { bytesOf: linesOf, first: 1, cutReason: 'the line is not JSON' };
/** An element of an array that is cut has no end. */
const inArray = { bytesOf: (texts: readonly string[]) => `[\n${texts.join(',\n')}\n]\n`, first: 2 };

const BOOKS = [
  book(0, '0.4:10 0.48:30', '0.6:5 0.52:7.25'),
  book(4000, '0.4:10', '0.52:7.25', { asset_id: DOWN_ASSET }),
  book(9000, '0.41:11', ''),
  book(9000, '', '', { asset_id: DOWN_ASSET }),
  book(9001, '0.4:1.123456', '0.999:3'),
];

const BOOK_DAMAGES: readonly Damage[] = [
  { title: 'a price above 1', damage: (frame) => ({ ...frame, bids: [{ price: '1.5', size: '1' }] }), reason: '1.5' },
  { title: 'a negative size', damage: (frame) => ({ ...frame, asks: [{ price: '0.5', size: '-1' }] }), reason: 'size' },
  { title: 'a time that is none', damage: (frame) => ({ ...frame, timestamp: 'soon' }), reason: 'timestamp' },
  { title: 'an asset of no market', damage: (frame) => ({ ...frame, asset_id: '7' }), reason: 'asset 7' },
];

type Envelope = readonly [title: string, wrap: (frame: Frame) => unknown];

const pairs = (side: unknown) => (side as { price: string; size: string }[]).map(({ price, size }) => [price, size]);
const withPairs = (frame: Frame) => ({ ...frame, bids: pairs(frame.bids), asks: pairs(frame.asks) });
const withoutType = ({ event_type: _, ...frame }: Frame) => frame;

const ENVELOPES: readonly Envelope[] = [
  ['messages', (frame) => frame],
  ['[time, frame]', (frame) => [1776323400.25, frame]],
  ['payload as text', (frame) => ({ ts: 1, payload: JSON.stringify(frame) })],
  ['d', (frame) => ({ t: 1, d: frame })],
  ['event', (frame) => ({ received: '2026-04-16T07:10:00Z', event: frame })],
  ['books', (frame) => ({ slug: 'btc-updown-5m-1776323400', books: [frame] })],
  ['levels as pairs', withPairs],
  ['answers of REST', (frame) => ({ ...withoutType(frame), min_order_size: '5' })],
];

const FRAMES: readonly Format[] = [
  ...ENVELOPES.map(([title, wrap]) => ({ title, textOf: (frame: Frame) => JSON.stringify(wrap(frame)) })),
  { title: 'a time before the frame', textOf: (frame: Frame) => `2026-04-16T07:10:00.000Z ${JSON.stringify(frame)}` },
].map((envelope, index) => ({
  ...{ file: 'frames.jsonl', reported: 'venue frames', records: BOOKS, needsMarket: true },
  // The frames in all envelopes are read alike.
  damages: index === 0 ? BOOK_DAMAGES : BOOK_DAMAGES.slice(0, 1),
  ...inLines,
  ...envelope,
}));

/** Rows of Parquet are numbered from 1. */
const PARQUET: readonly Format[] = [
  {
    ...{ title: 'Parquet of book messages', file: 'books.parquet', reported: 'Parquet of book messages' },
    ...{ records: BOOKS, damages: BOOK_DAMAGES, needsMarket: true, first: 1, cutReason: 'not JSON' },
    textOf: (frame) => JSON.stringify(frame),
    bytesOf: (data) => parquet([{ name: 'raw_data', data: [...data], type: 'STRING' }]),
  },
  {
    ...{ title: 'PMXT Parquet', file: 'polymarket_orderbook_2026-04-16T07.parquet', reported: 'PMXT Parquet' },
    // Its archives have every market: rows of unknown assets are skipped. Its times are numbers.
    ...{ records: BOOKS, damages: BOOK_DAMAGES.slice(0, 2), needsMarket: true, first: 1, cutReason: 'not JSON' },
    textOf: (frame) => JSON.stringify({ ...frame, bids: pairs(frame.bids), asks: pairs(frame.asks) }),
    bytesOf: pmxtParquet,
  },
];

type Columns = Parameters<typeof parquetWriteBuffer>[0]['columnData'];

function parquet(columnData: Columns): Uint8Array {
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 2 }));
}

/** Rows of texts as `textOf` writes them; a text that is cut is the bids of its row. */
function pmxtParquet(texts: readonly string[]): Uint8Array {
  const rows = texts.map((text) => {
    if (!text.endsWith('}')) return { ...BOOKS[0]!, bids: text, asks: '[]' };
    const row = JSON.parse(text) as Frame;
    return { ...row, bids: JSON.stringify(row.bids), asks: JSON.stringify(row.asks) };
  });
  const times = ['timestamp_received', 'timestamp'].map((name) => ({
    ...{ name, type: 'INT64' as const, data: rows.map(({ timestamp }: Frame) => BigInt(String(timestamp))) },
  }));
  const columns = ['market', 'event_type', 'asset_id', 'bids', 'asks'].map((name) => ({
    ...{ name, type: 'STRING' as const, data: rows.map((row: Frame) => String(row[name])) },
  }));
  return parquet([...times, ...columns]);
}

/** The start of the market with this number. */
const startSeconds = (number: number) => START_MS / 1000 + number * 300;
const slugOf = (number: number) => `btc-updown-5m-${startSeconds(number)}`;

const LISTED: readonly Frame[] = ['up', 'down', null, 'Down'].map((winner, number) => ({
  ...{
    slug: slugOf(number),
    conditionId: `0x${number + 1}`,
    upTokenId: `${number + 1}11`,
    downTokenId: `${number + 1}22`,
  },
  winner,
}));

const CLOB: readonly Frame[] = [0, 1, 2, 3].map((number) => ({
  ...{ condition_id: `0x${number + 1}`, market_slug: slugOf(number), closed: number > 0, active: true },
  ...{ end_date_iso: '2026-04-16T00:00:00Z' },
  tokens: ['Down', 'Up'].map((outcome, index) => ({
    ...{ token_id: `${number + 1}${index}1`, outcome, price: 0.5, winner: number > 0 && index === number % 2 },
  })),
}));

const SLUG_DAMAGE: Damage = {
  title: 'a window that is none',
  damage: (market) => Object.fromEntries(Object.entries(market).map(([name, value]) => [name, otherSlug(value)])),
  reason: 'btc-updown-7m-1 is not an up-or-down market',
};

function otherSlug(value: unknown): unknown {
  return String(value).startsWith('btc-updown') ? 'btc-updown-7m-1' : value;
}

const MARKETS: readonly Format[] = [
  {
    ...{ title: 'lists of markets with winners', file: 'markets.jsonl', reported: 'market list', records: LISTED },
    textOf: (market) => JSON.stringify(market),
    ...inLines,
    damages: [
      { title: 'a winner that is none', damage: (market) => ({ ...market, winner: 'left' }), reason: 'winner' },
      { title: 'a bad conditionId', damage: (market) => ({ ...market, conditionId: 'x' }), reason: 'conditionId' },
      SLUG_DAMAGE,
    ],
  },
  {
    ...{ title: 'markets of the CLOB', file: 'clob.jsonl', reported: 'CLOB markets', records: CLOB },
    textOf: (market) => JSON.stringify(market),
    ...inLines,
    damages: [
      { title: 'a bad condition_id', damage: (market) => ({ ...market, condition_id: '' }), reason: 'condition_id' },
      { title: 'tokens without ids', damage: withoutTokenIds, reason: 'token_id' },
      SLUG_DAMAGE,
    ],
  },
];

function withoutTokenIds(market: Frame): Frame {
  return { ...market, tokens: (market.tokens as Frame[]).map((token) => ({ ...token, token_id: 'x' })) };
}

const TRADES: readonly Frame[] = [0, 1, 2, 3].map((number) => ({
  ...{ side: number % 2 === 0 ? 'BUY' : 'SELL', asset: number < 2 ? UP_ASSET : DOWN_ASSET, conditionId: CONDITION_ID },
  ...{ size: 1.5 + number, price: 0.47 + number / 100, timestamp: START_MS / 1000 + number },
  ...{ outcome: number < 2 ? 'Up' : 'Down', transactionHash: `0x${String(number).repeat(64)}` },
}));
const TRADE_DAMAGES: readonly Damage[] = [
  { title: 'a price above 1', damage: (trade) => ({ ...trade, price: 1.5 }), reason: 'price 1.5' },
  { title: 'a time that is none', damage: (trade) => ({ ...trade, timestamp: 'soon' }), reason: 'timestamp' },
  { title: 'a side that is none', damage: (trade) => ({ ...trade, side: 'HOLD' }), reason: 'side' },
];

const TRADE_FORMATS: readonly Format[] = [
  {
    ...{ title: 'trades of the Data API', file: 'trades.jsonl', reported: 'Data API trades', records: TRADES },
    textOf: (trade) => JSON.stringify(trade),
    ...inLines,
    damages: TRADE_DAMAGES,
    needsMarket: true,
  },
  {
    ...{ title: 'trades of the Data API as CSV', file: 'trades.csv', reported: 'Data API trades CSV', records: TRADES },
    textOf: (trade) => Object.values(trade).join(','),
    bytesOf: (rows) => linesOf([Object.keys(TRADES[0]!).join(','), ...rows]),
    ...{ damages: TRADE_DAMAGES, needsMarket: true, first: 2, cutReason: 'fields, but the header has' },
  },
];

const LINES: readonly Format[] = [...MARKETS, ...TRADE_FORMATS];
const ARRAYS = LINES.filter(({ bytesOf }) => bytesOf === linesOf).map((format) => ({
  ...format,
  title: `${format.title}, in an array`,
  file: format.file.replace('.jsonl', '.json'),
  ...inArray,
  cutReason: undefined,
}));
const FORMATS: readonly Format[] = [...FRAMES, ...PARQUET, ...LINES, ...ARRAYS];

/** Formats of bookreel that are imported again. */
const OWN: readonly ExportFormat[] = ['ndjson', 'msgpack', 'segments'];

interface Imported extends Disposable {
  readonly archive: Archive;
  readonly report: ImportReport;
  readonly path: string;
}

/** A new archive with the recording of these lines or rows. */
async function imported(format: Format, texts: readonly string[]): Promise<Imported> {
  using directory = temporaryDirectory();
  const place = temporaryArchive();
  if (format.needsMarket === true) {
    writeFileSync(join(directory.path, 'a-market.ndjson'), `${JSON.stringify(sampleMarket())}\n`);
  }
  const path = join(directory.path, format.file);
  writeFileSync(path, format.bytesOf(texts));
  const report = await importPaths(place.archive, directory.path);
  return { archive: place.archive, report, path, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

async function ndjsonOf(archive: Archive): Promise<string> {
  return (await exported(archive, 'ndjson')).bytes.toString();
}

describe.each(FORMATS.map((format) => [format.title, format] as const))('%s', (_, format) => {
  const texts = format.records.map((record) => format.textOf(record));
  const indexes = [0, texts.length >> 1, texts.length - 1];
  /** What is stored if a file lacks the record at an index. */
  const withoutRecord = new Map<number, Promise<string>>();
  const storedWithout = (index: number) =>
    withoutRecord.getOrInsertComputed(index, async () => {
      using others = await imported(format, texts.toSpliced(index, 1));
      expect(others.report.rejections).toEqual([]);
      return await ndjsonOf(others.archive);
    });

  test('survive export and import without a change', async () => {
    using whole = await imported(format, texts);
    expect(whole.report.rejections).toEqual([]);
    expect(whole.report.files.find(({ path }) => path === whole.path)!.format).toBe(format.reported);
    const records = (await ndjsonOf(whole.archive)).split('\n').length - 1;
    expect(records).toBe(texts.length + (format.needsMarket === true ? 1 : 0));
    for (const own of OWN) {
      using again = temporaryArchive();
      const { bytes } = await exported(whole.archive, own);
      expect((await importFile(again.archive, `export.${own}`, bytes)).rejections).toEqual([]);
      expect((await exported(again.archive, own)).bytes.equals(bytes)).toBe(true);
    }
  });

  const cut = (record: Frame) => {
    const text = format.textOf(record);
    return text.slice(0, text.length >> 1);
  };
  const damages: readonly (readonly [string, (record: Frame) => string, string])[] = [
    ...(format.cutReason === undefined ? [] : [['is cut', cut, format.cutReason] as const]),
    ...format.damages.map(
      ({ title, damage, reason }) =>
        [`has ${title}`, (record: Frame) => format.textOf(damage(record)), reason] as const,
    ),
  ];
  test.each(damages)(
    'of which the first, middle or last one %s: one sentence, and the others are stored',
    async (_title, damaged, reason) => {
      for (const index of indexes) {
        using result = await imported(format, texts.with(index, damaged(format.records[index]!)));
        expect(result.report.rejections).toMatchObject([{ path: result.path, line: format.first + index }]);
        const said = result.report.rejections[0]!.reason;
        expect(said).toContain(reason);
        expect(said).not.toMatch(/[\n.]$|\n/);
        expect(await ndjsonOf(result.archive)).toBe(await storedWithout(index));
      }
    },
  );
});
