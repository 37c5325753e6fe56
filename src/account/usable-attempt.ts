import { DomainError } from '../domain/errors.ts';
import { ATTEMPT_MS, type SignInAttempt } from '../store/sign-in-attempts.ts';

/** An attempt of a person who has proved the address. */
export type ProvenAttempt = SignInAttempt & { readonly email: string };

/** Throws 'forbidden' for a link or a code that is unknown, used, or 15 minutes old. */
export function usableAttempt(
  attempt: SignInAttempt | undefined,
  secret: 'link' | 'code',
  nowMs: number,
): ProvenAttempt {
  if (attempt?.email === undefined) throw refused(secret, 'is not valid');
  if (attempt.usedMs !== undefined) throw refused(secret, 'was used already');
  if (nowMs - attempt.createdMs >= ATTEMPT_MS) throw refused(secret, 'is older than 15 minutes');
  return { ...attempt, email: attempt.email };
}

function refused(secret: string, why: string): DomainError {
  return new DomainError('forbidden', `this ${secret} ${why}: ask for a new one`);
}
