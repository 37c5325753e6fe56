import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import { UNDO_MS, type UndoLink, type WayInChange } from '../store/undo-links.ts';
import { changeMails, undoneMail } from './account-mails.ts';
import type { SignedIn } from './account-sessions.ts';
import type { SignInDeps } from './sign-in.ts';

/** The page that a link in a mail leads to. */
export const UNDO_PAGE = '/sign-in/undo';
/** Maximum number of changes of an account in 7 days: the link of an earlier one is never lost to a later one. */
const CHANGES_MAX = 50;

/**
 * Changes of how a person signs in: another address, a linked identity. Each ends the other sessions, and is mailed to the former address and
 * the present one with a link that undoes it and all later ones, once, for 7 days, in any browser. A thief cannot keep an account by changing
 * it twice.
 */
export class UndoableChanges {
  readonly #deps: Omit<SignInDeps, 'sessions'>;

  constructor(deps: Omit<SignInDeps, 'sessions'>) {
    this.#deps = deps;
  }

  /**
   * Ends all sessions of the account but the person's, and forgets all devices but this one (the value of its cookie). Returns the function
   * that sends the mails, to be called when the change is committed; a service that sends no mail has nothing to undo it by. `person`: with
   * the address before the change. Within the write of accounts.db that makes the change. Throws 'busy' and 'rate-limited'.
   */
  record({ account, session }: SignedIn, device: string | undefined, change: WayInChange): () => void {
    const { stores, clock, outbox } = this.#deps;
    const [{ id, email }, nowMs, publicUrl, token] = [account, clock(), this.#deps.publicUrl(), randomToken()];
    const { sessions, devices, audit, undoLinks, activityDatabase } = stores;
    outbox?.refuseWhenFull();
    if (outbox !== undefined) undoLinks.add(token, { accountId: id, email, change, createdMs: nowMs });
    if (undoLinks.since(id).length > CHANGES_MAX) {
      const sentence = `this account was changed ${CHANGES_MAX} times in 7 days: try again tomorrow`;
      throw new DomainError('rate-limited', sentence, { retryAfterSeconds: 86_400 });
    }
    // Committed first: after a crash in between, people sign in again.
    const ended = activityDatabase.write(() => {
      devices.forgetAll(id, device);
      return sessions.revokeAll(id, session.id);
    });
    const entry = { atMs: nowMs, actorId: id, accountId: id };
    if (ended > 0) audit.append({ ...entry, action: 'session.end-all', detail: { sessions: ended } });
    const mails = changeMails({ email, change, link: `${publicUrl}${UNDO_PAGE}?token=${token}`, publicUrl });
    return () => {
      for (const mail of mails) outbox?.send(mail, nowMs + UNDO_MS);
    };
  }

  /**
   * Returns the change of a link and all later ones of the account, the latest first. Changes nothing: mail scanners open links too. Throws
   * 'forbidden' for a link that is not valid any more.
   */
  look(token: string): UndoLink[] {
    return this.#deps.stores.accountsDatabase.read(() => this.#find(token));
  }

  /**
   * Undoes these changes, ends all sessions of the account, and returns its address. An address that the operator has given it since stays.
   * Throws as `look` does, and 'conflict' when another account has the former address.
   */
  undo(token: string): string {
    const { stores, clock, outbox } = this.#deps;
    const { accounts, identities, sessions, devices, audit, undoLinks, accountsDatabase, activityDatabase } = stores;
    const nowMs = clock();
    const { from, to } = accountsDatabase.write(() => {
      const undone = this.#find(token);
      const { id, accountId } = undone.at(-1)!;
      const account = accounts.find(accountId)!;
      const entry = { atMs: nowMs, actorId: accountId, accountId };
      let { email } = account;
      for (const { email: former, change } of undone) {
        if (change.kind === 'address') {
          if (change.to === email) email = former;
        } else if (identities.find(change) === accountId) {
          identities.unlink(change);
          const { issuer, subject } = change;
          audit.append({ ...entry, action: 'identity.unlink', detail: { issuer, subject } });
        }
      }
      if (email !== account.email) {
        const other = accounts.findByEmail(email)?.id ?? accountId;
        if (other !== accountId) {
          const sentence = `'${email}' has another account by now: delete it or change its address, then open this link again`;
          throw new DomainError('conflict', sentence);
        }
        accounts.setEmail(account, email);
        audit.append({ ...entry, action: 'account.email', detail: { from: account.email, to: email } });
      }
      undoLinks.deleteSince(accountId, id);
      const ended = activityDatabase.write(() => {
        devices.forgetAll(accountId);
        return sessions.revokeAll(accountId);
      });
      audit.append({ ...entry, action: 'account.undo', detail: { changes: undone.length, sessions: ended } });
      return { from: account.email, to: email };
    });
    outbox?.send(undoneMail({ to: from, publicUrl: this.#deps.publicUrl() }), nowMs + UNDO_MS);
    return to;
  }

  #find(token: string): UndoLink[] {
    const found = this.#deps.stores.undoLinks.find(token, this.#deps.clock());
    if (found.length > 0) return found;
    const sentence = 'this link is not valid: it works once, for 7 days, and not after the link of an earlier change';
    throw new DomainError('forbidden', sentence);
  }
}
