import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, countsOf } from '../../support/imported.ts';
import { mappingOf } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const START_MS = 1_776_323_400_000;
const UP_TOKEN = '73470541315377973562501025254719659796416871135081220986683321361000395461644';

interface BookRow {
  readonly slug: string;
  readonly token: string;
  readonly at: number;
  readonly outcome: string;
  readonly bids: string;
  readonly asks: string;
}

/** Books of up whose prices and sizes have many digits. */
const ROWS: readonly BookRow[] = Array.from({ length: 300 }, (_, index) => ({
  slug: SLUG,
  token: UP_TOKEN,
  at: START_MS + index * 997,
  outcome: 'Up',
  bids: JSON.stringify([
    [`0.${40 + (index % 9)}`, `${index}.${String(index * 7919).padStart(6, '0')}`],
    ['0.01', '1000000.000001'],
  ]),
  asks: JSON.stringify([['0.999', String(index + 1)]]),
}));

/** The same books, read independently of the program. */
const BOOKS = ROWS.map(({ at, bids, asks }) => {
  const [b, a] = [JSON.parse(bids), JSON.parse(asks)] as [[string, string][], [string, string][]];
  const levels = b.filter(([, size]) => Number(size) > 0);
  return {
    timestampMs: at,
    book: {
      bidPrices: levels.map(([price]) => Number(price)),
      bidSizes: levels.map(([, size]) => Number(size)),
      askPrices: a.map(([price]) => Number(price)),
      askSizes: a.map(([, size]) => Number(size)),
    },
  };
});

const REST = `
  [time]
  field = "at"
  unit = "ms"
  [market]
  slug = "slug"
  token = "token"
  [outcome]
  field = "outcome"
  up = ["Up"]
  down = ["Down"]
  [books]
  bids = { levels = "bids", price = 0, size = 1 }
  asks = { levels = "asks", price = 0, size = 1 }`;
const SQLITE = `format = "sqlite"\nrows = { table = "books", json = ["bids", "asks"] }${REST}`;
const QUERY = `format = "sqlite"\nrows = { query = "SELECT * FROM books ORDER BY at", json = ["bids", "asks"] }${REST}`;
const PARQUET = `format = "parquet"\nrows = { json = ["bids", "asks"] }${REST}`;

function writeSqlite(path: string, rows: readonly BookRow[], columns = 'slug, token, at, outcome, bids, asks'): void {
  using database = new Database(path);
  database.run(`CREATE TABLE books (${columns})`);
  const insert = database.prepare('INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)');
  database.transaction(() => {
    for (const { slug, token, at, outcome, bids, asks } of rows) insert.run(slug, token, at, outcome, bids, asks);
  })();
}

function writeParquet(path: string, rows: readonly BookRow[]): void {
  const texts = (['slug', 'token', 'outcome', 'bids', 'asks'] as const).map((name) => ({
    name,
    data: rows.map((row) => row[name]),
    type: 'STRING' as const,
  }));
  const at = { name: 'at', data: rows.map((row) => BigInt(row.at)), type: 'INT64' as const };
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData: [...texts, at], rowGroupSize: 100 })));
}

/** The report of an import of what `write` writes, and the books of up. */
async function imported(toml: string, write: (path: string) => void, name = 'books.db') {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const path = join(directory.path, name);
  write(path);
  const before = readFileSync(path);
  const report = await new Importer(place.archive, { clock: () => NOW_MS, mapping: mappingOf(toml) }).run(
    sourcesOf([path]),
  );
  expect(readFileSync(path).equals(before)).toBe(true);
  const isKnown = place.archive.markets.findBySlug(SLUG) !== undefined;
  return { report, path, books: isKnown ? booksOf(place.archive, SLUG, 'up') : [] };
}

describe('an import with a mapping', () => {
  test.each([
    ['a SQLite table', SQLITE, writeSqlite],
    ['a SQLite query that ends like a statement', QUERY.replace('at", ', 'at ;\\n", '), writeSqlite],
    ['a SQLite query', QUERY, (path: string, rows: typeof ROWS) => writeSqlite(path, rows.toReversed())],
    ['Parquet', PARQUET, writeParquet],
  ])('stores the books of %s exactly', async (_, toml, write) => {
    const { report, books } = await imported(toml, (path) => write(path, ROWS));
    expect(countsOf(report.total)).toEqual({ read: 300, stored: 300, duplicate: 0, rejected: 0, ignored: 0 });
    expect(books.map(({ timestampMs, book }) => ({ timestampMs, book }))).toEqual(BOOKS);
  });

  const [first, second, third] = ROWS as [BookRow, BookRow, BookRow];

  test.each([
    ['SQLite', SQLITE, writeSqlite],
    ['Parquet', PARQUET, writeParquet],
  ])('refuses rows of %s one by one, completely, with a reason for each', async (_, toml, write) => {
    const rows: readonly BookRow[] = [
      first,
      { ...second, bids: '[["0.5","1"],["1.5","1"]]' },
      { ...third, asks: '[["0.6"' },
      { ...third, at: third.at + 1, outcome: 'Yes' },
      { ...third, at: third.at + 2, outcome: 'Down' },
      { ...third, at: third.at + 3, slug: 'eth-updown-5m-1776323400' },
      { ...first, asks: '[["0.998","1"]]' },
      third,
    ];
    const { report, books } = await imported(toml, (path) => write(path, rows));
    expect(countsOf(report.total)).toEqual({ read: 8, stored: 2, duplicate: 0, rejected: 6, ignored: 0 });
    expect(report.rejections.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '2: a price in bids 1.5 lies outside 0…1',
      '3: asks is not JSON',
      '4: outcome "Yes" is not one of Up, Down',
      `5: the row says that asset ${UP_TOKEN} is down, but its market says up`,
      expect.stringMatching(
        /^6: slug eth-updown-5m-1776323400 contradicts market 0x.*, which has btc-updown-5m-1776323400$/,
      ),
      expect.stringMatching(/^7: row 1 has a different book of up at 2026-04-16T07:10:00\.000Z: /),
    ]);
    expect(books.map(({ timestampMs }) => timestampMs)).toEqual([first.at, third.at]);
  });

  test.each([
    [
      'of a table without a column',
      SQLITE,
      'slug, token, at, outcome, bids, offers',
      'has no column asks: it has slug, token, at, outcome, bids, offers',
    ],
    ['without the table', SQLITE.replace('"books"', '"snapshots"'), undefined, 'has no table snapshots: it has books'],
    ['of a query with an error', QUERY.replace('ORDER', 'ORDR'), undefined, 'the query cannot be run on'],
  ])('stores nothing %s', async (_, toml, columns, sentence) => {
    const { report, books } = await imported(toml, (path) => writeSqlite(path, ROWS, columns));
    expect(report.files.map(({ error }) => error)).toEqual([expect.stringContaining(sentence)]);
    expect([report.total.read, books]).toEqual([0, []]);
  });

  test('reads the SQLite files that it fits of a directory, and names those that cannot be read', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    mkdirSync(join(directory.path, 'more'));
    writeSqlite(join(directory.path, 'a.db'), ROWS.slice(0, 10));
    writeSqlite(join(directory.path, 'more', 'b.sqlite3'), ROWS.slice(10, 20));
    writeFileSync(join(directory.path, 'c.db'), readFileSync(join(directory.path, 'a.db')).subarray(0, 4096));
    writeFileSync(join(directory.path, 'notes.txt'), 'not a recording');
    const importer = new Importer(place.archive, { clock: () => NOW_MS, mapping: mappingOf(SQLITE) });
    const { total, files, skipped } = await importer.run(sourcesOf([directory.path]));
    expect([total.stored, skipped.length]).toEqual([20, 1]);
    expect(files.map(({ error }) => error?.replace(directory.path, ''))).toEqual([
      undefined,
      expect.stringContaining("'/c.db' cannot be read as SQLite"),
      undefined,
    ]);
  });

  test('stops between two rows of a table', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'books.db');
    writeSqlite(path, ROWS);
    const stop = new AbortController();
    const importer = new Importer(place.archive, {
      clock: () => NOW_MS,
      mapping: mappingOf(`${SQLITE.replace('unit = "ms"', 'unit = "s"')}`),
      signal: stop.signal,
      onReject: () => stop.abort(),
    });
    const report = await importer.run(sourcesOf([path]));
    expect([report.stopped, report.total.read]).toEqual([true, 1]);
  });
});
