import type { Configuration, CustomFetchOptions, IDToken, UserInfoResponse } from 'openid-client';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Identity } from '../store/identities.ts';
import { SESSION_MS } from '../store/sessions.ts';

/** Discovered metadata is used for this time. */
const METADATA_MS = 3_600_000;
/** Answers that are not valid are logged at most this often: a stranger can cause them. */
const ANSWER_LOG_MS = 60_000;
/** A provider that failed is asked again after this time. */
const FAILURE_MS = 5000;
const PROVIDER_TIMEOUT_MS = 5000;
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  // An answer that was cut off, too.
  'OAUTH_PARSE_ERROR',
]);
/** Metadata, keys and tokens of providers have a few kilobytes. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const SCOPE = 'openid email';

export interface OidcProviderSettings {
  /** Part of paths: /sign-in/oidc/NAME. */
  readonly name: string;
  /** Absolute; https, or http on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface OidcProviderDeps {
  readonly clock: () => number;
  /** Gets no token, code or claim. */
  readonly logError: (line: string) => void;
  /** The limit of each request to the provider. */
  readonly timeoutMs?: number;
}

/** Values that bind the answer of a provider to the browser that was sent there. */
export interface OidcSecrets {
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly verifier: string;
}

/** The provider's statement about a person. */
export interface OidcPerson {
  readonly identity: Identity;
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  /** The time at which the person proved there who they are (auth_time), at most now. Undefined: the provider does not state it. */
  readonly provedMs: InstantMs | undefined;
}

/** An OpenID provider. It is discovered at the first sign-in, so that one that is down does not keep the service from starting. */
export class OidcProvider {
  readonly name: string;
  readonly issuer: string;
  readonly #settings: OidcProviderSettings;
  readonly #deps: OidcProviderDeps;
  /** The instants from which a line about an answer is written again. */
  readonly #nextAnswerMs = { code: 0, other: 0 };
  #discovered: { readonly configuration: Promise<Configuration>; untilMs: number } | undefined;

  constructor(settings: OidcProviderSettings, deps: OidcProviderDeps) {
    this.name = settings.name;
    this.issuer = settings.issuer;
    this.#settings = settings;
    this.#deps = deps;
  }

  /**
   * Returns the address of the provider's sign-in page. The provider is to state the time of the proof, and to demand a new one if it is older
   * than a session can be; `isRepeated`: always. Some ignore that. Throws 'busy'.
   */
  async signInUrl(redirectUri: string, { state, nonce, verifier }: OidcSecrets, isRepeated = false): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
    const configuration = await this.#configuration();
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // OpenID Connect Core 1.0, 3.1.2.1: with max_age, the ID token has auth_time.
      ...(isRepeated ? { prompt: 'login', max_age: '0' } : { max_age: String(SESSION_MS / 1000) }),
    });
    return url.href;
  }

  /**
   * The person of a callback, whose URL begins with the redirect URI. Checks state, iss, and of the ID token signature, iss, aud, exp and
   * nonce. Throws 'busy' (down or slow) or 'forbidden' (an answer that is not valid, or a refusal).
   */
  async identify(callback: URL, { state, nonce, verifier }: OidcSecrets): Promise<OidcPerson> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
    const configuration = await this.#configuration();
    try {
      const tokens = await authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      // The library accepts it; everybody would be the same person.
      if (claims.sub === '') throw new EmptySubject('the ID token has an empty sub');
      const needsMore = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const stated = needsMore ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
      return personOf(claims, stated, this.#deps.clock());
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  async #configuration(): Promise<Configuration> {
    const nowMs = this.#deps.clock();
    if (this.#discovered === undefined || nowMs >= this.#discovered.untilMs) {
      const discovered = { configuration: this.#discover(), untilMs: nowMs + METADATA_MS };
      discovered.configuration.catch((error) => {
        discovered.untilMs = nowMs + FAILURE_MS;
        this.#log(error);
      });
      this.#discovered = discovered;
    }
    try {
      return await this.#discovered.configuration;
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  async #discover(): Promise<Configuration> {
    const {
      allowInsecureRequests,
      ClientSecretBasic,
      ClientSecretPost,
      customFetch,
      discovery,
      enableNonRepudiationChecks,
    } = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const isPlain = issuer.startsWith('http:');
    const options = {
      // Without these checks the library trusts the connection, and accepts a token with any signature.
      execute: isPlain ? [enableNonRepudiationChecks, allowInsecureRequests] : [enableNonRepudiationChecks],
      [customFetch]: fetchBounded,
      timeout: (this.#deps.timeoutMs ?? PROVIDER_TIMEOUT_MS) / 1000,
    };
    // OpenID Connect Discovery 1.0, 3: client_secret_basic is the default.
    const authentication: typeof ClientSecretBasic = (secret) => (as, client, body, headers) => {
      const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const authenticate = methods.includes('client_secret_basic')
        ? ClientSecretBasic(secret)
        : ClientSecretPost(secret);
      return authenticate(as, client, body, headers);
    };
    return discovery(new URL(issuer), clientId, undefined, authentication(clientSecret), options);
  }

  async #explained(error: unknown): Promise<DomainError> {
    const { AuthorizationResponseError, ClientError, ResponseBodyError } = await import('openid-client');
    if (error instanceof AuthorizationResponseError) {
      const sentence = `${this.name} did not sign you in: start again, or sign in another way`;
      return new DomainError('forbidden', sentence, { cause: error });
    }
    // Failures of the connection have no code of the library's, or one of these.
    const isAnswer =
      error instanceof ResponseBodyError ||
      error instanceof EmptySubject ||
      (error instanceof ClientError && error.code !== undefined && !CONNECTION_CODES.has(error.code));
    if (!isAnswer) {
      this.#log(error);
      return this.#unavailable(error);
    }
    this.#logAnswer(error, error instanceof ResponseBodyError && error.error === 'invalid_grant');
    const sentence = `${this.name} sent an answer that is not valid: start the sign-in again`;
    return new DomainError('forbidden', sentence, { cause: error });
  }

  /** Not the kind 'unavailable': its message is about this machine, and not shown. */
  #unavailable(cause: unknown): DomainError {
    return new DomainError(
      'busy',
      `${this.name} does not answer as it should: try again later, or sign in another way`,
      { cause },
    );
  }

  /** `isCodeRefused`: by the provider, for example because it is forged or expired. */
  #logAnswer(error: unknown, isCodeRefused: boolean): void {
    const nowMs = this.#deps.clock();
    const kind = isCodeRefused ? 'code' : 'other';
    if (nowMs < this.#nextAnswerMs[kind]) return;
    this.#nextAnswerMs[kind] = nowMs + ANSWER_LOG_MS;
    if (!isCodeRefused) {
      this.#log(error);
      return;
    }
    this.#deps.logError(
      `the sign-in provider ${this.name} refused the code of a callback (invalid_grant): check its redirect URI if this happens with every sign-in`,
    );
  }

  /** The library's messages are fixed texts. */
  #log(error: unknown): void {
    const cause =
      error instanceof Error
        ? `${'code' in error && error.code ? `${error.code}: ` : ''}${error.message}`
        : 'unknown error';
    this.#deps.logError(`the sign-in provider ${this.name} failed (${cause}): check its issuer, client id and secret`);
  }
}

/** `fetch`, whose body is complete and at most ANSWER_BYTES_MAX long: the library would read one of any length. */
async function fetchBounded(url: string, options: CustomFetchOptions): Promise<Response> {
  const response = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  const { status, headers } = response;
  // Statuses without a body allow none (Fetch standard, 2.2.6).
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}

class EmptySubject extends Error {}

function personOf(
  { iss, sub, auth_time: provedSeconds }: IDToken,
  stated: IDToken | UserInfoResponse,
  nowMs: InstantMs,
): OidcPerson {
  return {
    identity: { issuer: iss, subject: sub },
    email: typeof stated.email === 'string' ? stated.email : undefined,
    isEmailVerified: stated.email_verified === true,
    // The clock of the provider may be fast.
    provedMs: provedSeconds === undefined ? undefined : Math.min(provedSeconds * 1000, nowMs),
  };
}
