/** Limits of every page. Other directives fall back to `default-src`. */
const ALWAYS = ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "img-src 'self' data:"];
/** Preact and uPlot write no HTML, so no script may. `policies`: the Trusted Types policies that scripts may create. */
const noHtmlByScripts = (policies: string) => ["require-trusted-types-for 'script'", `trusted-types ${policies}`];
const OWN_SCRIPTS = ["script-src 'self'", "connect-src 'self'"];
const STYLE = "style-src 'self'";

/**
 * The headers of a page that loads only what `allowed` (directives of Content-Security-Policy) permits and shares no window with other
 * pages. Each response has its own policy and may depend on the Host, so it is not cached.
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

/** The headers of a page for everyone, without scripts and forms. */
export function publicPageHeaders(): Record<string, string> {
  return pageHeaders([STYLE, "form-action 'none'"]);
}

/** The headers of a page for everyone whose script has buttons that copy, and whose forms, if it may have any, are sent to this service. */
export function copyPageHeaders(formAction: "'none'" | "'self'" = "'none'"): Record<string, string> {
  return pageHeaders([STYLE, `form-action ${formAction}`, "script-src 'self'", ...noHtmlByScripts("'none'")]);
}

/** The headers of a page about a person or a clock: it is not stored, and its forms are sent only to this service. */
export function personalPageHeaders(): Record<string, string> {
  return {
    ...pageHeaders([STYLE, "form-action 'self'", ...OWN_SCRIPTS, ...noHtmlByScripts("'none'")]),
    'cache-control': 'no-store',
    // With no-referrer, forms would send the origin null.
    'referrer-policy': 'same-origin',
  };
}

/**
 * The headers of a page whose script shows recordings. The script may start a worker of this service, whose URL the policy `worker`
 * creates. `hasForms`: the page is of a person or a replay, and has forms of this service; a typed key is in none of them.
 */
export function viewPageHeaders(worker: string, hasForms: boolean): Record<string, string> {
  const forms = `form-action ${hasForms ? "'self'" : "'none'"}`;
  return {
    ...pageHeaders([STYLE, forms, ...OWN_SCRIPTS, "worker-src 'self'", ...noHtmlByScripts(worker)]),
    ...(hasForms && { 'cache-control': 'no-store' }),
    // With no-referrer, older browsers send the origin null with the request for a token.
    'referrer-policy': 'same-origin',
  };
}
