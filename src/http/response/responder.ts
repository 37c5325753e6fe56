import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { StoredMarket } from '../../store/markets.ts';
import { targetOf } from '../request-target.ts';
import { type Encoding, encodingOf, prefersMsgpack } from './accept.ts';
import { type Exchange, respond } from './response.ts';
import type { ResponseCache } from './response-cache.ts';

/** Smaller bodies do not get smaller by enough to pay on a line of 100 Mbit/s: `make bench` compares. */
const BYTES_MIN = { zstd: 512, gzip: 800 };
/** Level 3 takes longer and saves nothing on books: `make bench` compares. */
const ZSTD_LEVEL = 1;
const GZIP_LEVEL = 1;
/** gzip takes 4 ms for so much; what is larger is packed by another thread. */
const GZIP_HERE_BYTES_MAX = 1024 * 1024;
const gzipElsewhere = promisify(gzip);

const VARY = 'Accept, Accept-Encoding';
const CACHE_CONTROL = 'private, no-cache';
const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
export const EVENT_STREAM_TYPE = 'text/event-stream';

export type Format = 'json' | 'msgpack';

/** A request with the form of its answer. */
export interface Negotiated extends Exchange {
  readonly format: Format;
  readonly encoding: Encoding;
  /** Target and form: the same question has the same answer until the archive changes. */
  readonly question: string;
}

export function negotiate(exchange: Exchange): Negotiated {
  const { request, knownUntilMs } = exchange;
  const format = prefersMsgpack(request.headers.get('accept') ?? '') ? 'msgpack' : 'json';
  const encoding = encodingOf(request.headers.get('accept-encoding') ?? '');
  // An answer of one instant is none of another. A target has no blanks.
  const until = knownUntilMs === undefined ? '' : ` until ${knownUntilMs}`;
  const question = `${format} ${encoding} ${targetOf(request)}${until}`;
  return { ...exchange, format, encoding, question };
}

/** Makes responses of documents and of ready bytes: format, compression, entity tags. */
export class Responder {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });
  /** Of the archive and the program: neither's entity tags are another one's. */
  readonly #seed: bigint;
  readonly #cache: ResponseCache;

  constructor(archiveId: string, version: string, cache: ResponseCache) {
    this.#cache = cache;
    this.#seed = Bun.hash.xxHash3(`${archiveId} ${version}`);
  }

  /** A response made of values, and not cached. */
  document(document: unknown, negotiated: Negotiated, etag?: string): Response {
    const body = this.encode(document, negotiated.format);
    const packed = compress(body, negotiated.encoding);
    return send(packed ?? body, packed !== undefined, negotiated, etag);
  }

  encode(document: unknown, format: Format): Uint8Array<ArrayBuffer> {
    return viewOf(format === 'msgpack' ? this.#packr.pack(document) : Buffer.from(JSON.stringify(document)));
  }

  /**
   * A strong entity tag for an answer about a resolved market; undefined while it is unresolved. It has the state of the
   * market and of all its records (a random number of 53 bits, new with every change), and in a hash of 64 bits the archive,
   * the program's version, the question as it was asked, and the form of the answer; so it is known before anything is read.
   */
  entityTag(market: StoredMarket, { question }: Negotiated): string | undefined {
    if (market.winner === undefined) return undefined;
    const asked = Bun.hash.xxHash3(question, this.#seed);
    return `"${market.revision.toString(36)}-${asked.toString(36)}"`;
  }

  /** 304 when the client's copy is the answer that would be sent, else undefined. */
  notModified({ request, set }: Exchange, etag: string | undefined): Response | undefined {
    const copies = request.headers.get('if-none-match');
    if (etag === undefined || copies === null) return undefined;
    const matches = copies.trim() === '*' || copies.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
    return matches ? respond(set, null, { vary: VARY, 'cache-control': CACHE_CONTROL, etag }, 304) : undefined;
  }

  /** A response that is read as it is made; null where only its headers are asked for, see `withoutLength`. */
  stream({ set }: Exchange, body: ReadableStream<Uint8Array> | null, headers: Record<string, string>): Response {
    return respond(set, body, { ...headers, vary: VARY, 'cache-control': CACHE_CONTROL });
  }

  /** The response as it was given before, where it is cached. Within `Database.readShared`. */
  cached(negotiated: Negotiated, etag?: string): Response | undefined {
    const cached = this.#cache.find(negotiated.question);
    return cached === undefined ? undefined : send(cached.body, cached.packed, negotiated, etag);
  }

  /**
   * A response of bytes that are valid until the next one, offered to the cache. Within `Database.readShared`; `state` is
   * the archive's when the answer was begun, where that was in an earlier view.
   */
  give(
    body: Uint8Array<ArrayBuffer>,
    negotiated: Negotiated,
    etag?: string,
    state: number = this.#cache.state,
  ): Response | Promise<Response> {
    const give = (packed: Uint8Array<ArrayBuffer> | undefined) => {
      const bytes = packed ?? body;
      const cached = this.#cache.offer(negotiated.question, bytes, packed !== undefined, state);
      return send(cached?.body ?? bytes, packed !== undefined, negotiated, etag);
    };
    const isSlow = negotiated.encoding === 'gzip' && body.length > GZIP_HERE_BYTES_MAX;
    // The next answer will be written over this one.
    return isSlow
      ? gzipElsewhere(body.slice(), { level: GZIP_LEVEL }).then(viewOf).then(give)
      : give(compress(body, negotiated.encoding));
  }

  /** `give` for an answer made of values. */
  giveDocument(document: unknown, negotiated: Negotiated, etag?: string): Response | Promise<Response> {
    return this.give(this.encode(document, negotiated.format), negotiated, etag);
  }
}

function send(
  body: Uint8Array<ArrayBuffer> | Blob,
  packed: boolean,
  { format, encoding, set }: Negotiated,
  etag: string | undefined,
): Response {
  const headers: Record<string, string> = {
    'content-type': format === 'msgpack' ? MSGPACK_TYPE : JSON_TYPE,
    vary: VARY,
    'cache-control': CACHE_CONTROL,
  };
  if (etag !== undefined) headers.etag = etag;
  if (packed) headers['content-encoding'] = encoding;
  return respond(set, body, headers);
}

/** Undefined where it does not pay off. */
function compress(body: Uint8Array<ArrayBuffer>, encoding: Encoding): Uint8Array<ArrayBuffer> | undefined {
  if (encoding === 'identity' || body.length < BYTES_MIN[encoding]) return undefined;
  if (encoding === 'zstd') return viewOf(Bun.zstdCompressSync(body, { level: ZSTD_LEVEL }));
  return Bun.gzipSync(body, { level: GZIP_LEVEL });
}

/**
 * The headers of an answer that would be streamed, for HEAD. The router gives it the length of the body it has, none; the
 * length of what GET sends is not known (RFC 9110, 8.6: then there is no Content-Length).
 */
export function withoutLength(response: Response): Response {
  const isStreamed =
    response.headers.has('content-disposition') || response.headers.get('content-type') === EVENT_STREAM_TYPE;
  if (!isStreamed) return response;
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  headers.set('transfer-encoding', 'chunked');
  return new Response(null, { headers });
}

/** Typed as bytes of an ordinary buffer, which is what every body here is. */
function viewOf(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return body.buffer instanceof ArrayBuffer ? new Uint8Array(body.buffer, body.byteOffset, body.length) : body.slice();
}
