import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { isSystemError, type SystemError, systemSentence } from '../store/database-errors.ts';

/** In memory, where there is such a directory; a temporary file is written to disk now and then. */
const DIRECTORIES = ['/dev/shm', tmpdir()];
/** open(2): a file that never has a name, so none is left by a process that is killed. */
const TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/**
 * Memory that processes share: a file without a name, which is gone when the last process that has its descriptor ends. `descriptor` is
 * for a process that is started. Throws 'unavailable' if no directory has space for it.
 */
export class SharedMemory implements Disposable {
  readonly descriptor: number;
  readonly bytes: Uint8Array;

  constructor(length: number) {
    this.descriptor = openUnnamed(length);
    this.bytes = mappedMemory(this.descriptor);
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}

/** The memory of a descriptor that another process has opened. */
export function mappedMemory(descriptor: number): Uint8Array {
  return Bun.mmap(`/proc/self/fd/${descriptor}`, { shared: true });
}

function openUnnamed(length: number): number {
  let refusal: SystemError | undefined;
  for (const directory of DIRECTORIES) {
    let descriptor: number | undefined;
    try {
      descriptor = openedIn(directory);
      // Space that is missing later would end the process that writes there.
      const zeros = new Uint8Array(length);
      for (let at = 0; at < length; ) at += writeSync(descriptor, zeros, at, length - at, at);
      return descriptor;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      if (descriptor !== undefined) closeSync(descriptor);
      refusal = error;
    }
  }
  const why = systemSentence(refusal!, 'written', refusal!.path ?? DIRECTORIES.join(' or '));
  throw new DomainError('unavailable', `several processes need ${length} bytes of memory that they share: ${why}`);
}

function openedIn(directory: string): number {
  try {
    return openSync(directory, TMPFILE | constants.O_RDWR, 0o600);
  } catch {
    // Some file systems have no such files.
    const path = join(directory, `bookreel-${randomBytes(8).toString('hex')}`);
    const descriptor = openSync(path, 'wx+', 0o600);
    rmSync(path);
    return descriptor;
  }
}
