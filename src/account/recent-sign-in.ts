import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { SignedIn } from './account-sessions.ts';

/** New secrets, deletions and administration need a sign-in that is younger than this. */
export const RECENT_SIGN_IN_MS = 15 * 60_000;

/** Throws 'sign-in-again' for a session whose person proved who they are 15 minutes ago or earlier, or at a time that is not known. */
export function refuseOldSignIn({ session }: SignedIn, nowMs: InstantMs): void {
  if (session.provedMs !== undefined && nowMs - session.provedMs < RECENT_SIGN_IN_MS) return;
  throw new DomainError('sign-in-again', 'this needs a sign-in within the last 15 minutes: sign in again');
}
