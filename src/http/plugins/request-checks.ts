import { DomainError } from '../../domain/errors.ts';

const HOST = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Names of this machine, as a Host has them. */
export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Throws 'malformed-request' unless URL and Host mean one thing only, and the Host is one of `allowedHosts` (in lower case,
 * without port) where these are given. Comes before routing. The parser in front has resolved `.` and `../..`, escaped or
 * not, has made `/` of `\\`, and has put the Host in place of an authority that came with the target.
 */
export function refuseMalformed({ url, headers }: Request, allowedHosts: ReadonlySet<string> | undefined): void {
  const host = headers.get('host');
  if (host !== null && !HOST.test(host)) {
    throw malformed('the Host header is malformed: send one host name, with a port if need be');
  }
  if (allowedHosts !== undefined && !allowedHosts.has(hostNameIn(host ?? ''))) {
    throw malformed('this server does not answer for the host that the Host header names');
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

function hostNameIn(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function hasWellFormedEscapes(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    // URIError: the escapes are malformed.
    return false;
  }
}
