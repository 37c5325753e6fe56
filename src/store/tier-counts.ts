import { setImmediate } from 'node:timers/promises';
import type { InstantMs } from '../domain/instant.ts';
import type { Registry } from './registry.ts';

/** Accounts that are counted in one turn of the event loop: these take about two milliseconds. */
const ACCOUNTS_A_TURN = 200;

/** The tier of each account from ?3, exclusive, to ?4 with a grant at ?1: SQLite takes the other columns from the row of the maximum. */
const GRANTED = `WITH granted AS (SELECT account_id, tier_id, MAX(position) FROM grants JOIN tiers USING (tier_id)
  WHERE account_id > ?3 AND account_id <= ?4 AND starts_ms <= ?1 AND (ends_ms IS NULL OR ends_ms > ?1) GROUP BY account_id)`;

const COUNT_ACCOUNTS = `${GRANTED} SELECT COALESCE(granted.tier_id, ?2) AS tier, COUNT(*) AS count
  FROM accounts LEFT JOIN granted USING (account_id)
  WHERE account_id > ?3 AND account_id <= ?4 AND deleted_ms IS NULL GROUP BY tier`;

const COUNT_KEYS = `${GRANTED} SELECT COALESCE(api_keys.tier_id, granted.tier_id, ?2) AS tier, COUNT(*) AS count
  FROM api_keys LEFT JOIN granted USING (account_id) WHERE account_id > ?3 AND account_id <= ?4
  AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?1) GROUP BY tier`;

export const LAST_OF_TURN = `SELECT MAX(account_id) AS last
  FROM (SELECT account_id FROM accounts WHERE account_id > ? ORDER BY account_id LIMIT ?)`;

/** Counts by the id of a tier; a tier that nobody has is missing. */
export interface TierCounts {
  /** Accounts that are not deleted. */
  readonly accounts: ReadonlyMap<string, number>;
  /** Keys that are neither revoked nor expired. */
  readonly keys: ReadonlyMap<string, number>;
}

/** The number of accounts and keys that have each tier at an instant. Reads all of them, `accountsATurn` in a turn of the event loop. */
export async function tierCounts(
  { database, newAccountTier }: Registry,
  nowMs: InstantMs,
  accountsATurn = ACCOUNTS_A_TURN,
): Promise<TierCounts> {
  const lastOf = database.query<{ last: number | null }, [number, number]>(LAST_OF_TURN);
  const counted = (sql: string) => {
    const query = database.query<{ tier: string; count: number }, [InstantMs, string, number, number]>(sql);
    const counts = new Map<string, number>();
    const add = (after: number, last: number) => {
      for (const { tier, count } of query.all(nowMs, newAccountTier, after, last)) {
        counts.set(tier, (counts.get(tier) ?? 0) + count);
      }
    };
    return { counts, add };
  };
  const [accounts, keys] = [counted(COUNT_ACCOUNTS), counted(COUNT_KEYS)];
  for (let after = 0; ; ) {
    const last = database.read(() => {
      const turn = lastOf.get(after, accountsATurn)!.last;
      if (turn !== null) for (const each of [accounts, keys]) each.add(after, turn);
      return turn;
    });
    if (last === null) break;
    after = last;
    await setImmediate();
  }
  return { accounts: accounts.counts, keys: keys.counts };
}
