import { randomUUID } from 'node:crypto';
import type { RefusedMessage } from './message-framing.ts';
import type { Problem } from './problem.ts';
import { ALLOWED_METHODS } from './routes.ts';

/** Why a connection or a message is not let in. */
export type RefusalKind = RefusedMessage | 'request-timeout' | 'too-many-connections' | 'unavailable';

interface Refusal {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Headers that others do not have. */
  readonly beside?: Readonly<Record<string, string>>;
}

const RETRY = { 'Retry-After': '5' };

const REFUSALS: Readonly<Record<RefusalKind, Refusal>> = {
  'malformed-request': {
    status: 400,
    title: 'Malformed request',
    detail: 'this is no well-formed HTTP/1.1 request with one Host and a length that is clear',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    detail: 'the whole request did not arrive in time: send it again on a new connection',
  },
  'length-required': {
    status: 411,
    title: 'Length required',
    detail: 'a body needs a Content-Length; no path here reads one',
  },
  'content-too-large': { status: 413, title: 'Content too large', detail: 'no path here reads a body: send none' },
  'uri-too-long': {
    status: 414,
    title: 'URI too long',
    detail: 'the request target is too long: send fewer parameters',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation failed',
    detail: 'no expectation is met here: leave the Expect header out',
  },
  'header-too-large': {
    status: 431,
    title: 'Request header fields too large',
    detail: 'the headers are too large or too many: send fewer',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    detail: `this is no method that any path here has: use one of ${ALLOWED_METHODS}`,
    beside: { Allow: ALLOWED_METHODS },
  },
  'too-many-connections': {
    status: 503,
    title: 'Service unavailable',
    detail: 'too many connections are open: close some, or try again later',
    beside: RETRY,
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the service cannot answer right now: try again later',
    beside: RETRY,
  },
  'version-not-supported': {
    status: 505,
    title: 'HTTP version not supported',
    detail: 'only HTTP/1.1 and HTTP/1.0 are spoken here',
  },
};

/**
 * The whole answer, head and body, of a connection that ends with it. `budget` has further headers, those of the client's
 * rate limit; `wallMs` is Unix milliseconds.
 */
export function refusalBytes(kind: RefusalKind, budget: Readonly<Record<string, string>>, wallMs: number): Buffer {
  const { status, title, detail, beside } = REFUSALS[kind];
  const requestId = randomUUID();
  const problem: Problem = {
    type: `urn:bookreel:problem:${kind}`,
    title,
    status,
    detail,
    error: detail,
    requestId,
  };
  const body = JSON.stringify(problem);
  const fields: Record<string, string> = {
    ...budget,
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date(wallMs).toUTCString(),
    Connection: 'close',
    ...beside,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`);
}
