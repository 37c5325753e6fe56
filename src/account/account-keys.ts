import { type Account, hasOneOwner } from '../domain/account.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { type InstantMs, instantOrNull } from '../domain/instant.ts';
import { RefusedField } from '../domain/refused-field.ts';
import { DAY_MS } from '../domain/usage.ts';
import { type IssuedKey, isUsable, type NewKey, type SettableField } from '../store/api-keys.ts';
import type { Registry } from '../store/registry.ts';
import type { Usage } from '../store/usage.ts';
import { changeAccount, createAccount } from './administration.ts';
import { type Change, type PersonalChange, record } from './change.ts';
import { refuseMoreToday } from './daily-limit.ts';
import { refuseUnprintableName } from './printable-name.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';

/** Keys that a person may create in a day, for each valid key that the account may have. Pages read the revoked ones too. */
const DAILY_KEYS = 10;
const DAILY_ROTATIONS = 100;

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

/** A new key, and the email address of the account that owns it. */
export type KeyRequest = Omit<NewKey, 'accountId'> & { readonly account: string };

/**
 * Creates a key by a command, and its account when it is new. Throws 'invalid-parameter' for an unknown or retired tier, an account that
 * is not an email address, an unprintable name, or an end in the past, 'conflict' for an account that is disabled or has too many keys.
 */
export function createKey(
  registry: Registry,
  nowMs: InstantMs,
  { account, ...request }: KeyRequest,
  operatingUser?: string,
): IssuedKey {
  const change = { registry, nowMs, operatingUser };
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
        'your account got a key after you opened this form, perhaps because it was sent twice: look at your keys first',
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
 * once), 'sign-in-again' for a person who has to sign in again, and 'rate-limited' for one after 100 times in a day.
 */
export function rotateKey(change: Change, id: string, prefix?: string): IssuedKey {
  const { registry, nowMs, actor } = change;
  if (actor !== undefined) refuseOldSignIn(actor, nowMs);
  return registry.database.write(() => {
    refuseForeignKey(change, id);
    if (actor !== undefined) {
      const sentence = `keys of your account were rotated ${DAILY_ROTATIONS} times today: try again tomorrow`;
      const limit = { accountId: actor.account.id, action: 'key.rotate', max: DAILY_ROTATIONS, sentence };
      refuseMoreToday(registry.audit, nowMs, limit);
    }
    if (prefix !== undefined && registry.apiKeys.find(id)?.prefix !== prefix) {
      throw new DomainError(
        'conflict',
        'this key was rotated after you opened this form, perhaps because it was sent twice: look at your keys first',
      );
    }
    const issued = registry.apiKeys.rotate(id, nowMs);
    record(change, 'key.rotate', issued.apiKey.accountId, { key: id });
    return issued;
  });
}

/** Gives a key of the actor's account another name; an empty one removes it. Throws 'not-found' as `rotateKey` does, and as `changeKey` does. */
export function renameKey(change: Change, id: string, name: string): ApiKey {
  return change.registry.database.write(() => {
    refuseForeignKey(change, id);
    return edited(change, id, { name: name.trim() || undefined });
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

/** Fields of a key that change; an undefined one is removed: the key has the tier of its account, or no end. */
export type KeyEdit = { readonly [Field in SettableField]?: ApiKey[Field] };

/**
 * Changes a key by a command. Throws 'not-found' without such a key, 'invalid-parameter' for an unknown or retired tier, an unprintable name
 * or an end in the past, 'conflict' for a revoked key, or if an expired key would be valid again and its account has too many keys.
 */
export function changeKey(change: Change, id: string, edit: KeyEdit): ApiKey {
  return change.registry.database.write(() => edited(change, id, edit));
}

/** Within a write. */
function edited(change: Change, id: string, edit: KeyEdit): ApiKey {
  const { registry, nowMs } = change;
  const { apiKeys } = registry;
  const before = apiKeys.changeable(id);
  refuseInvalid(registry, nowMs, edit);
  const after = { ...before, ...edit };
  if (!isUsable(before, nowMs) && isUsable(after, nowMs)) {
    refuseTooManyKeys(change, { id: before.accountId, email: before.account });
  }
  apiKeys.update(after);
  // The audit has no names of keys: they are removed with their account.
  record(change, 'key.set', before.accountId, {
    key: id,
    ...('tier' in edit && { tier: edit.tier ?? null }),
    ...('requestsPerMinute' in edit && { requestsPerMinute: edit.requestsPerMinute ?? null }),
    ...('expiresMs' in edit && { expires: instantOrNull(edit.expiresMs) }),
    ...('name' in edit && { named: edit.name !== undefined }),
  });
  return after;
}

function issue(change: Change, account: Account, request: Omit<NewKey, 'accountId'>) {
  const { registry, nowMs } = change;
  const { id: accountId, email, disabledMs } = account;
  refuseInvalid(registry, nowMs, request);
  if (disabledMs !== undefined) {
    throw new DomainError('conflict', `the account '${email}' is disabled: enable it first`);
  }
  refuseTooManyKeys(change, account);
  const issued = registry.apiKeys.create({ ...request, accountId }, nowMs);
  record(change, 'key.create', accountId, { key: issued.apiKey.id, tier: request.tier ?? null });
  return issued;
}

/** Throws 'invalid-parameter'. */
function refuseInvalid({ tiers }: Registry, nowMs: InstantMs, { name, tier, expiresMs = Infinity }: KeyEdit): void {
  refuseUnprintableName(name);
  if (tier !== undefined) tiers.offered(tier);
  if (expiresMs > nowMs) return;
  const message = 'a key cannot expire in the past: choose a later time';
  throw new RefusedField('expires', 'invalid-parameter', message);
}

/** Throws 'conflict' if the account may not have another valid key. */
function refuseTooManyKeys({ registry, nowMs, actor }: Change, { id, email }: Pick<Account, 'id' | 'email'>): void {
  if (registry.apiKeys.countUsable(id, nowMs) < keysAllowed(registry, email)) return;
  const orAllowed = actor === undefined ? ', or set --keys-per-account' : '';
  throw new DomainError(
    'conflict',
    `'${email}' may not have more than ${registry.keysPerAccount} valid keys: revoke one first${orAllowed}`,
  );
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
