import { type ResponseSettings, respond } from '../response/response.ts';
import { ALLOWED_METHODS } from './mounted-paths.ts';

/** Browsers keep a preflight's answer for two hours at the most. */
const PREFLIGHT_SECONDS = 7200;
/** Request headers that this service reads. */
const REQUEST_HEADERS = 'authorization, accept, if-none-match, last-event-id';
/** Headers that a script may read besides those that the Fetch standard allows by itself. */
const READABLE =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id, x-bookreel-warning, etag, retry-after, content-disposition';

/**
 * Lets scripts of other origins read the answers (Fetch standard, 3.2). Never with credentials: the script sends the key,
 * not the browser.
 */
export class Cors {
  readonly #origins: ReadonlySet<string> | '*';

  /** `origins`: as browsers write them, or `*` for all. */
  constructor(origins: readonly string[] | '*') {
    this.#origins = origins === '*' ? origins : new Set(origins);
  }

  /** Whether a request is a preflight of an allowed origin. */
  isPreflight(request: Request): boolean {
    if (request.method !== 'OPTIONS' || !this.allows(request)) return false;
    return request.headers.has('origin') && request.headers.has('access-control-request-method');
  }

  /** The answer to a preflight. */
  permission(set: ResponseSettings): Response {
    const headers = {
      allow: ALLOWED_METHODS,
      'access-control-allow-methods': ALLOWED_METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    };
    return respond(set, null, headers, 204);
  }

  /** Sets headers of the answer to a request that let its origin read it, whatever its status. */
  describe({ headers }: ResponseSettings, request: Request): void {
    // The origin makes a difference, also to an answer that names none.
    if (this.#origins !== '*') headers.vary = 'Origin';
    const allowed = this.#allowed(request);
    if (allowed === undefined) return;
    headers['access-control-allow-origin'] = allowed;
    headers['access-control-expose-headers'] = READABLE;
  }

  /** Whether the origin of a request is allowed. */
  allows(request: Request): boolean {
    return this.#allowed(request) !== undefined;
  }

  #allowed(request: Request): string | undefined {
    if (this.#origins === '*') return '*';
    const origin = request.headers.get('origin');
    return origin !== null && this.#origins.has(origin) ? origin : undefined;
  }
}
