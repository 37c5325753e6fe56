import { randomInt } from 'node:crypto';
import { type Account, DEMO_EMAIL, isOfProgram } from '../domain/account.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { randomToken } from '../domain/random-token.ts';
import { RefusedField } from '../domain/refused-field.ts';
import type { Identity } from '../store/identities.ts';
import { ATTEMPT_MS, CODE_TRIES_MAX, networkOf } from '../store/sign-in-attempts.ts';
import { signInMail } from './account-mails.ts';
import type { AccountSessions, Browser, NewSession } from './account-sessions.ts';
import * as limits from './mail-limits.ts';
import type { Outbox } from './outbox.ts';
import { linkUrl } from './sign-in-link.ts';
import type { SignInStores } from './sign-in-stores.ts';
import { admitsNew, type SignUp } from './sign-up.ts';
import { refuseWithoutPasskey } from './unfinished-sign-in.ts';
import { type ProvenAttempt, usableAttempt } from './usable-attempt.ts';

export const CODE_DIGITS = 8;
const TRIED_TOO_OFTEN = `this code was tried ${CODE_TRIES_MAX} times: use the link in the email, or ask for a new one`;

export interface SignInDeps {
  readonly stores: SignInStores;
  readonly sessions: AccountSessions;
  readonly clock: () => number;
  /** Without a slash at its end. Called while a request is served. */
  readonly publicUrl: () => string;
  readonly signUp: SignUp;
  /** Undefined: the service sends no email. */
  readonly outbox: Outbox | undefined;
}

/** An identity of an OIDC provider whose address the person has to prove by email. */
export interface UnprovenIdentity {
  readonly provider: string;
  readonly identity: Identity;
}

/** A person who proved who they are. `isOnlyStated`: a provider states the address, and the person did not prove it here. */
type Entry = Pick<ProvenAttempt, 'email' | 'method' | 'identity'> & { readonly isOnlyStated?: boolean };

/**
 * Sign-in by a link or a code, each for one use within 15 minutes. A link works in every browser, except that an identity is linked only in
 * the browser that asked: otherwise a stranger's identity could be linked by the owner of the address. A code works only in that browser.
 */
export class SignIn {
  readonly #deps: SignInDeps;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  /**
   * Sends an email with a link and a code if the address may sign in, and returns the value of a cookie for the browser. The answer and the
   * rows written are the same for every address; the email is sent later. Throws 'invalid-parameter' for a malformed address,
   * 'rate-limited', 'busy' when too many emails wait, and 'not-found' when the service sends no email. `device`: the value of that cookie.
   */
  ask(typed: string, client: string, unproven?: UnprovenIdentity, device?: string): string {
    const { stores, clock, outbox, signUp } = this.#deps;
    if (outbox === undefined) {
      throw new DomainError('not-found', 'this service sends no email: ask its operator for a sign-in link');
    }
    const address = emailAddress(typed);
    const [nowMs, publicUrl] = [clock(), this.#deps.publicUrl()];
    const { accounts, attempts, devices, accountsDatabase, activityDatabase } = stores;
    outbox.refuseWhenFull();
    const account = accountsDatabase.read(() => accounts.findByEmail(address));
    // Mail servers may distinguish the case of an address: another spelling may be another person's.
    const email = account?.email ?? address;
    const [browser, link, code] = [randomToken(), randomToken(), randomCode()];
    const { provider: method = 'email', identity } = unproven ?? {};
    // Everything is done for every address, so that the time of the answer does not show which ones may sign in.
    const [url, provider, isNew] = [linkUrl(publicUrl, link), unproven?.provider, account === undefined];
    const mail = signInMail({ email, link: url, code, publicUrl, provider, isNew });
    const isMailed = activityDatabase.write(() => {
      const known = devices.known(device, nowMs, account?.id ?? 0);
      limits.refuseTooManyOf(client, attempts, nowMs, known);
      if (known === undefined) limits.refuseTooManyWith(email, client, attempts, nowMs);
      const isLimitReached = limits.isDailyLimitReached(attempts, nowMs);
      const isDue = limits.isMailDue(email, account !== undefined, attempts, nowMs);
      const mayEnter =
        account === undefined ? admitsNew(signUp, email) && !isLimitReached : account.disabledMs === undefined;
      const isSent = mayEnter && (isDue || known !== undefined) && !isOfProgram(email);
      const secrets = { link, code, browser, device: known };
      attempts.add({ method, email, ...secrets, isMailed: isSent, client, identity, createdMs: nowMs });
      return isSent;
    });
    outbox.send(isMailed ? mail : undefined, nowMs + ATTEMPT_MS, account === undefined ? networkOf(client) : undefined);
    return browser;
  }

  /**
   * Returns the address of the account that a link signs in to, and the provider of the identity that is linked then. Changes nothing: mail
   * scanners open links too. Throws 'forbidden'.
   */
  look(link: string): { readonly email: string; readonly provider: string | undefined } {
    const { stores, clock } = this.#deps;
    const { accounts, attempts, accountsDatabase, activityDatabase } = stores;
    const { email, method, identity } = activityDatabase.read(() =>
      usableAttempt(attempts.findByLink(link), 'link', clock()),
    );
    const isLinked = identity !== undefined && accountsDatabase.read(() => accounts.findByEmail(email)) === undefined;
    return { email, provider: isLinked ? method : undefined };
  }

  /** Signs in with a link. Throws 'forbidden' for one that is unknown, expired or used. */
  redeemLink(link: string, browser: Browser): NewSession {
    const { stores, clock } = this.#deps;
    const { attempts, activityDatabase } = stores;
    const attempt = activityDatabase.write(() => {
      const found = usableAttempt(attempts.findByLink(link), 'link', clock());
      const ofBrowser = browser.attemptToken === undefined ? undefined : attempts.findByBrowser(browser.attemptToken);
      if (found.identity !== undefined && ofBrowser?.id !== found.id) {
        throw new DomainError(
          'forbidden',
          `open this link in the browser in which you signed in at ${found.method}, or start there again`,
        );
      }
      refuseProgram(found, browser);
      attempts.markUsed(found, clock());
      return found;
    });
    return this.enter(attempt, browser, clock());
  }

  /** Signs in with a code, in the browser that asked for it. Throws 'forbidden', and 'rate-limited' as `refuseTooManyGuesses` does. */
  redeemCode(typed: string, browser: Browser): NewSession {
    const { stores, clock } = this.#deps;
    const { attempts, activityDatabase } = stores;
    const code = typed.replace(/[\s-]/g, '');
    // A wrong code changes the database too, so its error is thrown after the transaction.
    const { attempt, isRight } = activityDatabase.write(() => {
      const begun = browser.attemptToken === undefined ? undefined : attempts.findByBrowser(browser.attemptToken);
      if (begun?.email === undefined) {
        throw new DomainError(
          'forbidden',
          'a code works only in the browser that asked for it: use the link in the email',
        );
      }
      const found = usableAttempt(begun, 'code', clock());
      if (found.codeTries >= CODE_TRIES_MAX) throw new DomainError('forbidden', TRIED_TOO_OFTEN);
      limits.refuseTooManyGuesses(found, attempts, clock());
      const matches = attempts.isCode(found, code);
      if (matches) attempts.markUsed(found, clock());
      else attempts.addTry(found, clock());
      return { attempt: found, isRight: matches };
    });
    if (isRight) return this.enter(attempt, browser, clock());
    this.#recordFailure(attempt);
    const left = CODE_TRIES_MAX - attempt.codeTries - 1;
    if (left === 0) throw new DomainError('forbidden', TRIED_TOO_OFTEN);
    const remedy =
      code.length === CODE_DIGITS ? 'compare it with the latest email' : `type the ${CODE_DIGITS} digits of the email`;
    const message = `this code is wrong: ${remedy}; ${left} of ${CODE_TRIES_MAX} tries are left`;
    throw new RefusedField('code', 'forbidden', message);
  }

  /**
   * Signs a person in who proved who they are at `provedMs`: creates the account if the policy allows it, with the identity. An account that
   * exists gets no identity. Throws 'forbidden' if there is no account, it is disabled, or only a provider states the address of one, and
   * for an account of this program unless its operator made the link; `UnfinishedSignIn` if it has passkeys.
   */
  enter(proven: Entry, browser: Browser, provedMs: InstantMs | undefined): NewSession {
    const { stores, sessions, clock } = this.#deps;
    const { accounts, audit, accountsDatabase } = stores;
    const { email, method, isOnlyStated = false } = proven;
    refuseProgram(proven, browser);
    const nowMs = clock();
    // Committed first: the session, in another database, names the account.
    const { id } = accountsDatabase.write(() => {
      const found = accounts.findByEmail(email);
      if (found === undefined || !isOnlyStated) return found ?? this.#signUp(proven, browser, nowMs);
      throw new DomainError(
        'forbidden',
        `${email} has an account here: sign in to it by email or at a linked provider, then link ${method} in its settings`,
      );
    });
    const entered = accountsDatabase.write(() => {
      const account = accounts.find(id)!;
      const entry = { atMs: nowMs, by: { ...browser, account }, accountId: id };
      if (account.disabledMs !== undefined) {
        audit.count({ ...entry, action: 'session.refused', detail: { method } });
        return undefined;
      }
      refuseWithoutPasskey(stores, id, nowMs);
      audit.append({ ...entry, action: 'session.sign-in', detail: { method } });
      return sessions.open(account, method, browser, provedMs);
    });
    if (entered !== undefined) return entered;
    throw new DomainError('forbidden', 'this account is disabled: ask the operator of this service');
  }

  #signUp({ email, method, identity }: Entry, browser: Browser, nowMs: number): Account {
    const { stores, signUp } = this.#deps;
    const { accounts, identities, audit } = stores;
    if (!admitsNew(signUp, email)) {
      throw new DomainError('forbidden', 'this service creates no account for this address: ask its operator');
    }
    const account = accounts.create({ email }, nowMs);
    const detail = { method, policy: signUp.policy };
    const entry = { atMs: nowMs, by: { ...browser, account }, accountId: account.id };
    audit.append({ ...entry, action: 'account.sign-up', detail });
    if (identity !== undefined && identities.link(identity, account.id, nowMs)) {
      audit.append({ ...entry, action: 'identity.link', detail: { provider: method, ...identity } });
    }
    return account;
  }

  #recordFailure({ email, method }: ProvenAttempt): void {
    const { accounts, audit, accountsDatabase } = this.#deps.stores;
    accountsDatabase.write(() => {
      // Also without an account: the time of the answer is the same.
      const accountId = accounts.findByEmail(email)?.id;
      audit.count({ atMs: this.#deps.clock(), action: 'session.wrong-code', accountId, detail: { method } });
    });
  }
}

/** Throws 'forbidden' for the accounts of this program, except by a link of its operator; a demo's also has to be opened on this machine. */
function refuseProgram({ email, method }: Pick<ProvenAttempt, 'email' | 'method'>, { isOfThisMachine }: Browser): void {
  if (!isOfProgram(email)) return;
  if (method !== 'command') throw new DomainError('forbidden', 'only a link of the operator signs in to this account');
  if (email.toLowerCase() !== DEMO_EMAIL || isOfThisMachine === true) return;
  throw new DomainError(
    'forbidden',
    'a demo is signed in to only in a browser on the machine of the service, without a proxy: open the link there',
  );
}

function randomCode(): string {
  return String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
}
