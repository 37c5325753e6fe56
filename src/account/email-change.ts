import { type Account, isOfProgram } from '../domain/account.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import { RefusedField } from '../domain/refused-field.ts';
import { ATTEMPT_MS } from '../store/sign-in-attempts.ts';
import { changedMails, confirmationMail, takenMail } from './account-mails.ts';
import type { SignedIn } from './account-sessions.ts';
import { isDailyLimitReached, refuseTooManyOf, refuseTooManyTo } from './mail-limits.ts';
import type { Outbox } from './outbox.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';
import type { SignInDeps } from './sign-in.ts';
import { admitsNew } from './sign-up.ts';
import type { UndoableChanges } from './undoable-changes.ts';
import { usableAttempt } from './usable-attempt.ts';

/** The page that a link in an email leads to. */
const LINK_PAGE = '/account/settings/link';

/**
 * Changes the address of an account, by a link in an email to the new address. The link works once, within 15 minutes, only for the person
 * who asked (in any browser in which that person is signed in), and only while the account has the same address: otherwise a person who
 * opens the link of a stranger would give their address to the stranger's account.
 */
export class EmailChange {
  readonly #deps: Omit<SignInDeps, 'sessions'>;
  readonly #changes: UndoableChanges;

  constructor(deps: Omit<SignInDeps, 'sessions'>, changes: UndoableChanges) {
    this.#deps = deps;
    this.#changes = changes;
  }

  /**
   * Sends the email with the link. If the address has an account already, the email says so, and the answer is the same. Throws 'sign-in-again',
   * 'invalid-parameter', 'forbidden' for an address that the service does not allow, 'rate-limited', 'busy', and 'not-found' when the
   * service sends no email.
   */
  ask(person: SignedIn, typed: string, client: string): void {
    const { account } = person;
    const { stores, clock, signUp } = this.#deps;
    const [nowMs, publicUrl] = [clock(), this.#deps.publicUrl()];
    const { accounts, attempts, accountsDatabase, activityDatabase } = stores;
    const outbox = this.#outbox();
    refuseOldSignIn(person, nowMs);
    const email = emailAddress(typed);
    if (email === account.email) {
      const message = 'your account has this address already: type another one';
      throw new RefusedField('email', 'invalid-parameter', message);
    }
    if (isOfProgram(email) || isOfProgram(account.email)) {
      const message = 'the accounts of this program keep their addresses: type another one';
      throw new RefusedField('email', 'forbidden', message);
    }
    if (signUp.policy === 'invited' && !admitsNew(signUp, email)) {
      const message = 'this service allows no addresses of this domain: ask its operator';
      throw new RefusedField('email', 'forbidden', message);
    }
    const holder = accountsDatabase.read(() => accounts.findByEmail(email));
    const link = randomToken();
    const url = `${publicUrl}${LINK_PAGE}?token=${link}`;
    const mail =
      holder === undefined || holder.id === account.id
        ? confirmationMail({ from: account.email, to: email, link: url, publicUrl })
        : takenMail({ to: holder.email, publicUrl });
    activityDatabase.write(() => {
      refuseTooManyOf(client, attempts, nowMs);
      refuseTooManyTo(email, attempts, nowMs);
      if (isDailyLimitReached(attempts, nowMs)) {
        throw new DomainError('rate-limited', 'this service sends no more emails today: try again tomorrow', {
          retryAfterSeconds: 86_400,
        });
      }
      attempts.addEmailChange({ account, email, link, client, createdMs: nowMs });
    });
    outbox.send(mail, nowMs + ATTEMPT_MS);
  }

  /** Returns the change that a link makes, and changes nothing. Throws 'forbidden' for a link that is unknown, expired, used, or not of this person. */
  look({ account }: SignedIn, link: string): { readonly from: string; readonly to: string } {
    const { stores, clock } = this.#deps;
    const { attempts, activityDatabase } = stores;
    const { email } = activityDatabase.read(() =>
      usableAttempt(attempts.findEmailChange(account, link), 'link', clock()),
    );
    return { from: account.email, to: email };
  }

  /**
   * Changes the address, as a change that can be undone; identities of providers stay. `device`: the value of that cookie. Throws as `look` and
   * `UndoableChanges.record` do, 'conflict' if another account got the address meanwhile, and 'not-found' when the service sends no email.
   */
  redeem(person: SignedIn, link: string, device?: string): Account {
    const { stores, clock } = this.#deps;
    const { accounts, attempts, audit, accountsDatabase, activityDatabase } = stores;
    const { id } = person.account;
    const nowMs = clock();
    this.#outbox();
    const sendMails = accountsDatabase.write(() => {
      const account = accounts.find(id)!;
      if (account.disabledMs !== undefined) {
        throw new DomainError('forbidden', 'this account is disabled: ask the operator of this service');
      }
      // Committed first: after a crash in between, the link is used and the address is the former one.
      const to = activityDatabase.write(() => {
        const attempt = usableAttempt(attempts.findEmailChange(account, link), 'link', nowMs);
        accounts.setEmail(account, attempt.email);
        const detail = { from: account.email, to: attempt.email };
        audit.append({ atMs: nowMs, by: person, accountId: id, action: 'account.email', detail });
        attempts.markUsed(attempt, nowMs);
        return attempt.email;
      });
      const change = { from: account.email, to, publicUrl: this.#deps.publicUrl() };
      return this.#changes.record({ ...person, account }, device, (undo) => changedMails({ ...change, link: undo }));
    });
    sendMails();
    return accountsDatabase.read(() => accounts.find(id)!);
  }

  #outbox(): Outbox {
    const { outbox } = this.#deps;
    if (outbox === undefined) {
      throw new DomainError('not-found', 'this service sends no email: ask its operator to change your address');
    }
    outbox.refuseWhenFull();
    return outbox;
  }
}
