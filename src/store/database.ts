import { SQLiteError, Database as Sqlite, type Statement } from 'bun:sqlite';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { refuseCompressed } from './backup-manifest.ts';
import { isReadOnly, refuseShared } from './data-directory.ts';
import {
  closedOnError,
  connect,
  connectToRead,
  copyPages,
  createSchema,
  earlier,
  isEarlier,
  isNew,
  PAGE_BYTES,
  prepare,
  upgrade,
  writeCopy,
} from './database-connection.ts';
import { explained, fullDisk, isBusy, isCorruption, MissingFile } from './database-errors.ts';
import type { DatabaseFile } from './database-file.ts';
import { freeBytes } from './disk-floor.ts';
import { isDiskFull } from './disk-reserve.ts';
import type { Upgraded } from './upgrade.ts';

/** Pages of the write-ahead log after which a commit copies it into the file: SQLite's default. */
export const LOG_PAGES = 1000;
/** The bytes that a write-ahead log and its index need at first. */
const LOG_BYTES = 64 * 1024;
/** The value of SQLite's auto_vacuum with which a file gives its free pages back on request. */
const INCREMENTAL = 2;
/** Maximum age of a shared view. A command that changes the archive takes longer than this to report it. */
const VIEW_MS_MAX = 0.5;
/** Maximum time for which requests may still read a file that was deleted or replaced. */
const REPLACED_MS_MAX = 100;

export interface OpenOptions {
  /** Create the data directory when it is missing; without it a missing one is an error. */
  readonly create: boolean;
  /** Nothing is written: a schema of an earlier version is refused, not upgraded. */
  readonly readOnly?: boolean;
}

/**
 * An open database of the data directory, with the schema of its `file`. Every error of SQLite that is thrown from here is a
 * DomainError that says what to do.
 */
export class Database {
  readonly path: string;
  readonly file: DatabaseFile;
  /** The upgrade of its schema when it was opened. */
  readonly upgraded: Upgraded | undefined;
  /** Called each time that `read`, `readShared` or `write` finds the file damaged. */
  onCorruption: (() => void) | undefined;
  readonly #sqlite: Sqlite;
  /** Prepared, since every shared view needs them. */
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #dataVersion: Statement<{ data_version: number }, []>;
  #isDryRun = false;
  /** True while the view of `readShared` is open; `#sharedSinceMs` is its start. */
  #isShared = false;
  #sharedSinceMs = 0;
  #state = 0;
  #views = 0;
  #seenVersion = 0;
  /** The identity of the files when they were opened, to compare with the present ones; undefined when only read. */
  readonly #opened: string | undefined;
  #comparedMs = 0;

  private constructor(sqlite: Sqlite, path: string, file: DatabaseFile, opened?: string, upgraded?: Upgraded) {
    this.path = path;
    this.file = file;
    this.upgraded = upgraded;
    this.#sqlite = sqlite;
    this.#opened = opened;
    this.#begin = sqlite.query('BEGIN');
    this.#commit = sqlite.query('COMMIT');
    this.#dataVersion = sqlite.query('PRAGMA data_version');
  }

  /**
   * Upgrades a database of an earlier version, and keeps a copy of it next to it. One that cannot be written is opened to read it
   * only. Throws DomainError 'unavailable' (cannot be opened, not ours, damaged, writable by others), 'conflict' (a schema that this
   * program does not know) or 'in-use' (to be upgraded, and open in another process).
   */
  static open(directory: string, file: DatabaseFile, options: OpenOptions): Database {
    const path = join(directory, file.name);
    if (isMissing(path)) refuseCompressed(directory);
    if (!options.create && isMissing(path)) throw noArchive(directory);
    return explained(path, () => {
      // Nobody can replace the files of a read-only file system.
      if (!isReadOnly(directory)) refuseShared(directory);
      if (options.readOnly === true || isReadOnly(path)) return Database.openToRead(path, file);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      // SQLite's files would stay there empty, and refuse all readers.
      if (!existsSync(`${path}-wal`) && freeBytes(directory) < LOG_BYTES) {
        throw new DomainError('unavailable', fullDisk(path));
      }
      let sqlite = connect(path, file);
      let upgraded: Upgraded | undefined;
      if (isEarlier(sqlite, file)) {
        sqlite.close();
        upgraded = upgrade(path, file, { copy: true });
        sqlite = connect(path, file);
      }
      return closedOnError(sqlite, () => {
        prepare(sqlite, path, file);
        return new Database(sqlite, path, file, filesOf(path), upgraded);
      });
    });
  }

  /**
   * A new database in memory, in place of one that a data directory lacks and that is not created. Throws as `open` does if others may write
   * to the directory.
   */
  static inMemory(directory: string, file: DatabaseFile): Database {
    if (!isReadOnly(directory)) refuseShared(directory);
    const sqlite = new Sqlite(':memory:', { strict: true });
    sqlite.run('PRAGMA foreign_keys = ON');
    createSchema(sqlite, file.name, file);
    return new Database(sqlite, join(directory, file.name), file);
  }

  /** Keeps this much of the file in memory at most, instead of 32 MB. */
  limitCache(bytes: number): void {
    this.#sqlite.run(`PRAGMA cache_size = -${Math.ceil(bytes / 1024)}`);
  }

  /**
   * Until `Symbol.dispose`, the pages from which a failed statement is undone are in memory, not in a temporary file: deletions, and imports
   * of many markets, would write more bytes there than to the database. Do not sort much, or call `rebuild`, meanwhile: they would use memory
   * too. A commit copies the write-ahead log into the file once the log has `logPages` pages: a page that many transactions change is then
   * written to the file once.
   */
  beginBulkChanges(logPages = LOG_PAGES): Disposable {
    this.#endShared();
    this.#sqlite.run('PRAGMA temp_store = MEMORY');
    this.#sqlite.run(`PRAGMA wal_autocheckpoint = ${logPages}`);
    return {
      [Symbol.dispose]: () => {
        this.#endShared();
        this.#sqlite.run('PRAGMA temp_store = DEFAULT');
        this.#sqlite.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
      },
    };
  }

  /** Writes throw DomainError 'unavailable' from now on. */
  refuseWrites(): void {
    this.#sqlite.run('PRAGMA query_only = ON');
  }

  /** Upgrades a database that is itself a copy, and keeps no other one. Throws as `open` does. */
  static upgradeCopy(path: string, file: DatabaseFile): void {
    explained(path, () => upgrade(path, file, { copy: false }));
  }

  /**
   * Opens a database file to read it only: nothing is created or changed. Works while a server is running and on a
   * read-only medium. Throws as `open` does, and 'conflict' for a database of an earlier version.
   */
  static openToRead(path: string, file: DatabaseFile): Database {
    if (isMissing(path)) throw noArchive(dirname(path));
    return explained(path, () => {
      const sqlite = connectToRead(path);
      return closedOnError(sqlite, () => {
        isNew(sqlite, path, file);
        if (isEarlier(sqlite, file)) throw earlier(sqlite, path);
        // Another process that begins to write on a disk that was full creates a log: then the state read here is not whole.
        const opened = isDiskFull(dirname(path)) ? filesOf(path) : undefined;
        return new Database(sqlite, path, file, opened);
      });
    });
  }

  /**
   * Merges the write-ahead log of an unused database into its file, so that the file can be moved. Throws DomainError 'in-use'
   * when another process uses the database; leaves a database that is too damaged for this unchanged.
   */
  static mergeLog(path: string): void {
    const sqlite = explained(path, () => new Sqlite(path, { readwrite: true, strict: true }));
    try {
      sqlite.run('PRAGMA journal_mode = DELETE');
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
      if (isBusy(error)) {
        throw new DomainError('in-use', `'${path}' is being used by another command: run this again when it is done`);
      }
    } finally {
      sqlite.close();
    }
  }

  /** A prepared statement. Rows come back as `Row`, parameters are bound by position. */
  query<Row, Params extends (string | number | Uint8Array | null)[]>(sql: string) {
    return this.#sqlite.query<Row, Params>(sql);
  }

  /** All of `work` or nothing, and on disk when this returns. Takes the write lock at once. */
  write<T>(work: () => T): T {
    this.#endShared();
    this.#state += 1;
    return this.#within('BEGIN IMMEDIATE', () => {
      const result = work();
      // A commit to a deleted file is lost when the last process closes it.
      this.#refuseReplaced();
      return result;
    });
  }

  /** One consistent view for everything that `work` reads. Runs it again in a later view if it throws MissingFile. */
  read<T>(work: () => T): T {
    this.#endShared();
    const inView = () =>
      this.#within('BEGIN', () => {
        this.#refuseReplaced();
        return work();
      });
    return againIfMissing(inView, inView);
  }

  /**
   * One consistent view for everything that `work` reads, shared by calls that follow each other closely: a view costs several
   * times as much as a look-up within it. A view ends after half a millisecond, with the tick of the event loop, or with any
   * other use of this connection, whichever is first. So a later request sees the commits of other processes, and the
   * write-ahead log can start again between two views. `work` may not use the connection in another way. It runs again in a new view if
   * it throws MissingFile.
   */
  readShared<T>(work: () => T): T {
    return this.#watched(() => {
      this.#endOldView();
      if (!this.#isShared) this.#beginShared();
      return againIfMissing(work, () => {
        this.#endShared();
        this.#beginShared();
        return work();
      });
    });
  }

  /** The number of the archive's state, new whenever the view shows a change. Within `readShared`. */
  get state(): number {
    return this.#state;
  }

  /** The same as `state`, undefined outside of `readShared`. */
  get sharedState(): number | undefined {
    return this.#isShared ? this.#state : undefined;
  }

  /** The number of what the open view or transaction shows: shared views of one state have the same. Undefined outside of them. */
  get view(): number | undefined {
    if (!this.#sqlite.inTransaction) return undefined;
    return this.#isShared ? -this.#state : this.#views;
  }

  /**
   * A dry run: until `Symbol.dispose` the archive is written and read as usual, then all writes are rolled back. Other
   * processes cannot write during this time.
   */
  beginDryRun(): Disposable {
    this.#endShared();
    explained(this.path, () => this.#sqlite.run('BEGIN IMMEDIATE'));
    this.#isDryRun = true;
    return {
      [Symbol.dispose]: () => {
        this.#isDryRun = false;
        this.#state += 1;
        this.#rollBack();
      },
    };
  }

  /**
   * One consistent view for everything that is read until `Symbol.dispose`, also across awaits. During this time `read` and
   * `write` of this connection may not be called, and the write-ahead log keeps everything that others write.
   */
  beginView(): Disposable {
    this.#endShared();
    explained(this.path, () => {
      this.#begin.run();
      this.#views += 1;
      // The first statement that reads takes the view, not BEGIN.
      this.#sqlite.query('SELECT COUNT(*) FROM sqlite_schema').get();
    });
    return {
      [Symbol.dispose]: () => {
        // Some errors of SQLite end the transaction.
        if (this.#sqlite.inTransaction) this.#commit.run();
      },
    };
  }

  /** Brings the write-ahead log into the database file, as far as running readers and the disk allow. */
  checkpoint(): void {
    this.#endShared();
    try {
      this.#sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // The data is just as safe in the log. A failure here must not hide the result of the work before it.
      if (!(error instanceof SQLiteError)) throw error;
    }
  }

  /**
   * Removes the pages from the file that are free now. Within `write`. False: a version before 0.3.0 created the file, which keeps
   * its pages for later records until `rebuild`.
   */
  giveBack(): boolean {
    if (this.#pragma('auto_vacuum') !== INCREMENTAL) return false;
    this.#sqlite.query('PRAGMA incremental_vacuum').all();
    return true;
  }

  /** The bytes of the file that are in use, and those that it keeps for later records. */
  pageBytes(): { readonly used: number; readonly free: number } {
    const [pages, free] = [this.#pragma('page_count'), this.#pragma('freelist_count')];
    return { used: (pages - free) * PAGE_BYTES, free: free * PAGE_BYTES };
  }

  /**
   * Writes the whole file again without free pages; from then on `giveBack` works. Others may read meanwhile, and not write. Takes
   * as much of the disk as the file has bytes in use for a temporary copy, and as much again for the write-ahead log.
   */
  rebuild(): void {
    this.#endShared();
    explained(this.path, () => {
      this.#refuseReplaced();
      this.#sqlite.run('PRAGMA auto_vacuum = INCREMENTAL');
      this.#sqlite.run('VACUUM');
    });
  }

  /**
   * Writes one state of the archive to an empty file, while others may write. The copy needs no other files. With `source`, the open file of
   * the database, its pages are where the database has them, if that is possible; else it has no free pages. See `copyPages`.
   */
  copyInto(path: string, source?: number): void {
    this.#endShared();
    if (source !== undefined && copyPages(this.path, source, path)) return;
    // A connection that only reads would refuse this too, though it does not change its own database.
    const { query_only } = this.#sqlite.query<{ query_only: number }, []>('PRAGMA query_only').get()!;
    try {
      this.#sqlite.run('PRAGMA query_only = OFF');
      writeCopy(this.#sqlite, this.path, path);
    } finally {
      this.#sqlite.run(`PRAGMA query_only = ${query_only}`);
    }
  }

  /** A new number whenever another connection has changed the archive. */
  get version(): number {
    this.#endShared();
    return this.#dataVersion.get()!.data_version;
  }

  close(): void {
    this.#endShared();
    this.#sqlite.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #pragma(name: 'auto_vacuum' | 'page_count' | 'freelist_count'): number {
    return this.#sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get()![name]!;
  }

  /** SQLite continues to use files that were deleted or replaced, and would never see the writes of others to the new ones. */
  #refuseReplaced(): void {
    if (this.#opened === undefined || filesOf(this.path) === this.#opened) return;
    throw new DomainError(
      'unavailable',
      `'${this.path}' or its write-ahead log was deleted or replaced while in use: put it back, or start this again`,
    );
  }

  #beginShared(): void {
    const nowMs = performance.now();
    if (nowMs - this.#comparedMs > REPLACED_MS_MAX) {
      this.#refuseReplaced();
      this.#comparedMs = nowMs;
    }
    this.#begin.run();
    this.#views += 1;
    let version: number;
    try {
      // The first statement that reads takes the view: this one.
      version = this.#dataVersion.get()!.data_version;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    if (version !== this.#seenVersion) this.#state += 1;
    this.#seenVersion = version;
    this.#isShared = true;
    this.#sharedSinceMs = performance.now();
    setImmediate(() => this.#endShared());
  }

  /** Ends a view that is too old, or that an error of SQLite's has ended already. */
  #endOldView(): void {
    if (!this.#isShared) return;
    if (performance.now() - this.#sharedSinceMs > VIEW_MS_MAX || !this.#sqlite.inTransaction) this.#endShared();
  }

  #endShared(): void {
    if (!this.#isShared) return;
    this.#isShared = false;
    // An error here loses nothing: the next view gets the same error and reports it.
    try {
      if (this.#sqlite.inTransaction) this.#commit.run();
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
      this.#rollBack();
    }
  }

  /** All of `work` or nothing; in a dry run within the transaction that will be rolled back. */
  #within<T>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', work: () => T): T {
    // After ROLLBACK TO the savepoint stays open, and the next one of that name is nested in it.
    const [open, keep, undo] = this.#isDryRun
      ? ['SAVEPOINT step', 'RELEASE step', 'ROLLBACK TO step']
      : [begin, 'COMMIT', 'ROLLBACK'];
    return this.#watched(() => {
      this.#sqlite.run(open);
      this.#views += 1;
      try {
        const result = work();
        this.#sqlite.run(keep);
        return result;
      } catch (error) {
        this.#rollBack(undo);
        throw error;
      } finally {
        // A dry run stays open.
        this.#views += 1;
      }
    });
  }

  #watched<T>(work: () => T): T {
    try {
      return explained(this.path, work);
    } catch (error) {
      // Within the work another file may be read, of a sealed market: that one may be the damaged one.
      if (isCorruption(error, this.path)) this.onCorruption?.();
      throw error;
    }
  }

  /** Some errors (a full disk) have rolled back already; a second error must not hide the first. */
  #rollBack(undo = 'ROLLBACK'): void {
    if (this.#sqlite.inTransaction) this.#sqlite.run(undo);
  }
}

/** `again`: a new view does not name the file of a market that was deleted after the first one was taken. */
function againIfMissing<T>(first: () => T, again: () => T): T {
  try {
    return first();
  } catch (error) {
    if (!(error instanceof MissingFile)) throw error;
    return again();
  }
}

/** The identities of the database's file and its write-ahead log, as text: it changes when either is deleted or replaced. */
function filesOf(path: string): string {
  return [path, `${path}-wal`]
    .map((name) => statSync(name, { throwIfNoEntry: false }))
    .map((found) => `${found?.dev} ${found?.ino}`)
    .join();
}

function noArchive(directory: string): DomainError {
  refuseCompressed(directory);
  return new DomainError(
    'unavailable',
    `there is no archive in '${directory}': run 'bookreel serve' or 'bookreel import' first, or name another with --data`,
  );
}

/** A path without permission to read is not missing. */
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
