import { SQLiteError } from 'bun:sqlite';
import { DomainError } from '../domain/errors.ts';

/** Runs `work` and turns errors of SQLite and the file system into one sentence for the user. */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SQLiteError) throw new DomainError('unavailable', sentenceFor(error, path), { cause: error });
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      if (error.code === 'ENOSPC') throw new DomainError('unavailable', fullDisk(path), { cause: error });
      throw new DomainError(
        'unavailable',
        `'${path}' cannot be opened (${String(error.code)}): check the directory and its permissions`,
        { cause: error },
      );
    }
    throw error;
  }
}

export function sentenceFor(error: SQLiteError, path: string): string {
  const code = error.code ?? '';
  // The second is how a full disk refuses the index of the write-ahead log.
  if (code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE') return fullDisk(path);
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

function fullDisk(path: string): string {
  return `the disk is full, '${path}' cannot grow: free some space and run this again (what was reported as stored is kept)`;
}

/**
 * Returns true if an error of a `Database`, or of a statement within its `read`, means that the file's content is damaged, and not
 * that the disk is full, or that the file is in use or not accessible.
 */
export function isDamageError(error: unknown): boolean {
  const cause = error instanceof DomainError ? error.cause : error;
  if (!(cause instanceof SQLiteError)) return false;
  return !/^SQLITE_(?:BUSY|CANTOPEN|FULL|IOERR|LOCKED|NOMEM|PERM|READONLY)/.test(cause.code ?? '');
}
