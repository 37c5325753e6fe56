import { accessSync, constants, statfsSync } from 'node:fs';

/** A directory in memory that Linux has. */
const IN_MEMORY = '/dev/shm';
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Temporary files of tests are in memory if there is much of it: SQLite waits for a disk with each transaction, and tests begin
 * with thousands of empty archives. TMPDIR names another directory.
 */
if (process.env.TMPDIR === undefined && isLarge()) process.env.TMPDIR = IN_MEMORY;

function isLarge(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    // Other systems have no such directory.
    return false;
  }
}
