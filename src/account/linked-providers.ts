import { DomainError } from '../domain/errors.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Identity } from '../store/identities.ts';
import { linkedMail, settingMail } from './account-mails.ts';
import type { SignedIn } from './account-sessions.ts';
import type { OidcProvider } from './oidc-provider.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';
import type { SignInDeps } from './sign-in.ts';
import type { UndoableChanges } from './undoable-changes.ts';

type Provider = Pick<OidcProvider, 'name' | 'issuer'>;

/** Links identities of providers to the account of a signed-in person, and unlinks them. The account gets an email about each. */
export class LinkedProviders {
  readonly #deps: Omit<SignInDeps, 'sessions'>;
  readonly #changes: UndoableChanges;
  readonly #providers: readonly Provider[];

  constructor(deps: Omit<SignInDeps, 'sessions'>, changes: UndoableChanges, providers: readonly Provider[]) {
    this.#deps = deps;
    this.#changes = changes;
    this.#providers = providers;
  }

  /** The name of the provider with an issuer; undefined if the service has none any more. */
  nameOf(issuer: string): string | undefined {
    return this.#providers.find((provider) => new URL(provider.issuer).href === URL.parse(issuer)?.href)?.name;
  }

  /**
   * Links an identity, as a change that can be undone, for a person who proved it at the provider just now. An identity that the account
   * has already stays. `device`: the value of that cookie. Throws 'conflict' for one of another account, and as `UndoableChanges.record`.
   */
  link(person: SignedIn, device: string | undefined, provider: string, { issuer, subject }: Identity): void {
    const { stores, clock, publicUrl } = this.#deps;
    const { identities, audit, accountsDatabase } = stores;
    const { id, email } = person.account;
    const sendMails = accountsDatabase.write(() => {
      if (identities.link({ issuer, subject }, id, clock())) {
        const detail = { provider, issuer, subject };
        audit.append({ atMs: clock(), by: person, accountId: id, action: 'identity.link', detail });
        return this.#changes.record(person, device, (undo) => [linkedMail(email, provider, undo, publicUrl())]);
      }
      if (identities.find({ issuer, subject }) === id) return undefined;
      const sentence = `your identity at ${provider} signs in to another account here: unlink it in the settings of that one first`;
      throw new DomainError('conflict', sentence);
    });
    sendMails?.();
  }

  /**
   * Unlinks an identity. Throws 'sign-in-again', 'not-found' for one that is not linked to the account, and 'conflict' for the last way
   * in to an account of a service that sends no email.
   */
  unlink(person: SignedIn, { issuer, subject }: Identity): void {
    const { stores, clock, outbox, publicUrl } = this.#deps;
    const { identities, passkeys, audit, accountsDatabase } = stores;
    const { id, email } = person.account;
    const nowMs = clock();
    refuseOldSignIn(person, nowMs);
    accountsDatabase.write(() => {
      if (identities.find({ issuer, subject }) !== id) {
        throw new DomainError('not-found', 'no such identity is linked to your account: open the settings again');
      }
      identities.unlink({ issuer, subject });
      const isLast =
        !identities.ofAccount(id).some((left) => this.nameOf(left.issuer) !== undefined) &&
        passkeys.ofAccount(id).length === 0;
      if (outbox === undefined && isLast) {
        const sentence =
          'this is your only way to sign in, since this service sends no email: link another provider or add a passkey first';
        throw new DomainError('conflict', sentence);
      }
      const detail = { issuer, subject };
      audit.append({ atMs: nowMs, by: person, accountId: id, action: 'identity.unlink', detail });
    });
    outbox?.send(settingMail(email, `${this.nameOf(issuer) ?? issuer} was unlinked`, publicUrl()), nowMs + DAY_MS);
  }
}
