import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; line-height: 1.2; }
h2 { margin-top: 2rem; font-size: 1.15rem; }
h3 { font-size: 1rem; }
pre { overflow-x: auto; padding: .75rem 1rem; border: 1px solid #8886; border-radius: .4rem; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: .3rem .6rem; border: 1px solid #8886; text-align: left; vertical-align: top; min-width: 6rem; }
`;
const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** Limits of every page. Other directives fall back to `default-src`. */
const ALWAYS = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/**
 * The headers of a page that loads only what `allowed` (directives of Content-Security-Policy) permits, sends no Referer, and
 * shares no window with other pages. Each response has its own policy and may depend on the Host, so it is not cached.
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

/** The headers of a page that `plainPage` makes: it loads nothing. */
export function plainPageHeaders(): Record<string, string> {
  return pageHeaders([`style-src ${STYLE_SOURCE}`, 'img-src data:']);
}

/** A page without scripts, readable on a phone, light and dark. `body` is HTML. */
export function plainPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/**
 * The origin of this service in the client's URL, for lines to copy. The caller escapes it. X-Forwarded-Proto is trusted from
 * any client: https instead of http makes a line safer, never less safe.
 */
export function originOf(request: Request): string {
  const [scheme = 'http', , authority = ''] = request.url.split('/', 3);
  const isSecure = scheme === 'https:' || /^https\b/i.test(request.headers.get('x-forwarded-proto') ?? '');
  return `${isSecure ? 'https' : 'http'}://${request.headers.get('host') ?? authority}`;
}
