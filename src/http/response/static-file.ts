import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Encoding, encodingOf } from './accept.ts';
import { type ResponseSettings, respond } from './response.ts';

const gzipElsewhere = promisify(gzip);
/** The scripts of a market's page are half a percent smaller than at level 15; each file is compressed once. */
const ZSTD_LEVEL = 19;
/** Larger files are compressed in a tenth of the time, and are 8 % larger: the first visitor waits for it. */
const [LARGE_BYTES, ZSTD_LEVEL_LARGE] = [2 ** 20, 12];
const GZIP_LEVEL = 9;
const TAG_CHARS = 16;

/** A file whose name changes with its content. Another thread compresses it once per encoding; all forms are kept. */
export class StaticFile {
  readonly #type: string;
  readonly #plain: Blob;
  readonly #tag: string;
  readonly #packed = new Map<Encoding, Promise<Blob>>();

  /** `type`: its media type. Blobs are sent without a copy. */
  constructor(type: string, plain: Blob, hash: string) {
    this.#type = type;
    this.#plain = plain;
    this.#tag = hash;
  }

  async answer(request: Request, set: ResponseSettings): Promise<Response> {
    const encoding = encodingOf(request.headers.get('accept-encoding') ?? '');
    const etag = `"${this.#tag}-${encoding}"`;
    const headers = { etag, 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' };
    if (request.headers.get('if-none-match') === etag) return respond(set, null, headers, 304);
    return respond(set, await this.#encoded(encoding), {
      ...headers,
      'content-type': `${this.#type}; charset=utf-8`,
      ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    });
  }

  #encoded(encoding: Encoding): Blob | Promise<Blob> {
    if (encoding === 'identity') return this.#plain;
    const packed = this.#packed.get(encoding) ?? compressed(this.#plain, encoding);
    this.#packed.set(encoding, packed);
    return packed;
  }
}

/** The part of a file's name that changes with its content. */
export function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, TAG_CHARS);
}

async function compressed(plain: Blob, encoding: 'zstd' | 'gzip'): Promise<Blob> {
  const bytes = await plain.arrayBuffer();
  const level = bytes.byteLength > LARGE_BYTES ? ZSTD_LEVEL_LARGE : ZSTD_LEVEL;
  if (encoding === 'zstd') return new Blob([Uint8Array.from(await Bun.zstdCompress(bytes, { level }))]);
  return new Blob([Uint8Array.from(await gzipElsewhere(bytes, { level: GZIP_LEVEL }))]);
}
