import { existsSync, lstatSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { discard, flush } from '../store/on-disk.ts';
import { NewFile, writable } from './new-file.ts';

/**
 * A directory of files that are there all or not at all: written in a temporary directory next to it, then renamed. In a directory that
 * exists each file is renamed, and replaces only the one of its name. Errors of the file system become DomainError 'unavailable'.
 */
export class NewDirectory {
  readonly #path: string;
  readonly #temporary: string;
  readonly #names: string[] = [];

  /** Throws 'conflict' if the path exists and its files may not be replaced, or is not a directory. */
  constructor(path: string, replaces: boolean) {
    const found = writable(path, () => lstatSync(path, { throwIfNoEntry: false }));
    if (found?.isDirectory() === false)
      throw new DomainError('conflict', `'${path}' is no directory: name another one`);
    if (found !== undefined && !replaces) {
      throw new DomainError(
        'conflict',
        `'${path}' exists already: name another directory, or add --force to replace its files`,
      );
    }
    this.#path = path;
    this.#temporary = `${path}.${process.pid}.partial`;
    writable(path, () => mkdirSync(this.#temporary, { mode: 0o700 }));
  }

  /** A file at this path below the directory. Commit it before the directory. */
  file(name: string): NewFile {
    this.#names.push(name);
    const path = join(this.#temporary, name);
    writable(path, () => mkdirSync(dirname(path), { recursive: true, mode: 0o700 }));
    return new NewFile(path, false);
  }

  commit(): void {
    writable(this.#path, () => {
      if (existsSync(this.#path)) {
        for (const name of this.#names) {
          const path = join(this.#path, name);
          mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
          renameSync(join(this.#temporary, name), path);
          flush(dirname(path));
        }
      } else renameSync(this.#temporary, this.#path);
      flush(dirname(this.#path));
    });
  }

  /** Removes what was not committed. */
  [Symbol.dispose](): void {
    discard(this.#temporary);
  }
}
