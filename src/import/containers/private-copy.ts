import { mkdtempSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { discard } from '../../store/on-disk.ts';
import { unreadable } from '../source.ts';

/** The free space that a copy leaves on the disk. */
const SPARE_BYTES = 256 * 1024 * 1024;
const CHECK_EVERY_BYTES = 16 * 1024 * 1024;

/**
 * A temporary file that only this user can read, for bytes that must be read at random positions. Its name does not show its content. It is removed by `Symbol.dispose`; if the process is killed, `bookreel-unpacked-*` is left.
 */
export class PrivateCopy implements Disposable {
  readonly path: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'bookreel-unpacked-'));

  constructor() {
    this.path = join(this.#directory, 'copy');
  }

  /** Writes the bytes up to an error of theirs, which it returns. Throws 'unreadable' if there is no space. */
  async write(label: string, chunks: AsyncIterator<Uint8Array>): Promise<unknown> {
    await using file = await open(this.path, 'wx', 0o600);
    for (let unchecked = CHECK_EVERY_BYTES; ; ) {
      let next: IteratorResult<Uint8Array>;
      try {
        next = await chunks.next();
      } catch (error) {
        return error;
      }
      if (next.done === true) return undefined;
      unchecked += next.value.length;
      try {
        if (unchecked >= CHECK_EVERY_BYTES) {
          unchecked = 0;
          await this.#refuseFull();
        }
        await file.writeFile(next.value);
      } catch (error) {
        await chunks.return?.(undefined);
        const where = `set TMPDIR to a directory with more space, or unpack it yourself`;
        const sentence = `'${tmpdir()}' has no space for a copy of ${label}: ${where}`;
        throw unreadable(sentence, error);
      }
    }
  }

  [Symbol.dispose](): void {
    discard(this.#directory);
  }

  async #refuseFull(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory);
    if (bavail * bsize < SPARE_BYTES + CHECK_EVERY_BYTES) throw new Error('the disk is almost full');
  }
}
