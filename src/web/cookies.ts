import { DEVICE_MS } from '../store/devices.ts';
import { SESSION_MS } from '../store/sessions.ts';
import { ATTEMPT_MS } from '../store/sign-in-attempts.ts';

/** Cookies of one host, over https or on this machine, that scripts cannot read (RFC 6265bis, 4.1.3.2). */
const SESSION = '__Host-bookreel-session';
const ATTEMPT = '__Host-bookreel-attempt';
const NEXT = '__Host-bookreel-next';
const DEVICE = '__Host-bookreel-device';
const PASSKEY = '__Host-bookreel-passkey';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** The cookies of a request; a name that is sent twice counts as missing. */
export function cookiesOf(request: Request): {
  readonly session: string | undefined;
  readonly attemptToken: string | undefined;
  readonly passkeyToken: string | undefined;
  readonly device: string | undefined;
  /** The page to show after a sign-in, as the browser sent it: an argument of `nextPage`. */
  readonly next: string | undefined;
} {
  const pairs = (request.headers.get('cookie') ?? '').split('; ').map((pair) => pair.split('=', 2));
  const read = (name: string) => {
    const values = pairs.filter(([given]) => given === name).map(([, value]) => value);
    return values.length === 1 ? values[0] : undefined;
  };
  const signIn = { session: read(SESSION), attemptToken: read(ATTEMPT), passkeyToken: read(PASSKEY) };
  return { ...signIn, device: read(DEVICE), next: read(NEXT) };
}

/** The header that sets the session's cookie; undefined removes it. */
export function sessionCookie(token: string | undefined): string {
  return cookie(SESSION, token, SESSION_MS);
}

/** The header that sets the cookie of a browser that started a sign-in. */
export function attemptCookie(attemptToken: string | undefined): string {
  return cookie(ATTEMPT, attemptToken, ATTEMPT_MS);
}

/** The header that sets the cookie of a browser that signs in with a passkey, or has to. */
export function passkeyCookie(token: string | undefined): string {
  return cookie(PASSKEY, token, ATTEMPT_MS);
}

/** The header that sets the cookie of a browser that has signed in. It stays when the person signs out. */
export function deviceCookie(device: string): string {
  return cookie(DEVICE, device, DEVICE_MS);
}

/** The header that sets the page to show after the sign-in in this browser: by a link, a code or a provider. */
export function nextCookie(path: string | undefined): string {
  return cookie(NEXT, path, ATTEMPT_MS);
}

function cookie(name: string, value: string | undefined, validMs: number): string {
  const seconds = value === undefined ? 0 : validMs / 1000;
  return `${name}=${value ?? ''}; ${ATTRIBUTES}; Max-Age=${seconds}`;
}
