import { type ResponseSettings, respond } from '../response/response.ts';

/** Browsers cache the answer to a preflight for at most two hours. */
const PREFLIGHT_SECONDS = 7200;
const METHODS = 'GET, HEAD, POST, OPTIONS';
/** Request headers that this service reads, and one that clients of x402 send too. */
const REQUEST_HEADERS =
  'authorization, accept, content-type, if-none-match, last-event-id, payment-signature, access-control-expose-headers, mcp-protocol-version, mcp-method, mcp-name';
/** Headers that a script may read, in addition to those that the Fetch standard always allows. */
const READABLE =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id, x-bookreel-warning, etag, retry-after, content-disposition, payment-required, payment-response';

/** Lets scripts of other origins read answers (Fetch standard, 3.2). Without credentials: the script sends the key. */
export class Cors {
  readonly #origins: ReadonlySet<string> | '*';

  /** `origins`: as browsers write them, or `*` for all. */
  constructor(origins: readonly string[] | '*') {
    this.#origins = origins === '*' ? origins : new Set(origins);
  }

  /** Returns true if a request is a preflight from an allowed origin. */
  isPreflight(request: Request): boolean {
    if (request.method !== 'OPTIONS' || !this.allows(request)) return false;
    return request.headers.has('origin') && request.headers.has('access-control-request-method');
  }

  preflightAnswer(set: ResponseSettings): Response {
    const headers = {
      allow: METHODS,
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    };
    return respond(set, null, headers, 204);
  }

  /** Sets the headers of an answer of any status that let the origin of its request read it. */
  setHeaders({ headers }: ResponseSettings, request: Request): void {
    // Answers to other origins depend on the origin too.
    if (this.#origins !== '*') headers.vary = 'Origin';
    const allowed = this.#allowed(request);
    if (allowed === undefined) return;
    headers['access-control-allow-origin'] = allowed;
    headers['access-control-expose-headers'] = READABLE;
  }

  allows(request: Request): boolean {
    return this.#allowed(request) !== undefined;
  }

  #allowed(request: Request): string | undefined {
    if (this.#origins === '*') return '*';
    const origin = request.headers.get('origin');
    return origin !== null && this.#origins.has(origin) ? origin : undefined;
  }
}
