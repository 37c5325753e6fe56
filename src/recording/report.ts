/** What became of one file of an import. read = stored + duplicate + rejected. */
export interface FileReport {
  readonly path: string;
  readonly read: number;
  /** New in the archive and committed. */
  readonly stored: number;
  /** Already there (or repeated within the import). */
  readonly duplicate: number;
  readonly rejected: number;
  /** Levels of size 0 left out of snapshots. */
  readonly droppedLevels: number;
  /** Why the file was not read to its end, if it was not. */
  readonly error: string | undefined;
}

export interface Rejection {
  readonly path: string;
  /** Line, or row of a Parquet file; counted from 1. */
  readonly line: number;
  readonly reason: string;
}

export interface ImportReport {
  readonly files: readonly FileReport[];
  readonly total: Omit<FileReport, 'path' | 'error'>;
  /** The first REJECTIONS_SHOWN of them. */
  readonly rejections: readonly Rejection[];
  /** Files found in directories that are no recordings. */
  readonly skipped: readonly string[];
  readonly elapsedMs: number;
}

/** Beyond this a report only counts: it has to stay readable, and in memory. */
export const REJECTIONS_SHOWN = 1000;

/** The running count of one file. What a batch stores is counted when the batch is committed, not before. */
export class FileTally {
  readonly path: string;
  read = 0;
  stored = 0;
  rejected = 0;
  duplicate = 0;
  droppedLevels = 0;
  error: string | undefined;

  constructor(path: string) {
    this.path = path;
  }

  report(): FileReport {
    const { path, read, stored, duplicate, rejected, droppedLevels, error } = this;
    return { path, read, stored, duplicate, rejected, droppedLevels, error };
  }
}

export function totalOf(files: readonly FileReport[]): ImportReport['total'] {
  const sum = (field: 'read' | 'stored' | 'duplicate' | 'rejected' | 'droppedLevels') =>
    files.reduce((total, file) => total + file[field], 0);
  return {
    read: sum('read'),
    stored: sum('stored'),
    duplicate: sum('duplicate'),
    rejected: sum('rejected'),
    droppedLevels: sum('droppedLevels'),
  };
}
