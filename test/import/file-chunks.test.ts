import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileChunks } from '../../src/import/file-chunks.ts';
import { temporaryDirectory } from '../support/archive.ts';

const KIB = 1024;

test.each([0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 1024 * KIB + 3])(
  'a file of %i bytes is read completely',
  async (size) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'file');
    const bytes = Buffer.from(Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255));
    writeFileSync(path, bytes);
    const parts: Buffer[] = [];
    for await (const chunk of fileChunks(path)) {
      // The next part is being read meanwhile.
      await Bun.sleep(1);
      parts.push(Buffer.from(chunk));
    }
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  },
);

test('a missing file is an error', async () => {
  using directory = temporaryDirectory();
  await expect(fileChunks(join(directory.path, 'none')).next()).rejects.toMatchObject({ code: 'ENOENT' });
});

test.skipIf(!existsSync('/proc/self/fd'))(
  'a file is closed when it is read to its end, and when reading stops (needs /proc)',
  async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'file');
    writeFileSync(path, new Uint8Array(1024 * KIB));
    const isOpen = () =>
      readdirSync('/proc/self/fd').some((fd) => {
        const link = join('/proc/self/fd', fd);
        return existsSync(link) && readlinkSync(link) === path;
      });
    for await (const _ of fileChunks(path)) expect(isOpen()).toBe(true);
    expect(isOpen()).toBe(false);
    for await (const _ of fileChunks(path)) break;
    expect(isOpen()).toBe(false);
  },
);
