import { SQLiteError, Database as Sqlite, type Statement } from 'bun:sqlite';
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations/list.ts';

/** "bkrl": says whose database file this is. */
const APPLICATION_ID = 0x62_6b_72_6c;
/** Two segments of books fill a page (book/run.ts). */
const PAGE_BYTES = 8192;
/** How long a command waits for another one that writes. */
const BUSY_TIMEOUT_MS = 15_000;
const CACHE_KIB = 32_768;

export const DATABASE_FILE = 'bookreel.db';

export interface OpenOptions {
  /** Create the data directory when it is missing; without it a missing one is an error. */
  readonly create: boolean;
}

/**
 * The data directory's SQLite database: opened, checked to be ours, and migrated. Every error of SQLite that leaves
 * here is a DomainError that says what to do.
 */
export class Database {
  readonly #sqlite: Sqlite;
  readonly #begin: Statement;
  readonly #beginImmediate: Statement;
  readonly #commit: Statement;
  readonly #rollback: Statement;

  private constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#begin = sqlite.query('BEGIN');
    this.#beginImmediate = sqlite.query('BEGIN IMMEDIATE');
    this.#commit = sqlite.query('COMMIT');
    this.#rollback = sqlite.query('ROLLBACK');
  }

  /** Throws DomainError 'unavailable' (cannot be opened, not ours, damaged) or 'conflict' (a newer schema). */
  static open(directory: string, options: OpenOptions): Database {
    const path = join(directory, DATABASE_FILE);
    if (!options.create && isMissing(path)) {
      throw new DomainError(
        'unavailable',
        `there is no archive in '${directory}': run 'bookreel serve' or 'bookreel import' first, or name another with --data`,
      );
    }
    return explained(path, () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true });
      try {
        prepare(sqlite, path);
        return new Database(sqlite);
      } catch (error) {
        sqlite.close();
        throw error;
      }
    });
  }

  /** A prepared statement. Rows come back as `Row`, parameters are bound by position. */
  query<Row, Params extends (string | number | Uint8Array | null)[]>(sql: string) {
    return this.#sqlite.query<Row, Params>(sql);
  }

  /** All of `work` or nothing, and on disk when this returns. Takes the write lock at once. */
  write<T>(work: () => T): T {
    return this.#within(this.#beginImmediate, work);
  }

  /** One consistent view for all that `work` reads. */
  read<T>(work: () => T): T {
    return this.#within(this.#begin, work);
  }

  /** The plan SQLite chooses for a statement, one line a step, for the tests that hot statements only search. */
  planOf(sql: string): string[] {
    const steps = this.#sqlite.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
    return steps.map((step) => step.detail);
  }

  /** Brings the write-ahead log into the database file, as far as running readers and the disk allow. */
  checkpoint(): void {
    try {
      this.#sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // What stays in the log is as safe there; a failure must not hide why, or that, the work before it ended.
      if (!(error instanceof SQLiteError)) throw error;
    }
  }

  get path(): string {
    return this.#sqlite.filename;
  }

  close(): void {
    this.#sqlite.close();
  }

  #within<T>(begin: Statement, work: () => T): T {
    return explained(this.path, () => {
      begin.run();
      try {
        const result = work();
        this.#commit.run();
        return result;
      } catch (error) {
        // Some errors (a full disk) have rolled back already; a second one must not hide the first.
        if (this.#sqlite.inTransaction) this.#rollback.run();
        throw error;
      }
    });
  }
}

/** A path that may not be looked at is not missing. */
function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
  }
}

/** The version of the SQLite inside this program. */
export function sqliteVersion(): string {
  const memory = new Sqlite(':memory:');
  try {
    return memory.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()!.version;
  } finally {
    memory.close();
  }
}

function prepare(sqlite: Sqlite, path: string): void {
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  sqlite.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  const foreign = pragma(sqlite, 'application_id');
  if (foreign !== 0 && foreign !== APPLICATION_ID) {
    throw new DomainError('unavailable', `'${path}' belongs to another program: name another directory with --data`);
  }
  refuseNewer(sqlite, path);
  // It is ours, or about to be; the files of the write-ahead log take its mode over.
  chmodSync(path, 0o600);
  sqlite.run('PRAGMA journal_mode = WAL');
  // What was reported as stored is on disk, also after a loss of power.
  sqlite.run('PRAGMA synchronous = FULL');
  sqlite.run('PRAGMA foreign_keys = ON');
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  while (pragma(sqlite, 'user_version') < SCHEMA_VERSION) migrateOnce(sqlite, path);
}

function refuseNewer(sqlite: Sqlite, path: string): void {
  const version = pragma(sqlite, 'user_version');
  if (version > SCHEMA_VERSION) {
    throw new DomainError(
      'conflict',
      `'${path}' has schema ${version}, and this bookreel knows schemas up to ${SCHEMA_VERSION}: use the newer bookreel that wrote it`,
    );
  }
}

function migrateOnce(sqlite: Sqlite, path: string): void {
  sqlite.run('BEGIN IMMEDIATE');
  try {
    // Read again under the lock: another process may have migrated meanwhile.
    refuseNewer(sqlite, path);
    const version = pragma(sqlite, 'user_version');
    const migration = MIGRATIONS[version];
    if (migration !== undefined) {
      for (const statement of statementsOf(migration)) sqlite.run(statement);
      sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
      sqlite.run(`PRAGMA user_version = ${version + 1}`);
    }
    sqlite.run('COMMIT');
  } catch (error) {
    if (sqlite.inTransaction) sqlite.run('ROLLBACK');
    throw error;
  }
}

/** Migrations hold plain statements only: a semicolon at a line's end closes each. */
function statementsOf(migration: string): string[] {
  return migration
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

function pragma(sqlite: Sqlite, name: 'user_version' | 'application_id'): number {
  return sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get()![name]!;
}

/** Runs `work` and turns what SQLite and the file system throw into one sentence for whoever runs the program. */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SQLiteError) throw new DomainError('unavailable', sentenceFor(error, path), { cause: error });
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      throw new DomainError(
        'unavailable',
        `'${path}' cannot be opened (${String(error.code)}): check the directory and its permissions`,
        { cause: error },
      );
    }
    throw error;
  }
}

function sentenceFor(error: SQLiteError, path: string): string {
  const code = error.code ?? '';
  // The second is what a full disk says to the index of the write-ahead log.
  if (code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE') {
    return `the disk is full, '${path}' cannot grow: free some space and run this again (what was reported as stored is kept)`;
  }
  if (code.startsWith('SQLITE_BUSY')) return `another command is writing to '${path}': run this again when it is done`;
  if (code.startsWith('SQLITE_NOTADB')) {
    return `'${path}' is not a SQLite database: move it away, restore a backup, or name another directory with --data`;
  }
  if (code.startsWith('SQLITE_CORRUPT')) return `'${path}' is damaged: restore it from a backup`;
  if (code.startsWith('SQLITE_READONLY'))
    return `'${path}' cannot be written: check its permissions and its file system`;
  if (code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_IOERR')) {
    return `'${path}' cannot be read or written (${code}): check the directory, its permissions and its disk`;
  }
  return `'${path}' refused a statement (${code || 'SQLITE_ERROR'}): ${error.message}`;
}
