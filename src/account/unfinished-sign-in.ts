import { timingSafeEqual } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { KeySecret } from '../store/key-secret.ts';
import type { SignInStores } from './sign-in-stores.ts';

const UNFINISHED_MS = 10 * 60_000;
const STAMP = /^([^.]*)\.([0-9a-z]{1,11})\.[\w-]{43}$/;

/** The end of a sign-in by email, link or provider to an account with passkeys. One of them, or a recovery code, finishes it. */
export class UnfinishedSignIn extends DomainError {
  /** The value of the browser's cookie. */
  readonly token: string;

  constructor(token: string) {
    super('sign-in-again', 'this account has passkeys: sign in with one of them, or with a recovery code');
    this.token = token;
  }
}

/** Throws `UnfinishedSignIn` if the account has passkeys. It is stored nowhere. Within a read or a write. */
export function refuseWithoutPasskey({ passkeys, secret }: SignInStores, accountId: number, nowMs: InstantMs): void {
  if (passkeys.ofAccount(accountId).length === 0) return;
  throw new UnfinishedSignIn(stampOf(secret, 'unfinished', nowMs, String(accountId)));
}

/** The account of an unfinished sign-in of the last 10 minutes, by the browser's cookie. */
export function unfinishedAccount({ secret }: SignInStores, token = '', nowMs: InstantMs): number | undefined {
  const stamp = readStamp(secret, 'unfinished', token, nowMs - UNFINISHED_MS);
  return stamp && Number(stamp.text);
}

/** A text and a time with their HMAC for one purpose: nothing has to be stored to recognise them. */
export function stampOf(secret: KeySecret, purpose: string, atMs: InstantMs, text = ''): string {
  const stamped = `${text}.${atMs.toString(36)}`;
  return `${stamped}.${Buffer.from(secret.digest(`stamp:${purpose}:${stamped}`)).toString('base64url')}`;
}

/** Undefined for a stamp of another secret or purpose, and for one that is not later than `afterMs`. */
export function readStamp(secret: KeySecret, purpose: string, stamp: string, afterMs: InstantMs) {
  const [, text = '', time = ''] = STAMP.exec(stamp) ?? [];
  const atMs = Number.parseInt(time, 36);
  if (!(atMs > afterMs)) return undefined;
  const expected = Buffer.from(stampOf(secret, purpose, atMs, text));
  const given = Buffer.from(stamp);
  return expected.length === given.length && timingSafeEqual(expected, given) ? { text, atMs } : undefined;
}
