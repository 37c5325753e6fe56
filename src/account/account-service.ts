import type { Account } from '../domain/account.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Activity } from '../store/activity.ts';
import type { AuditActor } from '../store/audit.ts';
import { PaymentMails } from '../store/payment-mails.ts';
import type { Registry } from '../store/registry.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { WaitingMails } from '../store/waiting-mails.ts';
import { adminChangesMail, buyerMail } from './account-mails.ts';
import { AccountPasskeys } from './account-passkeys.ts';
import { AccountSessions } from './account-sessions.ts';
import { EmailChange } from './email-change.ts';
import { LinkedProviders } from './linked-providers.ts';
import { MailServer, type MailServerSettings } from './mail-server.ts';
import { OidcProvider, type OidcProviderSettings } from './oidc-provider.ts';
import { OidcSignIn } from './oidc-sign-in.ts';
import { Outbox } from './outbox.ts';
import { SignIn } from './sign-in.ts';
import { createLink } from './sign-in-link.ts';
import { signInStores } from './sign-in-stores.ts';
import type { SignUp } from './sign-up.ts';
import { UndoableChanges } from './undoable-changes.ts';

export type ProviderSettings = Omit<OidcProviderSettings, 'clientSecret'> & { readonly secretFile: string };

export interface AccountSettings {
  /** Absolute, without a slash at its end. Called only while the service listens: its port may be unknown before. */
  readonly publicUrl: () => string;
  /** The command that prints a sign-in link. */
  readonly linkCommand: (publicUrl: string) => string;
  readonly signUp: SignUp;
  /** Undefined: the service sends no email. */
  readonly mail: MailServerSettings | undefined;
  readonly providers: readonly ProviderSettings[];
  /** `required`: admins reach their pages only with a session by passkey. */
  readonly adminPasskeys?: 'optional' | 'required';
}

export interface AccountServiceDeps {
  readonly registry: Registry;
  readonly activity: Activity;
  readonly clock: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Gets no secrets and no addresses. */
  readonly logError: (line: string) => void;
}

/** Everything that a service needs for people who sign in. */
export type AccountService = Readonly<ReturnType<typeof createAccountService>>;

/** Throws 'invalid-parameter' when the file of a secret cannot be read. Connects to nothing yet. */
export function createAccountService(settings: AccountSettings, deps: AccountServiceDeps) {
  const { publicUrl, linkCommand, signUp, mail, providers, adminPasskeys } = settings;
  const { registry, activity, clock, wait, logError } = deps;
  const stores = signInStores(registry, activity.database);
  const server = mail === undefined ? undefined : new MailServer(mail);
  const outbox =
    server === undefined
      ? undefined
      : new Outbox({
          deliver: (message) => server.deliver(message),
          wait,
          clock,
          logError,
          stored: new WaitingMails(activity.database, registry.secret),
        });
  const sessions = new AccountSessions(stores, clock);
  const signInDeps = { stores, clock, publicUrl, signUp, outbox };
  const signIn = new SignIn({ ...signInDeps, sessions });
  const undoableChanges = new UndoableChanges(signInDeps);
  const oidcProviders = providers.map(
    ({ secretFile, ...provider }) =>
      new OidcProvider({ ...provider, clientSecret: readSecretFile(secretFile) }, { clock, logError }),
  );
  const paymentMails = new PaymentMails(registry.database);
  const linkedProviders = new LinkedProviders(signInDeps, undoableChanges, oidcProviders);
  return {
    activity,
    get publicUrl() {
      return publicUrl();
    },
    /** A command that prints a sign-in link, for the pages of a service that sends no email. */
    get linkCommand() {
      return linkCommand(publicUrl());
    },
    /** A one-time link that signs in to the account. Throws 'forbidden' for a disabled account. */
    createLink: (account: Account, by: AuditActor) =>
      createLink({ stores, clock, publicUrl: publicUrl() }, account, by),
    /** Mails the owner of an account what an admin did with it, in sentences. Nothing if the service sends no email. */
    mailOwner: (email: string, sentences: readonly string[]) =>
      outbox?.send(adminChangesMail({ to: email, sentences, publicUrl: publicUrl() }), clock() + DAY_MS),
    /** Mails buyers their receipts, and that their last paid term ends soon. Nothing if the service sends no email. */
    mailBuyers: () => {
      for (const due of outbox === undefined ? [] : paymentMails.take(clock())) {
        outbox?.send(buyerMail(due, publicUrl()), clock() + DAY_MS);
      }
    },
    signUp,
    sessions,
    signIn,
    emailChange: new EmailChange(signInDeps, undoableChanges),
    undoableChanges,
    passkeys: new AccountPasskeys({ ...signInDeps, sessions, undoableChanges }, adminPasskeys === 'required'),
    sendsMail: outbox !== undefined,
    oidc: new OidcSignIn({ ...signInDeps, sessions }, signIn, linkedProviders, oidcProviders),
    linkedProviders,
    /** Tries mails again that the mail server did not take. */
    retryMails: async () => await outbox?.retry(),
    /** Emails that wait for the mail server; `withStored`: also those that any process of this service tries again. */
    waitingMails: (withStored: boolean) => (withStored ? outbox?.waiting : outbox?.waitingHere) ?? 0,
    /** The numbers of emails since the start that were sent, failed, were refused or expired. */
    mailCounts: (): Readonly<Record<string, number>> => outbox?.counts ?? {},
    /** Settles when no email waits any more. */
    drained: async () => outbox?.drained(),
    close: async () => {
      outbox?.close();
      await server?.close();
    },
  };
}
