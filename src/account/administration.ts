import type { Account, AccountGrant, Role } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { type InstantMs, instantOrNull } from '../domain/instant.ts';
import { RefusedField } from '../domain/refused-field.ts';
import type { Tier } from '../domain/tier.ts';
import type { AccountCursor, AccountFilter, NewAccount } from '../store/accounts.ts';
import type { Registry } from '../store/registry.ts';
import { UndoLinks } from '../store/undo-links.ts';
import type { SignedIn } from './account-sessions.ts';
import { type Change, record } from './change.ts';
import { refuseUnprintableName } from './printable-name.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';

export const ADMINS_ONLY = 'only admins may open this: ask an admin of this service';

/** Throws 'forbidden' for a person who is no admin, 'sign-in-again' for an admin who has to sign in again. */
export function refuseNonAdmin({ account, session }: SignedIn, nowMs: InstantMs): void {
  if (account.role !== 'admin' || account.disabledMs !== undefined) {
    throw new DomainError('forbidden', ADMINS_ONLY);
  }
  refuseOldSignIn({ account, session }, nowMs);
}

/**
 * Runs `work` in a write transaction. Throws as `refuseNonAdmin` does: the person may have lost the role since the request began. A
 * command may change everything.
 */
export function administer<T>({ registry, nowMs, actor }: Change, work: () => T): T {
  return registry.database.write(() => {
    if (actor !== undefined) {
      const account = registry.accounts.find(actor.account.id)!;
      refuseNonAdmin({ ...actor, account }, nowMs);
    }
    return work();
  });
}

/** An account as admins see it. */
export interface AccountOverview extends Account {
  /** The tier that it has now. */
  readonly tier: Tier;
  /** The end of this tier, also if several grants follow each other; undefined: no end. */
  readonly tierEndsMs: InstantMs | undefined;
  /** Keys that are neither revoked nor expired. */
  readonly validKeys: number;
}

/** At most `limit` accounts that are not deleted. The next page begins after the last one. */
export function listAccounts(
  registry: Registry,
  nowMs: InstantMs,
  { limit, ...page }: AccountCursor & AccountFilter & { readonly limit: number },
): AccountOverview[] {
  return registry.database.read(() =>
    registry.accounts.list(limit, page).map((one) => overviewOf(registry, nowMs, one)),
  );
}

/** One account. Within a read or a write. */
export function overviewOf({ accountTiers, apiKeys }: Registry, nowMs: InstantMs, account: Account): AccountOverview {
  const { tier, endsMs } = accountTiers.at(account.id, nowMs);
  const tierEndsMs = endsMs === Infinity ? undefined : endsMs;
  return { ...account, tier, tierEndsMs, validKeys: apiKeys.countUsable(account.id, nowMs) };
}

/** Creates an account. Throws 'invalid-parameter' for an unprintable name, 'conflict' if the address has an account. Within a write. */
export function createAccount(change: Change, account: NewAccount): Account {
  refuseUnprintableName(account.name);
  const created = change.registry.accounts.create(account, change.nowMs);
  record(change, 'account.create', created.id, { role: created.role });
  return created;
}

/**
 * Grants a tier from now on; without `untilMs` without an end. Throws 'invalid-parameter' for an unknown or retired tier, or an end in
 * the past, and as all functions of this file 'not-found' for an account that is unknown or deleted, and as `administer` does.
 */
export function grantTier(change: Change, accountId: number, tier: string, untilMs?: InstantMs): AccountGrant {
  const { registry, nowMs } = change;
  if (untilMs !== undefined && untilMs <= nowMs) {
    const message = 'the end of the grant is in the past: choose a later time';
    throw new RefusedField('until', 'invalid-parameter', message);
  }
  return changeAccount(change, accountId, () => {
    const request = { accountId, tier: registry.tiers.offered(tier).id, source: 'operator', startsMs: nowMs } as const;
    const grant = registry.grants.add({ ...request, endsMs: untilMs }, nowMs);
    record(change, 'grant.create', accountId, { grant: grant.id, tier, until: instantOrNull(untilMs) });
    return grant;
  });
}

/** Ends a grant now. Throws 'not-found' for a grant of another account, 'conflict' for one that has ended. */
export function endGrant(change: Change, accountId: number, grantId: string): void {
  changeAccount(change, accountId, () => {
    change.registry.grants.end(accountId, grantId, change.nowMs);
    record(change, 'grant.end', accountId, { grant: grantId });
  });
}

/**
 * Refuses all keys and sessions of an account, at once, and then ends its sessions (`AccountSessions.endAll`). Throws 'conflict' for a
 * person if it is the last admin.
 */
export function disableAccount(change: Change, accountId: number, endSessions: (account: Account) => void): void {
  const disabled = changeAccount(change, accountId, (account) => {
    if (account.disabledMs !== undefined) return account;
    refuseLastAdmin(change, account);
    change.registry.accounts.disable(accountId, change.nowMs);
    record(change, 'account.disable', accountId);
    return account;
  });
  endSessions(disabled);
}

/** Accepts the keys of a disabled account again. */
export function enableAccount(change: Change, accountId: number): void {
  changeAccount(change, accountId, ({ disabledMs }) => {
    if (disabledMs === undefined) return;
    change.registry.accounts.enable(accountId);
    record(change, 'account.enable', accountId);
  });
}

/**
 * Replaces the address of an account, also in its links that undo changes; its keys, sessions and identities stay. Throws 'conflict' for an
 * address that another account has.
 */
export function setEmail(change: Change, accountId: number, to: string): void {
  changeAccount(change, accountId, (account) => {
    const { accounts, database, secret } = change.registry;
    accounts.setEmail(account, to);
    new UndoLinks(database, secret).setEmail(accountId, to);
    record(change, 'account.email', accountId, { from: account.email, to });
  });
}

/** Throws 'conflict' for a person if the last admin would become a user. */
export function setRole(change: Change, accountId: number, role: Role): void {
  changeAccount(change, accountId, (account) => {
    if (account.role === role) return;
    if (role !== 'admin') refuseLastAdmin(change, account);
    change.registry.accounts.setRole(accountId, role);
    record(change, 'account.role', accountId, { role });
  });
}

/** Throws 'conflict' for a person if no other admin is enabled. A command can make another account an admin at any time. */
export function refuseLastAdmin({ registry, actor }: Change, { role, disabledMs }: Account): void {
  if (actor === undefined || role !== 'admin' || disabledMs !== undefined) return;
  if (registry.accounts.countAdmins() > 1) return;
  throw new DomainError('conflict', 'this is the last admin: make another account an admin first');
}

/** Changes an account by `administer`. Throws 'not-found' for one that is unknown or deleted. */
export function changeAccount<T>(change: Change, accountId: number, work: (account: Account) => T): T {
  return administer(change, () => {
    const account = change.registry.accounts.find(accountId);
    if (account === undefined || account.deletedMs !== undefined) {
      throw new DomainError('not-found', 'there is no such account: open the list of accounts again');
    }
    return work(account);
  });
}
