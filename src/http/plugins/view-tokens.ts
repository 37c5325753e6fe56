import { randomBytes } from 'node:crypto';
import type { InstantMs } from '../../domain/instant.ts';
import { KeySecret } from '../../store/key-secret.ts';

/** Begins every token: keys begin differently. */
export const VIEW_TOKEN_PREFIX = 'br_view_';
/** Maximum lifetime of a token. Pages request the next one before its end. */
export const VIEW_TOKEN_MS = 10 * 60_000;
const TOKEN_BYTES = 32;
/** Maximum numbers of a session, and of an account in all its sessions. */
const PER_SESSION_MAX = 8;
const PER_ACCOUNT_MAX = 32;

/** The access that a token gives. */
export interface ViewTokenGrant {
  readonly keyId: string;
  /** The session that asked for it, and its account. When one of them asks for too many, its oldest token ends; never another account's. */
  readonly session: string;
  readonly account: number;
  /** Returns true if the owner is still signed in; checked at every request. */
  readonly isOpen: () => boolean;
}

export interface ViewToken {
  readonly token: string;
  readonly endsMs: InstantMs;
}

interface Granted extends ViewTokenGrant, Pick<ViewToken, 'endsMs'> {
  readonly digest: string;
}

/**
 * Short-lived tokens for the pages that show recordings. Requests that read /v1 may have a token instead of a key of an account. Tokens are
 * only in the memory of this process, as digests; a restart ends all of them.
 */
export class ViewTokens {
  readonly #secret = KeySecret.random();
  /** By digest, the oldest first. */
  readonly #granted = new Map<string, Granted>();
  /** The same tokens of each account, the oldest first. */
  readonly #byAccount = new Map<number, Granted[]>();

  issue(grant: ViewTokenGrant, nowMs: InstantMs): ViewToken {
    for (const granted of this.#granted.values()) {
      if (nowMs < granted.endsMs) break;
      this.#end(granted);
    }
    const own = this.#byAccount.get(grant.account) ?? [];
    const ofSession = own.filter(({ session }) => session === grant.session);
    if (ofSession.length >= PER_SESSION_MAX) this.#end(ofSession[0]!);
    else if (own.length >= PER_ACCOUNT_MAX) this.#end(own[0]!);
    const token = `${VIEW_TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('hex')}`;
    const granted = { ...grant, digest: this.#secret.digestText(token), endsMs: nowMs + VIEW_TOKEN_MS };
    this.#granted.set(granted.digest, granted);
    this.#byAccount.set(grant.account, [...(this.#byAccount.get(grant.account) ?? []), granted]);
    return { token, endsMs: granted.endsMs };
  }

  /** The access that a token gives; undefined for a text that is no token, or whose token has ended. */
  find(token: string, nowMs: InstantMs): Pick<ViewTokenGrant, 'keyId' | 'account'> | undefined {
    const granted = this.#granted.get(this.#secret.digestText(token));
    if (granted === undefined) return undefined;
    if (nowMs < granted.endsMs && granted.isOpen()) return granted;
    this.#end(granted);
    return undefined;
  }

  #end(granted: Granted): void {
    this.#granted.delete(granted.digest);
    const others = (this.#byAccount.get(granted.account) ?? []).filter((other) => other !== granted);
    if (others.length > 0) this.#byAccount.set(granted.account, others);
    else this.#byAccount.delete(granted.account);
  }
}
