import { bearer } from '@elysiajs/bearer';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { type InstantMs, parsePlainInteger } from '../../domain/instant.ts';
import type { ClockReading } from '../../domain/rate-window.ts';
import { type Grant, grantsAllRecords, grantsRoute } from '../../domain/tier.ts';
import type { SampleMarkets } from '../../store/sample-markets.ts';
import { pairsIn, parameterValue, Refused } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { queryValues } from '../parameters/query.ts';
import { pathOf, searchOf } from '../request-target.ts';
import type { UsageCounter } from '../response/request-usage.ts';
import type { Exchange } from '../response/response.ts';
import { ANYBODY, type AuthenticationDeps, type Caller, keyHolderOf, tokenOf } from './authentication.ts';
import { isGranted, refuseUngranted } from './authorization.ts';
import type { Cors } from './cors.ts';
import type { RateLimit, RequestContext } from './rate-limit.ts';

export interface AccessDeps extends AuthenticationDeps {
  /** True if no request needs a key. Only allowed if other machines cannot connect. */
  readonly isOpen: boolean;
  /** A grant that every request needs, in addition to that of its route. */
  readonly grantNeeded: Grant | undefined;
  readonly rateLimit: RateLimit;
  readonly clocks: () => ClockReading;
  /**
   * The latest instant that an answer may show, in whole milliseconds; undefined: no limit. Called once per request, with the
   * replay in its path and its key's id. Throws 'not-found' if the replay does not exist for this key.
   */
  readonly latestInstant: (replay: string | undefined, keyId: string | undefined) => InstantMs | undefined;
  /** Pages with a token show the market of the day though its tier lacks snapshots; undefined: there are no such pages. */
  readonly samples: SampleMarkets | undefined;
  /** Undefined: requests are not counted. */
  readonly usage: UsageCounter | undefined;
  /** Refuses some requests without any key in another way than with 401. */
  readonly refuseVisitor?: ((context: RequestContext) => void) | undefined;
}

/** The parameters of a path; undefined for one without. */
type PathParams = Readonly<Record<string, string | undefined>> | undefined;

/** Checks access again while a long answer is sent. */
export class AccessCheck {
  readonly #deps: AccessDeps;
  readonly #request: Request;
  readonly #token: string | undefined;
  readonly #caller: Caller;
  readonly #params: PathParams;

  constructor(deps: AccessDeps, request: Request, token: string | undefined, caller: Caller, params: PathParams) {
    this.#deps = deps;
    this.#request = request;
    this.#token = token;
    this.#caller = caller;
    this.#params = params;
  }

  /** The key's id; undefined if no key is needed. */
  get keyId(): string | undefined {
    return keyIdOf(this.#caller);
  }

  /** Returns true if the tier of the request grants a coin. `coin` is in lower case. */
  grantsCoin(coin: string): boolean {
    return isGranted(this.#caller.tier, undefined, coin);
  }

  /** Returns true if the key is valid now and its tier grants the route and the coin. Ignores rate limits. */
  isGranted(grant: Grant, coin: string): boolean {
    const now = callerNow(this.#deps, this.#request, this.#token);
    return now !== undefined && isGranted(now.tier, neededGrant(this.#deps, now, grant, this.#params), coin);
  }

  /** Counts one more request of the key. Returns false if its limit is reached, or if it is no longer valid. */
  async chargeAgain(): Promise<boolean> {
    if (this.#deps.isOpen) return true;
    const { clocks, rateLimit } = this.#deps;
    const now = clocks();
    const holder = keyHolderOf(this.#deps, this.#request, this.#token, now.wallMs);
    return holder !== undefined && (await rateLimit.chargeKeyAgain(holder, now));
  }

  /** The latest instant that the answer may show now. */
  latestMs(): InstantMs | undefined {
    return earlierLimit(this.#caller.key.asOfMs, this.#deps.latestInstant(replayIn(this.#params), this.keyId));
  }
}

/** The part of a route's context that the check of its grant uses. `derive`, which runs first, sets the optional fields. */
interface GrantContext {
  readonly caller?: Caller;
  readonly exchange?: Exchange;
  readonly params?: { readonly coin?: string; readonly conditionId?: string; ts?: unknown };
  readonly request: Request;
  readonly route: string;
}

const KEY_WANTED = "a valid API key is needed: send the header 'Authorization: Bearer <API_KEY>'";
/** Monitoring must not be limited. */
export const UNCOUNTED: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
const NEEDS_KEY = /^\/(?:v1|mcp)(?:\/|$)/;
/** Field of a route's `detail` with its grant. */
export const GRANT = 'x-grant';
/** Integer times below this are dates before 1974 in milliseconds, or current dates in seconds. */
const LOOKS_LIKE_SECONDS_BELOW = 1e11;
/** Parameters that are instants, or lists of them. */
const TIMES: ReadonlySet<string> = new Set(['from', 'to', 'asOf', 'asOfReceived', 'ts']);
/** Maximum number of times in a warning. */
const WARNED_MAX = 3;

/**
 * Access to every path under /v1. Checks in this order: key (401), rate limit (429), the tier's grant of route and coin (403),
 * parameters (400). Nothing about a coin is read before the tier's grant is checked.
 *
 * A route states its grant (`grant: 'markets'`; 'any' for any valid key). Its handler gets the exchange, and `asOfMs`: the latest
 * instant that the answer may show. That is the earliest of the parameter `asOf`, the key's limit and the service's limit.
 */
export function access(deps: AccessDeps) {
  return new Elysia({ name: 'access' })
    .use(bearer())
    .derive({ as: 'scoped' }, ({ bearer: token, request, set, params, route }) => {
      const caller = admit(deps, { request, set, route, params }, token);
      const accessCheck = new AccessCheck(deps, request, token, caller, params);
      const asOfMs = accessCheck.latestMs();
      const { keyId } = accessCheck;
      const exchange: Exchange = {
        request,
        set,
        keyId,
        latestMs: asOfMs,
        seesAllRecords: grantsAllRecords(caller.tier),
      };
      return { caller, exchange, accessCheck, asOfMs };
    })
    .macro('grant', (grant: Grant | 'any') => {
      // The framework adds the returned fields to the context, which its types do not say of this hook.
      const transform: (context: GrantContext) => void = ({ caller, exchange, params, request, route }) => {
        refuseUngranted(caller!.tier, neededGrant(deps, caller!, grant, params), params?.coin);
        const query = queryValues(searchOf(request), route);
        if (typeof params?.ts === 'string') {
          const ts = parameterValue(params.ts, PATH.ts, 'path');
          // The framework checks the path first and would report it alone: the schema of the query refuses it with the others.
          if (ts instanceof Refused) query.ts = ts;
          else params.ts = ts;
        }
        const { asOf, asOfReceived, from, to, ts = params?.ts } = query;
        if ([asOf, asOfReceived, from, to, ts].some(isEarly)) warnOfSeconds(exchange!);
        return { query, asOfMs: earlierLimit(typeof asOf === 'number' ? asOf : undefined, exchange!.latestMs) };
      };
      return { detail: { [GRANT]: grant }, transform };
    });
}

/** The grant that a request needs of its tier; undefined: none, as for the books of the market of the day in a page. */
function neededGrant(
  { samples, clocks }: AccessDeps,
  { tier, viewer }: Caller,
  grant: Grant | 'any',
  params: GrantContext['params'],
): Grant | undefined {
  if (grant === 'any') return undefined;
  if (viewer === undefined || grant !== 'snapshots' || grantsRoute(tier, grant)) return grant;
  const sample = samples?.of(tier, clocks().wallMs);
  return sample !== undefined && params?.conditionId === sample.conditionId ? undefined : grant;
}

/** Returns true if an integer time, or one of a list, is a date before 1974 in milliseconds, or a current date in seconds. */
function isEarly(time: unknown): boolean {
  return typeof time === 'number' ? time < LOOKS_LIKE_SECONDS_BELOW : Array.isArray(time) && time.some(isEarly);
}

export type Access = ReturnType<typeof access>;

/** The replay in a path; undefined without one. `params` is undefined for paths without parameters. */
export function replayIn(params: PathParams): string | undefined {
  return params?.replay;
}

/** Authenticates and counts a request. Throws 'unauthenticated', 'rate-limited' or 'forbidden', or as `refuseVisitor` does. */
export function admit(deps: AccessDeps, context: RequestContext, token: string | undefined): Caller {
  const { request, set, route = '' } = context;
  if (set.observer !== undefined) set.observer.route = route;
  if (deps.isOpen) return ANYBODY;
  const now = deps.clocks();
  const holder = keyHolderOf(deps, request, token, now.wallMs);
  if (holder === undefined) {
    deps.rateLimit.chargeAddress(context);
    if (!request.headers.has('authorization')) deps.refuseVisitor?.(context);
    set.headers['www-authenticate'] = 'Bearer';
    throw new DomainError('unauthenticated', KEY_WANTED);
  }
  if (set.observer !== undefined) {
    set.observer.keyId = holder.key.id;
    set.observer.tier = holder.tier.id;
  }
  // A node has counted its key's request, and counts the answer.
  if (deps.admissions?.of(request)?.keyId === undefined) {
    if (deps.usage !== undefined) set.usage = deps.usage.of(holder.key.id, route, request.method === 'HEAD');
    deps.rateLimit.chargeKey(request, holder, set, now);
  }
  refuseUngranted(holder.tier, deps.grantNeeded, undefined);
  return holder;
}

/**
 * Counts a request in windows of several servers before it begins, for the key or the address that will be charged. Undefined: there is
 * nothing to wait for.
 */
export function askAhead(deps: AccessDeps, cors: Cors | undefined, request: Request): Promise<void> | undefined {
  const { clocks, rateLimit } = deps;
  const path = pathOf(request);
  if (UNCOUNTED.has(path) || path.startsWith('/node/')) return undefined;
  try {
    if (deps.admissions?.accept(request) !== undefined) return undefined;
    // A node has counted it.
    if (deps.admissions?.of(request)?.keyId !== undefined) return undefined;
    if (cors?.isPreflight(request) === true) return rateLimit.askForAddress(request, true);
    const needsKey = NEEDS_KEY.test(path);
    const holder = needsKey ? keyHolderOf(deps, request, tokenOf(request), clocks().wallMs) : undefined;
    if (holder === undefined) return rateLimit.askForAddress(request);
    // Tools send requests of /v1, which are counted.
    return path.startsWith('/v1') ? rateLimit.askForKey(request, holder) : undefined;
  } catch {
    // The request runs into the same error again, which is then answered.
    return undefined;
  }
}

/** The caller if `admit` would accept the request now, else undefined. Ignores and does not change rate limits. */
export function callerNow(deps: AccessDeps, request: Request, token: string | undefined): Caller | undefined {
  if (deps.isOpen) return ANYBODY;
  const holder = keyHolderOf(deps, request, token, deps.clocks().wallMs);
  return holder !== undefined && isGranted(holder.tier, deps.grantNeeded, undefined) ? holder : undefined;
}

/** The key's id; undefined if no key is needed. */
export function keyIdOf(caller: Caller): string | undefined {
  return caller === ANYBODY ? undefined : caller.key.id;
}

/** The earlier of two limits; undefined: no limit. */
export function earlierLimit(a: InstantMs | undefined, b: InstantMs | undefined): InstantMs | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** Warns that times of the request may be seconds. They are still read as milliseconds. */
function warnOfSeconds({ request, set }: Exchange): void {
  const inPath = pathOf(request).split('/at/')[1]?.replace('/', '') ?? '';
  const sent = [['ts', inPath] as const, ...pairsIn(searchOf(request))].flatMap(([name, texts]) =>
    (TIMES.has(name) ? texts.split(',') : [])
      .filter((text) => (parsePlainInteger(text) ?? Infinity) < LOOKS_LIKE_SECONDS_BELOW)
      .map((text) => `${name}=${text}`),
  );
  if (sent.length === 0) return;
  const others = sent.length > WARNED_MAX ? ' and others' : '';
  set.headers['x-bookreel-warning'] =
    `${sent.slice(0, WARNED_MAX).join(', ')}${others} looks like seconds; integer times are Unix milliseconds`;
}
