import { timingSafeEqual } from 'node:crypto';
import { parseEmailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import type { Identity } from '../store/identities.ts';
import { ATTEMPT_MS } from '../store/sign-in-attempts.ts';
import type { Browser, NewSession } from './account-sessions.ts';
import { refuseTooManyOf } from './mail-limits.ts';
import type { OidcProvider, OidcSecrets } from './oidc-provider.ts';
import type { SignIn, SignInDeps } from './sign-in.ts';

/** The value of the browser's cookie: 256 random bits and the time, in base 36. */
const ATTEMPT_TOKEN = /^[\w-]{43}\.([0-9a-z]{1,11})$/;

/** The end of a sign-in at a provider: a session, or the value of a new cookie for a person who has to prove the address by mail. */
export type OidcEnd = { readonly session: NewSession } | { readonly session: undefined; readonly attemptToken: string };

/**
 * Sign-in at OIDC providers. The start stores nothing: state, nonce and PKCE verifier are derived from the browser's cookie and a secret of
 * this service. The callback is accepted once, within 15 minutes, in that browser.
 */
export class OidcSignIn {
  readonly #deps: Pick<SignInDeps, 'stores' | 'clock' | 'publicUrl'>;
  readonly #signIn: SignIn;
  readonly #providers: ReadonlyMap<string, OidcProvider>;

  constructor(
    deps: Pick<SignInDeps, 'stores' | 'clock' | 'publicUrl'>,
    signIn: SignIn,
    providers: readonly OidcProvider[],
  ) {
    this.#deps = deps;
    this.#signIn = signIn;
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
  }

  /** Names of the providers. */
  get names(): string[] {
    return [...this.#providers.keys()];
  }

  /** Returns the address of the provider's sign-in page, and the value of the browser's cookie. Throws 'not-found' and 'busy'. */
  async start(name: string): Promise<{ readonly url: string; readonly attemptToken: string }> {
    const provider = this.#provider(name);
    const attemptToken = `${randomToken()}.${this.#deps.clock().toString(36)}`;
    return {
      url: await provider.signInUrl(this.#redirectUri(name), this.#secretsOf(name, attemptToken)),
      attemptToken,
    };
  }

  /**
   * Completes a sign-in. `query`: the query of the callback, with its question mark. An identity that is not known signs in by its address if
   * the provider has verified it and the account has no other identity of this issuer, since providers give addresses to other people.
   * Otherwise the person gets a mail. Throws 'not-found', 'forbidden', 'rate-limited', 'busy'.
   */
  async finish(name: string, query: string, browser: Browser, client: string): Promise<OidcEnd> {
    const provider = this.#provider(name);
    const { stores, clock } = this.#deps;
    const callback = new URL(`${this.#redirectUri(name)}${query}`);
    const attemptToken = this.#attemptTokenOf(name, callback.searchParams.get('state') ?? '', browser);
    stores.activityDatabase.write(() => {
      const nowMs = clock();
      const device = stores.devices.known(browser.device, nowMs);
      refuseTooManyOf(client, stores.attempts, nowMs, device);
      const attempt = {
        method: name,
        email: undefined,
        browser: attemptToken,
        client,
        device,
        createdMs: nowMs,
        usedMs: nowMs,
      };
      if (!stores.attempts.add(attempt)) throw startAgain(name, 'was completed already');
    });
    const {
      identity,
      email: stated,
      isEmailVerified,
    } = await provider.identify(callback, this.#secretsOf(name, attemptToken));
    const known = stores.accountsDatabase.read(() => {
      const accountId = stores.identities.find(identity);
      return accountId === undefined ? undefined : stores.accounts.find(accountId);
    });
    if (known !== undefined) {
      return { session: this.#signIn.enter({ email: known.email, method: name, identity: undefined }, browser) };
    }
    if (stated === undefined) {
      throw new DomainError(
        'forbidden',
        `${name} did not state your e-mail address: allow that there, or sign in another way`,
      );
    }
    const email = parseEmailAddress(stated);
    if (email === undefined) {
      throw new DomainError(
        'forbidden',
        `${name} states an e-mail address that this service does not accept: use another one there, or sign in another way`,
      );
    }
    const isProven = isEmailVerified && !this.#hasOtherIdentity(email, identity);
    if (isProven) return { session: this.#signIn.enter({ email, method: name, identity }, browser) };
    return {
      session: undefined,
      attemptToken: this.#signIn.ask(email, client, { provider: name, identity }, browser.device),
    };
  }

  /** Returns true if the account of the address has an identity of the same issuer. `identity` itself is linked to no account. */
  #hasOtherIdentity(email: string, { issuer }: Identity): boolean {
    const { accounts, identities, accountsDatabase } = this.#deps.stores;
    return accountsDatabase.read(() => {
      const account = accounts.findByEmail(email);
      return account !== undefined && identities.ofAccount(account.id).some((other) => other.issuer === issuer);
    });
  }

  /** The cookie's value, if this browser started the sign-in with this state less than 15 minutes ago. */
  #attemptTokenOf(name: string, state: string, { attemptToken = '' }: Browser): string {
    const startedMs = Number.parseInt(ATTEMPT_TOKEN.exec(attemptToken)?.[1] ?? '', 36);
    const expected = Buffer.from(this.#secretsOf(name, attemptToken).state);
    const given = Buffer.from(state);
    if (Number.isNaN(startedMs) || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw startAgain(name, 'was not started in this browser');
    }
    if (this.#deps.clock() - startedMs >= ATTEMPT_MS) throw startAgain(name, 'took longer than 15 minutes');
    return attemptToken;
  }

  #secretsOf(name: string, attemptToken: string): OidcSecrets {
    const derived = (purpose: string) =>
      Buffer.from(this.#deps.stores.secret.digest(`oidc-${purpose}:${name}:${attemptToken}`)).toString('base64url');
    return { state: derived('state'), nonce: derived('nonce'), verifier: derived('verifier') };
  }

  #redirectUri(name: string): string {
    return `${this.#deps.publicUrl()}/sign-in/oidc/${name}/callback`;
  }

  #provider(name: string): OidcProvider {
    const found = this.#providers.get(name);
    if (found !== undefined) return found;
    throw new DomainError('not-found', 'there is no such sign-in provider: /sign-in lists them');
  }
}

function startAgain(name: string, why: string): DomainError {
  return new DomainError('forbidden', `this sign-in at ${name} ${why}: start it again`);
}
