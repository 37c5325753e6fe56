import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import scalarPath from '../../../node_modules/@scalar/api-reference/dist/browser/standalone.js' with { type: 'file' };
import type { Encoding } from '../response/accept.ts';
// @ts-expect-error TypeScript reads a module where Bun imports its text
import referenceStart from './reference-start.js' with { type: 'text' };

const gzipElsewhere = promisify(gzip);
/** Higher levels save 1 % more and take at least three times as long. */
const ZSTD_LEVEL = 12;
const GZIP_LEVEL = 9;
const HASH_CHARS = 16;

/** The script, in a file with a hash of its content in the name. */
interface NamedScript {
  readonly name: string;
  readonly plain: Blob;
}

/**
 * The script of the API reference: reference-start.js, then Scalar's 4.3 MB. The first request reads it; another thread compresses it
 * once per encoding, to 1.1 MB with zstd and 1.3 MB with gzip. Both are kept. Blobs are sent without a copy.
 */
export class ReferenceScript {
  #named: Promise<NamedScript> | undefined;
  readonly #packed = new Map<Encoding, Promise<Blob>>();

  /** `reference-HASH.js`. */
  async name(): Promise<string> {
    return (await this.#read()).name;
  }

  async encoded(encoding: Encoding): Promise<Blob> {
    const { plain } = await this.#read();
    if (encoding === 'identity') return plain;
    const packed = this.#packed.get(encoding) ?? compressed(plain, encoding);
    this.#packed.set(encoding, packed);
    return await packed;
  }

  #read(): Promise<NamedScript> {
    this.#named ??= readScript();
    return this.#named;
  }
}

async function readScript(): Promise<NamedScript> {
  const scalar = await Bun.file(scalarPath).arrayBuffer();
  const hash = createHash('sha256').update(referenceStart).update(new Uint8Array(scalar)).digest('hex');
  return { name: `reference-${hash.slice(0, HASH_CHARS)}.js`, plain: new Blob([referenceStart, scalar]) };
}

async function compressed(plain: Blob, encoding: 'zstd' | 'gzip'): Promise<Blob> {
  const bytes = await plain.arrayBuffer();
  if (encoding === 'zstd') return new Blob([await Bun.zstdCompress(bytes, { level: ZSTD_LEVEL })]);
  return new Blob([await gzipElsewhere(bytes, { level: GZIP_LEVEL })]);
}
