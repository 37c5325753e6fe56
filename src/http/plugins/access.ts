import { bearer } from '@elysiajs/bearer';
import { Elysia } from 'elysia';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Allowance, ClockReading, RateWindows } from '../../domain/rate-window.ts';
import { type Grant, grantsCoin, grantsRoute, type Tier } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import type { KeyHolder } from '../../store/key-directory.ts';
import type { Exchange, ResponseHeaders } from '../response/response.ts';
import { ALLOWED_METHODS, type MountedPaths, routeOf } from '../routes.ts';
import type { AccessLog } from './access-log.ts';
import { type AddressSource, budgetSubject, type ClientAddresses } from './client-address.ts';
import { earlierLimit, refuseTimeless } from './known-until.ts';

/** Requests a minute that one client address has without a valid key. */
const ADDRESS_REQUESTS_PER_MINUTE = 600;

export interface AccessDeps {
  readonly archive: Pick<Archive, 'database' | 'keyDirectory'>;
  /** Whether nobody is asked for a key, and nobody counted: only where nobody but this machine can connect. */
  readonly isOpen: boolean;
  /** What a key's tier must grant wherever it is used, beside what the route asks for. */
  readonly grantNeeded: Grant | undefined;
  /** Budgets by key id. */
  readonly keyWindows: RateWindows;
  /** Budgets by client address, of requests without a valid key. */
  readonly addressWindows: RateWindows;
  readonly clocks: () => ClockReading;
  readonly addresses: ClientAddresses;
  /**
   * Nothing later is shown to anybody, by whole milliseconds; undefined: there is no limit. Asked once for each request,
   * with the replay that its path names.
   */
  readonly knownUntil: (replay: string | undefined) => InstantMs | undefined;
  readonly paths: MountedPaths;
  /** Hears whose key it was; undefined where nothing is logged. */
  readonly accessLog: AccessLog | undefined;
}

/** Whom a request is from, as far as what may be seen goes. */
export interface Caller {
  readonly key: Pick<KeyHolder['key'], 'id' | 'asOfMs'>;
  readonly tier: Pick<Tier, 'id' | 'coins' | 'routes'>;
}

/** What an answer that is sent for long asks again: the look that the gate took is over by then. */
export interface AccessCheck {
  /** The key's id; undefined where nobody is asked for a key. */
  readonly keyId: string | undefined;
  /** Whether the request would be let in now, whatever its window says. */
  isLetIn(): boolean;
  /** Up to when it may know things now. */
  knownUntilMs(): InstantMs | undefined;
}

/** Whoever asks where nobody is asked for a key. */
const ANYBODY: Caller = {
  key: { id: 'anybody', asOfMs: undefined },
  tier: { id: 'anybody', coins: undefined, routes: undefined },
};

const HOST = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const AUTHORIZATION = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const BEARER = 'Bearer ';
const KEY_WANTED = "a valid API key is needed: send the header 'Authorization: Bearer <API_KEY>'";

/**
 * What comes before routing: a URL and a Host that mean one thing only, and one of `allowedHosts` (in lower case, without
 * port) where these are given. Throws 'malformed-request'. The parser in front has resolved `.` and `../..`, escaped or not,
 * has made `/` of `\\`, and has put the Host in place of an authority that came with the target.
 */
export function refuseMalformed(request: Request, allowedHosts: ReadonlySet<string> | undefined): void {
  const host = request.headers.get('host');
  if (host !== null && !HOST.test(host)) {
    throw new DomainError(
      'malformed-request',
      'the Host header is malformed: send one host name, with a port if need be',
    );
  }
  if (allowedHosts !== undefined && !allowedHosts.has(hostNameIn(host ?? ''))) {
    throw new DomainError('malformed-request', 'this server does not answer for the host that the Host header names');
  }
  if (!/^https?:\/\//.test(request.url)) {
    throw new DomainError('malformed-request', 'the request target is malformed: send an absolute path');
  }
  if (request.url.includes('#')) {
    throw new DomainError('malformed-request', 'the URL has a fragment: write %23 for a number sign');
  }
  if (request.url.includes('%') && !hasWellFormedEscapes(request.url)) {
    throw new DomainError('malformed-request', 'the URL has a malformed percent escape: write %25 for a percent sign');
  }
}

function hostNameIn(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function hasWellFormedEscapes(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    // URIError: exactly what is asked about.
    return false;
  }
}

/**
 * The one check of the header that a key comes in. What is well formed gets the one spelling that the bearer plugin reads
 * (names of schemes are compared without regard to case: RFC 9110, 11.1); anything else is no header.
 */
export function keepWellFormedKey(request: Request): void {
  const authorization = request.headers.get('authorization');
  if (authorization === null) return;
  const token = AUTHORIZATION.exec(authorization)?.[1];
  if (token === undefined) request.headers.delete('authorization');
  // To write a header costs several times what it takes to read one.
  else if (authorization.length !== BEARER.length + token.length || !authorization.startsWith(BEARER)) {
    request.headers.set('authorization', `${BEARER}${token}`);
  }
}

export function pathOf(request: Request): string {
  const start = request.url.indexOf('/', request.url.indexOf('//') + 2);
  if (start < 0) return '/';
  const question = request.url.indexOf('?', start);
  return question < 0 ? request.url.slice(start) : request.url.slice(start, question);
}

/** Path and query as they were sent. */
export function targetOf(request: Request): string {
  return request.url.slice(request.url.indexOf('/', request.url.indexOf('//') + 2));
}

export function searchOf(request: Request): string {
  const question = request.url.indexOf('?');
  return question < 0 ? '' : request.url.slice(question + 1);
}

function describeAllowance(headers: ResponseHeaders, allowance: Allowance): void {
  headers['x-ratelimit-limit'] = String(allowance.limit);
  headers['x-ratelimit-remaining'] = String(allowance.remaining);
  headers['x-ratelimit-reset'] = String(allowance.resetEpochSeconds);
}

/** Sets the headers that speak of the address's budget, without using any of it. */
export function describeAddress(headers: ResponseHeaders, address: string, deps: AccessDeps): void {
  if (deps.isOpen) return;
  describeAllowance(
    headers,
    deps.addressWindows.peek(budgetSubject(address), ADDRESS_REQUESTS_PER_MINUTE, deps.clocks()),
  );
}

/** Counts a request without a valid key against its address; throws 'rate-limited' when that has had enough. */
export function chargeAddress(headers: ResponseHeaders, address: string, deps: AccessDeps): void {
  if (deps.isOpen) return;
  const allowance = deps.addressWindows.charge(budgetSubject(address), ADDRESS_REQUESTS_PER_MINUTE, deps.clocks());
  describeAllowance(headers, allowance);
  if (!allowance.allowed) throw rateLimited(headers, allowance, 'requests without a valid key');
}

/**
 * The gate in front of every /v1 path, known or not. In this order: key (401), rate limit (429), route (404) and method
 * (405), the tier's route and coin (403). Nothing is looked up about a coin before its tier allows it. Whatever the
 * outcome, the answer's headers are set first. Who is let in is given `knownUntilMs`, up to when the answer may know things:
 * what the key or the service is held to, whichever is earlier; a route that cannot be held to it is refused (403).
 */
export function access(deps: AccessDeps) {
  return new Elysia({ name: 'access' })
    .use(bearer())
    .derive({ as: 'scoped' }, ({ bearer: token, request, set, server, route, params }) => {
      const admitted = admit(deps, request, token, set.headers as ResponseHeaders, server);
      const knownUntilMs = earlierLimit(admitted.key.asOfMs, deps.knownUntil(replayIn(params)));
      const target = routeOf(route);
      if (target === undefined) {
        const problem = unrouted(request, set.headers as ResponseHeaders, deps.paths);
        if (problem !== undefined) throw problem;
      } else {
        // Paths without parameters come without any.
        const inPath: Readonly<Record<string, string | undefined>> | undefined = params;
        refuseUngranted(admitted.tier, target.grant, inPath?.coin);
        refuseTimeless(target, knownUntilMs);
      }
      const exchange: Exchange = { request, set, knownUntilMs };
      return { exchange, standing: standingOf(deps, request, token, route, params, admitted) };
    });
}

/** The gate as controllers stand behind it: only through it is there an exchange to answer. */
export type Gate = ReturnType<typeof access>;

/** The replay that a path names; undefined: none. Paths without parameters come without any. */
export function replayIn(params: Readonly<Record<string, string | undefined>> | undefined): string | undefined {
  return params?.replay;
}

/**
 * What is wrong with a request that no route is mounted for: its path (404) or its method (405); undefined for OPTIONS on a
 * path that exists.
 */
export function unrouted(request: Request, headers: ResponseHeaders, paths: MountedPaths): DomainError | undefined {
  const methods = paths.methodsAt(pathOf(request));
  if (methods === undefined) {
    return new DomainError('not-found', 'there is no such path: /openapi.json lists those that exist');
  }
  if (request.method === 'OPTIONS') return undefined;
  headers.allow = methods;
  const why = methods === ALLOWED_METHODS ? 'can only be read' : 'takes other methods';
  return new DomainError('method-not-allowed', `this path ${why}: use one of ${methods}`);
}

/** Who asks, authenticated and charged; throws 'unauthenticated', 'rate-limited' or 'forbidden'. */
export function admit(
  deps: AccessDeps,
  request: Request,
  token: string | undefined,
  headers: ResponseHeaders,
  server: AddressSource | null,
): Caller {
  if (deps.isOpen) return ANYBODY;
  const holder = holderOf(deps, request, token);
  if (holder === undefined) {
    chargeAddress(headers, deps.addresses.of(request, server), deps);
    headers['www-authenticate'] = 'Bearer';
    throw new DomainError('unauthenticated', KEY_WANTED);
  }
  const { key, tier } = holder;
  const visit = deps.accessLog?.visitOf(request);
  if (visit !== undefined) visit.keyId = key.id;
  const limit = key.requestsPerMinute ?? tier.requestsPerMinute;
  const allowance = deps.keyWindows.charge(key.id, limit, deps.clocks());
  describeAllowance(headers, allowance);
  if (!allowance.allowed) throw rateLimited(headers, allowance, 'requests with this key');
  refuseUngranted(tier, deps.grantNeeded, undefined);
  return holder;
}

/** Who asked, if they would be let in now, whatever their window says; undefined: they would not. Nothing is counted. */
export function callerNow(deps: AccessDeps, request: Request, token: string | undefined): Caller | undefined {
  if (deps.isOpen) return ANYBODY;
  const holder = holderOf(deps, request, token);
  return holder !== undefined && ungranted(holder.tier, deps.grantNeeded, undefined) === undefined ? holder : undefined;
}

/** Looked at with every request, so that a revocation bites at once. */
function holderOf({ archive }: AccessDeps, request: Request, token: string | undefined): KeyHolder | undefined {
  // Without a header the plugin would take a key from the query.
  const presented = request.headers.has('authorization') ? token : undefined;
  const { database, keyDirectory } = archive;
  return presented === undefined ? undefined : database.readShared(() => keyDirectory.find(presented));
}

function standingOf(
  deps: AccessDeps,
  request: Request,
  token: string | undefined,
  route: string,
  params: Readonly<Record<string, string | undefined>> | undefined,
  admitted: Caller,
): AccessCheck {
  return {
    keyId: admitted === ANYBODY ? undefined : admitted.key.id,
    isLetIn() {
      const tier = callerNow(deps, request, token)?.tier;
      return tier !== undefined && ungranted(tier, routeOf(route)?.grant, params?.coin) === undefined;
    },
    knownUntilMs: () => earlierLimit(admitted.key.asOfMs, deps.knownUntil(replayIn(params))),
  };
}

/** What a tier does not grant of a route and a coin, in words; undefined: it grants both. */
function ungranted(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined): string | undefined {
  if (grant !== undefined && !grantsRoute(tier, grant)) return grant;
  return coin === undefined || grantsCoin(tier, canonicalCoin(coin)) ? undefined : 'this coin';
}

function rateLimited(headers: ResponseHeaders, allowance: Allowance, what: string): DomainError {
  headers['retry-after'] = String(allowance.retryAfterSeconds);
  const { limit, retryAfterSeconds } = allowance;
  return new DomainError(
    'rate-limited',
    `${limit} ${what} a minute are allowed: wait ${retryAfterSeconds} seconds and try again`,
  );
}

/** Throws 'forbidden' for a route or a coin that the tier does not grant. */
export function refuseUngranted(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined): void {
  const missing = ungranted(tier, grant, coin);
  if (missing === undefined) return;
  throw new DomainError(
    'forbidden',
    `the tier '${tier.id}' does not grant ${missing}: /v1/billing/tiers lists what does`,
  );
}
