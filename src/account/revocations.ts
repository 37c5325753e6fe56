import { type Static, Type } from 'typebox';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import { Audit } from '../store/audit.ts';
import { Identities } from '../store/identities.ts';
import { Passkeys } from '../store/passkeys.ts';
import type { Registry } from '../store/registry.ts';
import { deleteAccount } from './account-deletion.ts';
import { revokeKey } from './account-keys.ts';
import { removePasskey } from './account-passkeys.ts';
import { disableAccount, setRole } from './administration.ts';
import { type Change, record } from './change.ts';

/** The entries of the audit of an action; removals are few. */
const ENTRIES_MAX = 1_000_000;

/**
 * Keys that were revoked or rotated, accounts that are disabled, deleted or no longer those of admins, and passkeys and identities that do
 * not sign in any more: a restored backup must not accept them again.
 */
export type Revocations = Static<typeof Revocations>;
export const Revocations = Type.Object({
  format: Type.Literal('bookreel-revocations'),
  revokedKeys: Type.Array(Type.String()),
  /** With their present form. The digest is keyed, in hex. */
  rotatedKeys: Type.Array(
    Type.Object({
      id: Type.String(),
      rotatedAt: Type.String(),
      prefix: Type.String(),
      digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
  ),
  disabledAccounts: Type.Array(
    Type.Object({ id: Type.Integer(), createdAt: Type.String(), isDeleted: Type.Boolean() }),
  ),
  formerAdmins: Type.Array(Type.Object({ id: Type.Integer(), createdAt: Type.String() })),
  removedPasskeys: Type.Array(Type.String()),
  unlinkedIdentities: Type.Array(Type.Object({ issuer: Type.String(), subject: Type.String() })),
});

export function revocationsOf({
  accounts,
  apiKeys,
  database,
  secret,
}: Pick<Registry, 'accounts' | 'apiKeys' | 'database' | 'secret'>): Revocations {
  const [audit, passkeys, identities] = [new Audit(database), new Passkeys(database, secret), new Identities(database)];
  const details = (action: string) => audit.list(ENTRIES_MAX, { action }).map(({ detail }) => detail);
  return database.read(() => ({
    format: 'bookreel-revocations',
    revokedKeys: apiKeys.list().flatMap(({ id, revokedMs }) => (revokedMs === undefined ? [] : [id])),
    rotatedKeys: apiKeys.rotated().map(({ rotatedMs, ...key }) => ({ ...key, rotatedAt: formatInstant(rotatedMs) })),
    disabledAccounts: accounts.disabled().map(({ id, createdMs, deletedMs }) => {
      return { id, createdAt: formatInstant(createdMs), isDeleted: deletedMs !== undefined };
    }),
    formerAdmins: [...new Set(audit.list(ENTRIES_MAX, { action: 'account.role' }).map(({ accountId }) => accountId!))]
      .map((id) => accounts.find(id)!)
      .filter(({ role }) => role === 'user')
      .map(({ id, createdMs }) => ({ id, createdAt: formatInstant(createdMs) })),
    removedPasskeys: details('passkey.remove')
      .map(({ passkey }) => String(passkey))
      .filter((id) => passkeys.accountOf(id) === undefined),
    // Without the subjects of deleted accounts.
    unlinkedIdentities: details('identity.unlink').flatMap(({ issuer, subject }) => {
      if (typeof issuer !== 'string' || typeof subject !== 'string') return [];
      return identities.find({ issuer, subject }) === undefined ? [{ issuer, subject }] : [];
    }),
  }));
}

/** Refuses in a restored copy what was revoked since its backup. Returns the number of changes. */
export function keepRevoked(change: Change, revocations: Revocations): number {
  const { revokedKeys, rotatedKeys, disabledAccounts, formerAdmins, removedPasskeys, unlinkedIdentities } = revocations;
  const { accounts, apiKeys, database, secret } = change.registry;
  const [passkeys, identities] = [new Passkeys(database, secret), new Identities(database)];
  const isUsed = (id: string) => apiKeys.find(id)?.revokedMs === undefined && apiKeys.find(id) !== undefined;
  // With another time of creation it is another account, of another archive.
  const isSame = ({ id, createdAt }: (typeof formerAdmins)[number]) =>
    createdAt === instantOrNull(accounts.find(id)?.createdMs);
  const revoked = revokedKeys.filter(isUsed).map((id) => revokeKey(change, id));
  // An earlier form of the key would be valid again.
  const rotated = rotatedKeys.filter(
    ({ id, rotatedAt }) => isUsed(id) && (instantOrNull(apiKeys.find(id)!.rotatedMs) ?? '') < rotatedAt,
  );
  database.write(() => {
    for (const key of rotated)
      record(change, 'key.rotate', apiKeys.replace(key, change.nowMs).accountId, { key: key.id });
  });
  const removed = removedPasskeys.filter((id) => passkeys.accountOf(id) !== undefined);
  for (const id of removed) removePasskey(change, passkeys.accountOf(id)!, id);
  const unlinked = unlinkedIdentities.filter((identity) => identities.find(identity) !== undefined);
  database.write(() => {
    for (const identity of unlinked) {
      record(change, 'identity.unlink', identities.find(identity), identity);
      identities.unlink(identity);
    }
  });
  const demoted = formerAdmins.filter((account) => isSame(account) && accounts.find(account.id)!.role === 'admin');
  for (const { id } of demoted) setRole(change, id, 'user');
  const refused = disabledAccounts.filter((account) => {
    if (!isSame(account)) return false;
    const { deletedMs, disabledMs } = accounts.find(account.id)!;
    return (account.isDeleted ? deletedMs : disabledMs) === undefined;
  });
  for (const { id, isDeleted } of refused) {
    if (isDeleted) deleteAccount(change, id);
    else disableAccount(change, id, () => undefined);
  }
  return [revoked, rotated, removed, unlinked, demoted, refused].reduce((sum, { length }) => sum + length, 0);
}
