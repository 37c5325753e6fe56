import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { type Backup, backUp, type CopyOptions, isBackup } from './backup.ts';
import { explained } from './database-errors.ts';
import { discard, draftOf, removeIfEmpty } from './on-disk.ts';
import { restore } from './restore.ts';

export const KEPT_MAX = 10_000;

/** The number of backups that a directory keeps, and the check of each copy. */
export interface KeepOptions extends Pick<CopyOptions, 'check' | 'floor'> {
  /** At least 1. */
  readonly keep: number;
}

export interface KeptBackup extends Backup {
  /** The names of the backups that were deleted, the oldest first. */
  readonly deleted: readonly string[];
}

/** The name of a backup is its time in UTC. */
export const BACKUP_NAME = /^bookreel-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/;
const UNFINISHED = /^(?:bookreel-\S+|restored|backup)\.partial-[0-9a-f]+$/;
/** No backup takes this long. */
const UNFINISHED_MS_MAX = 24 * 3600 * 1000;

/**
 * Writes a new backup into `directory`, which is created if it is missing, under a name with the time in UTC:
 * `bookreel-2026-11-23T01-00-00.000Z`. Proves it: restores it into a scratch directory next to it, and verifies that. Then deletes the
 * oldest of the backups with such names until `keep` are left; the new one always stays. Directories that are not backups, or have
 * other files too, are never deleted, except what backups that were killed more than a day ago left there.
 *
 * Throws as `backUp` and `restore` do; then no earlier backup is deleted.
 */
export async function backUpAndKeep(
  data: string,
  directory: string,
  clock: () => InstantMs,
  { keep, ...options }: KeepOptions,
): Promise<KeptBackup> {
  const isNew = !existsSync(directory);
  explained(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
  explained(directory, () => deleteUnfinished(directory, clock()));
  const name = backupName(clock());
  const earlier = namesIn(directory).findLast((each) => isBackup(join(directory, each)));
  const backup = await backUp(data, join(directory, name), clock, {
    ...options,
    ...{ force: false, copies: 2, earlier: earlier && join(directory, earlier) },
  }).finally(() => {
    if (isNew) removeIfEmpty(directory);
  });
  const scratch = draftOf(join(resolve(directory), 'restored'));
  try {
    await restore(backup.directory, scratch, { ...options, force: false, links: true });
  } catch (error) {
    discard(backup.directory);
    throw error;
  } finally {
    discard(scratch);
  }
  return { ...backup, deleted: explained(directory, () => deleteOldest(directory, name, keep)) };
}

export function backupName(atMs: InstantMs): string {
  return `bookreel-${formatInstant(atMs).replaceAll(':', '-')}`;
}

function deleteOldest(directory: string, newest: string, keep: number): string[] {
  const others = backupsIn(directory).filter((name) => name !== newest);
  const old = others.slice(0, Math.max(0, others.length + 1 - keep));
  for (const name of old) {
    // Renamed first: a directory with the name of a backup is always a complete one.
    const draft = draftOf(join(directory, name));
    renameSync(join(directory, name), draft);
    rmSync(draft, { recursive: true });
  }
  return old;
}

/** The names of the backups in a directory, the oldest first. */
function backupsIn(directory: string): string[] {
  return namesIn(directory).filter((name) => isBackup(join(directory, name)));
}

function namesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => BACKUP_NAME.test(name))
    .sort();
}

/** Deletes what backups that were killed more than a day ago have left in a directory. */
export function deleteUnfinished(directory: string, nowMs: InstantMs): void {
  for (const name of readdirSync(directory).filter((each) => UNFINISHED.test(each))) {
    const path = join(directory, name);
    // Another backup may have finished meanwhile.
    const changedMs = existsSync(path) ? statSync(path).mtimeMs : nowMs;
    if (nowMs - changedMs > UNFINISHED_MS_MAX) rmSync(path, { recursive: true, force: true });
  }
}
