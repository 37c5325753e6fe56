import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { isSystemError, systemSentence } from '../store/database-errors.ts';
import { discard, flush } from '../store/on-disk.ts';

/**
 * A file that is created completely or not at all: written under a temporary name in the same directory, flushed to the disk,
 * then renamed. Errors of the file system become DomainError 'unavailable'.
 */
export class NewFile {
  readonly path: string;
  readonly #temporary: string;
  readonly #replaces: boolean;
  readonly #descriptor: number;
  #open = true;

  /** Throws 'conflict' if the path exists and may not be replaced, or is not an ordinary file. */
  constructor(path: string, replaces: boolean) {
    refuseTaken(path, replaces);
    this.path = path;
    this.#replaces = replaces;
    this.#temporary = `${path}.${process.pid}.partial`;
    this.#descriptor = writable(path, () => openSync(this.#temporary, 'wx', 0o600));
  }

  write(bytes: Uint8Array): void {
    writable(this.path, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
    });
  }

  /** Removes the existing file, if it may be replaced, before the commit. */
  removeOld(): void {
    if (this.#replaces) writable(this.path, () => rmSync(this.path, { force: true }));
  }

  /** Renames the file to its final name. */
  commit(): void {
    writable(this.path, () => fsyncSync(this.#descriptor));
    this.#close();
    refuseTaken(this.path, this.#replaces);
    writable(this.path, () => {
      renameSync(this.#temporary, this.path);
      flush(dirname(this.path));
    });
  }

  /** Removes the temporary file if there was no commit. */
  [Symbol.dispose](): void {
    this.#close();
    discard(this.#temporary);
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#descriptor);
  }
}

function refuseTaken(path: string, replaces: boolean): void {
  const found = writable(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (found === undefined) return;
  if (!found.isFile()) {
    throw new DomainError('conflict', `'${path}' exists and is not an ordinary file: name another one`);
  }
  if (!replaces)
    throw new DomainError('conflict', `'${path}' exists already: name another file, or add --force to replace it`);
}

/** Returns what `work` returns; its errors of the file system become DomainError 'unavailable'. */
export function writable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new DomainError('unavailable', systemSentence(error, 'written', path), { cause: error });
  }
}
