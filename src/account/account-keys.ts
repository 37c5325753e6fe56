import { type Account, hasOneOwner } from '../domain/account.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { IssuedKey, NewKey } from '../store/api-keys.ts';
import type { Registry } from '../store/registry.ts';
import type { Usage } from '../store/usage.ts';
import { changeAccount, createAccount } from './administration.ts';
import { type Change, type PersonalChange, record } from './change.ts';
import { refuseUnprintableName } from './printable-name.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';

/** Keys that a person may create in a day, for each valid key that the account may have. Pages read the revoked ones too. */
const DAILY_KEYS = 10;

/** A key, and its last use; undefined: never used. */
export interface UsedKey extends ApiKey {
  readonly lastUsedMs: InstantMs | undefined;
}

/** The keys of an account that are not revoked, expired ones too, the newest first. */
export function keysOf({ database, apiKeys }: Registry, usage: Usage, accountId: number): UsedKey[] {
  const keys = database.read(() => apiKeys.ofAccount(accountId)).filter(({ revokedMs }) => revokedMs === undefined);
  const lastUses = usage.lastUses(keys.map(({ id }) => id));
  return keys.reverse().map((key) => ({ ...key, lastUsedMs: lastUses.get(key.id) }));
}

/** A new key, and the e-mail address of the account that owns it. */
export type KeyRequest = Omit<NewKey, 'accountId'> & { readonly account: string };

/**
 * Creates a key by a command, and its account when it is new. Throws 'invalid-parameter' for an unknown or retired tier, an account that
 * is not an e-mail address, an unprintable name, or an end in the past, 'conflict' for an account that is disabled or has too many keys.
 */
export function createKey(registry: Registry, nowMs: InstantMs, { account, ...request }: KeyRequest): IssuedKey {
  const change = { registry, nowMs };
  const email = emailAddress(account, '--account');
  return registry.database.write(() =>
    issue(change, registry.accounts.findByEmail(email) ?? createAccount(change, { email }), request),
  );
}

/** A key that a person may create. It has the tier of the account. */
export type OwnKeyRequest = Pick<NewKey, 'name' | 'asOfMs' | 'expiresMs'> & {
  /** The number of keys that the account had, revoked ones too, when the person opened the form; undefined: any. */
  readonly keysBefore?: number;
};

/**
 * Creates a key of the person's account. Throws 'sign-in-again', 'conflict' if the account got a key meanwhile (a form that is sent twice
 * creates one key), 'rate-limited' after too many keys of a day, and as `createKey` does.
 */
export function createOwnKey(
  change: PersonalChange,
  { name, asOfMs, expiresMs, keysBefore }: OwnKeyRequest,
): IssuedKey {
  const { registry, nowMs, actor } = change;
  refuseOldSignIn(actor, nowMs);
  const request = { name, asOfMs, expiresMs, tier: undefined, requestsPerMinute: undefined };
  const { id, email } = actor.account;
  return registry.database.write(() => {
    const keys = registry.apiKeys.ofAccount(id);
    if (keysBefore !== undefined && keys.length !== keysBefore) {
      throw new DomainError(
        'conflict',
        'your account got a key after this form was opened, perhaps by this form: look at your keys first',
      );
    }
    const ofDay = keys.filter(({ createdMs }) => nowMs - createdMs < DAY_MS).length;
    if (ofDay >= DAILY_KEYS * keysAllowed(registry, email)) {
      const message = `your account got ${ofDay} keys in the last 24 hours: try again tomorrow`;
      throw new DomainError('rate-limited', message, { retryAfterSeconds: DAY_MS / 1000 });
    }
    return issue(change, registry.accounts.find(id)!, request);
  });
}

/**
 * Gives a key a new secret; the old one is refused at once. Throws 'not-found' without such a key, for a person also when it is another
 * account's, 'conflict' for a revoked key, or if the key begins with another prefix than `prefix` by now (a form that is sent twice rotates
 * once), 'sign-in-again' for a person who has to sign in again.
 */
export function rotateKey(change: Change, id: string, prefix?: string): IssuedKey {
  const { registry, nowMs, actor } = change;
  if (actor !== undefined) refuseOldSignIn(actor, nowMs);
  return registry.database.write(() => {
    refuseForeignKey(change, id);
    if (prefix !== undefined && registry.apiKeys.find(id)?.prefix !== prefix) {
      throw new DomainError(
        'conflict',
        'this key was rotated after this form was opened, perhaps by this form: look at your keys first',
      );
    }
    const issued = registry.apiKeys.rotate(id, nowMs);
    record(change, 'key.rotate', issued.apiKey.accountId, { key: id });
    return issued;
  });
}

/** Refuses a key from now on; revoking twice changes nothing. Throws 'not-found' as `rotateKey` does. */
export function revokeKey(change: Change, id: string): ApiKey {
  return change.registry.database.write(() => {
    refuseForeignKey(change, id);
    return revoke(change, id);
  });
}

/** Revokes a key of an account as an admin. Throws 'not-found' for a key of another account, and as `changeAccount` does. */
export function revokeKeyOf(change: Change, accountId: number, id: string): void {
  changeAccount(change, accountId, () => {
    if (change.registry.apiKeys.find(id)?.accountId !== accountId) {
      throw new DomainError('not-found', 'the account has no such key: open the page of the account again');
    }
    revoke(change, id);
  });
}

/** Within a write. */
function revoke(change: Change, id: string): ApiKey {
  const { apiKeys } = change.registry;
  const before = apiKeys.find(id);
  const after = apiKeys.revoke(id, change.nowMs);
  if (before?.revokedMs === undefined) record(change, 'key.revoke', after.accountId, { key: id });
  return after;
}

/** Pins a key to a tier; undefined: it has the tier of its account. Throws 'not-found', or 'invalid-parameter' for an unknown or retired tier. */
export function pinKey(change: Change, id: string, tier: string | undefined): ApiKey {
  const { apiKeys, database, tiers } = change.registry;
  return database.write(() => {
    const pinned = apiKeys.setTier(id, tier === undefined ? undefined : tiers.offered(tier).id);
    record(change, 'key.set', pinned.accountId, { key: id, tier: tier ?? null });
    return pinned;
  });
}

function issue(change: Change, { id: accountId, email, disabledMs }: Account, request: Omit<NewKey, 'accountId'>) {
  const { registry, nowMs } = change;
  const { apiKeys, keysPerAccount, tiers } = registry;
  const { name, tier, expiresMs = Infinity } = request;
  refuseUnprintableName(name);
  if (tier !== undefined) tiers.offered(tier);
  if (expiresMs <= nowMs) {
    throw new DomainError('invalid-parameter', 'the end of the key is in the past: choose a later instant');
  }
  if (disabledMs !== undefined) {
    throw new DomainError('conflict', `the account '${email}' is disabled: enable it first`);
  }
  if (apiKeys.countUsable(accountId, nowMs) >= keysAllowed(registry, email)) {
    const orAllowed = change.actor === undefined ? ', or set --keys-per-account' : '';
    throw new DomainError(
      'conflict',
      `'${email}' may not have more than ${keysPerAccount} valid keys: revoke one first${orAllowed}`,
    );
  }
  const issued = apiKeys.create({ ...request, accountId }, nowMs);
  record(change, 'key.create', accountId, { key: issued.apiKey.id, tier: tier ?? null });
  return issued;
}

/** Maximum number of valid keys of an account; Infinity: there is none. */
export function keysAllowed({ keysPerAccount }: Registry, email: string): number {
  return hasOneOwner(email) ? keysPerAccount : Infinity;
}

/** Throws 'not-found' for a person when the key is another account's, with the same sentence as for an unknown id. */
function refuseForeignKey({ registry, actor }: Change, id: string): void {
  if (actor === undefined || registry.apiKeys.find(id)?.accountId === actor.account.id) return;
  throw noSuchKey();
}

export function noSuchKey(): DomainError {
  return new DomainError('not-found', 'your account has no such key: open the list of your keys again');
}
