import { RefusedField } from './refused-field.ts';

/** RFC 5321, 4.5.3.1: octets of the local part and of the whole address. */
const LOCAL_CHARS_MAX = 64;
const CHARS_MAX = 254;
/**
 * A part of RFC 5322's dot-atom: letters, digits and _ - + ' as people have them. Mail servers read other destinations out of the rest:
 * % (Postfix: a%evil.example@corp.example goes to evil.example), ! (UUCP), : (routes), / and | (files and programs), = (addresses within
 * bounces: SRS0=…=evil.example=a), quotes, and what a shell expands. A leading - is an option of a program. Few people have any of them.
 */
const LOCAL = /^[a-z0-9_][a-z0-9_+'-]*(?:\.[a-z0-9_+'-]+)*$/i;
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/**
 * The address in canonical spelling: the local part as typed, the domain in lower case; spaces around it are dropped. Undefined if it
 * is not one plain ASCII address: letters, digits and . _ - + ' before the @ (no quotes, comments, addresses in brackets, routes, line
 * breaks or lists). Every address that this program is given is read here.
 */
export function parseEmailAddress(text: string): string | undefined {
  const typed = text.replace(/^ +| +$/g, '');
  const at = typed.lastIndexOf('@');
  const local = typed.slice(0, at);
  const domain = typed.slice(at + 1);
  if (at < 1 || local.length > LOCAL_CHARS_MAX || typed.length > CHARS_MAX) return undefined;
  return LOCAL.test(local) && isDomain(domain) ? `${local}@${domain.toLowerCase()}` : undefined;
}

/** As `parseEmailAddress`, but throws 'invalid-parameter'. The message names `what`: the text may be a secret. */
export function emailAddress(text: string, what = 'that'): string {
  const parsed = parseEmailAddress(text);
  if (parsed !== undefined) return parsed;
  throw new RefusedField(
    'email',
    'invalid-parameter',
    `${what} is not an email address: give one like you@example.com, with letters, digits and . _ - + ' before the @`,
  );
}

/** The address that shares its limits with all its spellings: in lower case, without dots and a tag after + before the @. */
export function baseOf(address: string): string {
  const [local = '', domain = ''] = address.toLowerCase().split('@');
  return `${local.replace(/\+.*/, '').replaceAll('.', '')}@${domain}`;
}

/** The domain of a canonical address. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** Returns true if `text` is a host name, as it may follow the @ of an address. */
export function isDomain(text: string): boolean {
  return DOMAIN.test(text);
}
