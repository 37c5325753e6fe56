import { DEVICE_MS } from '../store/devices.ts';
import { SESSION_MS } from '../store/sessions.ts';
import { ATTEMPT_MS } from '../store/sign-in-attempts.ts';
import { browserName } from './browser-name.ts';

/** Begins the names of cookies of one host that are Secure (RFC 6265bis, 4.1.3.2). Scripts cannot read ours. */
const PREFIX = '__Host-';
const SESSION = '__Host-bookreel-session';
const ATTEMPT = '__Host-bookreel-attempt';
const NEXT = '__Host-bookreel-next';
const DEVICE = '__Host-bookreel-device';
const PASSKEY = '__Host-bookreel-passkey';
const ADDRESS = '__Host-bookreel-address';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** The cookies of a request to a service at `publicUrl`; a name that is sent twice counts as missing. */
export function cookiesOf(
  request: Request,
  publicUrl: string,
): {
  readonly session: string | undefined;
  readonly attemptToken: string | undefined;
  readonly passkeyToken: string | undefined;
  readonly device: string | undefined;
  /** The page to show after a sign-in, as the browser sent it: an argument of `nextPage`. */
  readonly next: string | undefined;
  /** The address that was typed to sign in. */
  readonly address: string | undefined;
} {
  const pairs = (request.headers.get('cookie') ?? '').split('; ').map((pair) => pair.split('=', 2));
  const read = (name: string) => {
    const sent = (wanted: string) => pairs.filter(([given]) => given === wanted).map(([, value]) => value);
    const prefixed = sent(name);
    const values = prefixed.length === 0 && isPlain(publicUrl) ? sent(name.slice(PREFIX.length)) : prefixed;
    return values.length === 1 ? values[0] : undefined;
  };
  const signIn = { session: read(SESSION), attemptToken: read(ATTEMPT), passkeyToken: read(PASSKEY) };
  const address = read(ADDRESS);
  return {
    ...signIn,
    device: read(DEVICE),
    next: read(NEXT),
    address: address && Buffer.from(address, 'base64url').toString(),
  };
}

/**
 * The header that sets a cookie in the browser of a request to a service at `publicUrl`. Over http, which only browsers of the same machine
 * may use, Safari refuses Secure.
 */
export function setCookieHeader(cookie: string, { headers }: Request, publicUrl: string): string {
  const isSafari = browserName(headers.get('user-agent') ?? '').startsWith('Safari');
  return isSafari && isPlain(publicUrl) ? cookie.slice(PREFIX.length).replace('; Secure', '') : cookie;
}

/** The session's cookie. As below, undefined removes it. */
export const sessionCookie = setterOf(SESSION, SESSION_MS);
/** For a browser that started a sign-in. */
export const attemptCookie = setterOf(ATTEMPT, ATTEMPT_MS);
/** For a browser that signs in with a passkey, or has to. */
export const passkeyCookie = setterOf(PASSKEY, ATTEMPT_MS);
/** For a browser that has signed in. It stays when the person signs out. */
export const deviceCookie = setterOf(DEVICE, DEVICE_MS);
/** With the page to show after the sign-in in this browser. */
export const nextCookie = setterOf(NEXT, ATTEMPT_MS);
const encodedAddress = setterOf(ADDRESS, ATTEMPT_MS);

/** With the address that was typed to sign in, which the page of the code names. */
export function addressCookie(address: string | undefined): string {
  return encodedAddress(address && Buffer.from(address).toString('base64url'));
}

function isPlain(publicUrl: string): boolean {
  return publicUrl.startsWith('http:');
}

function setterOf(name: string, validMs: number): (value: string | undefined) => string {
  return (value) => `${name}=${value ?? ''}; ${ATTRIBUTES}; Max-Age=${value === undefined ? 0 : validMs / 1000}`;
}
