import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression = 'zstd' | 'gzip';

/** The effort: for bytes that are sent once, or kept in a file. */
export type Effort = 'send' | 'keep';

const ZSTD_LEVEL = 3;
const GZIP_LEVEL: Readonly<Record<Effort, number>> = { send: 1, keep: 6 };

/**
 * `chunks` as one zstd frame or one gzip member without a time in it: the same bytes give the same bytes. Compressing happens
 * off the event loop, a few chunks ahead at the most; each has to keep its bytes. Ended early, it ends `chunks`.
 */
export async function* compressed(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  effort: Effort,
): AsyncGenerator<Uint8Array> {
  const packer = packerOf(compression, effort);
  // The pipeline's own failure arrives through the stream that is read; here it must only not go unhandled.
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
