import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { explained } from './database-errors.ts';

const CHUNK_BYTES = 1 << 20;

/** SHA-256 in hex. */
export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The size of a file and its SHA-256, in hex. Throws 'unavailable' if it cannot be read. */
export function sizeAndDigest(path: string): { readonly bytes: number; readonly sha256: string } {
  return explained(path, () => {
    const hash = createHash('sha256');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const file = openSync(path, 'r');
    try {
      for (let bytes = 0; ; ) {
        const read = readSync(file, chunk);
        if (read === 0) return { bytes, sha256: hash.digest('hex') };
        hash.update(chunk.subarray(0, read));
        bytes += read;
      }
    } finally {
      closeSync(file);
    }
  });
}
