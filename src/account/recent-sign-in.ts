import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { SignedIn } from './account-sessions.ts';

/** New secrets, deletions and administration need a sign-in that is younger than this. */
export const RECENT_SIGN_IN_MS = 15 * 60_000;

/** Returns true if a person proved who they are less than 15 minutes ago. Undefined: at a time that is not known. */
export function isRecent(provedMs: InstantMs | undefined, nowMs: InstantMs): boolean {
  return provedMs !== undefined && nowMs - provedMs < RECENT_SIGN_IN_MS;
}

/** Throws 'sign-in-again' for a session whose person proved who they are 15 minutes ago or earlier, or at a time that is not known. */
export function refuseOldSignIn({ session }: SignedIn, nowMs: InstantMs): void {
  if (isRecent(session.provedMs, nowMs)) return;
  throw new DomainError('sign-in-again', 'this needs a sign-in within the last 15 minutes: sign in again');
}
