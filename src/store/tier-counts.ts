import type { InstantMs } from '../domain/instant.ts';
import type { Registry } from './registry.ts';

/** The tier of each account with a grant at ?1: SQLite takes the other columns from the row of the maximum. */
const GRANTED = `WITH granted AS (SELECT account_id, tier_id, MAX(position) FROM grants JOIN tiers USING (tier_id)
  WHERE starts_ms <= ?1 AND (ends_ms IS NULL OR ends_ms > ?1) GROUP BY account_id)`;

const COUNT_ACCOUNTS = `${GRANTED} SELECT COALESCE(granted.tier_id, ?2) AS tier, COUNT(*) AS count
  FROM accounts LEFT JOIN granted USING (account_id) WHERE deleted_ms IS NULL GROUP BY tier`;

const COUNT_KEYS = `${GRANTED} SELECT COALESCE(api_keys.tier_id, granted.tier_id, ?2) AS tier, COUNT(*) AS count
  FROM api_keys LEFT JOIN granted USING (account_id)
  WHERE revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?1) GROUP BY tier`;

/** Counts by the id of a tier; a tier that nobody has is missing. */
export interface TierCounts {
  /** Accounts that are not deleted. */
  readonly accounts: ReadonlyMap<string, number>;
  /** Keys that are neither revoked nor expired. */
  readonly keys: ReadonlyMap<string, number>;
}

/** The number of accounts and keys that have each tier at an instant. Reads all of them. Within a read. */
export function tierCounts({ database, newAccountTier }: Registry, nowMs: InstantMs): TierCounts {
  const count = (sql: string) => {
    const rows = database.query<{ tier: string; count: number }, [InstantMs, string]>(sql).all(nowMs, newAccountTier);
    return new Map(rows.map((row) => [row.tier, row.count]));
  };
  return { accounts: count(COUNT_ACCOUNTS), keys: count(COUNT_KEYS) };
}
