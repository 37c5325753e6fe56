import { type Static, Type } from 'typebox';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import type { Registry } from '../store/registry.ts';
import { deleteAccount } from './account-deletion.ts';
import { revokeKey } from './account-keys.ts';
import { disableAccount } from './administration.ts';
import { type Change, record } from './change.ts';

/** Keys that were revoked or rotated, and accounts that are disabled or deleted: a restored backup must not accept them again. */
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
});

export function revocationsOf({
  accounts,
  apiKeys,
  database,
}: Pick<Registry, 'accounts' | 'apiKeys' | 'database'>): Revocations {
  return database.read(() => ({
    format: 'bookreel-revocations',
    revokedKeys: apiKeys.list().flatMap(({ id, revokedMs }) => (revokedMs === undefined ? [] : [id])),
    rotatedKeys: apiKeys.rotated().map(({ rotatedMs, ...key }) => ({ ...key, rotatedAt: formatInstant(rotatedMs) })),
    disabledAccounts: accounts.disabled().map(({ id, createdMs, deletedMs }) => {
      return { id, createdAt: formatInstant(createdMs), isDeleted: deletedMs !== undefined };
    }),
  }));
}

/** Refuses in a restored copy what was revoked since its backup. Returns the number of keys and accounts. */
export function keepRevoked(change: Change, { revokedKeys, rotatedKeys, disabledAccounts }: Revocations): number {
  const { accounts, apiKeys, database } = change.registry;
  const isUsed = (id: string) => apiKeys.find(id)?.revokedMs === undefined && apiKeys.find(id) !== undefined;
  const revoked = revokedKeys.filter(isUsed).map((id) => revokeKey(change, id));
  // An earlier form of the key would be valid again.
  const rotated = rotatedKeys.filter(
    ({ id, rotatedAt }) => isUsed(id) && (instantOrNull(apiKeys.find(id)!.rotatedMs) ?? '') < rotatedAt,
  );
  database.write(() => {
    for (const key of rotated)
      record(change, 'key.rotate', apiKeys.replace(key, change.nowMs).accountId, { key: key.id });
  });
  const refused = disabledAccounts.filter(({ id, createdAt, isDeleted }) => {
    const account = accounts.find(id);
    // With another time of creation it is another account, of another archive.
    if (account === undefined || formatInstant(account.createdMs) !== createdAt) return false;
    return isDeleted ? account.deletedMs === undefined : account.disabledMs === undefined;
  });
  for (const { id, isDeleted } of refused) {
    if (isDeleted) deleteAccount(change, id);
    else disableAccount(change, id, () => undefined);
  }
  return revoked.length + rotated.length + refused.length;
}
