import type { Activity } from '../store/activity.ts';
import type { Registry } from '../store/registry.ts';
import { AccountSessions } from './account-sessions.ts';
import { MailServer, type MailServerSettings } from './mail-server.ts';
import { OidcProvider, type OidcProviderSettings } from './oidc-provider.ts';
import { OidcSignIn } from './oidc-sign-in.ts';
import { Outbox } from './outbox.ts';
import { readSecretFile } from './secret-file.ts';
import { SignIn } from './sign-in.ts';
import { signInStores } from './sign-in-stores.ts';
import type { SignUp } from './sign-up.ts';

export type ProviderSettings = Omit<OidcProviderSettings, 'clientSecret'> & { readonly secretFile: string };

export interface AccountSettings {
  /** Absolute, without a slash at its end. */
  readonly publicUrl: string;
  readonly signUp: SignUp;
  /** Undefined: the service sends no mail. */
  readonly mail: MailServerSettings | undefined;
  readonly providers: readonly ProviderSettings[];
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

/** Throws 'unavailable' when the file of a secret cannot be read. Connects to nothing yet. */
export function createAccountService(settings: AccountSettings, deps: AccountServiceDeps) {
  const { publicUrl, signUp, mail, providers } = settings;
  const { registry, activity, clock, wait, logError } = deps;
  const stores = signInStores(registry, activity.database);
  const server = mail === undefined ? undefined : new MailServer(mail);
  const outbox =
    server === undefined
      ? undefined
      : new Outbox({ deliver: (message) => server.deliver(message), wait, clock, logError });
  const sessions = new AccountSessions(stores, clock);
  const signIn = new SignIn({ stores, sessions, clock, publicUrl, signUp, outbox });
  const oidcProviders = providers.map(
    ({ secretFile, ...provider }) =>
      new OidcProvider({ ...provider, clientSecret: readSecretFile(secretFile) }, { clock, logError }),
  );
  return {
    publicUrl,
    activity,
    sessions,
    signIn,
    sendsMail: outbox !== undefined,
    oidc: new OidcSignIn({ stores, clock, publicUrl }, signIn, oidcProviders),
    /** Settles when no mail waits any more. */
    drained: async () => outbox?.drained(),
    close: async () => server?.close(),
  };
}
