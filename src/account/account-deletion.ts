import type { Account } from '../domain/account.ts';
import type { InstantMs } from '../domain/instant.ts';
import { HOUR_MS } from '../domain/usage.ts';
import type { Activity } from '../store/activity.ts';
import { Devices } from '../store/devices.ts';
import { Identities } from '../store/identities.ts';
import { Passkeys } from '../store/passkeys.ts';
import type { Registry } from '../store/registry.ts';
import { Sessions } from '../store/sessions.ts';
import { UndoLinks } from '../store/undo-links.ts';
import { changeAccount, refuseLastAdmin } from './administration.ts';
import { type Change, type PersonalChange, record } from './change.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';

/**
 * Deletes an account: its keys are revoked, its unexpired grants end, and its address, name, identities, passkeys and names of keys are
 * removed, in the audit too. The address is free again. Then its sessions end, and its usage is added to that of all deleted accounts.
 * Throws 'not-found' for an account that is unknown or deleted, 'conflict' for a person if it is the last admin, and as `administer` does.
 *
 * These are two transactions, since they change two files. The first one, in accounts.db, decides: afterwards no key and no session of the
 * account is accepted. If the process ends between them, or without `activity`, the next start of a server does the second one
 * (`DeletedAccounts`).
 */
export function deleteAccount(change: Change, accountId: number, activity?: Activity): void {
  changeAccount(change, accountId, (account) => remove(change, account));
  if (activity !== undefined) forgetAccounts(change.registry, activity, [accountId]);
}

/** Deletes the person's account, as `deleteAccount` does. Throws 'sign-in-again' also for a person who is no admin. */
export function deleteOwnAccount(change: PersonalChange, activity: Activity): void {
  const { registry, nowMs, actor } = change;
  refuseOldSignIn(actor, nowMs);
  const { id } = actor.account;
  registry.database.write(() => remove(change, registry.accounts.find(id)!));
  forgetAccounts(registry, activity, [id]);
}

/**
 * Does the second step of deletions for a server: of all at the first call, in case a process was killed between the steps, and then of
 * those since an hour before the last call, since requests under way, and commands, leave counts of deleted keys.
 */
export class DeletedAccounts {
  readonly #registry: Registry;
  readonly #activity: Activity;
  #sinceMs: InstantMs = 0;

  constructor(registry: Registry, activity: Activity) {
    this.#registry = registry;
    this.#activity = activity;
  }

  forget(nowMs: InstantMs): void {
    const { accounts, database } = this.#registry;
    const deleted = database.read(() => accounts.deletedSince(this.#sinceMs));
    if (deleted.length > 0) forgetAccounts(this.#registry, this.#activity, deleted);
    this.#sinceMs = nowMs - HOUR_MS;
  }
}

/** Within a write of accounts.db. */
function remove(change: Change, account: Account): void {
  const { registry, nowMs } = change;
  const { accounts, apiKeys, audit, database, grants, secret } = registry;
  const { id } = account;
  refuseLastAdmin(change, account);
  for (const key of apiKeys.ofAccount(id)) {
    apiKeys.revoke(key.id, nowMs);
    apiKeys.removeName(key.id);
  }
  for (const grant of grants.ofAccount(id)) {
    if (grant.endsMs === undefined || grant.endsMs > Math.max(nowMs, grant.startsMs)) grants.end(id, grant.id, nowMs);
  }
  const identities = new Identities(database);
  for (const identity of identities.ofAccount(id)) identities.unlink(identity);
  new UndoLinks(database, secret).deleteSince(id, 0);
  new Passkeys(database, secret).undoSince(id, 0);
  registry.invoices.setBuyer(id, '');
  accounts.delete(id, nowMs);
  record(change, 'account.delete', id);
  audit.forget(id, accounts.find(id)!.email);
}

function forgetAccounts({ apiKeys, database, secret }: Registry, activity: Activity, ids: readonly number[]): void {
  const keyIds = database.read(() => ids.flatMap((id) => apiKeys.ofAccount(id).map((key) => key.id)));
  const sessions = new Sessions(activity.database, secret);
  const devices = new Devices(activity.database, secret);
  activity.database.write(() => {
    for (const id of ids) {
      sessions.revokeAll(id);
      devices.forgetAll(id);
    }
    activity.usage.forget(keyIds);
  });
}
