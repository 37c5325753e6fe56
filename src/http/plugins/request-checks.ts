import { DomainError } from '../../domain/errors.ts';

const HOST = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Names of this machine in a Host header. */
export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Throws 'malformed-request' if URL or Host are ambiguous, or if the Host is not one of `allowedHosts` (in lower case, without port;
 * undefined: any). Runs before routing. The HTTP parser has already resolved `.` and `..`, escaped or not, has replaced `\\` by `/`,
 * and has replaced an authority in the target by the Host.
 */
export function refuseMalformed({ url, headers }: Request, allowedHosts: ReadonlySet<string> | undefined): void {
  const host = headers.get('host');
  // The HTTP parser refuses HTTP/1.1 without Host, and accepts HTTP/1.0.
  if (host === null && url.startsWith('/')) {
    throw malformed('the Host header is missing: send it, also with HTTP/1.0');
  }
  if (host !== null && !HOST.test(host)) {
    throw malformed('the Host header is malformed: send one host name, optionally with a port');
  }
  if (allowedHosts !== undefined && !allowedHosts.has(hostNameOf(headers))) {
    throw malformed('this server does not serve the host in the Host header');
  }
  if (!/^https?:\/\//.test(url)) throw malformed('the request target is malformed: send an absolute path');
  if (url.includes('#')) throw malformed('the URL has a fragment: write %23 for a number sign');
  if (url.includes('%') && !hasWellFormedEscapes(url)) {
    throw malformed('the URL has a malformed percent escape: write %25 for a percent sign');
  }
}

function malformed(message: string): DomainError {
  return new DomainError('malformed-request', message);
}

/** The name in the Host header in lower case, without port; empty without one. */
export function hostNameOf(headers: Headers): string {
  return (headers.get('host') ?? '').replace(/:\d*$/, '').toLowerCase();
}

function hasWellFormedEscapes(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    // URIError.
    return false;
  }
}
