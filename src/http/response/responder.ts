import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Packr } from 'msgpackr/pack';
import type { StoredMarket } from '../../store/markets.ts';
import { targetOf } from '../request-target.ts';
import { type Encoding, encodingOf, prefersMsgpack } from './accept.ts';
import { type Exchange, respond } from './response.ts';
import type { ResponseCache } from './response-cache.ts';

/** Compression of smaller bodies saves no time on a line of 100 Mbit/s: see `make bench`. */
const BYTES_MIN = { zstd: 512, gzip: 800 };
/** Level 3 takes longer and saves nothing on books: see `make bench`. */
const ZSTD_LEVEL = 1;
const GZIP_LEVEL = 1;
/** gzip takes 4 ms for this size. Another thread compresses larger bodies. */
const GZIP_HERE_BYTES_MAX = 1024 * 1024;
const gzipElsewhere = promisify(gzip);

const VARY = 'Accept, Accept-Encoding';
const CACHE_CONTROL = 'private, no-cache';
const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
export const EVENT_STREAM_TYPE = 'text/event-stream';

export type Format = 'json' | 'msgpack';

const HASH_OF_BODY = Symbol('hash of the body');
/** A strong entity tag; `HASH_OF_BODY` until the body is known. */
export type EntityTag = string | typeof HASH_OF_BODY;

/** A request with the format and the encoding of its answer. */
export interface Negotiated extends Exchange {
  readonly format: Format;
  readonly encoding: Encoding;
  /** Target, format, encoding, limit and variant. Requests with the same key have the same answer until the archive changes. */
  readonly requestKey: string;
  /** The revision of the market that the answer is about; undefined: any commit may change it. */
  readonly revision?: number | undefined;
}

/** `market`: the one that the answer is about, if nothing else of the archive changes it. */
export function negotiate(exchange: Exchange, market?: Pick<StoredMarket, 'revision'>): Negotiated {
  const { request, latestMs, variant } = exchange;
  const format = prefersMsgpack(request.headers.get('accept') ?? '') ? 'msgpack' : 'json';
  const encoding = encodingOf(request.headers.get('accept-encoding') ?? '');
  // Answers with different limits differ. A target has no spaces.
  const until = latestMs === undefined ? '' : ` until ${latestMs}`;
  const kind = variant === undefined ? '' : ` ${variant}`;
  const requestKey = `${format} ${encoding} ${targetOf(request)}${until}${kind}`;
  return { ...exchange, format, encoding, requestKey, revision: market?.revision };
}

/** Makes responses from documents and from bytes, with format, compression and entity tags. */
export class Responder {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });
  /** Hash of archive and program version: entity tags of others are different. */
  readonly #seed: bigint;
  readonly #cache: ResponseCache;
  /** The first parts of entity tags: to write 53 bits with base 36 takes 0.2 µs. */
  readonly #revisions = new WeakMap<StoredMarket, string>();

  constructor(archiveId: string, version: string, cache: ResponseCache) {
    this.#cache = cache;
    this.#seed = Bun.hash.xxHash3(`${archiveId} ${version}`);
  }

  /** A response with a document; not cached. */
  document(document: unknown, negotiated: Negotiated, etag?: EntityTag, status = 200): Response {
    const body = this.encode(document, negotiated.format);
    const packed = compress(body, negotiated.encoding);
    const bytes = packed ?? body;
    const tag = etag === HASH_OF_BODY ? tagOf(Bun.hash.xxHash3(bytes), bytes.length) : etag;
    return this.notModified(negotiated, tag) ?? send(bytes, packed !== undefined, negotiated, tag, status);
  }

  encode(document: unknown, format: Format): Uint8Array<ArrayBuffer> {
    return viewOf(format === 'msgpack' ? this.#packr.pack(document) : Buffer.from(JSON.stringify(document)));
  }

  /**
   * A strong entity tag for an answer about a resolved market; undefined if it is unresolved. It consists of the revision of the
   * market and its records (a random number of 53 bits, new with every change), and a hash of 64 bits over archive, program version
   * and request key. So it is known before any record is read. If the tier does not grant all records, it consists of length and hash of
   * the body, which do not change with the other records.
   */
  entityTag(market: StoredMarket, { requestKey, seesAllRecords }: Negotiated): EntityTag | undefined {
    if (market.winner === undefined) return undefined;
    if (!seesAllRecords) return HASH_OF_BODY;
    const revision = this.#revisions.getOrInsertComputed(market, revisionText);
    return `"${revision}-${Bun.hash.xxHash3(requestKey, this.#seed).toString(36)}"`;
  }

  /** 304 if the client has a copy of the current answer, else undefined; undefined also while the tag is not known. */
  notModified({ request, set }: Exchange, etag: EntityTag | undefined): Response | undefined {
    const copies = request.headers.get('if-none-match');
    if (typeof etag !== 'string' || copies === null) return undefined;
    // Most clients send back the tag as it was.
    const matches =
      copies === etag ||
      copies.trim() === '*' ||
      copies.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
    return matches ? respond(set, null, { vary: VARY, 'cache-control': CACHE_CONTROL, etag }, 304) : undefined;
  }

  /** A streamed response. `body` is null for HEAD, see `headOf`. */
  stream({ set }: Exchange, body: ReadableStream<Uint8Array> | null, headers: Record<string, string>): Response {
    return respond(set, body, { ...headers, vary: VARY, 'cache-control': CACHE_CONTROL });
  }

  /** The cached response, or 304 for it; undefined if there is none. Call it within `Database.readShared`. */
  cached(negotiated: Negotiated, etag?: EntityTag): Response | undefined {
    const cached = this.#cache.find(negotiated.requestKey, this.#versionOf(negotiated));
    if (cached === undefined) return undefined;
    const tag = etag === HASH_OF_BODY ? tagOf(cached.hash, cached.body.size) : etag;
    return this.notModified(negotiated, tag) ?? send(cached.body, cached.packed, negotiated, tag);
  }

  /**
   * A response with bytes that are valid until the next call; offered to the cache. Call it within `Database.readShared`. `version`
   * is what the answer was made from, see ResponseCache, if it was begun in an earlier view.
   */
  respond(
    body: Uint8Array<ArrayBuffer>,
    negotiated: Negotiated,
    etag?: EntityTag,
    version: number = this.#versionOf(negotiated),
  ): Response | Promise<Response> {
    const isSlow = negotiated.encoding === 'gzip' && body.length > GZIP_HERE_BYTES_MAX;
    // Copied: the next answer overwrites the bytes.
    return isSlow
      ? this.giveLarge(body.slice(), negotiated, etag, version)
      : this.#respond(body, compress(body, negotiated.encoding), negotiated, etag, version);
  }

  /** `respond` for bytes that do not change: another thread compresses them. */
  async giveLarge(
    body: Uint8Array<ArrayBuffer>,
    negotiated: Negotiated,
    etag: EntityTag | undefined,
    version: number,
  ): Promise<Response> {
    const packed = await compressElsewhere(body, negotiated.encoding);
    return this.#respond(body, packed, negotiated, etag, version);
  }

  #respond(
    body: Uint8Array<ArrayBuffer>,
    packed: Uint8Array<ArrayBuffer> | undefined,
    negotiated: Negotiated,
    etag: EntityTag | undefined,
    version: number,
  ): Response {
    const bytes = packed ?? body;
    const tag = etag === HASH_OF_BODY ? tagOf(Bun.hash.xxHash3(bytes), bytes.length) : etag;
    const cached = this.#cache.offer(negotiated.requestKey, bytes, packed !== undefined, version);
    return this.notModified(negotiated, tag) ?? send(cached?.body ?? bytes, packed !== undefined, negotiated, tag);
  }

  #versionOf({ revision }: Negotiated): number {
    return revision ?? this.#cache.state;
  }

  /** `respond` for a document. */
  respondDocument(document: unknown, negotiated: Negotiated, etag?: EntityTag): Response | Promise<Response> {
    return this.respond(this.encode(document, negotiated.format), negotiated, etag);
  }
}

function revisionText({ revision }: StoredMarket): string {
  return revision.toString(36);
}

/** The entity tag of a body. */
function tagOf(hash: bigint, length: number): string {
  return `"${length.toString(36)}-${hash.toString(36)}"`;
}

function send(
  body: Uint8Array<ArrayBuffer> | Blob,
  packed: boolean,
  { format, encoding, set }: Negotiated,
  etag: string | undefined,
  status = 200,
): Response {
  const headers: Record<string, string> = {
    'content-type': format === 'msgpack' ? MSGPACK_TYPE : JSON_TYPE,
    vary: VARY,
    'cache-control': CACHE_CONTROL,
  };
  if (etag !== undefined) headers.etag = etag;
  if (packed) headers['content-encoding'] = encoding;
  return respond(set, body, headers, status);
}

/** The compressed body; undefined if the body stays as it is. */
function compress(body: Uint8Array<ArrayBuffer>, encoding: Encoding): Uint8Array<ArrayBuffer> | undefined {
  if (encoding === 'identity' || body.length < BYTES_MIN[encoding]) return undefined;
  if (encoding === 'zstd') return viewOf(Bun.zstdCompressSync(body, { level: ZSTD_LEVEL }));
  return Bun.gzipSync(body, { level: GZIP_LEVEL });
}

/** `compress` in another thread. */
async function compressElsewhere(
  body: Uint8Array<ArrayBuffer>,
  encoding: Encoding,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (encoding === 'identity') return undefined;
  if (encoding === 'zstd') return viewOf(await Bun.zstdCompress(body, { level: ZSTD_LEVEL }));
  return viewOf(await gzipElsewhere(body, { level: GZIP_LEVEL }));
}

/**
 * The response to HEAD: the headers of GET without a body. Refusals before the router come here with a body. The router sets
 * Content-Length to the length of the empty body; the length of a streamed answer to GET is unknown, so its HEAD has none (RFC
 * 9110, 8.6).
 */
export function headOf(response: Response): Response {
  const isStreamed =
    response.headers.has('content-disposition') || response.headers.get('content-type') === EVENT_STREAM_TYPE;
  if (!isStreamed && response.body === null) return response;
  const headers = new Headers(response.headers);
  if (isStreamed) {
    headers.delete('content-length');
    headers.set('transfer-encoding', 'chunked');
  }
  return new Response(null, { status: response.status, headers });
}

/** The same bytes, typed as bytes of an ArrayBuffer. */
function viewOf(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return body.buffer instanceof ArrayBuffer ? new Uint8Array(body.buffer, body.byteOffset, body.length) : body.slice();
}
