import type { Account } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { UNPRINTABLE } from '../domain/unprintable.ts';
import type { AuditActor } from '../store/audit.ts';
import type { Session } from '../store/sessions.ts';
import type { SignInStores } from './sign-in-stores.ts';

const USER_AGENT_CHARS_MAX = 200;

/** The browser that signs in, and its request. */
export interface Browser extends Pick<AuditActor, 'clientAddress' | 'requestId'> {
  readonly userAgent: string | undefined;
  /** The value of its session cookie. That session ends with the new sign-in. */
  readonly session: string | undefined;
  /** The value of the cookie that it got when it started to sign in. */
  readonly attemptToken: string | undefined;
  /** The value of the cookie that passkeys answer for, or that of an unfinished sign-in. */
  readonly passkeyToken?: string | undefined;
  /** The value of the cookie that it got when it signed in before. */
  readonly device: string | undefined;
  /** True if it runs on the machine of the service. Left out: that is not known. */
  readonly isOfThisMachine?: boolean;
}

/** A person who is signed in. The audit has the address and the id of the person's request. */
export interface SignedIn extends AuditActor {
  readonly account: Account;
  readonly session: Session;
}

/** A new session, and the values of its cookie and of that of the device, which are stored nowhere. */
export interface NewSession extends SignedIn {
  readonly token: string;
  readonly device: string;
}

/** Opens, finds, lists and ends the sessions of accounts. */
export class AccountSessions {
  readonly #stores: SignInStores;
  readonly #clock: () => number;

  constructor(stores: SignInStores, clock: () => number) {
    this.#stores = stores;
    this.#clock = clock;
  }

  /**
   * A new session of an account that is not disabled, for a person who proved who they are at `provedMs`; the browser's earlier one ends.
   * Within the write that read the account: a command that disables the account waits for it, and then ends this session too.
   */
  open(account: Account, method: string, browser: Browser, provedMs: InstantMs | undefined): NewSession {
    const { sessions, devices, attempts, activityDatabase } = this.#stores;
    const nowMs = this.#clock();
    const userAgent = browser.userAgent?.replace(UNPRINTABLE, '').slice(0, USER_AGENT_CHARS_MAX);
    return activityDatabase.write(() => {
      const former = browser.session === undefined ? undefined : sessions.find(browser.session, nowMs);
      if (former !== undefined) sessions.revoke(former.accountId, former.id);
      if (browser.attemptToken !== undefined) attempts.forgive(browser.attemptToken);
      const device = devices.remember(browser.device, account.id, nowMs);
      return { account, device, ...sessions.create({ accountId: account.id, method, userAgent, provedMs }, nowMs) };
    });
  }

  /** The person with this session cookie. Undefined if the session has ended or the account is disabled. */
  find(token: string | undefined): SignedIn | undefined {
    if (token === undefined) return undefined;
    const { sessions, accounts, accountsDatabase, activityDatabase } = this.#stores;
    const nowMs = this.#clock();
    const session = activityDatabase.read(() => sessions.find(token, nowMs));
    if (session === undefined) return undefined;
    const account = accountsDatabase.read(() => accounts.find(session.accountId));
    if (account === undefined || account.disabledMs !== undefined) {
      // An account that is enabled again has to sign in again.
      activityDatabase.write(() => sessions.revokeAll(session.accountId));
      return undefined;
    }
    if (sessions.isUseDue(session, nowMs)) activityDatabase.write(() => sessions.use(session, nowMs));
    return { account, session };
  }

  /** Oldest first. */
  list({ id }: Account): Session[] {
    return this.#stores.activityDatabase.read(() => this.#stores.sessions.list(id, this.#clock()));
  }

  /** Returns false for a session that has ended. */
  isOpen({ id, accountId }: Pick<Session, 'id' | 'accountId'>): boolean {
    const { sessions, activityDatabase } = this.#stores;
    return activityDatabase.read(() => sessions.list(accountId, this.#clock())).some((open) => open.id === id);
  }

  /** Ends one session of the account. Throws 'not-found' for an id of another account, as for one that nobody has. */
  end(account: Account, id: string, by: AuditActor): void {
    const { sessions, activityDatabase } = this.#stores;
    if (!activityDatabase.write(() => sessions.revoke(account.id, id))) {
      throw new DomainError('not-found', 'there is no such session: it may have ended already');
    }
    this.#record(account, by, 'session.end', { session: id });
  }

  /** Ends all sessions of the account, forgets its devices, and returns the number of sessions. */
  endAll(account: Account, by: AuditActor): number {
    const { sessions, devices, activityDatabase } = this.#stores;
    const count = activityDatabase.write(() => {
      devices.forgetAll(account.id);
      return sessions.revokeAll(account.id);
    });
    if (count > 0) this.#record(account, by, 'session.end-all', { sessions: count });
    return count;
  }

  /** Ends the person's session. */
  signOut(person: SignedIn): void {
    const { account, session } = person;
    const { sessions, activityDatabase } = this.#stores;
    activityDatabase.write(() => sessions.revoke(account.id, session.id));
    this.#record(account, person, 'session.sign-out', { session: session.id });
  }

  #record({ id }: Account, by: AuditActor, action: string, detail: Readonly<Record<string, string | number>>): void {
    const { audit, accountsDatabase } = this.#stores;
    const entry = { atMs: this.#clock(), by, accountId: id, action, detail };
    accountsDatabase.write(() => audit.append(entry));
  }
}
