import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { isSystemError } from './database-errors.ts';

/** More files are synced together. */
const SINGLE_MAX = 100;

/** Syncs a file, or the names in a directory, to disk. */
export function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Syncs files below a directory to disk. From some number on it syncs the whole file system at once, by sync(1) of GNU: a sync of each file
 * takes milliseconds.
 */
export function flushAll(directory: string, files: readonly string[]): void {
  const sync = files.length > SINGLE_MAX ? Bun.which('sync') : null;
  const isSynced = sync !== null && Bun.spawnSync([sync, '-f', directory]).exitCode === 0;
  if (!isSynced) for (const file of files) flush(file);
}

/** Writes a file that must not exist yet, readable by its owner only; it is on disk when this returns. */
export function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A new name next to `target`, for a copy that is not complete yet. */
export function draftOf(target: string): string {
  return `${target}.partial-${randomBytes(6).toString('hex')}`;
}

/** Removes what work leaves, with its content, if that is possible: an error of the system would hide the one that ended the work. */
export function discard(path: string): void {
  ifPossible(() => rmSync(path, { recursive: true, force: true }));
}

export function removeIfEmpty(directory: string): void {
  ifPossible(() => rmdirSync(directory));
}

function ifPossible(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}
