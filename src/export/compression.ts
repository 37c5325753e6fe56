import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression = 'zstd' | 'gzip';

/** The compression effort: low for bytes that are sent once, high for a file that is kept. */
export type Effort = 'send' | 'keep';

const ZSTD_LEVEL = 3;
const GZIP_LEVEL: Readonly<Record<Effort, number>> = { send: 1, keep: 6 };

/**
 * `chunks` as one zstd frame or one gzip member. Equal input gives equal output: the gzip header has no time. Compression runs
 * off the event loop while the next chunk is made, so no chunk may be overwritten later. If the caller stops early or `chunks`
 * fails, this ends after the compression of the last chunk.
 */
export async function* compressed(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  effort: Effort,
): AsyncGenerator<Uint8Array> {
  const packer = new Packer(compression, effort);
  let working: Promise<void> | undefined;
  try {
    for await (const chunk of chunks) {
      await working;
      yield* packer.taken();
      working = packer.write(chunk);
    }
    await working;
    await packer.end();
    yield* packer.taken();
  } finally {
    // A destroyed compressor reports its end while its thread still works.
    await working?.catch(() => undefined);
    packer.destroy();
  }
}

/** Compresses one chunk at a time, and keeps the result until it is taken. */
class Packer {
  readonly #stream: Transform;
  #packed: Uint8Array[] = [];
  #fail: (error: Error) => void = () => undefined;

  constructor(compression: Compression, effort: Effort) {
    this.#stream = packerOf(compression, effort);
    this.#stream.on('data', (packed: Uint8Array) => this.#packed.push(packed));
    this.#stream.on('error', (error) => this.#fail(error));
  }

  /** Resolves when the chunk is compressed. */
  write(chunk: Uint8Array): Promise<void> {
    return this.#until((resolve, reject) => {
      this.#stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  end(): Promise<void> {
    return this.#until((resolve) => this.#stream.once('end', resolve).end());
  }

  taken(): readonly Uint8Array[] {
    const packed = this.#packed;
    this.#packed = [];
    return packed;
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #until(work: (resolve: () => void, reject: (error: Error) => void) => void): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      work(resolve, reject);
    });
    // The caller may wait for it only after its next chunk; until then the failure is not an unhandled one.
    done.catch(() => undefined);
    return done;
  }
}

function packerOf(compression: Compression, effort: Effort): Transform {
  if (compression === 'gzip') return createGzip({ level: GZIP_LEVEL[effort] });
  return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}
