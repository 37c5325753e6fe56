import { ReadableStream } from 'node:stream/web';

/** Results of XZ Embedded (xz.h) for undamaged files that need more memory, or options that it does not support. */
const [MEMORY_LIMIT, OPTIONS] = [4, 6];

/**
 * Decompresses xz with a dictionary of at most 64 MiB, as `xz -9` writes it. A process decompresses one stream at a time and the next one
 * waits, so read each to its end or return it. Throws an Error with the reason where the bytes are damaged or end early.
 */
export async function* xzChunks(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // Loaded when it is needed: its WebAssembly takes 50 ms.
  const { XzReadableStream } = await import('xz-decompress');
  try {
    // The library's type is that of browsers, which has no iterator.
    const stream: AsyncIterable<Uint8Array> = new XzReadableStream(ReadableStream.from(packed) as never) as never;
    for await (const chunk of stream) if (chunk.length > 0) yield chunk;
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  const code = Number(/failed with error code (\d+)/.exec(String(error))?.[1]);
  if (code === MEMORY_LIMIT) return new Error('its dictionary is larger than 64 MiB, decompress it with xz -d');
  if (code === OPTIONS) return new Error('it uses an xz option that is not supported, decompress it with xz -d');
  return Number.isNaN(code) ? error : new Error('its xz data are not valid');
}
