import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression = 'zstd' | 'gzip';

/** The compression effort: low for bytes that are sent once, high for a file that is kept. */
export type Effort = 'send' | 'keep';

const ZSTD_LEVEL = 3;
const GZIP_LEVEL: Readonly<Record<Effort, number>> = { send: 1, keep: 6 };

/**
 * `chunks` as one zstd frame or one gzip member. Equal input gives equal output: the gzip header has no time. Compression runs
 * off the event loop and reads a few chunks ahead, so no chunk may be overwritten later. If the caller stops early, `chunks` ends.
 */
export async function* compressed(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  effort: Effort,
): AsyncGenerator<Uint8Array> {
  const packer = packerOf(compression, effort);
  // A failure also ends the stream that is read below; this only keeps it from being an unhandled rejection.
  const done = pipeline(chunks, packer).catch((error: unknown) =>
    packer.destroy(error instanceof Error ? error : undefined),
  );
  try {
    yield* packer as AsyncIterable<Uint8Array>;
  } finally {
    packer.destroy();
    await done;
  }
}

function packerOf(compression: Compression, effort: Effort): Transform {
  if (compression === 'gzip') return createGzip({ level: GZIP_LEVEL[effort] });
  return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}
