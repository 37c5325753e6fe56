import { timingSafeEqual } from 'node:crypto';
import { isOfProgram } from '../domain/account.ts';
import { parseEmailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import { ATTEMPT_MS } from '../store/sign-in-attempts.ts';
import type { Browser, NewSession, SignedIn } from './account-sessions.ts';
import type { LinkedProviders } from './linked-providers.ts';
import { refuseTooManyOf } from './mail-limits.ts';
import type { OidcProvider, OidcSecrets } from './oidc-provider.ts';
import { isRecent, refuseOldSignIn } from './recent-sign-in.ts';
import type { SignIn, SignInDeps } from './sign-in.ts';

/** The value of the browser's cookie: 256 random bits, the time in base 36, and the purpose of a proof for a person who is signed in. */
const ATTEMPT_TOKEN = /^[\w-]{43}\.([0-9a-z]{1,11})(?:\.(again|link))?$/;

type Deps = Pick<SignInDeps, 'stores' | 'clock' | 'publicUrl' | 'sessions'>;

/** The end of a sign-in at a provider. Empty: the identity was linked. */
export interface OidcEnd {
  readonly session?: NewSession;
  /** The value of a new cookie, for a person who has to prove the address by email. */
  readonly attemptToken?: string;
}

/**
 * Sign-in at OIDC providers. The start stores nothing: state, nonce and PKCE verifier are derived from the browser's cookie and a secret of
 * this service. The callback is accepted once, within 15 minutes, in that browser.
 */
export class OidcSignIn {
  readonly #deps: Deps;
  readonly #signIn: SignIn;
  readonly #linked: LinkedProviders;
  readonly #providers: ReadonlyMap<string, OidcProvider>;

  constructor(deps: Deps, signIn: SignIn, linked: LinkedProviders, providers: readonly OidcProvider[]) {
    this.#deps = deps;
    this.#signIn = signIn;
    this.#linked = linked;
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
  }

  /** Names of the providers. */
  get names(): string[] {
    return [...this.#providers.keys()];
  }

  /**
   * Returns the address of the provider's sign-in page, and the value of the browser's cookie. A person who is signed in has to sign in at the
   * provider again. Throws 'not-found' and 'busy'.
   */
  async start(name: string, session?: string): Promise<{ readonly url: string; readonly attemptToken: string }> {
    return await this.#start(name, this.#deps.sessions.find(session) === undefined ? '' : '.again');
  }

  /** The same to link the person's identity at the provider to the account. The answer is bound to the session. Throws 'sign-in-again' too. */
  async startLink(name: string, person: SignedIn): Promise<{ readonly url: string; readonly attemptToken: string }> {
    refuseOldSignIn(person, this.#deps.clock());
    return await this.#start(name, '.link', person.session.id);
  }

  async #start(name: string, purpose: string, sessionId?: string) {
    const provider = this.#provider(name);
    const attemptToken = `${randomToken()}.${this.#deps.clock().toString(36)}${purpose}`;
    const secrets = this.#secretsOf(name, attemptToken, sessionId);
    return { url: await provider.signInUrl(this.#redirectUri(name), secrets, purpose !== ''), attemptToken };
  }

  /**
   * Completes a sign-in, or links the identity. `query`: the query of the callback, with its question mark. An identity that is not linked
   * gets a new account if the provider has verified an address without one; it never joins an account by an address. If the provider has
   * not verified it, the person gets a mail, whether there is an account or not. Throws 'not-found', 'forbidden', 'rate-limited', 'busy',
   * and as `LinkedProviders.link`.
   */
  async finish(name: string, query: string, browser: Browser, client: string): Promise<OidcEnd> {
    const provider = this.#provider(name);
    const { stores, clock } = this.#deps;
    const callback = new URL(`${this.#redirectUri(name)}${query}`);
    const { attemptToken, purpose, secrets } = this.#attemptOf(name, callback.searchParams.get('state') ?? '', browser);
    stores.activityDatabase.write(() => {
      const nowMs = clock();
      const device = stores.devices.known(browser.device, nowMs);
      refuseTooManyOf(client, stores.attempts, nowMs, device);
      const ended = { createdMs: nowMs, usedMs: nowMs };
      if (!stores.attempts.add({ method: name, email: undefined, browser: attemptToken, client, device, ...ended }))
        throw startAgain(name, 'was completed already');
    });
    const { identity, email: stated, isEmailVerified, provedMs } = await provider.identify(callback, secrets);
    // The session of a person who links has a recent proof, so a provider need not state its own.
    if (purpose !== undefined && !isRecent(purpose === 'link' ? (provedMs ?? clock()) : provedMs, clock())) {
      const sentence = `${name} does not show that you signed in there just now: sign out there and try again, or sign in by email to confirm that it is you`;
      throw new DomainError('forbidden', sentence);
    }
    if (purpose === 'link') {
      // The session may have ended meanwhile.
      const person = this.#deps.sessions.find(browser.session);
      if (person === undefined) throw startAgain(name, 'was not started in this browser');
      const { clientAddress, requestId } = browser;
      this.#linked.link({ ...person, clientAddress, requestId }, browser.device, name, identity);
      return {};
    }
    const known = stores.accountsDatabase.read(() => {
      const accountId = stores.identities.find(identity);
      return accountId === undefined ? undefined : stores.accounts.find(accountId);
    });
    if (known !== undefined) {
      const { email } = known;
      return { session: this.#signIn.enter({ email, method: name, identity: undefined }, browser, provedMs) };
    }
    if (stated === undefined) {
      throw new DomainError(
        'forbidden',
        `${name} did not state your email address: allow that there, or sign in another way`,
      );
    }
    const email = parseEmailAddress(stated);
    if (email === undefined || isOfProgram(email)) {
      throw new DomainError(
        'forbidden',
        `${name} states an email address that this service does not accept: use another one there, or sign in another way`,
      );
    }
    if (isEmailVerified) {
      const entry = { email, method: name, identity, isOnlyStated: true };
      return { session: this.#signIn.enter(entry, browser, provedMs) };
    }
    return { attemptToken: this.#signIn.ask(email, client, { provider: name, identity }, browser.device) };
  }

  /** The attempt of the cookie, if this browser started it with this state less than 15 minutes ago, in the same session if it links. */
  #attemptOf(name: string, state: string, { attemptToken = '', session }: Browser) {
    const [, started = '', purpose] = ATTEMPT_TOKEN.exec(attemptToken) ?? [];
    const person = purpose === 'link' ? this.#deps.sessions.find(session) : undefined;
    const startedMs = Number.parseInt(started, 36);
    const secrets = this.#secretsOf(name, attemptToken, person?.session.id);
    const expected = Buffer.from(secrets.state);
    const given = Buffer.from(state);
    if (Number.isNaN(startedMs) || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw startAgain(name, 'was not started in this browser');
    }
    if (this.#deps.clock() - startedMs >= ATTEMPT_MS) throw startAgain(name, 'took longer than 15 minutes');
    return { attemptToken, purpose, secrets };
  }

  #secretsOf(name: string, attemptToken: string, sessionId = ''): OidcSecrets {
    const derived = (purpose: string) => {
      const digest = this.#deps.stores.secret.digest(`oidc-${purpose}:${name}:${attemptToken}:${sessionId}`);
      return Buffer.from(digest).toString('base64url');
    };
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
