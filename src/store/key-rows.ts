/** The kinds of rows that a KeyDirectory reads. A row refers only to rows of the kinds before its own. */
export const KEY_ROW_KINDS = ['tier', 'account', 'grant', 'key'] as const;
export type KeyRowKind = (typeof KEY_ROW_KINDS)[number];

/** A row as a node gets it: its kind, its primary key, and its other values. Without values: the row is not needed any more. */
export type KeyRow = readonly [kind: KeyRowKind, id: string | number, ...values: (string | number | null)[]];

interface KeyRowTable {
  readonly name: string;
  readonly id: string;
  /** The values that follow the primary key. They show no name and no address of a person. */
  readonly values: string;
  /** The SQL condition of the rows that a node needs. */
  readonly needed: string;
  /** Stores the primary key and the values. */
  readonly store: string;
}

export const KEY_ROW_TABLES: Readonly<Record<KeyRowKind, KeyRowTable>> = {
  tier: {
    name: 'tiers',
    id: 'tier_id',
    values: 'position, name, coins, routes, requests_per_minute, monthly_price_usd, price_note, retired_ms',
    needed: 'TRUE',
    store: `INSERT OR REPLACE INTO tiers (tier_id, position, name, coins, routes, requests_per_minute, monthly_price_usd, price_note,
      retired_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  },
  account: {
    name: 'accounts',
    id: 'account_id',
    values: 'disabled_ms',
    needed: 'TRUE',
    // The address is not known, and must be another one for each account.
    store: `INSERT OR REPLACE INTO accounts (account_id, email, created_ms, disabled_ms) VALUES (?1, 'account-' || ?1, 0, ?2)`,
  },
  grant: {
    name: 'grants',
    id: 'grant_id',
    values: 'account_id, tier_id, starts_ms, ends_ms',
    needed: 'TRUE',
    store: `INSERT OR REPLACE INTO grants (grant_id, account_id, tier_id, source, starts_ms, ends_ms, created_ms)
      VALUES (?, ?, ?, 'operator', ?, ?, 0)`,
  },
  key: {
    name: 'api_keys',
    id: 'key_id',
    values: 'account_id, tier_id, hex(digest), requests_per_minute, as_of_ms, expires_ms',
    needed: 'revoked_ms IS NULL',
    store: `INSERT OR REPLACE INTO api_keys (key_id, account_id, tier_id, digest, requests_per_minute, as_of_ms, expires_ms, prefix,
      created_ms) VALUES (?, ?, ?, unhex(?), ?, ?, ?, '', 0)`,
  },
};
