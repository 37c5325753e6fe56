import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { DomainError } from '../domain/errors.ts';
import { explained, explainedError } from './database-errors.ts';
import { flush } from './on-disk.ts';

/** The ending that zstd(1) gives the names of files that it compresses. */
export const COMPRESSED = '.zst';
const NEW_FILE = { flags: 'wx', mode: 0o600 } as const;

/** The size and the SHA-256 of a database that is not compressed. */
interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Replaces a database of a backup, which has this content, by `NAME.zst`: one zstd frame with a checksum, written in memory of a few chunks. It is on
 * disk, and was read again, before the database is deleted. Returns its size. Throws as `expandDatabase` does.
 */
export async function compressDatabase(path: string, content: Content): Promise<number> {
  const target = `${path}${COMPRESSED}`;
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  try {
    await pipeline(createReadStream(path), compress, createWriteStream(target, NEW_FILE));
  } catch (error) {
    throw explainedError(target, error);
  }
  explained(target, () => flush(target));
  await expandDatabase(target, content).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
    const sentence = `'${target}' is not what was written to it: run the backup again, and check the disk and the memory of this machine`;
    throw new DomainError('unavailable', sentence);
  });
  explained(path, () => rmSync(path));
  return statSync(target).size;
}

/**
 * Writes the database that is compressed in `path` to the new file `target`, at most as many bytes as it should have; without a target it only
 * reads them. Throws 'unreadable' if it does not have this content, after writing a part of it, and 'unavailable' if a file cannot be read or written.
 */
export async function expandDatabase(path: string, content: Content, target?: string): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  const measured = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > content.bytes) throw changedFile(path);
      hash.update(chunk);
      yield chunk;
    }
  };
  const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const sink = target === undefined ? nowhere() : createWriteStream(target, NEW_FILE);
  try {
    // The decompressor accepts a frame that was cut; the digest does not.
    await pipeline(createReadStream(path), createZstdDecompress(), measured, sink);
  } catch (error) {
    const isDamaged = error instanceof Error && 'code' in error && String(error.code).startsWith('ZSTD_');
    throw isDamaged ? changedFile(path) : explainedError(target ?? path, error);
  }
  if (bytes !== content.bytes || hash.digest('hex') !== content.sha256) throw changedFile(path);
}

/** A file of a backup differs from the manifest. */
export function changedFile(path: string): DomainError {
  const sentence = `'${path}' was changed after the backup, or is damaged: restore an earlier backup`;
  return new DomainError('unreadable', sentence);
}
