import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { InstantMs } from '../domain/instant.ts';
import {
  RECORDER_FILE,
  RECORDER_SILENCE_MS_MAX,
  type RecorderReading,
  RecorderStatus,
} from '../domain/recorder-status.ts';
import { readStatusFile, writeStatusFile } from './status-file.ts';

/** Replaces the state of the recorder of a data directory. Only one recorder may write. Throws errors of the file system. */
export function writeRecorderStatus(directory: string, status: RecorderStatus): void {
  writeStatusFile(join(directory, RECORDER_FILE), status);
}

/** Reads the state of the recorder of a data directory. A file that was not replaced since the last time is not read again. */
export class RecorderFile {
  readonly #path: string;
  #read:
    | { readonly inode: number; readonly changedMs: number; readonly status: RecorderStatus | undefined }
    | undefined;

  constructor(directory: string) {
    this.#path = join(directory, RECORDER_FILE);
  }

  /** Throws errors of the file system, except for a missing file. */
  reading(nowMs: InstantMs): RecorderReading {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined) return { state: 'never' };
    const { ino: inode, mtimeMs: changedMs } = found;
    if (this.#read?.inode !== inode || this.#read.changedMs !== changedMs) {
      this.#read = { inode, changedMs, status: readStatusFile(this.#path, RecorderStatus) };
    }
    const { status } = this.#read;
    if (status === undefined) return { state: 'unreadable' };
    const isSilent = nowMs - status.writtenMs > RECORDER_SILENCE_MS_MAX;
    return { state: isSilent || !isRunning(status.processId) ? 'stopped' : 'running', status };
  }
}

/** Returns true for a process of any user. */
function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
