import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ImportReport } from '../../src/import/report.ts';
import { BookReader, bookOf } from '../../src/segment/book-decoder.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { type Service, serviceOf } from '../support/service.ts';
import {
  type Level,
  type RecordedBook,
  type RecordedMarket,
  recordedBooks,
  recordedMarkets,
} from './recorded-books.ts';

/** Markets whose books are read, of those that are recorded: campaigns read all. */
const READ = 4;
const MARKETS = 16;
/** Rows of the market list in the directory: one per asset, with fewer fields than the market records. */
const LISTED = 21;
const REPEATS = 1;
/** Book messages of the markets that are read. */
const BOOKS = 14_142;
/** Of the nearest books one in this number is decoded. A segment has up to 128, so every place in a segment is. */
const DECODED_EVERY = 7;
const OUTCOMES = ['up', 'down'] as const;

/** A part of the recordings, read without the code under test, and the archive with their import. */
interface Imported extends Disposable {
  readonly archive: ReturnType<typeof temporaryArchive>['archive'];
  readonly service: Service;
  readonly report: ImportReport;
  /** Those with books. */
  readonly recorded: readonly RecordedMarket[];
  /** Book messages. */
  readonly books: number;
  readonly directory: string;
}

let imported: Imported;
/** The positions of all books by their path and outcome, which every walk is compared with. */
const positions = new Map<string, Promise<string[]>>();

async function importReal(whole: string): Promise<Imported> {
  const stack = new DisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const slugOf = (name: string) => name.split('_')[0]!;
  const names = readdirSync(whole).filter((name) => name.endsWith('.parquet'));
  const read = new Set([...new Set(names.map(slugOf))].sort().slice(-READ));
  for (const name of [...names.filter((file) => read.has(slugOf(file))), 'markets.jsonl', 'markets.ndjson'])
    symlinkSync(join(whole, name), join(directory, name));
  const { archive } = stack.use(temporaryArchive());
  const report = await importPaths(archive, directory);
  const recorded = (await recordedMarkets(directory)).filter(({ up }) => up.length > 0);
  const books = recorded.reduce((sum, { up, down }) => sum + up.length + down.length, REPEATS);
  const service = serviceOf(archive);
  return { archive, service, report, recorded, books, directory, [Symbol.dispose]: () => stack.dispose() };
}

function marketOf(conditionId: string): StoredMarket {
  const market = imported.archive.markets.findByConditionId(conditionId);
  if (market === undefined) throw new Error(`market ${conditionId} was not stored`);
  return market;
}

/** Every outcome with books. */
function recordedSeries() {
  return imported.recorded.flatMap((recorded) =>
    OUTCOMES.flatMap((outcome) => {
      const books = recorded[outcome];
      return books.length === 0 ? [] : [{ market: marketOf(recorded.conditionId), outcome, books }];
    }),
  );
}

/** The last book of each timestamp, which a look-up at that time returns. */
function lastAt(books: readonly RecordedBook[]): Map<number, RecordedBook> {
  return new Map(books.map((book) => [book.timestampMs, book]));
}

interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

interface Row {
  readonly id: string;
  readonly timestamp: string;
}

interface Snapshot extends Row {
  readonly outcome: string;
  readonly assetId: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** Whether `a` comes before `b`: by timestamp, then by id. */
function inOrder(a: Row, b: Row): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && Number(a.id) < Number(b.id));
}

/** All pages of a series by cursor; every page except the last must be full. */
async function walked<T>(path: string, limit: number, query: string): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${cursor}`;
    const answer = await imported.service.get(`${path}?limit=${limit}${query}${after}`);
    const page = (await answer.json()) as Page<T>;
    if (answer.status !== 200) throw new Error(JSON.stringify(page));
    if (page.nextCursor !== null && page.data.length !== limit) throw new Error('a page in the middle is not full');
    for (const row of page.data) rows.push(row);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return rows;
}

/** The positions of all records, cut from the text of the pages: parsing every book would take minutes. */
async function walkedPositions(path: string, limit: number, query: string): Promise<string[]> {
  const places: string[] = [];
  let cursor: string | undefined;
  do {
    const after: string = cursor === undefined ? '' : `&cursor=${cursor}`;
    const text = await (await imported.service.get(`${path}?limit=${limit}${query}${after}`)).text();
    for (const [, id, timestamp] of text.matchAll(/"id":"(\d+)"[^[]*"timestamp":"([^"]+)"/g)) {
      places.push(`${timestamp} ${id}`);
    }
    cursor = /"nextCursor":"([^"]+)"\}$/.exec(text)?.[1];
  } while (cursor !== undefined);
  return places;
}

describe('real books', () => {
  beforeAll(async () => {
    if (REAL_BOOKS !== undefined) imported = await importReal(REAL_BOOKS);
  }, 120_000);

  afterAll(() => {
    if (REAL_BOOKS !== undefined) imported[Symbol.dispose]();
  });

  test.skipIf(REAL_BOOKS === undefined)('are all read, and each is stored once', () => {
    const { report, recorded, books } = imported;
    expect([recorded.length, books]).toEqual([READ, BOOKS]);
    expect(report.total).toMatchObject({
      read: BOOKS + MARKETS + LISTED,
      // Each market twice: from the list and from its market record.
      stored: BOOKS + 2 * MARKETS - REPEATS,
      duplicate: REPEATS + LISTED - MARKETS,
      rejected: 0,
      droppedLevels: 0,
    });
    expect(report.files.filter(({ error }) => error !== undefined)).toEqual([]);
    const [list, records] = report.files.map(({ path }) => basename(path));
    expect([list, records]).toEqual(['markets.jsonl', 'markets.ndjson']);
    expect(recorded.filter(({ down }) => down.length > 0).length).toBeGreaterThan(0);
  });

  test.skipIf(REAL_BOOKS === undefined)('are the nearest at their own timestamp, level for level', () => {
    let asked = 0;
    for (const { market, outcome, books } of recordedSeries()) {
      for (const book of lastAt(books).values()) {
        const found = imported.archive.snapshots.nearest(market, outcome, book.timestampMs);
        if (found === undefined) throw new Error('nothing is nearest');
        asked += 1;
        if (found.head.timestamps[found.index] !== book.timestampMs) {
          expect(found.head.timestamps[found.index]).toBe(book.timestampMs);
        }
        if (asked % DECODED_EVERY !== 0) continue;
        const reader = new BookReader(found.payload, found.head);
        reader.advanceTo(found.index);
        const { bidPrices, bidSizes, askPrices, askSizes } = bookOf(reader);
        const bids = bidPrices.map((price, i) => ({ price, size: bidSizes[i] }));
        const asks = askPrices.map((price, i) => ({ price, size: askSizes[i] }));
        if (JSON.stringify([bids, asks]) !== book.levelsText) {
          expect({ bids, asks }).toEqual({ bids: [...book.bids], asks: [...book.asks] });
        }
      }
    }
    expect(asked).toBeGreaterThan(BOOKS * 0.9);
  });

  test.skipIf(REAL_BOOKS === undefined)('come in order of time and arrival, each once, in pages of 1000', async () => {
    const ids = new Set<string>();
    for (const recorded of imported.recorded) {
      const rows = await walked<Snapshot>(`/btc/markets/${recorded.conditionId}/snapshots`, 1000, '');
      for (const outcome of OUTCOMES) {
        const served = rows.filter((row) => row.outcome === outcome);
        expect(served.length).toBe(recorded[outcome].length);
        for (const [i, { timestampMs, levelsText }] of recorded[outcome].entries()) {
          const { timestamp, bids, asks } = served[i]!;
          if (Date.parse(timestamp) === timestampMs && JSON.stringify([bids, asks]) === levelsText) continue;
          expect([timestamp, JSON.stringify([bids, asks])]).toEqual([new Date(timestampMs).toISOString(), levelsText]);
        }
      }
      for (const [i, row] of rows.entries()) {
        ids.add(row.id);
        if (i > 0) expect(inOrder(rows[i - 1]!, row)).toBe(true);
      }
    }
    expect(ids.size).toBe(BOOKS - REPEATS);
  });

  const walks: [limit: number, order: string, outcome: string][] = [
    [7, 'asc', ''],
    [7, 'desc', '&outcome=up'],
    [1000, 'asc', '&outcome=up'],
    [1000, 'desc', ''],
  ];
  test.skipIf(REAL_BOOKS === undefined).each(walks)(
    'are walked in pages of %i, %s%s, as a sorted list would be cut',
    async (limit, order, outcome) => {
      for (const [index, recorded] of imported.recorded.entries()) {
        const path = `/btc/markets/${recorded.conditionId}/snapshots`;
        const all = await positions.getOrInsertComputed(path + outcome, () => walkedPositions(path, 1000, outcome));
        expect(all.length).toBe(recorded.up.length + (outcome === '' ? recorded.down.length : 0));
        // A window between two recorded timestamps, whose length is not a multiple of the page size.
        const from = recorded.up[Math.floor(recorded.up.length / 3)]!.timestampMs;
        const to = recorded.up[Math.floor(recorded.up.length / 2)]!.timestampMs;
        const within = (position: string) => {
          const ms = Date.parse(position.split(' ')[0]!);
          return ms >= from && ms <= to;
        };
        const turned = (positions: string[]) => (order === 'asc' ? positions : positions.toReversed());
        const query = `&order=${order}${outcome}`;
        const windowed = await walkedPositions(path, limit, `${query}&from=${from}&to=${to}`);
        expect(windowed).toEqual(turned(all.filter(within)));
        // All markets have 8,800 pages of 7.
        if (limit === 1000 || index === 0) expect(await walkedPositions(path, limit, query)).toEqual(turned(all));
      }
    },
  );

  test.skipIf(REAL_BOOKS === undefined)('give quotes and midpoints as derived by hand', async () => {
    const text = (value: number | undefined) => (value === undefined ? null : value);
    for (const { market, outcome, books } of recordedSeries()) {
      const quotes: unknown[] = [];
      const mids: unknown[] = [];
      let quoteBefore = '';
      let midBefore: number | null = null;
      for (const { timestampMs, bids, asks } of books) {
        const [bid, ask] = [bids[0], asks[0]];
        const timestamp = new Date(timestampMs).toISOString();
        const top = [bid?.price, bid?.size, ask?.price, ask?.size].map(text);
        // Prices have at most 4 decimals here: integers of 1/100000 are exact.
        const units = (price: number) => Math.round(price * 1e5);
        const both = bid !== undefined && ask !== undefined;
        const mid: number | null = both ? (units(bid.price) + units(ask.price)) / 2 / 1e5 : null;
        const spread = both ? (units(ask.price) - units(bid.price)) / 1e5 : null;
        if (JSON.stringify(top) !== quoteBefore) quotes.push([timestamp, ...top, mid, spread]);
        if (mid !== null && mid !== midBefore) mids.push([timestamp, mid, 'mid']);
        quoteBefore = JSON.stringify(top);
        midBefore = mid;
      }
      const path = `/btc/markets/${market.conditionId}`;
      const servedQuotes = await walked<Row & Record<string, unknown>>(`${path}/quotes`, 1000, `&outcome=${outcome}`);
      const fields = ['timestamp', 'bidPrice', 'bidSize', 'askPrice', 'askSize', 'mid', 'spread'];
      expect(servedQuotes.map((quote) => fields.map((field) => quote[field]))).toEqual(quotes as unknown[][]);
      const servedPrices = await walked<Row & Record<string, unknown>>(`${path}/prices`, 1000, `&outcome=${outcome}`);
      expect(servedPrices.map(({ timestamp, price, kind }) => [timestamp, price, kind])).toEqual(mids as unknown[][]);
    }
  });

  test.skipIf(REAL_BOOKS === undefined)('take less than 60 bytes each, and 110 with all that belongs to them', () => {
    const { database } = imported.archive;
    database.checkpoint();
    const snapshots = BOOKS - REPEATS;
    const sqlite = new Database(database.path, { readonly: true });
    try {
      const { bytes, records } = sqlite
        .query<{ bytes: number; records: number }, []>(
          `SELECT SUM(LENGTH(payload)) AS bytes, SUM(records) AS records
           FROM segments JOIN series USING (series_id) WHERE kind = 'book'`,
        )
        .get()!;
      expect(records).toBe(snapshots);
      expect(bytes / snapshots).toBeLessThan(60);
    } finally {
      sqlite.close();
    }
    expect(statSync(database.path).size / snapshots).toBeLessThan(110);
  });

  test.skipIf(REAL_BOOKS === undefined)('imported again change nothing', async () => {
    const revisions = () => imported.recorded.map(({ conditionId }) => marketOf(conditionId).revision);
    const before = revisions();
    const report = await importPaths(imported.archive, imported.directory);
    const all = BOOKS + MARKETS + LISTED;
    expect(report.total).toMatchObject({ read: all, stored: 0, duplicate: all, rejected: 0 });
    expect(revisions()).toEqual(before);
  });

  test.skipIf(REAL_BOOKS === undefined)(
    'without market records are rejected, and stored once the records are there',
    async () => {
      using directory = temporaryDirectory();
      const [first, second] = readdirSync(REAL_BOOKS!)
        .filter((name) => name.endsWith('.parquet'))
        .sort();
      for (const name of [first!, second!]) symlinkSync(join(REAL_BOOKS!, name), join(directory.path, name));
      const [book] = await recordedBooks(directory.path);
      using place = temporaryArchive();
      const refused = await importPaths(place.archive, directory.path);
      expect(refused.total).toMatchObject({ stored: 0, rejected: refused.total.read });
      expect(refused.rejections[0]!.path).toBe(join(directory.path, first!));
      for (const wanted of [book!.assetId, book!.conditionId, 'markets.ndjson', '--markets']) {
        expect(refused.rejections[0]!.reason).toContain(wanted);
      }

      // As with --markets, the market records are read first.
      const report = await importPaths(place.archive, join(REAL_BOOKS!, 'markets.ndjson'), directory.path);
      expect(report.total).toMatchObject({ rejected: 0, duplicate: 0 });
      expect(report.files.length).toBe(3);
      expect(report.files[2]!.stored).toBeGreaterThan(0);
    },
  );

  test.skipIf(REAL_BOOKS === undefined)(
    'of a known market can be distinguished as soon as a record names its assets',
    async () => {
      using directory = temporaryDirectory();
      const name = readdirSync(REAL_BOOKS!).find((file) => file.endsWith('.parquet'))!;
      const records = readFileSync(join(REAL_BOOKS!, 'markets.ndjson'), 'utf8').trimEnd().split('\n');
      const unaware = records.map((line) => JSON.stringify({ ...JSON.parse(line), clobTokenIds: ['0', '0'] }));
      const unawareFile = join(directory.path, 'unaware.ndjson');
      writeFileSync(unawareFile, unaware.join('\n'));
      copyFileSync(join(REAL_BOOKS!, name), join(directory.path, name));
      using place = temporaryArchive();
      await importPaths(place.archive, unawareFile);
      const refused = await importPaths(place.archive, join(directory.path, name));
      expect(refused.total).toMatchObject({ stored: 0, rejected: refused.total.read });
      const paths = [join(REAL_BOOKS!, 'markets.ndjson'), join(directory.path, name)];
      const report = await importPaths(place.archive, ...paths);
      expect(report.total.rejected).toBe(0);
      expect(report.total.stored).toBeGreaterThan(MARKETS);
    },
  );
});
