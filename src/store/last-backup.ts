import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { jsonOf } from './json-of.ts';
import { discard, draftOf, writeNew } from './on-disk.ts';

export const LAST_BACKUP_FILE = 'last-backup.json';
/** A daily backup is that old only if one was missed. */
export const BACKUP_AGE_MS_MAX = 36 * 3600 * 1000;

/** The last backups of a data directory. Times are in milliseconds. */
export const LastBackup = Type.Object({
  succeededMs: Type.Optional(Type.Integer()),
  /** Where the last successful one is. */
  directory: Type.Optional(Type.String()),
  failedMs: Type.Optional(Type.Integer()),
  /** Why the last failed one did, in a sentence. */
  reason: Type.Optional(Type.String()),
});
export type LastBackup = Static<typeof LastBackup>;

/** The record of a data directory; an empty one if there is none, or it is damaged: the next backup replaces it. */
export function readLastBackup(data: string): LastBackup {
  const path = join(data, LAST_BACKUP_FILE);
  return (existsSync(path) ? jsonOf(LastBackup, readFileSync(path)) : undefined) ?? {};
}

/** Changes the record, which metrics and `doctor` read. Throws errors of the file system. */
export function recordBackup(data: string, change: LastBackup): void {
  const path = join(data, LAST_BACKUP_FILE);
  const draft = draftOf(path);
  try {
    writeNew(draft, `${JSON.stringify({ ...readLastBackup(data), ...change })}\n`);
    renameSync(draft, path);
  } catch (error) {
    discard(draft);
    throw error;
  }
}

/** Returns true if the last backup failed. */
export function hasFailed({ succeededMs = 0, failedMs = 0 }: LastBackup): boolean {
  return failedMs > succeededMs;
}
