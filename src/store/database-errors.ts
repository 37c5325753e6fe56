import { SQLiteError } from 'bun:sqlite';
import { DomainError, type ErrorKind } from '../domain/errors.ts';

/** Why a path cannot be used, with the remedy. The system's other errors have faults of the disk or the machine as their reason. */
const WRONG_PATH: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission: change its permissions, or run this as another user',
  EPERM: 'this user has no permission: change its permissions, or run this as another user',
  EROFS: 'its file system is mounted read-only: name a path on another one',
  EEXIST: 'there is something of this name already: name another path',
  ENOENT: 'there is no such directory: create it, or name another path',
  ENOTDIR: 'a part of the path is a file, not a directory: name another path',
  EISDIR: 'it is a directory: name a file',
  ENAMETOOLONG: 'its name is too long: name another path',
  ELOOP: 'its links lead in a circle: name another path',
};

/**
 * Runs `work` and turns errors of SQLite and the file system into one sentence for the user. They have the kind 'unavailable', but
 * those of a path that cannot be used have `wrongPath`.
 */
export function explained<T>(path: string, work: () => T, wrongPath: ErrorKind = 'unavailable'): T {
  try {
    return work();
  } catch (error) {
    throw explainedError(path, error, wrongPath);
  }
}

/** The error that `explained` throws for another one. */
export function explainedError(path: string, error: unknown, wrongPath: ErrorKind = 'unavailable'): unknown {
  if (error instanceof SQLiteError) return new DomainError('unavailable', sentenceFor(error, path), { cause: error });
  if (!isSystemError(error)) return error;
  const kind = error.code in WRONG_PATH ? wrongPath : 'unavailable';
  return new DomainError(kind, systemSentence(error, 'opened', path), { cause: error });
}

/** The file of a sealed market, as the catalog names it. */
export interface NamedFile {
  /** Below the folder of sealed markets. Each file has a path of its own, for ever. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the file. */
  readonly digest: Uint8Array;
}

/** A file that the view of a database names cannot be used. A node fetches it again. */
export class UnusableFile extends DomainError {
  readonly file: NamedFile | undefined;

  constructor(message: string, file?: NamedFile) {
    super('unavailable', message);
    this.file = file;
  }
}

/** The file is missing: its market may have been deleted after the view was taken, or this node has not fetched it yet. */
export class MissingFile extends UnusableFile {}

/** A replica lacks the records that are needed: only the archive that it is a copy of has them. */
export class AtHome extends DomainError {
  constructor() {
    super(
      'unavailable',
      'this is the copy of a catalog: only the archive itself has the records of markets that are not sealed',
    );
  }
}

/** An error of a call of the operating system. */
export interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
}

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string';
}

/** `verb`: what was done with the path, as in 'opened'. */
export function systemSentence(error: SystemError, verb: string, path = error.path): string {
  const { code, message } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT') return fullDisk(path ?? message);
  const reason = WRONG_PATH[code] ?? 'check the disk, and the log of the system';
  return `${path === undefined ? message : `'${path}'`} cannot be ${verb} (${code}): ${reason}`;
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

/** The sentence for a file that needs more space than the disk has. */
export function fullDisk(path: string): string {
  return `the disk is full, '${path}' cannot grow: free some space and run this again (what was reported as stored is kept)`;
}

/** Returns true if another connection has the locks that a statement needs. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(?:BUSY|LOCKED)/.test(error.code ?? '');
}

/** Returns true if SQLite reports that a file, of this path if it is given, is damaged or no database: stricter than `isDamageError`. */
export function isCorruption(error: unknown, path?: string): boolean {
  const cause = error instanceof DomainError ? error.cause : error;
  if (!(cause instanceof SQLiteError) || !/^SQLITE_(?:CORRUPT|NOTADB)/.test(cause.code ?? '')) return false;
  return path === undefined || (error instanceof DomainError && error.message === sentenceFor(cause, path));
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
