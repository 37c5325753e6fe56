import { constants, Database, SQLiteError } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { DomainError } from '../../domain/errors.ts';
import { type Fields, rejected } from '../../record/fields.ts';
import { accessible, sizeOf, unreadable } from '../source.ts';
import { LINE_BYTES_MAX } from './lines.ts';

/** The beginning of a database (https://sqlite.org/fileformat.html), and of a journal that was not rolled back. */
const MAGIC = Buffer.from('SQLite format 3\0');
const JOURNAL_MAGIC = Buffer.from('d9d505f920a163d7', 'hex');
const HEADER_BYTES = 112;
/** Offsets in a database: of the page size, the write version, the number of pages, and the first page's kind and number of cells. */
const [PAGE_SIZE_AT, WRITE_VERSION_AT, PAGES_AT, KIND_AT, CELLS_AT] = [16, 18, 28, 100, 103];
/** The write version of WAL mode, and the kind of a page with pages below. */
const [WAL, INTERIOR] = [2, 5];
/** SQLite parses all of a schema, which takes many times its size in memory. */
const SCHEMA_BYTES_MAX = 4 * 1024 * 1024;
const READ_ONLY_URI = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
/** Maximum number of names in a message. */
const NAMES_SHOWN = 8;
/** The character that replaces bytes that are not UTF-8, although the file says that they are. */
const REPLACEMENT = '\u{fffd}';

export type SqliteSelection = { readonly table: string } | { readonly query: string };

export interface SqliteColumn {
  readonly name: string;
  /** The type that the table declares, which does not bind its values; empty if it declares none. */
  readonly type: string;
}

export interface SqliteTable {
  readonly name: string;
  readonly columns: readonly SqliteColumn[];
}

/** Returns true if a file begins like a SQLite database. */
export function isSqlite(head: Uint8Array): boolean {
  return head.length >= MAGIC.length && MAGIC.equals(head.subarray(0, MAGIC.length));
}

/**
 * A SQLite database that others wrote. It is opened read-only and immutable: nothing is written, not even next to the file. No view, virtual
 * table, trigger or computed column of the file runs: those could run forever. All methods throw DomainError 'unreadable'.
 */
export class SqliteFile implements Disposable {
  readonly #path: string;
  readonly #copy: string;
  readonly #database: Database;
  readonly #lock: Database | undefined;
  readonly #state: string;

  private constructor(
    { path, copy }: { readonly path: string; readonly copy: string },
    database: Database,
    lock: Database | undefined,
    state: string,
  ) {
    this.#path = path;
    this.#copy = copy;
    this.#database = database;
    this.#lock = lock;
    this.#state = state;
  }

  /** Refuses a file that needs its journal or is being written. `copy`: where the bytes are, if not at `path`. */
  static open(path: string, copy = path): SqliteFile {
    if (path === '-') {
      throw unreadable('SQLite cannot be read from standard input: give the name of the file');
    }
    const real = accessible(path, () => realpathSync(copy));
    const state = stateOf(real);
    const head = accessible(path, () => firstBytes(real));
    refuseOther(path, head, sizeOf(real) ?? 0);
    refuseUnfinished(path, real);
    const { href } = pathToFileURL(real);
    return readable(path, () => {
      // In WAL mode a lock would create files next to this one.
      const lock = head[WRITE_VERSION_AT] === WAL ? undefined : lockOf(href);
      try {
        const database = new Database(`${href}?immutable=1`, READ_ONLY_URI);
        for (const pragma of ['query_only = ON', 'trusted_schema = OFF', 'cell_size_check = ON']) {
          database.run(`PRAGMA ${pragma}`);
        }
        return new SqliteFile({ path, copy }, database, lock, state);
      } catch (error) {
        lock?.close();
        throw error;
      }
    });
  }

  [Symbol.dispose](): void {
    this.#database.close();
    this.#lock?.close();
  }

  /** The tables that have rows in the file, by name. */
  tables(): SqliteTable[] {
    return readable(this.#path, () => {
      const stored = this.#database
        .query<{ name: string }, []>(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        )
        .all();
      return stored.map(({ name }) => ({ name, columns: this.#storedColumns(name) }));
    });
  }

  /** The number of a table's rows, which takes as long as reading their index. */
  countOf(table: string): number {
    const sql = `SELECT count(*) AS count FROM ${quoted(table)}`;
    return readable(this.#path, () => this.#database.query<{ count: number }, []>(sql).get()!.count);
  }

  columnsOf(selection: SqliteSelection): readonly string[] {
    if ('table' in selection) return this.#table(selection.table).columns.map(({ name }) => name);
    return this.#columnsOfQuery(selection.query);
  }

  /**
   * The rows of `columns`, in the order of the table or of the query: numbers that a double keeps, longer integers as texts, texts,
   * bytes, null. A row that cannot be read is a function that throws 'rejected-record'.
   */
  *rows(selection: SqliteSelection, columns: readonly string[]): Generator<() => Fields> {
    const has = this.columnsOf(selection);
    for (const column of columns) this.#refuseColumn(selection, column, has);
    const source = 'table' in selection ? quoted(selection.table) : `(${selection.query}\n)`;
    const isLong = columns.map((column) => `octet_length(${quoted(column)}) > ${LINE_BYTES_MAX}`);
    const values = columns.map((column, index) => `iif(${isLong[index]}, NULL, ${quoted(column)}) AS c${index}`);
    // Columns get names of ours: a column called `__proto__` would not become a member of the row.
    const sql = `SELECT ${[...values, `coalesce(${['0', ...isLong].join(', 0) OR coalesce(')}, 0) AS is_long`].join(', ')} FROM ${source}`;
    const rows = readable(this.#path, () => {
      return this.#database.prepare<Stored, []>(sql).safeIntegers(true).iterate();
    });
    const countMax = 'table' in selection ? (sizeOf(this.#copy) ?? 0) : Infinity;
    for (let count = 0; ; count += 1) {
      const { value: row, done } = readable(this.#path, () => rows.next());
      if (done === true) return;
      // Each row takes at least a byte. Damaged pages that refer to each other would give rows forever.
      if (count >= countMax) throw damaged(this.#path);
      yield () => fieldsOf(row, columns);
    }
  }

  /** Throws if the file was written since it was opened. */
  refuseChange(): void {
    if (stateOf(this.#copy) === this.#state) return;
    throw unreadable(`'${this.#path}' was written while it was read: import it again when no program is writing it`);
  }

  #table(name: string): SqliteTable {
    const tables = this.tables();
    const found = tables.find((table) => table.name === name);
    if (found !== undefined) return found;
    const other = this.#computed().find(({ name: computed }) => computed === name.toLowerCase());
    const reason =
      other === undefined
        ? `has no table ${name}: it has ${named(tables.map((table) => table.name))}`
        : `has ${name} as a ${other.kind}, which may run forever: name a table`;
    throw unreadable(`'${this.#path}' ${reason}`);
  }

  /** The stored columns of a table. Those that are computed when they are read are left out. */
  #storedColumns(table: string): SqliteColumn[] {
    return this.#database
      .query<SqliteColumn, [string]>('SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden IN (0, 3)')
      .all(table);
  }

  /** Views and virtual tables, which run what the file says; names in lower case, as SQLite compares them. */
  #computed(): { readonly name: string; readonly kind: string }[] {
    return this.#database
      .query<{ name: string; kind: string }, []>(
        "SELECT lower(name) AS name, iif(type = 'view', 'view', 'virtual table') AS kind FROM sqlite_schema WHERE type = 'view' OR (type = 'table' AND rootpage = 0)",
      )
      .all();
  }

  #columnsOfQuery(query: string): readonly string[] {
    return readable(this.#path, () => {
      const words = new Set(namesIn(query));
      const computed = this.#computed().find(({ name }) => words.has(name));
      if (computed !== undefined) {
        throw unreadable(
          `the query reads ${computed.name}, a ${computed.kind} of '${this.#path}', which may run forever: name its tables`,
        );
      }
      const generated = this.#generated().find((name) => words.has(name));
      if (generated !== undefined) {
        throw unreadable(
          `the query reads ${generated}, which '${this.#path}' computes when it is read: name stored columns`,
        );
      }
      try {
        // In parentheses, so that only one query can run.
        const whole = `SELECT * FROM (${query}\n)`;
        const plan = this.#database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${whole}`).all();
        // Not the columns of `whole`, in which SQLite renames duplicates.
        if (!plan.some(({ detail }) => detail.startsWith('RECURSIVE')))
          return this.#database.prepare(query).columnNames;
      } catch (error) {
        if (!(error instanceof SQLiteError) || error.code !== 'SQLITE_ERROR') throw error;
        throw unreadable(`the query cannot be run on '${this.#path}': ${error.message}`, error);
      }
      throw unreadable('the query is recursive, and may run forever: select the rows of tables');
    });
  }

  /** Columns that are computed when they are read, of one table or of all, in lower case. */
  #generated(table: string | null = null): string[] {
    return this.#database
      .query<{ name: string }, [string | null]>(
        "SELECT DISTINCT lower(i.name) AS name FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS i WHERE s.type = 'table' AND s.rootpage > 0 AND i.hidden = 2 AND s.name = ifnull(?, s.name)",
      )
      .all(table)
      .map(({ name }) => name);
  }

  #refuseColumn(selection: SqliteSelection, column: string, has: readonly string[]): void {
    const count = has.filter((name) => name === column).length;
    if (count === 1) return;
    const place = 'table' in selection ? `table ${selection.table} of '${this.#path}'` : `the query on '${this.#path}'`;
    const isComputed = 'table' in selection && this.#generated(selection.table).includes(column.toLowerCase());
    if (isComputed) throw unreadable(`${place} computes ${column} when it is read: name stored columns`);
    throw unreadable(
      count > 1
        ? `${place} has two columns ${column}: name them apart with AS`
        : `${place} has no column ${column}: it has ${named(has)}`,
    );
  }
}

type Stored = Readonly<Record<string, string | number | bigint | Uint8Array | null>>;

function fieldsOf(row: Stored, columns: readonly string[]): Fields {
  if (row.is_long !== 0n) throw rejected(`a value is longer than ${LINE_BYTES_MAX} bytes`);
  const fields: Record<string, unknown> = {};
  for (const [index, column] of columns.entries()) {
    const value = row[`c${index}`];
    if (typeof value === 'string' && value.includes(REPLACEMENT)) throw rejected(`${column} is not UTF-8`);
    fields[column] = typeof value === 'bigint' ? exactInteger(value) : value;
  }
  return fields;
}

function exactInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function refuseOther(path: string, head: Uint8Array, bytes: number): void {
  if (!isSqlite(head)) {
    throw unreadable(`'${path}' is not a SQLite database, or it is encrypted: decrypt it first`);
  }
  if (head.length < HEADER_BYTES) throw damaged(path);
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const size = view.getUint16(PAGE_SIZE_AT);
  // 1 is 65,536, which does not fit.
  const pageBytes = size === 1 ? 65_536 : size;
  // SQLite reads zeros where the last page is cut off: rows without values.
  if (bytes % pageBytes > 0 && bytes < view.getUint32(PAGES_AT) * pageBytes) throw damaged(path);
  if (head[KIND_AT] === INTERIOR && view.getUint16(CELLS_AT) * pageBytes > SCHEMA_BYTES_MAX) {
    throw unreadable(`'${path}' has too many tables to be a recording`);
  }
}

/** Refuses a file whose last transactions are in a file next to it, which SQLite does not read from an immutable file. */
function refuseUnfinished(path: string, real: string): void {
  const copy = `close the program that writes it, or import a copy: sqlite3 '${path}' ".backup copy.db"`;
  if ((sizeOf(`${real}-wal`) ?? 0) > 0) {
    throw unreadable(`'${path}' has changes in '${path}-wal' that are not in the file yet: ${copy}`);
  }
  if (existsSync(`${real}-shm`)) {
    throw unreadable(`'${path}' is in use: ${copy}`);
  }
  const journal = `${real}-journal`;
  if ((sizeOf(journal) ?? 0) >= JOURNAL_MAGIC.length && JOURNAL_MAGIC.equals(firstBytes(journal).subarray(0, 8))) {
    throw unreadable(`'${path}' has a transaction in '${path}-journal' that is not complete: ${copy}`);
  }
}

/** A connection that keeps programs from writing the file while it is read. */
function lockOf(href: string): Database {
  const lock = new Database(`${href}?mode=ro`, READ_ONLY_URI);
  try {
    lock.run('BEGIN');
    lock.query('PRAGMA schema_version').get();
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** The inode, size and modification time of a file, as a text that changes when the file is written. */
function stateOf(path: string): string {
  const stat = accessible(path, () => statSync(path, { bigint: true }));
  return `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}

function firstBytes(path: string): Uint8Array {
  const descriptor = openSync(path, 'r');
  try {
    const head = new Uint8Array(HEADER_BYTES);
    return head.subarray(0, readSync(descriptor, head));
  } finally {
    closeSync(descriptor);
  }
}

/** Runs `read`; SQLite's errors become DomainError 'unreadable'. */
function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    if (error.code?.startsWith('SQLITE_BUSY') === true) {
      const advice = 'import it again when that program has finished, or import a copy';
      throw unreadable(`'${path}' is locked by a program that writes it: ${advice}`, error);
    }
    throw damaged(path, error);
  }
}

function damaged(path: string, cause?: SQLiteError): DomainError {
  const reason = cause === undefined ? '' : ` (${cause.message})`;
  return unreadable(`'${path}' cannot be read as SQLite${reason}: it is damaged or cut off`, cause);
}

/** The identifiers in a query, in lower case, and the texts, which SQLite also takes for identifiers; without comments. */
function namesIn(query: string): string[] {
  const tokens = query.matchAll(
    /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|'((?:[^']|'')*)'|([\w$\u{80}-\u{10ffff}]+)/gu,
  );
  return [...tokens].flatMap(([, double, back, bracket, single, bare]) => {
    const name =
      double?.replaceAll('""', '"') ?? back?.replaceAll('``', '`') ?? bracket ?? single?.replaceAll("''", "'") ?? bare;
    return name === undefined ? [] : [name.toLowerCase()];
  });
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function named(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  return names.length > NAMES_SHOWN ? `${shown} and ${names.length - NAMES_SHOWN} more` : shown;
}
