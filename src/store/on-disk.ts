import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { isSystemError } from './database-errors.ts';

/** Syncs a file, or the names in a directory, to disk. */
export function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
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
