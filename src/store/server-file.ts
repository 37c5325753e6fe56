import { join } from 'node:path';
import { SERVER_FILE, ServerStatus } from '../domain/server-status.ts';
import { isSystemError } from './database-errors.ts';
import { discard } from './on-disk.ts';
import { readStatusFile, writeStatusFile } from './status-file.ts';

/** Stores the state of the server that has the lock of a data directory. Throws errors of the file system. */
export function writeServerStatus(directory: string, status: ServerStatus): void {
  writeStatusFile(join(directory, SERVER_FILE), status);
}

/** Deletes the stored state. A server does this once it has the directory's lock, too: one that was killed may have left a file. */
export function deleteServerStatus(directory: string): void {
  discard(join(directory, SERVER_FILE));
}

/** The state of the server that has the directory's lock; undefined if it is one process. Throws errors of the file system. */
export function serverStatus(directory: string): ServerStatus | undefined {
  try {
    return readStatusFile(join(directory, SERVER_FILE), ServerStatus);
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
