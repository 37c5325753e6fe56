import { constants, SQLiteError, Database as Sqlite } from 'bun:sqlite';
import { chmodSync, closeSync, existsSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DomainError } from '../domain/errors.ts';
import { explained, isBusy, isDamageError, sentenceFor } from './database-errors.ts';
import type { DatabaseFile } from './database-file.ts';
import { isDiskFull } from './disk-reserve.ts';
import { copyBeforeUpgrade, keepCopy, migrate, oldestVersion, takeAlone, type Upgraded } from './upgrade.ts';

/** Four segments of books fill a page (segment/segment-header.ts). */
export const PAGE_BYTES = 8192;
/** The time for which a command waits for another one that writes. */
const BUSY_TIMEOUT_MS = 15_000;
const CACHE_KIB = 32_768;
/** The time after which a write-ahead log is begun again, at most. */
const BEGIN_LOG_MS = 10;
/** Tries to find the write-ahead log empty while others write, and the time for which each waits for their views to end. */
const EMPTY_LOG = { tries: 40, waitMs: 50 };
const COPY_BYTES = 1 << 20;
/** Where the header has the versions of the file format; 1, 1 is a database without a write-ahead log. */
const [FORMAT_AT, WITHOUT_LOG] = [18, Buffer.from([1, 1])];
/** `wait`: the time for which an upgrade waits for another one; it tries again after random parts of `retry`. */
const UPGRADE_MS = { wait: 2000, retry: 100 };

/** A connection to a database of any version that this program knows, or to a new one. */
export function connect(path: string, file: DatabaseFile): Sqlite {
  const sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true });
  return closedOnError(sqlite, () => {
    sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    sqlite.run(`PRAGMA page_size = ${PAGE_BYTES}`);
    if (file.erases === true) sqlite.run('PRAGMA secure_delete = ON');
    // Before the first table: later it needs `rebuild`.
    if (isNew(sqlite, path, file)) sqlite.run('PRAGMA auto_vacuum = INCREMENTAL');
    return sqlite;
  });
}

export function prepare(sqlite: Sqlite, path: string, file: DatabaseFile): void {
  // The files of the write-ahead log get its mode.
  chmodSync(path, 0o600);
  beginLog(sqlite);
  // What was reported as stored is on disk, also after a loss of power.
  sqlite.run('PRAGMA synchronous = FULL');
  sqlite.run('PRAGMA foreign_keys = ON');
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  // This is also the first read through the write-ahead log, which creates its file.
  if (isNew(sqlite, path, file)) createSchema(sqlite, path, file);
}

/** SQLite refuses at once, whatever its timeout, when two connections begin the write-ahead log at the same time. */
function beginLog(sqlite: Sqlite): void {
  const startMs = performance.now();
  for (;;) {
    try {
      sqlite.run('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - startMs > BUSY_TIMEOUT_MS) throw error;
      Bun.sleepSync(Math.random() * BEGIN_LOG_MS);
    }
  }
}

/** Upgrades a database of an earlier version. Undefined: another process has done it. */
export function upgrade(path: string, file: DatabaseFile, options: { readonly copy: boolean }): Upgraded | undefined {
  const startMs = performance.now();
  for (;;) {
    const upgraded = tryToUpgrade(path, file, options);
    if (upgraded !== 'in-use') return upgraded;
    if (performance.now() - startMs > UPGRADE_MS.wait) {
      throw new DomainError(
        'in-use',
        `'${path}' must be upgraded to schema ${file.version}, and another process has it open: stop that one, and run this again`,
      );
    }
    // Two processes that want to upgrade have both closed it now.
    Bun.sleepSync(Math.random() * UPGRADE_MS.retry);
  }
}

function tryToUpgrade(path: string, file: DatabaseFile, { copy }: { readonly copy: boolean }) {
  using sqlite = connect(path, file);
  if (!isEarlier(sqlite, file)) return undefined;
  sqlite.run('PRAGMA busy_timeout = 0');
  if (!takeAlone(sqlite)) return 'in-use';
  // Another process may have upgraded it before this one took it.
  if (!isEarlier(sqlite, file)) return undefined;
  const from = pragma(sqlite, 'user_version');
  const target = copyBeforeUpgrade(path, from);
  if (copy) explained(target, () => keepCopy(target, (draft) => writeCopy(sqlite, path, draft)));
  migrate(sqlite, path, file, from);
  return { from, to: file.version, copy: target };
}

export function writeCopy(sqlite: Sqlite, path: string, target: string): void {
  try {
    sqlite.query<never, [string]>('VACUUM INTO ?').run(target);
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    const about = isDamageError(error) ? path : target;
    throw new DomainError('unavailable', sentenceFor(error, about), { cause: error });
  }
}

/**
 * Copies one state of a database page by page: a later copy differs where the database does, while VACUUM writes all of it anew. The log
 * is merged first; a reader that then uses none of it keeps others from merging theirs into the file (WAL_READ_LOCK(0) in SQLite's wal.c).
 * Others may write meanwhile. False, with nothing written, if they keep the log from being merged, or the database cannot be written.
 * `source`: the open file, which the caller closes after all connections to it, because closing it drops this process's locks on it.
 */
export function copyPages(path: string, source: number, target: string): boolean {
  try {
    using writer = new Sqlite(path, { readwrite: true, strict: true });
    using reader = new Sqlite(path, { readwrite: true, strict: true });
    if (!holdMerged(writer, reader, path)) return false;
    const [chunk, copy] = [Buffer.alloc(COPY_BYTES), openSync(target, 'r+')];
    try {
      for (let at = 0; ; ) {
        const read = readSync(source, chunk, 0, COPY_BYTES, at);
        if (read === 0) break;
        writeSync(copy, chunk, 0, read, at);
        at += read;
      }
      writeSync(copy, WITHOUT_LOG, 0, WITHOUT_LOG.length, FORMAT_AT);
    } finally {
      closeSync(copy);
    }
    return true;
  } catch (error) {
    if (error instanceof SQLiteError && /^SQLITE_(?:BUSY|CANTOPEN|READONLY)/.test(error.code ?? '')) return false;
    throw error;
  }
}

/**
 * Merges the log of a database into its file, which does not change until `Symbol.dispose`: later writes are in the log. Undefined if other
 * connections keep the log from being merged.
 */
export function holdFile(path: string): Disposable | undefined {
  using stack = new DisposableStack();
  const [writer, reader] = [0, 1].map(() => stack.use(new Sqlite(path, { readwrite: true, strict: true })));
  if (!holdMerged(writer!, reader!, path)) return undefined;
  return stack.move();
}

/** Opens a view of `reader` in which the file alone is the database. */
function holdMerged(writer: Sqlite, reader: Sqlite, path: string): boolean {
  for (let tries = 0; tries < EMPTY_LOG.tries; tries += 1) {
    writer.run(`PRAGMA busy_timeout = ${EMPTY_LOG.waitMs}`);
    if (writer.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 1) continue;
    writer.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    writer.run('BEGIN IMMEDIATE');
    const isMerged = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
    if (isMerged) {
      reader.run('BEGIN');
      reader.query('SELECT COUNT(*) FROM sqlite_schema').get();
    }
    writer.run('ROLLBACK');
    if (isMerged) return true;
  }
  return false;
}

/**
 * A connection that reads and leaves no trace. If there is a write-ahead log, it belongs to another process, or a killed one
 * left it: it is read without a change. Otherwise the connection may write, because only such a connection deletes the files
 * that SQLite creates for it when it is closed.
 */
export function connectToRead(path: string): Sqlite {
  if (existsSync(`${path}-wal`)) return probed(new Sqlite(path, { readonly: true, strict: true }));
  // No process can write to a full disk or a read-only medium, and SQLite's files would stay there empty.
  if (!isDiskFull(dirname(path))) {
    try {
      return probed(new Sqlite(path, { readwrite: true, strict: true }));
    } catch (error) {
      if (!(error instanceof SQLiteError) || !/^SQLITE_(?:CANTOPEN|READONLY)/.test(error.code ?? '')) throw error;
    }
  }
  const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
  return probed(new Sqlite(`${pathToFileURL(path).href}?immutable=1`, flags));
}

function probed(sqlite: Sqlite): Sqlite {
  return closedOnError(sqlite, () => {
    sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    sqlite.run('PRAGMA query_only = ON');
    sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    sqlite.query('SELECT COUNT(*) FROM sqlite_schema').get();
    return sqlite;
  });
}

export function closedOnError<T>(sqlite: Sqlite, work: () => T): T {
  try {
    return work();
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Returns true if a database is still empty. Throws if it belongs to another program, or has a schema that this one cannot upgrade. */
export function isNew(sqlite: Sqlite, path: string, file: DatabaseFile): boolean {
  const isEmpty = sqlite.query('SELECT name FROM sqlite_schema LIMIT 1').get() === null;
  const owner = pragma(sqlite, 'application_id');
  // Most programs do not set an application_id; this one sets it with its first table.
  if (owner === 0 && isEmpty) return true;
  if (owner !== file.applicationId) {
    throw new DomainError('unavailable', `'${path}' belongs to another program: name another directory with --data`);
  }
  const version = pragma(sqlite, 'user_version');
  if (version >= oldestVersion(file) && version <= file.version) return false;
  throw new DomainError(
    'conflict',
    version > file.version
      ? `'${path}' has schema ${version}, and this bookreel knows schemas up to ${file.version}: use the newer bookreel that wrote it`
      : `'${path}' has schema ${version}, of an earlier bookreel: export it with the bookreel that wrote it, and import that into a new directory`,
  );
}

export function isEarlier(sqlite: Sqlite, file: DatabaseFile): boolean {
  return pragma(sqlite, 'application_id') === file.applicationId && pragma(sqlite, 'user_version') < file.version;
}

export function earlier(sqlite: Sqlite, path: string): DomainError {
  const version = pragma(sqlite, 'user_version');
  return new DomainError(
    'conflict',
    `'${path}' has schema ${version}, of an earlier bookreel: start 'bookreel serve', which upgrades it and keeps a copy, or use the bookreel that wrote it`,
  );
}

export function createSchema(sqlite: Sqlite, path: string, file: DatabaseFile): void {
  const create = sqlite.transaction(() => {
    // Checked again under the lock: another process may have created it in the meantime.
    if (!isNew(sqlite, path, file)) return;
    sqlite.run(file.schema);
    sqlite.run(`PRAGMA application_id = ${file.applicationId}`);
    sqlite.run(`PRAGMA user_version = ${file.version}`);
  });
  create.immediate();
}

function pragma(sqlite: Sqlite, name: 'user_version' | 'application_id'): number {
  return sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get()![name]!;
}
