import { DomainError } from './errors.ts';

/** RFC 5321, 4.5.3.1: octets of the local part and of the whole address. */
const LOCAL_CHARS_MAX = 64;
const CHARS_MAX = 254;
/** RFC 5322, 3.2.3: dot-atom. A quoted local part could hide another address or a header. */
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/**
 * The address in canonical spelling: the local part as typed, the domain in lower case; spaces around it are dropped. Undefined if it
 * is not one plain ASCII address (no quotes, comments, addresses in brackets, line breaks or lists).
 */
export function parseEmailAddress(text: string): string | undefined {
  const typed = text.replace(/^ +| +$/g, '');
  const at = typed.lastIndexOf('@');
  const local = typed.slice(0, at);
  const domain = typed.slice(at + 1);
  if (at < 1 || local.length > LOCAL_CHARS_MAX || typed.length > CHARS_MAX) return undefined;
  return LOCAL.test(local) && isDomain(domain) ? `${local}@${domain.toLowerCase()}` : undefined;
}

/**
 * As `parseEmailAddress`; throws 'invalid-parameter'. The message does not repeat the text: it may be a secret, or another person's.
 * `what` names it there.
 */
export function emailAddress(text: string, what = 'that'): string {
  const parsed = parseEmailAddress(text);
  if (parsed !== undefined) return parsed;
  throw new DomainError('invalid-parameter', `${what} is not an e-mail address: give one like you@example.com`);
}

/** The domain of a canonical address. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** Returns true if `text` is a host name, as it may follow the @ of an address. */
export function isDomain(text: string): boolean {
  return DOMAIN.test(text);
}
