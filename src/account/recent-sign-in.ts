import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { SignedIn } from './account-sessions.ts';

/** New secrets, deletions and administration need a sign-in that is younger than this. */
export const RECENT_SIGN_IN_MS = 15 * 60_000;

/** Throws 'sign-in-again' for a session that began 15 minutes ago or earlier. */
export function refuseOldSignIn({ session }: SignedIn, nowMs: InstantMs): void {
  if (nowMs - session.createdMs < RECENT_SIGN_IN_MS) return;
  throw new DomainError('sign-in-again', 'this needs a sign-in within the last 15 minutes: sign in again');
}
