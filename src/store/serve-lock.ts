import { Database } from 'bun:sqlite';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { refuseCompressed } from './backup-manifest.ts';
import { refuseShared } from './data-directory.ts';
import { explained, isBusy } from './database-errors.ts';

export const LOCK_FILE = 'serve.lock';
export const RECORD_LOCK_FILE = 'record.lock';
export const DOWNLOAD_LOCK_FILE = 'download.lock';
/** The uses of a data directory by one process at a time: the file of the lock, and what another process is doing. */
const LOCKS = {
  serve: [LOCK_FILE, 'is being served'],
  record: [RECORD_LOCK_FILE, 'is being recorded into'],
  download: [DOWNLOAD_LOCK_FILE, 'is being restored from a bucket'],
} as const;
/** Time to wait for the file while `isTaken` of another process has it locked. */
const LOOK_MS_MAX = 250;

/**
 * One server, one recorder and one download per data directory. The lock is an exclusive transaction on a database of its own: the operating system
 * drops it with the process, also after kill -9, so it is never stale.
 */
export class ServeLock {
  readonly #sqlite: Database;

  private constructor(sqlite: Database) {
    this.#sqlite = sqlite;
  }

  /**
   * Throws DomainError 'in-use' when another process does the same with the directory, 'invalid-parameter' when it cannot be written, or others
   * may write to it, 'unavailable' for a backup with compressed databases.
   */
  static take(directory: string, use: keyof typeof LOCKS = 'serve'): ServeLock {
    const [file, isInUse] = LOCKS[use];
    const path = join(directory, file);
    return explained(
      path,
      () => {
        refuseShared(directory);
        refuseCompressed(directory);
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const sqlite = new Database(path, { create: true, readwrite: true });
        try {
          sqlite.run(`PRAGMA busy_timeout = ${LOOK_MS_MAX}`);
          sqlite.run('PRAGMA locking_mode = EXCLUSIVE');
          // A transaction on an empty file begins a journal, for which a full disk has no space.
          sqlite.run('PRAGMA journal_mode = MEMORY');
          sqlite.run('BEGIN EXCLUSIVE');
        } catch (error) {
          sqlite.close();
          if (!isBusy(error)) throw error;
          throw new DomainError(
            'in-use',
            `'${directory}' ${isInUse} by another bookreel: stop that one, or name another directory with --data`,
          );
        }
        return new ServeLock(sqlite);
      },
      'invalid-parameter',
    );
  }

  /** Returns true if a server uses the directory. Creates nothing, and does not keep a server from starting. */
  static isTaken(directory: string): boolean {
    const path = join(directory, LOCK_FILE);
    if (!existsSync(path)) return false;
    return explained(path, () => {
      const sqlite = new Database(path, { readonly: true });
      try {
        sqlite.query('SELECT name FROM sqlite_schema').get();
        return false;
      } catch (error) {
        if (isBusy(error)) return true;
        throw error;
      } finally {
        sqlite.close();
      }
    });
  }

  release(): void {
    this.#sqlite.run('ROLLBACK');
    this.#sqlite.close();
  }
}
