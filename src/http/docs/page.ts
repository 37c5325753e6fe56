/** What no page of this service ever does. Directives that are not listed fall back to `default-src`. */
const ALWAYS = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/**
 * The headers of a page that loads only what `allowed` (directives of Content-Security-Policy) lets it load, sends no Referer, and
 * shares no window with other pages. Each answer has its own policy, and may depend on the Host: it is not kept.
 */
export function pageHeaders(allowed: readonly string[]): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'private, no-cache',
    'content-security-policy': [...ALWAYS, ...allowed].join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}

/**
 * Where the client found this service, as it wrote it: for lines to copy, so to be escaped for what they are put into. A proxy
 * in front that says it was reached over https is believed, whoever it is: that makes a line safer, never less safe.
 */
export function originOf(request: Request): string {
  const [scheme = 'http', , authority = ''] = request.url.split('/', 3);
  const isSecure = scheme === 'https:' || /^https\b/i.test(request.headers.get('x-forwarded-proto') ?? '');
  return `${isSecure ? 'https' : 'http'}://${request.headers.get('host') ?? authority}`;
}
