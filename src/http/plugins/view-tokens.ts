import { randomBytes } from 'node:crypto';
import type { InstantMs } from '../../domain/instant.ts';
import { KeySecret } from '../../store/key-secret.ts';

/** Begins every token: keys begin differently. */
export const VIEW_TOKEN_PREFIX = 'br_view_';
/** Maximum lifetime of a token. Pages request the next one before its end. */
export const VIEW_TOKEN_MS = 10 * 60_000;
const TOKEN_BYTES = 32;
const TOKENS_MAX = 4096;
/** Maximum number with one owner: about as many as a person has pages open. */
const PER_OWNER_MAX = 32;

/** The access that a token gives. */
export interface ViewTokenGrant {
  readonly keyId: string;
  /** The session that asked for it. When an owner asks for too many, its oldest token ends. */
  readonly owner: string;
  /** Returns true if the owner is still signed in; checked at every request. */
  readonly isOpen: () => boolean;
}

export interface ViewToken {
  readonly token: string;
  readonly endsMs: InstantMs;
}

/**
 * Short-lived tokens for the pages that show recordings. Requests that read /v1 may have a token instead of a key of an account. Tokens are
 * only in the memory of this process, as digests; a restart ends all of them.
 */
export class ViewTokens {
  readonly #secret = KeySecret.random();
  /** By digest, the oldest first. */
  readonly #granted = new Map<string, ViewTokenGrant & Pick<ViewToken, 'endsMs'>>();

  issue(grant: ViewTokenGrant, nowMs: InstantMs): ViewToken {
    for (const [digest, { endsMs }] of this.#granted) if (endsMs <= nowMs) this.#granted.delete(digest);
    const own = [...this.#granted].filter(([, { owner }]) => owner === grant.owner);
    if (own.length >= PER_OWNER_MAX) this.#granted.delete(own[0]![0]);
    const [oldest] = this.#granted.keys();
    if (this.#granted.size >= TOKENS_MAX && oldest !== undefined) this.#granted.delete(oldest);
    const token = `${VIEW_TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('hex')}`;
    const endsMs = nowMs + VIEW_TOKEN_MS;
    this.#granted.set(this.#secret.digestText(token), { ...grant, endsMs });
    return { token, endsMs };
  }

  /** The key that a token was issued for; undefined for a text that is no token, or whose token has ended. */
  keyIdOf(token: string, nowMs: InstantMs): string | undefined {
    const digest = this.#secret.digestText(token);
    const granted = this.#granted.get(digest);
    if (granted === undefined) return undefined;
    if (nowMs < granted.endsMs && granted.isOpen()) return granted.keyId;
    this.#granted.delete(digest);
    return undefined;
  }
}
