import { join } from 'node:path';

/** Prism's command, if it is installed. */
export const PRISM = join(import.meta.dir, 'node_modules', '.bin', 'prism');

/** A relay between the contract suite and the service. */
export interface PrismRelay extends AsyncDisposable {
  readonly origin: string;
  readonly tally: RelayTally;
}

export interface RelayTally {
  /** Answers that Prism validated. */
  judged: number;
  /** Number of requests that bypassed Prism, by reason. */
  readonly past: Map<string, number>;
  /** One line each, without repetitions. */
  readonly violations: Set<string>;
}

/** An element of Prism's `sl-violations` header. */
interface Violation {
  readonly location: readonly string[];
  readonly code: string;
  readonly message: string;
}

const VIOLATIONS_MAX = 50;

/** Violations that are none: the service accepts more than the document offers, or Prism reads the document differently. */
const LENIENT: readonly ((target: string, violation: Violation) => boolean)[] = [
  // The contract compares outcomes in lower case; the document offers one spelling.
  (target, { location }) =>
    /^(?:outcome|winner)$/.test(location[2]!) && OUTCOME_IN_ANY_CASE.test(decodeURIComponent(target)),
  // A null in a query is the word null; Prism reads it as a string.
  (target, { location }) => location[2] === 'skip' && /[?&]skip=(?:null)?(?:&|$)/.test(target),
  // RFC 9110, 11.1: the scheme is case-insensitive; Prism compares it case-sensitively.
  (_, { message }) => message === 'Invalid security scheme used',
];
const OUTCOME_IN_ANY_CASE = /[?&](?:outcome|winner)=(?:up|down)(?:&|$)/i;

/**
 * Sends each request that Prism supports through Prism, and others directly to the service. Keeps Prism's violations: all of
 * responses, and those of requests that the service accepted although the document forbids them. A refused request may violate
 * the document.
 */
export function startPrismRelay(service: string, prism: string, paths: readonly string[]): PrismRelay {
  const tally: RelayTally = { judged: 0, past: new Map(), violations: new Set() };
  const described = paths.map((path) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 120,
    fetch: async (request) => {
      const target = request.url.slice(request.url.indexOf('/', 'http://'.length));
      const reason = reasonToPass(request, target, described);
      if (reason === undefined) tally.judged += 1;
      else tally.past.set(reason, (tally.past.get(reason) ?? 0) + 1);
      const body = request.body === null ? undefined : await request.arrayBuffer();
      const answer = await fetch(`${reason === undefined ? prism : service}${target}`, {
        method: request.method,
        headers: request.headers,
        redirect: 'manual',
        decompress: false,
        ...(body === undefined ? {} : { body }),
      });
      const headers = new Headers(answer.headers);
      if (reason === undefined) note(tally, target, answer.status, headers);
      return new Response(answer.body, { status: answer.status, headers });
    },
  });
  return {
    origin: `http://127.0.0.1:${server.port}`,
    tally,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** The reason why Prism does not support a request; undefined if it does. */
function reasonToPass(request: Request, target: string, described: readonly RegExp[]): string | undefined {
  const { method, headers } = request;
  const [path = '', query = ''] = target.split('?', 2);
  if (method !== 'GET') return 'methods other than GET';
  if (!described.some((pattern) => pattern.test(path))) return 'paths that are not in the document';
  if (/%20|%0/i.test(query)) return 'spaces and control characters in a query, which Prism rewrites';
  if (/%(?![0-9a-f]{2})/i.test(target) || !isUtf8(path)) return 'escapes that Prism cannot decode';
  if (/msgpack/i.test(headers.get('accept') ?? '')) return 'msgpack: Prism reads JSON and text';
  if (/gzip|zstd/i.test(headers.get('accept-encoding') ?? '')) return 'compression, which Prism undoes';
  if (headers.has('if-none-match')) return 'conditional requests';
  if (/\/stream\/?$/.test(path)) return 'event streams, which Prism buffers until their end';
  if (/(?:^|&)format=(?:msgpack|parquet|arrow|segments)/.test(query)) return 'binary exports';
  return undefined;
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function note(tally: RelayTally, target: string, status: number, headers: Headers): void {
  const text = headers.get('sl-violations');
  headers.delete('sl-violations');
  if (text === null) return;
  for (const violation of JSON.parse(text) as readonly Violation[]) {
    const { location, code, message } = violation;
    const isOfRequest = location[0] === 'request';
    if (isOfRequest && (status >= 400 || LENIENT.some((takes) => takes(target, violation)))) continue;
    if (tally.violations.size >= VIOLATIONS_MAX) return;
    tally.violations.add(`GET ${target.slice(0, 200)} → ${status}: ${location.join('.')}: ${message} (${code})`);
  }
}
