import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { DomainError } from '../../../src/domain/errors.ts';
import { sqliteRows } from '../../../src/import/mapping/sqlite-rows.ts';
import { SqliteFile, type SqliteSelection } from '../../../src/import/parse/sqlite.ts';
import type { Fields } from '../../../src/record/fields.ts';
import { temporaryDirectory } from '../../support/archive.ts';

/** Writes a database and closes it. */
function write(path: string, ...statements: readonly string[]): void {
  using database = new Database(path);
  for (const statement of statements) database.run(statement);
}

async function rowsOf(path: string, selection: SqliteSelection, columns: readonly string[]): Promise<Fields[]> {
  const rows: Fields[] = [];
  await sqliteRows(path, selection).read(columns, ({ fields }) => rows.push(fields()));
  return rows;
}

/** The sentence with which reading ends. */
async function refusal(read: () => Promise<unknown>): Promise<string> {
  try {
    await read();
  } catch (error) {
    if (error instanceof DomainError) return error.message;
    throw error;
  }
  throw new Error('it was read');
}

/** A page of a table with the same page below as often as it can. */
function innerPage(below: number): Buffer {
  const [cells, cellBytes] = [500, 5];
  const page = Buffer.alloc(4096);
  page.writeUInt8(5, 0);
  page.writeUInt16BE(cells, 3);
  page.writeUInt16BE(page.length - cells * cellBytes, 5);
  page.writeUInt32BE(below, 8);
  for (let cell = 0; cell < cells; cell += 1) {
    const at = page.length - (cell + 1) * cellBytes;
    page.writeUInt16BE(at, 12 + cell * 2);
    page.writeUInt32BE(below, at);
    page.writeUInt8(1, at + 4);
  }
  return page;
}

const TABLE: SqliteSelection = { table: 't' };

function columnsOf(path: string, selection: SqliteSelection): readonly string[] {
  using file = SqliteFile.open(path);
  return file.columnsOf(selection);
}

describe('the rows of SQLite', () => {
  test('A SQLite REAL is read as its shortest decimal, and rows in the order of the table.', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'a file? with 100% #1.db');
    write(
      path,
      'CREATE TABLE t (a, "b c", "__proto__", d)',
      "INSERT INTO t VALUES (9007199254740993, 0.1, 'x', NULL), (-5, 1e-7, 'é', x'00ff'), (9007199254740991, 17000000.123, '', 2)",
    );
    const rows: (readonly [number, Fields])[] = [];
    await sqliteRows(path, TABLE).read(['b c', 'a', 'd'], ({ number, fields }) => rows.push([number, fields()]));
    expect(rows).toEqual([
      [1, { 'b c': 0.1, a: '9007199254740993', d: null }],
      [2, { 'b c': 1e-7, a: -5, d: new Uint8Array([0, 255]) }],
      [3, { 'b c': 17_000_000.123, a: 9_007_199_254_740_991, d: 2 }],
    ]);
    expect(columnsOf(path, TABLE)).toEqual(['a', 'b c', '__proto__', 'd']);
  });

  test('of a query are those that SQLite gives, in its order', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'two.db');
    write(
      path,
      'CREATE TABLE one (id INTEGER PRIMARY KEY, at INTEGER)',
      'CREATE TABLE two (id INTEGER, levels TEXT)',
      'INSERT INTO one VALUES (1, 30), (2, 10), (3, 20)',
      "INSERT INTO two VALUES (1, '[[1,2]]'), (2, '[]'), (3, '[[3,4],[5,6]]')",
    );
    const query = 'SELECT at, levels AS "view" FROM one JOIN two USING (id) ORDER BY at DESC -- the last first';
    expect(columnsOf(path, { query })).toEqual(['at', 'view']);
    expect(await rowsOf(path, { query }, ['view', 'at'])).toEqual([
      { view: '[[1,2]]', at: 30 },
      { view: '[[3,4],[5,6]]', at: 20 },
      { view: '[]', at: 10 },
    ]);
    const each = 'SELECT at, j.value AS level FROM one JOIN two USING (id), json_each(levels) AS j';
    expect(await rowsOf(path, { query: each }, ['at', 'level'])).toEqual([
      { at: 30, level: '[1,2]' },
      { at: 20, level: '[3,4]' },
      { at: 20, level: '[5,6]' },
    ]);
  });

  test('with a text that is not UTF-8, or a value that is too long, are refused, and the others are read', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'texts.db');
    write(
      path,
      'CREATE TABLE t (a)',
      "INSERT INTO t VALUES ('good'), (CAST(x'41ff' AS TEXT)), (zeroblob(16777217)), ('good')",
    );
    const read: unknown[] = [];
    await sqliteRows(path, TABLE).read(['a'], ({ fields }) => {
      try {
        read.push(fields().a);
      } catch (error) {
        read.push(String(error));
      }
    });
    expect(read).toEqual([
      'good',
      expect.stringContaining('a is not UTF-8'),
      expect.stringContaining('a value is longer than 16777216 bytes'),
      'good',
    ]);
  });

  test('are read without a change of the file or of its directory, in both ways of writing', async () => {
    for (const mode of ['WAL', 'DELETE']) {
      using directory = temporaryDirectory();
      const path = join(directory.path, 'kept.db');
      write(path, `PRAGMA journal_mode = ${mode}`, 'CREATE TABLE t (a)', 'INSERT INTO t VALUES (1), (2)');
      const before = readFileSync(path);
      expect([mode, await rowsOf(path, TABLE, ['a'])]).toEqual([mode, [{ a: 1 }, { a: 2 }]]);
      expect(readFileSync(path).equals(before)).toBe(true);
      expect(readdirSync(directory.path)).toEqual(['kept.db']);
    }
  });
});

describe('Nothing that a SQLite file defines runs, and a refusal is one sentence.', () => {
  const hostile = temporaryDirectory();
  beforeAll(() => {
    write(
      join(hostile.path, 'hostile.db'),
      'CREATE TABLE t (a, b)',
      'INSERT INTO t VALUES (1, 2)',
      'CREATE TABLE "other" (c)',
      "CREATE TABLE deep (a, big AS (printf('%.*c', 900000000, 'x')))",
      'CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c',
      'CREATE VIRTUAL TABLE texts USING fts5(a)',
      'CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END',
    );
  });
  afterAll(() => hostile[Symbol.dispose]());

  test.each<[string, SqliteSelection, readonly string[], string]>([
    ['without the table', { table: 'books' }, ['a'], "' has no table books: it has deep, other, t"],
    ['without the column', TABLE, ['a', 'bids'], "' has no column bids: it has a, b"],
    ['with a view of that name', { table: 'endless' }, ['n'], "' has endless as a view, which may run forever"],
    ['with a virtual table of that name', { table: 'texts' }, ['a'], 'as a virtual table, which may run forever'],
    ['by a query of a view', { query: 'SELECT n FROM "ENDLESS"' }, ['n'], 'the query reads endless, a view of'],
    [
      'by a query of a view in brackets',
      { query: 'SELECT n FROM [endless]' },
      ['n'],
      'the query reads endless, a view',
    ],
    ['by a query of a view in a text', { query: "SELECT n FROM 'endless'" }, ['n'], 'the query reads endless, a view'],
    [
      'by a query of a virtual table',
      { query: 'SELECT * FROM texts' },
      ['a'],
      'the query reads texts, a virtual table',
    ],
    ['by a query of a computed column', { query: 'SELECT big FROM deep' }, ['big'], 'the query reads big, which'],
    ['with a computed column', { table: 'deep' }, ['big'], ' computes big when it is read: name stored columns'],
    [
      'by a query without end',
      { query: 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c' },
      ['n'],
      'the query is recursive, and may run forever: select the rows of tables',
    ],
    ['by a query with an error', { query: 'SELECT a FORM t' }, ['a'], 'the query cannot be run on'],
    ['by a statement that writes', { query: 'DELETE FROM t' }, ['a'], 'the query cannot be run on'],
    ['by two statements', { query: 'SELECT a FROM t; DELETE FROM t' }, ['a'], 'the query cannot be run on'],
    ['by another file', { query: "SELECT load_extension('x')" }, ['x'], "the query on '"],
    [
      'by a query with two columns of a name',
      { query: 'SELECT a, b AS a FROM t' },
      ['a'],
      'has two columns a: name them apart',
    ],
  ])('%s', async (_, selection, columns, sentence) => {
    const path = join(hostile.path, 'hostile.db');
    expect(await refusal(() => rowsOf(path, selection, columns))).toContain(sentence);
  });

  test('that another program is writing', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'locked.db');
    write(path, 'CREATE TABLE t (a)', 'INSERT INTO t VALUES (1)');
    using writer = new Database(path);
    writer.run('BEGIN EXCLUSIVE');
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(
      `'${path}' is locked by a program that writes it: import it again when that program has finished, or import a copy`,
    );
    writer.run('ROLLBACK');
    expect(await rowsOf(path, TABLE, ['a'])).toEqual([{ a: 1 }]);
  });

  test('that cannot be written while it is read', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'read.db');
    write(path, 'CREATE TABLE t (a)', 'INSERT INTO t VALUES (1), (2)');
    using writer = new Database(path);
    using file = SqliteFile.open(path);
    expect([...file.rows(TABLE, ['a'])].length).toBe(2);
    expect(() => writer.run('INSERT INTO t VALUES (3)')).toThrow('database is locked');
    file.refuseChange();
  });

  test('A SQLite file is refused while it is locked, in WAL mode, or with changes in a -wal or -journal file.', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'live.db');
    using writer = new Database(path);
    writer.run('PRAGMA journal_mode = WAL');
    writer.run('CREATE TABLE t (a)');
    const copy = `close the program that writes it, or import a copy: sqlite3 '${path}' ".backup copy.db"`;
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(
      `'${path}' has changes in '${path}-wal' that are not in the file yet: ${copy}`,
    );
    writer.run('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(`'${path}' is in use: ${copy}`);
  });

  test('with a journal that was not rolled back', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'hot.db');
    const [written, broken] = [join(directory.path, 'written.db'), `${path}-journal`];
    write(written, 'CREATE TABLE t (a)', 'INSERT INTO t VALUES (1)');
    using writer = new Database(written);
    writer.run('PRAGMA cache_size = 1');
    writer.run('BEGIN');
    writer.run('INSERT INTO t SELECT zeroblob(4000) FROM json_each(?)', [JSON.stringify(Array(500).fill(0))]);
    copyFileSync(written, path);
    copyFileSync(`${written}-journal`, broken);
    writer.run('ROLLBACK');
    expect(existsSync(broken)).toBe(true);
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toContain(
      `'${path}' has a transaction in '${broken}' that is not complete: close the program that writes it`,
    );
  });

  test('that is encrypted, empty, cut off, damaged, missing or standard input', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'damaged.db');
    const other = 'is not a SQLite database, or it is encrypted: decrypt it first';
    writeFileSync(path, crypto.getRandomValues(new Uint8Array(8192)));
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(`'${path}' ${other}`);
    writeFileSync(path, '');
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(`'${path}' ${other}`);
    const whole = join(directory.path, 'whole.db');
    write(whole, 'CREATE TABLE t (a)', "INSERT INTO t SELECT zeroblob(1000) FROM json_each('[1,2,3,4,5,6,7,8,9]')");
    copyFileSync(whole, path);
    truncateSync(path, 8192);
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toContain('it is damaged or cut off');
    // Also within its last page, or within its header.
    for (const kept of [statSync(whole).size - 1000, 100, 17, 16]) {
      copyFileSync(whole, path);
      truncateSync(path, kept);
      expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toContain('it is damaged or cut off');
    }
    const bytes = readFileSync(whole);
    bytes.fill(0xff, 100, 4096);
    writeFileSync(path, bytes);
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toContain('it is damaged or cut off');
    expect(await refusal(() => rowsOf(`${path}.none`, TABLE, ['a']))).toContain('cannot be read: check the path');
    expect(await refusal(() => rowsOf('-', TABLE, ['a']))).toContain('give the name of the file');
  });

  test('that is written while it is read, without locks', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'written.db');
    write(path, 'PRAGMA journal_mode = WAL', 'CREATE TABLE t (a)', 'INSERT INTO t VALUES (1)');
    const read = () => sqliteRows(path, TABLE).read(['a'], () => write(path, 'INSERT INTO t VALUES (2)'));
    expect(await refusal(read)).toBe(
      `'${path}' was written while it was read: import it again when no program is writing it`,
    );
  });

  test('whose pages refer to each other, after as many rows as it has bytes', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'loop.db');
    write(path, 'CREATE TABLE t (a)', "INSERT INTO t SELECT 'x' FROM json_each('[1,2,3,4,5,6,7,8,9]')");
    const bytes = readFileSync(path);
    // Page 2, the table's only one, and page 3 become inner pages, each with the next page 501 times below. Page 4 has the rows.
    const leaf = bytes.subarray(4096, 8192);
    const pages = [bytes.subarray(0, 4096), innerPage(3), innerPage(4), leaf];
    bytes.writeUInt32BE(pages.length, 28);
    writeFileSync(path, Buffer.concat(pages));
    let rows = 0;
    const read = () =>
      sqliteRows(path, TABLE).read(['a'], () => {
        rows += 1;
      });
    expect(await refusal(read)).toContain('it is damaged or cut off');
    expect(rows).toBe(pages.length * 4096);
  });

  test('or read, whichever of its bytes are damaged', async () => {
    using directory = temporaryDirectory();
    const [whole, path] = [join(directory.path, 'whole.db'), join(directory.path, 'damaged.db')];
    write(
      whole,
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)',
      'CREATE INDEX i ON t (b)',
      `INSERT INTO t SELECT value, 'text ' || value FROM json_each('[${Array.from({ length: 300 }, (_, i) => i)}]')`,
    );
    const bytes = readFileSync(whole);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        async (changes) => {
          const damaged = Buffer.from(bytes);
          for (const [at, byte] of changes) damaged[at] = byte;
          writeFileSync(path, damaged);
          let rows = 0;
          try {
            await sqliteRows(path, TABLE).read(['a', 'b'], () => {
              rows += 1;
            });
          } catch (error) {
            if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
            refused += 1;
          }
          expect(rows).toBeLessThanOrEqual(bytes.length);
        },
      ),
      { numRuns: 150 },
    );
    expect(refused).toBeGreaterThan(0);
  });

  test('whose schema takes too much memory', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'schema.db');
    write(path, 'CREATE TABLE t (a)');
    const bytes = readFileSync(path);
    bytes.writeUInt8(5, 100);
    bytes.writeUInt16BE(2000, 103);
    writeFileSync(path, bytes);
    expect(await refusal(() => rowsOf(path, TABLE, ['a']))).toBe(`'${path}' has too many tables to be a recording`);
  });
});
