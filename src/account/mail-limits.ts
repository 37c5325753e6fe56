import { DomainError } from '../domain/errors.ts';
import { DAY_MS, HOUR_MS } from '../domain/usage.ts';
import type { SignInAttempts } from '../store/sign-in-attempts.ts';

/** Attempts of a client address. */
const CLIENT_ATTEMPTS_PER_HOUR = 20;
/** Attempts with an e-mail address: five codes with five tries each are guessed with a chance of 1 : 40,000 an hour. */
const EMAIL_ATTEMPTS_PER_HOUR = 5;
const EMAIL_ATTEMPTS_PER_DAY = 20;
/** After this number of mails of the service, addresses without an account get none. */
const MAILS_PER_DAY = 2000;

/** Throws 'rate-limited' when a client address has started too many sign-ins and changes of address. */
export function refuseTooManyOf(client: string, attempts: SignInAttempts, nowMs: number): void {
  if (attempts.countByClient(client, nowMs - HOUR_MS) < CLIENT_ATTEMPTS_PER_HOUR) return;
  throw tooMany('from your network: try again in an hour', HOUR_MS);
}

/** Throws 'rate-limited' when too many mails to an address were asked for, whether or not it has an account. */
export function refuseTooManyTo(email: string, attempts: SignInAttempts, nowMs: number): void {
  if (attempts.countByEmail(email, nowMs - HOUR_MS) >= EMAIL_ATTEMPTS_PER_HOUR) {
    throw tooMany('with this address: use the last mail, or try again in an hour', HOUR_MS);
  }
  if (attempts.countByEmail(email, nowMs - DAY_MS) >= EMAIL_ATTEMPTS_PER_DAY) {
    throw tooMany('with this address today: try again tomorrow', DAY_MS);
  }
}

/** Returns true when the service has sent so many mails in a day that addresses without an account get none. */
export function isDailyLimitReached(attempts: SignInAttempts, nowMs: number): boolean {
  return attempts.countMailed(nowMs - DAY_MS) >= MAILS_PER_DAY;
}

function tooMany(rest: string, retryAfterMs: number): DomainError {
  const message = `too many sign-ins or changes of address were started ${rest}`;
  return new DomainError('rate-limited', message, { retryAfterSeconds: retryAfterMs / 1000 });
}
