import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { InstantMs } from '../../domain/instant.ts';
import { KeySecret } from '../../store/key-secret.ts';

/** Begins every token: keys begin differently. */
export const VIEW_TOKEN_PREFIX = 'br_view_';
/** Lifetime of a token. Pages request the next one before its end. */
export const VIEW_TOKEN_MS = 10 * 60_000;
/** Two tokens of one moment differ. */
const NONCE_BYTES = 8;
/** The 16 digits of a token. Logs mask long words, but show long numbers, which may be ids: a part of a token must not look like one. */
const DIGITS = 'abcdefghijklmnop';
/** The grant, then its signature. */
const TOKEN = /^br_view_((?:[a-p]{2}){1,500})([a-p]{64})$/;

/** The access that a token gives. Its texts have no spaces. */
export interface ViewTokenGrant {
  readonly keyId: string;
  /** The session that asked for it, and its account. */
  readonly session: string;
  readonly account: number;
}

export interface ViewToken {
  readonly token: string;
  readonly endsMs: InstantMs;
}

/**
 * Short-lived tokens for the pages that show recordings. Requests that read /v1 may have a token instead of a key of an account. A token
 * is its grant with the signature of this server, so each of the server's processes can check it, and a restart ends all of them.
 */
export class ViewTokens {
  readonly #isOpen: (session: string, account: number) => boolean;
  readonly #secret: KeySecret;

  /** `isOpen`: returns true if the owner is still signed in; called for every request. `secret`: that of the server. */
  constructor(isOpen: (session: string, account: number) => boolean, secret = KeySecret.random()) {
    this.#isOpen = isOpen;
    this.#secret = secret;
  }

  issue({ keyId, session, account }: ViewTokenGrant, nowMs: InstantMs): ViewToken {
    const endsMs = nowMs + VIEW_TOKEN_MS;
    const grant = lettersOf(
      Buffer.from([endsMs, account, session, keyId, randomBytes(NONCE_BYTES).toString('hex')].join(' ')),
    );
    return { token: `${VIEW_TOKEN_PREFIX}${grant}${lettersOf(this.#signatureOf(grant))}`, endsMs };
  }

  /** The access that a token gives; undefined for a text that this server has not signed, or whose token has ended. */
  find(token: string, nowMs: InstantMs): Pick<ViewTokenGrant, 'keyId' | 'account'> | undefined {
    const [, grant, signature] = TOKEN.exec(token) ?? [];
    if (grant === undefined || !timingSafeEqual(bytesOf(signature!), this.#signatureOf(grant))) {
      return undefined;
    }
    const [endsMs, account, session, keyId] = bytesOf(grant).toString().split(' ');
    if (nowMs >= Number(endsMs) || !this.#isOpen(session!, Number(account))) return undefined;
    return { keyId: keyId!, account: Number(account) };
  }

  #signatureOf(grant: string): Buffer {
    return Buffer.from(this.#secret.digest(`${VIEW_TOKEN_PREFIX}${grant}`));
  }
}

function lettersOf(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/./g, (digit) => DIGITS[Number.parseInt(digit, 16)]!);
}

function bytesOf(letters: string): Buffer {
  return Buffer.from(
    letters.replaceAll(/./g, (letter) => DIGITS.indexOf(letter).toString(16)),
    'hex',
  );
}
