import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { RefusedField } from '../domain/refused-field.ts';
import { DAY_MS, HOUR_MS } from '../domain/usage.ts';
import type { SignInAttempt, SignInAttempts } from '../store/sign-in-attempts.ts';

/*
 * Limits count what a requester does: nobody uses up those of another person. Sign-ins that succeeded do not count.
 *
 * Requests for emails are refused by client, by network, and by network and address together. Emails to one address are limited for all
 * strangers together, silently, since a refusal would show who has an account: above the limit a known person still gets one whenever no
 * unused link of the last 10 minutes is in the mailbox. So the mailbox always has a link that is valid for 5 minutes or more, and links
 * work in every browser: a flood from any number of networks keeps nobody out, and is at most 6 mails an hour.
 *
 * Codes are guessed by strangers only so often that 8 digits are guessed once in 10,000 years; then the link still works, and so do
 * codes in a browser that signed in before, providers and passkeys.
 */

/** Attempts of a client address, of its network, and of a browser that signed in before. */
const CLIENT_ATTEMPTS_PER_HOUR = 20;
const NETWORK_ATTEMPTS_PER_HOUR = 100;
const DEVICE_ATTEMPTS_PER_HOUR = 20;
/** Attempts of a network with one email address, and emails that all unknown browsers cause to it. */
const ADDRESS_ATTEMPTS_PER_HOUR = 5;
const ADDRESS_ATTEMPTS_PER_DAY = 20;
/** A known person has a link that is not older: it is valid for 15 minutes. */
const LINK_AGE_MS = 10 * 60_000;
/** After this number of emails of the service, addresses without an account get none. */
const MAILS_PER_DAY = 2000;
/** Wrong codes a day of all unknown browsers with an address, of a network, and of a browser that signed in before. */
const ADDRESS_GUESSES_PER_DAY = 20;
const NETWORK_GUESSES_PER_DAY = 100;
const DEVICE_GUESSES_PER_DAY = 20;
/** The pause after the first wrong code; each further one doubles it. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 600_000;

/** Throws 'rate-limited' when a client or its network has started too many sign-ins and changes of address. `device`: one that signed in before. */
export function refuseTooManyOf(client: string, attempts: SignInAttempts, nowMs: number, device?: string): void {
  const sinceMs = nowMs - HOUR_MS;
  if (device !== undefined) {
    if (attempts.countByDevice(device, sinceMs) < DEVICE_ATTEMPTS_PER_HOUR) return;
    throw tooMany('in this browser: use the last email, or try again in an hour', HOUR_MS);
  }
  const isBelow =
    attempts.countByClient(client, sinceMs) < CLIENT_ATTEMPTS_PER_HOUR &&
    attempts.countByNetwork(client, sinceMs) < NETWORK_ATTEMPTS_PER_HOUR;
  if (!isBelow) throw tooMany('from your network: try again in an hour', HOUR_MS);
}

/** Throws 'rate-limited' when a network has asked for too many emails to an address, whether or not it has an account. */
export function refuseTooManyWith(email: string, client: string, attempts: SignInAttempts, nowMs: number): void {
  refuseTooMany((sinceMs) => attempts.countWith(email, client, sinceMs), nowMs);
}

/** Throws 'rate-limited' when too many changes to an address were asked for, whether or not it has an account. */
export function refuseTooManyTo(email: string, attempts: SignInAttempts, nowMs: number): void {
  refuseTooMany((sinceMs) => attempts.countMailsTo(email, sinceMs, true), nowMs);
}

function refuseTooMany(count: (sinceMs: number) => number, nowMs: number): void {
  if (count(nowMs - HOUR_MS) >= ADDRESS_ATTEMPTS_PER_HOUR) {
    throw tooMany('with this address: use the last email, or try again in an hour', HOUR_MS);
  }
  if (count(nowMs - DAY_MS) >= ADDRESS_ATTEMPTS_PER_DAY) {
    throw tooMany('with this address today: try again tomorrow', DAY_MS);
  }
}

/** Returns true if an unknown browser may cause an email to an address. `isKnown`: it has an account. */
export function isMailDue(email: string, isKnown: boolean, attempts: SignInAttempts, nowMs: number): boolean {
  const isBelow =
    attempts.countMailsTo(email, nowMs - HOUR_MS, false) < ADDRESS_ATTEMPTS_PER_HOUR &&
    attempts.countMailsTo(email, nowMs - DAY_MS, false) < ADDRESS_ATTEMPTS_PER_DAY;
  return isBelow || (isKnown && !attempts.hasMailSince(email, nowMs - LINK_AGE_MS));
}

/** Returns true when the service has sent so many emails in a day that addresses without an account get none. */
export function isDailyLimitReached(attempts: SignInAttempts, nowMs: number): boolean {
  return attempts.countMailed(nowMs - DAY_MS) >= MAILS_PER_DAY;
}

/** Throws 'rate-limited' while the browser of an attempt may type no code. The right one is not tried then either. */
export function refuseTooManyGuesses(attempt: SignInAttempt, attempts: SignInAttempts, nowMs: number): void {
  const { own, ofAddress, ofNetwork } = attempts.wrongCodes(attempt, nowMs - DAY_MS);
  const limits: readonly [isReached: boolean, where: string][] = [
    [own.count >= DEVICE_GUESSES_PER_DAY, 'in this browser'],
    [ofAddress >= ADDRESS_GUESSES_PER_DAY, 'for this address'],
    [ofNetwork >= NETWORK_GUESSES_PER_DAY, 'from your network'],
  ];
  const reached = limits.find(([isReached]) => isReached);
  if (reached !== undefined) {
    throw earlyCode(`too many wrong codes were typed ${reached[1]} today: use the link in the email`, DAY_MS);
  }
  const pauseMs = Math.min(PAUSE_MS * 2 ** (own.count - 1), PAUSE_MS_MAX);
  const leftMs = (own.lastMs ?? Number.NEGATIVE_INFINITY) + pauseMs - nowMs;
  if (leftMs <= 0) return;
  const seconds = Math.ceil(leftMs / 1000);
  const rest = 'before you type the next code, or use the link in the email';
  throw earlyCode(`wait ${countText(seconds, 'second')} ${rest}`, seconds * 1000);
}

function earlyCode(message: string, retryAfterMs: number): DomainError {
  return new RefusedField('code', 'rate-limited', message, undefined, { retryAfterSeconds: retryAfterMs / 1000 });
}

function tooMany(rest: string, retryAfterMs: number): DomainError {
  return limited(`too many sign-ins or changes of address were started ${rest}`, retryAfterMs);
}

function limited(message: string, retryAfterMs: number): DomainError {
  return new DomainError('rate-limited', message, { retryAfterSeconds: retryAfterMs / 1000 });
}
