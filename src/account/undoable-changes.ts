import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import type { AuditActor } from '../store/audit.ts';
import { UNDO_MS, type UndoLink } from '../store/undo-links.ts';
import { undoneMail } from './account-mails.ts';
import type { SignedIn } from './account-sessions.ts';
import type { Mail } from './mail.ts';
import type { SignInDeps } from './sign-in.ts';

/** Maximum number of changes of an account in 7 days: the link of an earlier one is never lost to a later one. */
const CHANGES_MAX = 50;

/**
 * Changes of how a person signs in: another address, a linked identity, a passkey. Each ends the other sessions, and its mails have a link
 * that takes the account back to the state before it, once, for 7 days, in any browser. So a thief cannot keep an account by changing it
 * twice.
 */
export class UndoableChanges {
  readonly #deps: Omit<SignInDeps, 'sessions'>;

  constructor(deps: Omit<SignInDeps, 'sessions'>) {
    this.#deps = deps;
  }

  /**
   * Ends all sessions of the account but the person's, and forgets all devices but this one (the value of its cookie). Returns the function
   * that sends the mails, made with the link, to be called when the change is committed; a service without mail has no links. `person`: with
   * the address before the change. Within the write of accounts.db that makes the change. Throws 'busy' and 'rate-limited'.
   */
  record(person: SignedIn, device: string | undefined, mailsWith: (link: string) => readonly Mail[]): () => void {
    const { stores, clock, outbox, publicUrl } = this.#deps;
    const { sessions, devices, audit, undoLinks, activityDatabase } = stores;
    const { id, email } = person.account;
    const [nowMs, token] = [clock(), randomToken()];
    outbox?.refuseWhenFull();
    const count = outbox === undefined ? 0 : undoLinks.add(token, { accountId: id, email, createdMs: nowMs });
    if (count > CHANGES_MAX) {
      const sentence = `this account was changed ${CHANGES_MAX} times in 7 days: try again tomorrow`;
      throw new DomainError('rate-limited', sentence, { retryAfterSeconds: 86_400 });
    }
    // Committed first: after a crash in between, people sign in again.
    const ended = activityDatabase.write(() => {
      devices.forgetAll(id, device);
      return sessions.revokeAll(id, person.session.id);
    });
    const entry = { atMs: nowMs, by: person, accountId: id };
    if (ended > 0) audit.append({ ...entry, action: 'session.end-all', detail: { sessions: ended } });
    const mails = mailsWith(`${publicUrl()}/sign-in/undo?token=${token}`);
    return () => {
      for (const mail of mails) outbox?.send(mail, nowMs + UNDO_MS);
    };
  }

  /** Returns what a link leads back to, and changes nothing: mail scanners open links too. Throws 'forbidden' for one that is not valid. */
  look(token: string): UndoLink {
    return this.#deps.stores.accountsDatabase.read(() => this.#find(token));
  }

  /**
   * Undoes the change of a link and all later ones: the account gets its address back, identities linked and passkeys added since are
   * removed, passkeys removed since are given back, and recovery codes and all sessions end. Returns the address. `from`: the request, for
   * the audit. Throws as `look` does, and 'conflict' when another account has the address.
   */
  undo(token: string, from: Pick<AuditActor, 'clientAddress' | 'requestId'> = {}): string {
    const { stores, clock, outbox } = this.#deps;
    const { accounts, identities, passkeys, sessions, devices, audit, undoLinks } = stores;
    const { accountsDatabase, activityDatabase } = stores;
    const nowMs = clock();
    const { former, to } = accountsDatabase.write(() => {
      const { accountId, email, createdMs } = this.#find(token);
      const account = accounts.find(accountId)!;
      const entry = { atMs: nowMs, by: { ...from, account }, accountId };
      if ((accounts.findByEmail(email)?.id ?? accountId) !== accountId) {
        const sentence = `'${email}' has another account by now: delete it or change its address, then open this link again`;
        throw new DomainError('conflict', sentence);
      }
      if (email !== account.email) {
        accounts.setEmail(account, email);
        audit.append({ ...entry, action: 'account.email', detail: { from: account.email, to: email } });
      }
      const linked = identities.ofAccount(accountId).filter(({ linkedMs }) => linkedMs >= createdMs);
      for (const { issuer, subject } of linked) {
        identities.unlink({ issuer, subject });
        audit.append({ ...entry, action: 'identity.unlink', detail: { issuer, subject } });
      }
      for (const passkey of passkeys.ofAccount(accountId).filter((one) => one.createdMs >= createdMs)) {
        audit.append({ ...entry, action: 'passkey.remove', detail: { passkey: passkey.id } });
      }
      for (const passkey of passkeys.undoSince(accountId, createdMs)) {
        audit.append({ ...entry, action: 'passkey.add', detail: { passkey } });
      }
      undoLinks.deleteSince(accountId, createdMs);
      const ended = activityDatabase.write(() => {
        devices.forgetAll(accountId);
        return sessions.revokeAll(accountId);
      });
      audit.append({ ...entry, action: 'account.undo', detail: { sessions: ended } });
      return { former: account.email, to: email };
    });
    outbox?.send(undoneMail(former, this.#deps.publicUrl()), nowMs + UNDO_MS);
    return to;
  }

  #find(token: string): UndoLink {
    const found = this.#deps.stores.undoLinks.find(token, this.#deps.clock());
    if (found !== undefined) return found;
    const sentence = 'this link is not valid: it works once, for 7 days, and not after the link of an earlier change';
    throw new DomainError('forbidden', sentence);
  }
}
