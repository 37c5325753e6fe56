import { type ReadonlySignal, signal } from '@preact/signals';
import type { TierResource } from '../../../domain/tier.ts';
import { abortError, pause } from './pause.ts';
import { detailSentence, kindOf, type Link, type Notice, problemIn, RequestRefused } from './request-refused.ts';

/** Without a key; with a token of the signed-in browser, or a key that the person types; with such a key only. */
type ConnectionAccess = 'open' | 'token' | 'key';

/** A key of the signed-in person, without the key itself. */
interface NamedKey {
  readonly id: string;
  readonly name: string | null;
  /** Its first characters. */
  readonly prefix: string;
  /** The id of its tier. */
  readonly tier: string;
  /** Answers have nothing later than this; null: no limit. */
  readonly asOf: string | null;
}

/** The fields of a tier that pages use. */
export type GrantedTier = Readonly<Pick<TierResource, 'id' | 'name' | 'coins' | 'routes'>>;

/** A market whose books everyone who is signed in may look at. */
interface SampleMarket {
  readonly symbol: string;
  readonly slug: string;
  readonly conditionId: string;
}

/** The key that requests are sent with. */
export interface ConnectedKey {
  readonly key: NamedKey;
  readonly tier: GrantedTier;
  /** All valid keys of a signed-in person; empty for a typed key. */
  readonly keys: readonly NamedKey[];
  /** The market of the day, for a tier without books. */
  readonly sample: SampleMarket | null;
}

export type ConnectionState =
  /** Nothing can be sent yet. */
  | { readonly kind: 'connecting' }
  /** `connected` undefined: no key is needed, or the service does not say what the key's tier grants. */
  | { readonly kind: 'ready'; readonly connected: ConnectedKey | undefined }
  /** Requests need a key: `sentence` says why, and `link` leads to a page that helps. */
  | ({ readonly kind: 'closed' } & Notice);

export interface ConnectionSettings {
  readonly access: ConnectionAccess;
  /** True: this service has accounts, and sentences link to their pages. */
  readonly hasAccounts: boolean;
  /** Before each path: empty, or `/replays/{replay}` for a replay other than the first. */
  readonly prefix: string;
}

export interface ConnectionDeps {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** Milliseconds from any start, never backwards. */
  readonly nowMs: () => number;
  /** Rejects with the signal's reason as soon as it is aborted. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** The media type of the answer; JSON if it is left out. */
  readonly accept?: string;
}

interface Token {
  readonly text: string;
  /** An instant of `nowMs`; Infinity for a typed key. */
  readonly renewMs: number;
}

/** The page requests a new token this long before the present one ends. */
const RENEW_AHEAD_MS = 60_000;
/** Maximum number of times that a request is sent again after 429 or 503. */
const RETRIES_MAX = 4;
const WAIT_SECONDS_MAX = 60;
const TOKEN_PATH = '/view/token';
const SIGN_IN: Link = { href: '/view/sign-in', text: 'Sign in' };
const NEW_KEY: Link = { href: '/account/keys/new', text: 'Create a key' };
const PLANS: Link = { href: '/account/plan', text: 'See the plans' };
/** The data that pages get by each route, in words. */
const SHOWN_BY_ROUTE = {
  snapshots: 'the books of all other markets',
  quotes: 'their midpoints',
  export: 'downloads',
  replay: 'replays',
};

/**
 * Sends the requests of a page's script to /v1: without a key, with a key that the person types, or with a short-lived token of the signed-in
 * browser. Keys and tokens are only in the memory of this page: they are stored nowhere, and never part of a URL.
 *
 * A request waits after 429 and 503 as Retry-After says. A token is renewed before it ends, and once after a 401.
 */
export class Connection {
  readonly settings: ConnectionSettings;
  readonly #deps: ConnectionDeps;
  readonly #state = signal<ConnectionState>({ kind: 'connecting' });
  readonly state: ReadonlySignal<ConnectionState> = this.#state;
  readonly #isWaiting = signal(false);
  /** True while a request waits because too many were sent. */
  readonly isWaiting: ReadonlySignal<boolean> = this.#isWaiting;
  #token: Token | undefined;
  /** The key that the person chose; undefined: the one with the widest access. */
  #keyId: string | undefined;
  #renewal: Promise<void> | undefined;
  /** No request is sent before this instant of `nowMs`. */
  #notBeforeMs = -Infinity;
  #waiting = 0;

  constructor(settings: ConnectionSettings, deps: ConnectionDeps = BROWSER) {
    this.settings = settings;
    this.#deps = deps;
  }

  /** True: requests need a key, and commands to copy have one too. */
  get needsKey(): boolean {
    return this.settings.access !== 'open';
  }

  /** The key of requests; undefined while none can be sent, and where it is not known. */
  get connected(): ConnectedKey | undefined {
    const { value: state } = this.#state;
    return state.kind === 'ready' ? state.connected : undefined;
  }

  /** Says whether the tier grants a route, such as `snapshots`; true where that is not known, since the service refuses then. */
  grants(route: string): boolean {
    const routes = this.connected?.tier.routes;
    return routes === undefined || routes === null || routes.includes(route);
  }

  /** The market of the day, for a tier without books. */
  get sample(): SampleMarket | undefined {
    return this.connected?.sample ?? undefined;
  }

  /** A sentence about a route that the tier does not grant, and one about what follows; where accounts are on with links. */
  missingGrant(route: keyof typeof SHOWN_BY_ROUTE, consequence: string): Notice {
    const { sample } = this;
    const also = { href: `/view/${sample?.symbol}/${sample?.slug}`, text: 'See the market of the day' };
    const sentence = `${this.#tierText} lacks ${route}. ${consequence}`;
    return { sentence, link: this.#plans, ...(route === 'snapshots' && sample !== undefined && { also }) };
  }

  /** The market of the day, and what the tier lacks. */
  get sampleNotice(): Notice {
    const missing = Object.entries(SHOWN_BY_ROUTE).flatMap(([route, what]) => (this.grants(route) ? [] : what));
    const list = new Intl.ListFormat('en-GB').format(missing);
    return { sentence: `This market is the sample of the day. ${this.#tierText} lacks ${list}.`, link: this.#plans };
  }

  get #tierText(): string {
    const tier = this.connected?.tier.name;
    return tier === undefined ? 'Your tier' : `Your tier, ${tier},`;
  }

  /** Begins, or tries again after the server did not answer. Settles when the state is `ready` or `closed`. */
  async connect(): Promise<void> {
    this.#state.value = { kind: 'connecting' };
    this.#token = undefined;
    const { access } = this.settings;
    if (access === 'open') this.#state.value = { kind: 'ready', connected: undefined };
    else if (access === 'key') this.#close('Enter a key to see recordings.');
    else await this.#renew().catch(ignoreRefusal);
  }

  /** Uses a key that the person typed. Settles when the state is `ready`, or `closed` with a sentence about the key. */
  async useKey(typed: string): Promise<void> {
    const text = typed.trim();
    if (!/^[\w.~+/-]+=*$/.test(text)) {
      this.#close('This is not a key: a key begins with br_live_.');
      return;
    }
    this.#state.value = { kind: 'connecting' };
    this.#token = { text, renewMs: Infinity };
    try {
      const response = await this.#send('/v1/account', {}, this.#token);
      // A replay has no accounts.
      const answer = response.ok ? ((await response.json()) as AccountAnswer).data : undefined;
      if (response.status === 401) {
        this.#token = undefined;
        this.#close('This key is not valid: it may be mistyped, revoked or expired.');
        return;
      }
      if (!response.ok && response.status !== 404) throw await this.#refusalOf(response);
      const tier = answer && ((await this.#tierOf(answer)) ?? answer.tier);
      const connected = answer && tier && { key: { ...answer.key, tier: tier.id }, tier, keys: [], sample: null };
      this.#state.value = { kind: 'ready', connected };
    } catch (error) {
      this.#token = undefined;
      if (!(error instanceof RequestRefused)) throw error;
      this.#close(error.message, error.link);
    }
  }

  /** Uses another key of the signed-in person. */
  async chooseKey(id: string): Promise<void> {
    this.#keyId = id;
    this.#token = undefined;
    await this.#renew().catch(ignoreRefusal);
  }

  /** The answer's JSON. Throws RequestRefused, or the reason of an aborted signal. `path` begins with /v1. */
  async get<T>(path: string, options: RequestOptions = {}): Promise<T> {
    // The service's own document.
    return (await (await this.response(path, options)).json()) as T;
  }

  /** The same as a response, whose status is 2xx. */
  async response(path: string, options: RequestOptions = {}): Promise<Response> {
    const { signal: aborted } = options;
    let isRenewed = false;
    for (let sent = 1; ; sent += 1) {
      const token = await this.#currentToken();
      aborted?.throwIfAborted();
      const response = await this.#send(path, options, token);
      if (response.ok) return response;
      if (response.status === 401 && this.settings.access !== 'open') {
        // Another request may have renewed it meanwhile.
        if (isRenewed || token?.renewMs === Infinity) {
          this.#token = undefined;
          this.#close('This key is no longer valid: enter another one.', this.#signIn);
          throw await this.#refusalOf(response);
        }
        isRenewed = true;
        if (this.#token === token) this.#token = undefined;
        continue;
      }
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      if ((response.status !== 429 && response.status !== 503) || !(seconds >= 0) || sent > RETRIES_MAX) {
        throw await this.#refusalOf(response);
      }
      this.#notBeforeMs = this.#deps.nowMs() + Math.min(seconds, WAIT_SECONDS_MAX) * 1000;
    }
  }

  /** The token for the next request; undefined if none is needed. */
  async #currentToken(): Promise<Token | undefined> {
    if (this.settings.access === 'open') return undefined;
    const { value: state } = this.#state;
    const isDue = this.#token === undefined || this.#token.renewMs <= this.#deps.nowMs();
    if (isDue && this.settings.access === 'token' && state.kind !== 'closed') await this.#renew();
    if (this.#token !== undefined) return this.#token;
    throw new RequestRefused('Enter a key to see recordings.', 'not-connected');
  }

  /** Requests that need it at the same time share it. Throws RequestRefused. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#askForToken().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #askForToken(): Promise<void> {
    const body = JSON.stringify(this.#keyId === undefined ? {} : { keyId: this.#keyId });
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const sentMs = this.#deps.nowMs();
    let refusal: RequestRefused;
    try {
      const init = { method: 'POST', body, headers, credentials: 'same-origin' } as const;
      const response = await this.#deps.fetch(TOKEN_PATH, init).catch(unreachable);
      if (response.ok) {
        // The service's own document.
        const { data } = (await response.json()) as TokenAnswer;
        const { token, expiresInSeconds, ...connected } = data;
        this.#token = { text: token, renewMs: sentMs + expiresInSeconds * 1000 - RENEW_AHEAD_MS };
        this.#state.value = { kind: 'ready', connected };
        return;
      }
      refusal = await this.#refusalOf(response);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      refusal = error;
    }
    this.#token = undefined;
    if (refusal.status === 401) this.#close('Sign in to see recordings.', SIGN_IN);
    else if (refusal.status === 409) this.#close('Your account has no valid key.', NEW_KEY);
    else this.#close(refusal.message, refusal.link);
    throw refusal;
  }

  async #send(path: string, { accept, signal: aborted }: RequestOptions, token: Token | undefined): Promise<Response> {
    await this.#waitForTurn(aborted);
    const init = {
      headers: {
        accept: accept ?? 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token.text}` }),
      },
      credentials: 'omit',
      ...(aborted !== undefined && { signal: aborted }),
    } as const;
    // The list of replays is not part of a replay.
    const prefix = path.startsWith('/v1/replays') ? '' : this.settings.prefix;
    return await this.#deps.fetch(`${prefix}${path}`, init).catch(() => {
      if (aborted?.aborted === true) throw abortError(aborted);
      return unreachable();
    });
  }

  /** Waits until requests may be sent again. */
  async #waitForTurn(aborted: AbortSignal | undefined): Promise<void> {
    let leftMs = this.#notBeforeMs - this.#deps.nowMs();
    if (leftMs <= 0) return;
    this.#waiting += 1;
    this.#isWaiting.value = true;
    try {
      for (; leftMs > 0; leftMs = this.#notBeforeMs - this.#deps.nowMs()) await this.#deps.pause(leftMs, aborted);
    } finally {
      this.#waiting -= 1;
      this.#isWaiting.value = this.#waiting > 0;
    }
  }

  async #refusalOf(response: Response): Promise<RequestRefused> {
    const problem = await problemIn(response);
    const kind = kindOf(problem);
    const link = kind === 'forbidden' ? this.#plans : undefined;
    return new RequestRefused(detailSentence(problem, response.status), kind, response.status, link);
  }

  /** The tier of a pinned key, which is not the account's. */
  async #tierOf({ key, tier }: AccountAnswer['data']): Promise<GrantedTier | undefined> {
    if (key.tier === tier.id) return tier;
    const response = await this.#send('/v1/billing/tiers', {}, this.#token);
    if (!response.ok) throw await this.#refusalOf(response);
    const { data } = (await response.json()) as { readonly data: readonly GrantedTier[] };
    return data.find(({ id }) => id === key.tier);
  }

  #close(sentence: string, link: Link | undefined = this.#signIn): void {
    this.#state.value = { kind: 'closed', sentence, link };
  }

  get #signIn(): Link | undefined {
    return this.settings.access === 'token' ? SIGN_IN : undefined;
  }

  get #plans(): Link | undefined {
    return this.settings.hasAccounts ? PLANS : undefined;
  }
}

/** A sentence while the connection waits; empty otherwise. */
export function statusText({ state, isWaiting }: Connection): string {
  if (state.value.kind === 'connecting') return 'Connecting …';
  return isWaiting.value ? 'Too many requests in this minute: waiting …' : '';
}

interface TokenAnswer {
  readonly data: ConnectedKey & { readonly token: string; readonly expiresInSeconds: number };
}

/** The fields of GET /v1/account that pages use. */
interface AccountAnswer {
  readonly data: { readonly key: NamedKey; readonly tier: GrantedTier };
}

const BROWSER: ConnectionDeps = {
  fetch: (path, init) => fetch(path, init),
  nowMs: () => performance.now(),
  pause,
};

function unreachable(): never {
  throw new RequestRefused('The server does not answer: check the connection, and try again.', 'unreachable');
}

/** Ignores a refusal that the state has already. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof RequestRefused)) throw error;
}
