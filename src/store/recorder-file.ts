import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import type { InstantMs } from '../domain/instant.ts';
import {
  RECORDER_FILE,
  RECORDER_SILENCE_MS_MAX,
  type RecorderReading,
  RecorderStatus,
} from '../domain/recorder-status.ts';

/**
 * Replaces the state of the recorder of a data directory: readers see the old one or the new one. It is not synced to disk, because it is of
 * no use after a power cut. Only one recorder may write. Throws errors of the file system.
 */
export function writeRecorderStatus(directory: string, status: RecorderStatus): void {
  const path = join(directory, RECORDER_FILE);
  // One name, so that processes that are killed leave one file at most.
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify(status)}\n`, { mode: 0o600 });
  renameSync(draft, path);
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
      this.#read = { inode, changedMs, status: parsed(readFileSync(this.#path, 'utf8')) };
    }
    const { status } = this.#read;
    if (status === undefined) return { state: 'unreadable' };
    const isSilent = nowMs - status.writtenMs > RECORDER_SILENCE_MS_MAX;
    return { state: isSilent || !isRunning(status.processId) ? 'stopped' : 'running', status };
  }
}

function parsed(text: string): RecorderStatus | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return Value.Check(RecorderStatus, found) ? found : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
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
