import type { AuditEntry, AuditFilter } from '../store/audit.ts';
import type { Registry } from '../store/registry.ts';

/** An entry with the addresses that its accounts have now. */
export interface AuditRecord extends AuditEntry {
  /** The address of the account that acted; undefined: a command, or the service itself. */
  readonly actor: string | undefined;
  /** The address of the account that it concerns; undefined: none. */
  readonly account: string | undefined;
  /** The name that the key of the entry has now; undefined: it has none, or the entry has no key. */
  readonly keyName: string | undefined;
  /** The name that the tier of the entry has now; undefined: the entry has no tier. */
  readonly tierName: string | undefined;
}

/** Returns true if a person acted on the account of another person: only admins do. */
export function isForAnother({ actorId, accountId }: AuditEntry): boolean {
  return actorId !== undefined && accountId !== undefined && actorId !== accountId;
}

/** At most `limit` entries, the latest first. The next page has those before the last one. */
export function auditPage(
  { accounts, apiKeys, audit, database, tiers }: Registry,
  { limit, ...filter }: AuditFilter & { readonly limit: number },
): AuditRecord[] {
  return database.read(() => {
    const addressOf = (id: number | undefined) => (id === undefined ? undefined : accounts.find(id)?.email);
    const nameOf = ({ tier }: AuditEntry['detail']) => (tier == null ? undefined : tiers.find(String(tier))?.name);
    return audit.list(limit, filter).map((entry) => ({
      ...entry,
      actor: addressOf(entry.actorId),
      account: addressOf(entry.accountId),
      keyName: entry.detail.key === undefined ? undefined : apiKeys.find(String(entry.detail.key))?.name,
      tierName: nameOf(entry.detail),
    }));
  });
}
