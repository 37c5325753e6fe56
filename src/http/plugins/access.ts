import { bearer } from '@elysiajs/bearer';
import { Elysia } from 'elysia';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { type Grant, grantsCoin, grantsRoute } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import type { Exchange } from '../response/response.ts';
import { type MountedPaths, routeOf } from '../routes.ts';
import type { AccessLog } from './access-log.ts';
import { ANYBODY, type Caller, keyHolderOf } from './authentication.ts';
import { unrouted } from './errors.ts';
import { earlierLimit, refuseTimeless } from './known-until.ts';
import type { RateLimit, RequestContext } from './rate-limit.ts';

export interface AccessDeps {
  readonly archive: Pick<Archive, 'database' | 'keyDirectory'>;
  /** Whether no request needs a key: only where nobody but this machine can connect. */
  readonly isOpen: boolean;
  /** A grant that every request needs, besides that of its route. */
  readonly grantNeeded: Grant | undefined;
  readonly rateLimit: RateLimit;
  /**
   * Nothing later is in any answer, by whole milliseconds; undefined: there is no limit. Called once for each request, with
   * the replay that its path names.
   */
  readonly knownUntil: (replay: string | undefined) => InstantMs | undefined;
  readonly paths: MountedPaths;
  /** Undefined where nothing is logged. */
  readonly accessLog: AccessLog | undefined;
}

/** For an answer that is sent for long: checks again what the gate has checked. */
export interface AccessCheck {
  /** The key's id; undefined where no request needs a key. */
  readonly keyId: string | undefined;
  /** Whether the request would be let in now, whatever its rate limit. */
  isLetIn(): boolean;
  /** Whether the caller's tier grants a coin, given in lower case. */
  readonly grantsCoin: (coin: string) => boolean;
  /** The latest instant that the answer may have now. */
  knownUntilMs(): InstantMs | undefined;
}

const KEY_WANTED = "a valid API key is needed: send the header 'Authorization: Bearer <API_KEY>'";

/**
 * The gate in front of every /v1 path, known or not. In this order: key (401), rate limit (429), route (404) and method
 * (405), the tier's route and coin (403). Nothing is looked up about a coin before its tier allows it. Whatever the
 * outcome, the answer's headers are set first. `knownUntilMs` of the exchange is the limit of the key or of the service,
 * whichever is earlier; a route that cannot be held to it is refused (403).
 */
export function access(deps: AccessDeps) {
  return new Elysia({ name: 'access' })
    .use(bearer())
    .derive({ as: 'scoped' }, ({ bearer: token, request, set, server, route, params }) => {
      const caller = admit(deps, { request, set, server }, token);
      const knownUntilMs = earlierLimit(caller.key.asOfMs, deps.knownUntil(replayIn(params)));
      const target = routeOf(route);
      // Paths without parameters come without any.
      const inPath: Readonly<Record<string, string | undefined>> | undefined = params;
      if (target === undefined) {
        const problem = unrouted(request, set, deps.paths);
        if (problem !== undefined) throw problem;
      } else {
        refuseUngranted(caller.tier, target.grant, inPath?.coin);
        refuseTimeless(target, knownUntilMs);
      }
      const exchange: Exchange = { request, set, knownUntilMs };
      const accessCheck: AccessCheck = {
        keyId: caller === ANYBODY ? undefined : caller.key.id,
        isLetIn() {
          const tier = callerNow(deps, request, token)?.tier;
          return tier !== undefined && ungranted(tier, target?.grant, inPath?.coin) === undefined;
        },
        grantsCoin: (coin) => grantsCoin(caller.tier, coin),
        knownUntilMs: () => earlierLimit(caller.key.asOfMs, deps.knownUntil(replayIn(params))),
      };
      return { exchange, accessCheck };
    });
}

/** Controllers get an exchange, which they answer, from the gate alone. */
export type Gate = ReturnType<typeof access>;

/** The replay that a path names; undefined: none. Paths without parameters come without any. */
export function replayIn(params: Readonly<Record<string, string | undefined>> | undefined): string | undefined {
  return params?.replay;
}

/** The caller, authenticated and charged; throws 'unauthenticated', 'rate-limited' or 'forbidden'. */
export function admit(deps: AccessDeps, context: RequestContext, token: string | undefined): Caller {
  if (deps.isOpen) return ANYBODY;
  const { request, set } = context;
  const holder = keyHolderOf(deps.archive, request, token);
  if (holder === undefined) {
    deps.rateLimit.chargeAddress(context);
    set.headers['www-authenticate'] = 'Bearer';
    throw new DomainError('unauthenticated', KEY_WANTED);
  }
  deps.accessLog?.noteKey(request, holder.key.id);
  deps.rateLimit.chargeKey(holder, set);
  refuseUngranted(holder.tier, deps.grantNeeded, undefined);
  return holder;
}

/** The caller if `admit` would let the request in now, whatever its rate limit; else undefined. Nothing is counted. */
export function callerNow(deps: AccessDeps, request: Request, token: string | undefined): Caller | undefined {
  if (deps.isOpen) return ANYBODY;
  const holder = keyHolderOf(deps.archive, request, token);
  return holder !== undefined && ungranted(holder.tier, deps.grantNeeded, undefined) === undefined ? holder : undefined;
}

/** What a tier does not grant of a route and a coin, in words; undefined: it grants both. */
function ungranted(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined): string | undefined {
  if (grant !== undefined && !grantsRoute(tier, grant)) return grant;
  return coin === undefined || grantsCoin(tier, canonicalCoin(coin)) ? undefined : 'this coin';
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
