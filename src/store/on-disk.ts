import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmdirSync, writeSync } from 'node:fs';

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

export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
