import { createHash } from 'node:crypto';
import { Packr } from 'msgpackr';
import type { StoredMarket } from '../store/markets.ts';

/** Bodies below this do not get smaller by enough to pay. */
const COMPRESS_BYTES_MIN = 1024;
const ZSTD_LEVEL = 3;
const GZIP_LEVEL = 1;

const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';

type Format = 'json' | 'msgpack';
type Encoding = 'zstd' | 'gzip' | 'identity';

/** How one request wants its answer. */
export interface Negotiated {
  readonly format: Format;
  readonly encoding: Encoding;
}

export function negotiate(request: Request): Negotiated {
  return {
    format: formatOf(request.headers.get('accept') ?? ''),
    encoding: encodingOf(request.headers.get('accept-encoding') ?? ''),
  };
}

/** msgpack when it is named and not liked less than JSON; anything else is JSON. */
function formatOf(accept: string): Format {
  if (!/msgpack/i.test(accept)) return 'json';
  const quality = qualities(accept);
  const msgpack = quality.get(MSGPACK_TYPE) ?? 0;
  return msgpack > 0 && msgpack >= (quality.get(JSON_TYPE) ?? 0) ? 'msgpack' : 'json';
}

/** What the client likes best; of what it likes equally, the smallest. */
function encodingOf(accept: string): Encoding {
  if (accept === '') return 'identity';
  const quality = qualities(accept);
  const [zstd = 0, gzip = 0, identity = 0] = ['zstd', 'gzip', 'identity'].map((name) => quality.get(name));
  const best = Math.max(zstd, gzip, identity);
  if (best === 0) return 'identity';
  if (zstd === best) return 'zstd';
  return gzip === best ? 'gzip' : 'identity';
}

function qualities(header: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const q = parameters.find((parameter) => /^q=/i.test(parameter));
    const value = q === undefined ? 1 : Number(q.slice(2));
    found.set(name.toLowerCase(), Number.isFinite(value) ? value : 0);
  }
  return found;
}

/** Makes answers out of documents and ready bytes: format, compression, entity tags. */
export class Responder {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false });
  readonly #archiveId: string;
  readonly #version: string;

  constructor(archiveId: string, version: string) {
    this.#archiveId = archiveId;
    this.#version = version;
  }

  document(document: unknown, { format, encoding }: Negotiated, etag?: string): Response {
    if (format === 'msgpack') return this.bytes(this.#packr.pack(document), MSGPACK_TYPE, encoding, etag);
    return this.bytes(Buffer.from(JSON.stringify(document)), JSON_TYPE, encoding, etag);
  }

  json(bytes: Uint8Array<ArrayBuffer>, encoding: Encoding, etag?: string): Response {
    return this.bytes(bytes, JSON_TYPE, encoding, etag);
  }

  /**
   * A strong entity tag for an answer about a resolved market; undefined while it is unresolved. It names the archive,
   * the program's version, the state of the market and of all its records, the question, and the form of the answer, so
   * it is known before anything is read.
   */
  entityTag(market: StoredMarket, question: string, { format, encoding }: Negotiated): string | undefined {
    if (market.winner === undefined) return undefined;
    const parts = [this.#archiveId, this.#version, market.conditionId, market.revision, question, format, encoding];
    return `"${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 32)}"`;
  }

  /** 304 when the client's copy is the answer that would be sent, else undefined. */
  notModified(request: Request, etag: string | undefined): Response | undefined {
    const held = request.headers.get('if-none-match');
    if (etag === undefined || held === null) return undefined;
    const matches = held.trim() === '*' || held.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
    return matches ? new Response(null, { status: 304, headers: { etag, vary: VARY } }) : undefined;
  }

  /** An answer that is read as it is made; null where only its headers are asked for, see `withoutLength`. */
  stream(body: ReadableStream<Uint8Array> | null, headers: Record<string, string>): Response {
    return new Response(body, { headers: { ...headers, vary: VARY, 'cache-control': 'private, no-cache' } });
  }

  bytes(body: Uint8Array, type: string, encoding: Encoding, etag: string | undefined): Response {
    const headers: Record<string, string> = { 'content-type': type, vary: VARY, 'cache-control': 'private, no-cache' };
    if (etag !== undefined) headers.etag = etag;
    if (encoding === 'identity' || body.length < COMPRESS_BYTES_MIN) return new Response(viewOf(body), { headers });
    headers['content-encoding'] = encoding;
    const packed =
      encoding === 'zstd'
        ? Bun.zstdCompressSync(viewOf(body), { level: ZSTD_LEVEL })
        : Bun.gzipSync(viewOf(body), { level: GZIP_LEVEL });
    return new Response(packed, { headers });
  }
}

/**
 * The headers of an answer that would be streamed, for HEAD. The router gives it the length of the body it has, none; the
 * length of what GET sends is not known (RFC 9110, 8.6: then there is no Content-Length).
 */
export function withoutLength(response: Response): Response {
  if (!response.headers.has('content-disposition')) return response;
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  headers.set('transfer-encoding', 'chunked');
  return new Response(null, { headers });
}

const VARY = 'Accept, Accept-Encoding';

/** Typed as bytes of an ordinary buffer, which is what every body here is. */
function viewOf(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return body.buffer instanceof ArrayBuffer ? new Uint8Array(body.buffer, body.byteOffset, body.length) : body.slice();
}
