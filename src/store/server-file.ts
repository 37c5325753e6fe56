import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SERVER_FILE, ServerStatus } from '../domain/server-status.ts';
import { readStatusFile, writeStatusFile } from './status-file.ts';

/** Replaces the state of the server of a data directory, which has the directory's lock. Throws errors of the file system. */
export function writeServerStatus(directory: string, status: ServerStatus): void {
  writeStatusFile(join(directory, SERVER_FILE), status);
}

/** A server that takes the directory's lock does so: the file may be of an earlier one that was killed. */
export function deleteServerStatus(directory: string): void {
  rmSync(join(directory, SERVER_FILE), { force: true });
}

/** The state of the server that has the directory's lock; undefined if it is one process. Throws errors of the file system. */
export function serverStatus(directory: string): ServerStatus | undefined {
  const path = join(directory, SERVER_FILE);
  return existsSync(path) ? readStatusFile(path, ServerStatus) : undefined;
}
