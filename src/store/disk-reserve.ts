import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isReadOnly } from './data-directory.ts';
import { RECORDINGS } from './database-file.ts';
import { freeBytes } from './disk-floor.ts';
import { discard } from './on-disk.ts';

export const RESERVE_FILE = 'reserve';
const RESERVE_BYTES = { min: 2 * 1024 ** 2, max: 16 * 1024 ** 2 };
/** The reserve takes at most this part of the free space. */
const RESERVE_SHARE = 8;
/** With less free space the databases cannot be opened to write. */
const FULL_BYTES = 1e6;
const CHUNK_BYTES = 1024 ** 2;

export function isDiskFull(directory: string): boolean {
  return freeBytes(directory) < FULL_BYTES;
}

/**
 * Takes some space of the disk, for `makeRoom`, unless that is taken already; a reserve from a time with less space grows. Throws errors of
 * the file system.
 */
export function keepReserve(directory: string): void {
  const path = join(directory, RESERVE_FILE);
  const keptBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = Math.min(RESERVE_BYTES.max, Math.floor((freeBytes(directory) + keptBytes) / RESERVE_SHARE));
  if (bytes < Math.max(RESERVE_BYTES.min, 2 * keptBytes) || isReadOnly(directory)) return;
  discard(path);
  try {
    // Some file systems compress.
    writeFileSync(path, Buffer.alloc(bytes, randomBytes(CHUNK_BYTES)), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // A part of it would count as one.
    discard(path);
    throw error;
  }
}

/** Gives an archive's reserve back if the disk has less free space than that: a deletion needs some before it frees more. */
export function makeRoom(directory: string): void {
  if (existsSync(join(directory, RECORDINGS.name)) && freeBytes(directory) < RESERVE_BYTES.max) {
    rmSync(join(directory, RESERVE_FILE), { force: true });
  }
}
