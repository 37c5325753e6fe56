import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { StoredMarket } from '../../store/markets.ts';
import { targetOf } from '../plugins/request-target.ts';
import { prefersMsgpack, qualities } from './accept.ts';
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

const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
export const EVENT_STREAM_TYPE = 'text/event-stream';

export type Format = 'json' | 'msgpack';
type Encoding = 'zstd' | 'gzip' | 'identity';

/** How one request wants its answer. */
export interface Negotiated extends Exchange {
  readonly format: Format;
  readonly encoding: Encoding;
  /** What is asked for, and in which form: the same question has the same answer until the archive changes. */
  readonly question: string;
}

export function negotiate(exchange: Exchange): Negotiated {
  const { request, knownUntilMs } = exchange;
  const format = prefersMsgpack(request.headers.get('accept') ?? '') ? 'msgpack' : 'json';
  const encoding = encodingOf(request.headers.get('accept-encoding') ?? '');
  // What is known at one instant is no answer at another, whoever asks. A target has no blanks.
  const until = knownUntilMs === undefined ? '' : ` until ${knownUntilMs}`;
  const question = `${format} ${encoding} ${targetOf(request)}${until}`;
  return { ...exchange, format, encoding, question };
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

/** Makes answers out of documents and ready bytes: format, compression, entity tags. */
export class Responder {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });
  /** Of the archive and the program: neither's entity tags are another one's. */
  readonly #seed: bigint;
  readonly #held: ResponseCache;

  constructor(archiveId: string, version: string, held: ResponseCache) {
    this.#held = held;
    this.#seed = Bun.hash.xxHash3(`${archiveId} ${version}`);
  }

  /** An answer made of values, sent and not held. */
  document(document: unknown, negotiated: Negotiated, etag?: string): Response {
    const body = this.encode(document, negotiated.format);
    const packed = compress(body, negotiated.encoding);
    return this.#send(packed ?? body, packed !== undefined, negotiated, etag);
  }

  encode(document: unknown, format: Format): Uint8Array<ArrayBuffer> {
    return viewOf(format === 'msgpack' ? this.#packr.pack(document) : Buffer.from(JSON.stringify(document)));
  }

  /**
   * A strong entity tag for an answer about a resolved market; undefined while it is unresolved. It names the state of the
   * market and of all its records (a random number of 53 bits, new with every change), and by a hash of 64 bits the archive,
   * the program's version, the question as it was asked, and the form of the answer; so it is known before anything is read.
   */
  entityTag(market: StoredMarket, { question }: Negotiated): string | undefined {
    if (market.winner === undefined) return undefined;
    const asked = Bun.hash.xxHash3(question, this.#seed);
    return `"${market.revision.toString(36)}-${asked.toString(36)}"`;
  }

  /** 304 when the client's copy is the answer that would be sent, else undefined. */
  notModified({ request, set }: Exchange, etag: string | undefined): Response | undefined {
    const held = request.headers.get('if-none-match');
    if (etag === undefined || held === null) return undefined;
    const matches = held.trim() === '*' || held.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
    if (!matches) return undefined;
    return respond(set, null, { vary: VARY, etag }, 304);
  }

  /** An answer that is read as it is made; null where only its headers are asked for, see `withoutLength`. */
  stream({ set }: Exchange, body: ReadableStream<Uint8Array> | null, headers: Record<string, string>): Response {
    return respond(set, body, { ...headers, vary: VARY, 'cache-control': 'private, no-cache' });
  }

  /** The answer as it was given before, where it is held; see ResponseCache. Within `Database.readShared`. */
  held(negotiated: Negotiated, etag?: string): Response | undefined {
    const held = this.#held.find(negotiated.question);
    return held === undefined ? undefined : this.#send(held.body, held.packed, negotiated, etag);
  }

  /**
   * Gives an answer, and holds it if it is asked for again and again. Within `Database.readShared`, as `held`; an answer
   * that was begun in an earlier one says of which `state` of the archive it is.
   */
  give(
    body: Uint8Array<ArrayBuffer>,
    negotiated: Negotiated,
    etag?: string,
    state: number = this.#held.state,
  ): Response | Promise<Response> {
    if (negotiated.encoding === 'gzip' && body.length > GZIP_HERE_BYTES_MAX) {
      return this.#packElsewhere(body, negotiated, etag, state);
    }
    const packed = compress(body, negotiated.encoding);
    const kept = this.#held.offer(negotiated.question, packed ?? body, packed !== undefined, state);
    return this.#send(kept?.body ?? packed ?? body, packed !== undefined, negotiated, etag);
  }

  /** `give` for an answer made of values. */
  giveDocument(document: unknown, negotiated: Negotiated, etag?: string): Response | Promise<Response> {
    return this.give(this.encode(document, negotiated.format), negotiated, etag);
  }

  async #packElsewhere(
    body: Uint8Array,
    negotiated: Negotiated,
    etag: string | undefined,
    state: number,
  ): Promise<Response> {
    // The next answer will be written where this one stands.
    const packed = viewOf(await gzipElsewhere(body.slice(), { level: GZIP_LEVEL }));
    const kept = this.#held.offer(negotiated.question, packed, true, state);
    return this.#send(kept?.body ?? packed, true, negotiated, etag);
  }

  #send(
    body: Uint8Array<ArrayBuffer> | Blob,
    packed: boolean,
    { format, encoding, set }: Negotiated,
    etag: string | undefined,
  ): Response {
    const headers: Record<string, string> = {
      'content-type': format === 'msgpack' ? MSGPACK_TYPE : JSON_TYPE,
      vary: VARY,
      'cache-control': 'private, no-cache',
    };
    if (etag !== undefined) headers.etag = etag;
    if (packed) headers['content-encoding'] = encoding;
    return respond(set, body, headers);
  }
}

/** Undefined where it does not pay. */
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

const VARY = 'Accept, Accept-Encoding';

/** Typed as bytes of an ordinary buffer, which is what every body here is. */
function viewOf(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return body.buffer instanceof ArrayBuffer ? new Uint8Array(body.buffer, body.byteOffset, body.length) : body.slice();
}
