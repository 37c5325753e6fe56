import { bearer } from '@elysiajs/bearer';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { grantsCoin } from '../../domain/tier.ts';
import type { Replay } from '../../replay/replay.ts';
import { type AccessDeps, admit, callerNow, keyIdOf } from '../plugins/access.ts';
import type { Caller } from '../plugins/authentication.ts';
import { refuseUngranted } from '../plugins/authorization.ts';

/** The parts of a replay that decide which keys may access it. */
export interface ReplayScope {
  readonly coins: readonly string[];
  /** The end of the replay. */
  readonly toMs: InstantMs;
}

export function scopeOf({ coins, clock }: Replay): ReplayScope {
  return { coins, toMs: clock.span.toMs };
}

/** Throws 'forbidden' unless a key may access all of a replay: each of its coins, up to its end. */
export function refuseWithoutAccess(caller: Caller, scope: ReplayScope): void {
  for (const coin of scope.coins) refuseUngranted(caller.tier, undefined, coin);
  if (mayAccess(caller, scope)) return;
  throw new DomainError('forbidden', 'this replay ends after the last instant that this key may access');
}

export function mayAccess({ key, tier }: Caller, { coins, toMs }: ReplayScope): boolean {
  return coins.every((coin) => grantsCoin(tier, coin)) && (key.asOfMs === undefined || key.asOfMs >= toMs);
}

/** `plugin` gives routes their `caller`, and throws the refusals of keys. */
export function callerPlugin(accessDeps: AccessDeps) {
  const senders = new WeakMap<Request, { readonly token: string | undefined; readonly keyId: string | undefined }>();
  const plugin = new Elysia({ name: 'caller' })
    .use(bearer())
    .derive({ as: 'scoped' }, ({ request, set, bearer: token }) => {
      const caller = admit(accessDeps, { request, set }, token);
      senders.set(request, { token, keyId: keyIdOf(caller) });
      return { caller };
    });
  return {
    plugin,
    /** The id of a request's key; undefined if no key is needed. */
    keyIdOf: (request: Request) => senders.get(request)?.keyId,
    /** Returns true if the key with this id is valid now. */
    isKey(keyId: string): boolean {
      const { clocks, registry } = accessDeps;
      const { database, keyDirectory } = registry;
      return database.readShared(() => keyDirectory.findById(keyId, clocks().wallMs)) !== undefined;
    },
    /** Returns true if the sender of a request may still access a replay; for sockets. */
    mayListen(request: Request, scope: ReplayScope): boolean {
      const caller = callerNow(accessDeps, request, senders.get(request)?.token);
      return caller !== undefined && mayAccess(caller, scope);
    },
  };
}

export type CallerPlugin = ReturnType<typeof callerPlugin>['plugin'];
