import type { InstantMs } from '../../domain/instant.ts';
import type { RequestUsage } from './request-usage.ts';

/** As the router types them. bookreel sets texts only. */
export type ResponseHeaders = Record<string, string | number>;

/** Gets the answer to a request, for the log and the metrics. */
export interface RequestObserver {
  /** As the router writes it: `/v1/:coin/markets`. Empty until the router has found it. */
  route: string;
  /** Empty without a valid key. */
  tier: string;
  /** The public id of a valid key. */
  keyId: string | undefined;
  /** `bytes`: the length of the body; null for a stream. */
  answered(status: number, bytes: number | null): void;
  /** A part of a streamed body was sent. */
  sent(bytes: number): void;
  /** A streamed body begins, or ends. */
  streamChanged(change: 1 | -1): void;
  /** `kind`: the kind of the problem. */
  refused(kind: string): void;
}

/** The router's settings for an answer: the headers that were set so far. */
export interface ResponseSettings {
  headers: ResponseHeaders;
  /** Set by the first hook, if requests are logged or measured. */
  observer?: RequestObserver;
  /** True if the answer is made after the request had to wait. */
  isLate?: boolean;
  /** Set by the access check for requests with a valid key, if usage is counted. */
  usage?: RequestUsage;
}

/** A request that passed the access checks (access.ts), with the settings of its answer. */
export interface Exchange {
  readonly request: Request;
  readonly set: ResponseSettings;
  /** The id of the request's key; undefined if no key is needed. */
  readonly keyId: string | undefined;
  /** The latest instant that the answer may show, whatever the parameters are; undefined: no limit. */
  readonly latestMs: InstantMs | undefined;
  /** True if the tier grants all records of a market. */
  readonly seesAllRecords: boolean;
  /** Distinguishes answers that differ with the tier; undefined: the tier does not change them. */
  readonly variant?: string | undefined;
}

/** The server sends smaller answers in one piece with their head. */
const LATE_BYTES_MIN = 15 * 1024;

type Body = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null;

/**
 * The one place that makes responses. They have the headers of `set`, then `headers`. `set` is emptied: otherwise the router would
 * make a second response, with the body of the first one as a stream.
 */
export function respond(
  set: ResponseSettings,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Response {
  const all = set.headers as Record<string, string>;
  set.headers = {};
  const { vary } = all;
  Object.assign(all, headers);
  if (vary !== undefined && headers.vary !== undefined) all.vary = `${headers.vary}, ${vary}`;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const length = bytes instanceof Uint8Array ? bytes.length : bytes instanceof Blob ? bytes.size : null;
  // The server would set the same length, but HEAD needs it here.
  if (length !== null) all['content-length'] = String(length);
  set.usage?.answered(status, length ?? 0);
  set.observer?.answered(status, length);
  const isSentAtOnce = set.isLate === true && length !== null && length >= LATE_BYTES_MIN;
  return new Response(isSentAtOnce ? atOnce(bytes as Blob | Uint8Array<ArrayBuffer>) : bytes, { status, headers: all });
}

/**
 * If a handler did not return at once, the server sends the head of a large answer in forty pieces. A stream that writes once, and has room
 * for the whole body, is sent together with its head, which states the length.
 */
function atOnce(body: Blob | Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  const length = body instanceof Blob ? body.size : body.length;
  const source: UnderlyingSource = {
    pull(controller: ReadableStreamController<unknown> | ReadableStreamDirectController) {
      const write = (bytes: Uint8Array<ArrayBuffer>) => {
        if (!('write' in controller)) return;
        controller.write(bytes);
        controller.end();
      };
      return body instanceof Blob ? body.bytes().then(write) : write(body);
    },
  };
  // Types for browsers do not have it.
  Object.assign(source, { type: 'direct' });
  return new ReadableStream<Uint8Array>(source, { highWaterMark: length + 1 });
}

export const NO_STORE = { 'cache-control': 'no-store' };

export function respondJson(
  set: ResponseSettings,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Response {
  return respond(set, JSON.stringify(value), { 'content-type': 'application/json;charset=utf-8', ...headers }, status);
}
