import { type ApiKey, generateKey, generateKeyId, isKeyId, publicPrefix } from '../domain/api-key.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import { fromRow, type Row } from './row.ts';

type KeyRow = Row<ApiKey>;
/** The fields that `update` changes. */
export type SettableField = 'name' | 'tier' | 'requestsPerMinute' | 'expiresMs';

/** A new key. This is the only place that has `key` itself; the archive stores its digest. */
export interface IssuedKey {
  readonly apiKey: ApiKey;
  readonly key: string;
}

export type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'tier' | 'requestsPerMinute'> &
  Partial<Pick<ApiKey, 'asOfMs' | 'expiresMs'>>;

/** A key with its present form: the keyed digest, in hex. */
type RotatedKey = Pick<ApiKey, 'id' | 'prefix'> & { readonly digest: string };

const SELECT = `SELECT key_id AS id, account_id AS accountId, email AS account, api_keys.name, tier_id AS tier, requests_per_minute AS requestsPerMinute,
  as_of_ms AS asOfMs, prefix, api_keys.created_ms AS createdMs,
  expires_ms AS expiresMs, rotated_ms AS rotatedMs, revoked_ms AS revokedMs
  FROM api_keys JOIN accounts USING (account_id)`;

export const FIND_KEY_BY_DIGEST = `${SELECT} WHERE digest = ? AND revoked_ms IS NULL AND disabled_ms IS NULL`;

const FIND_USABLE_KEY = `${SELECT} WHERE key_id = ? AND revoked_ms IS NULL AND disabled_ms IS NULL`;

export const LIST_KEY_IDS = 'SELECT key_id AS id FROM api_keys WHERE account_id = ? ORDER BY rowid';

/** As `isUsable`. */
export const COUNT_USABLE_KEYS = `SELECT COUNT(*) AS keys FROM api_keys
  WHERE account_id = ? AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)`;

/** The tier of an account is the highest one of its grants at an instant, as in AccountTiers: that row of the maximum. */
export const LIST_OWNERS_AFTER = `SELECT key_id AS id, account_id AS accountId, IIF(deleted_ms IS NULL, email, NULL) AS email,
  COALESCE(tier_id, (SELECT granted FROM (SELECT tier_id AS granted, MAX(position) FROM grants JOIN tiers USING (tier_id)
    WHERE grants.account_id = accounts.account_id AND starts_ms <= ?1 AND (ends_ms IS NULL OR ends_ms > ?1)))) AS tier, api_keys.rowid AS row
  FROM api_keys JOIN accounts USING (account_id)
  WHERE (account_id, api_keys.rowid) > (?2, ?3) ORDER BY account_id, api_keys.rowid LIMIT ?4`;

/** A key with what its requests are counted for. */
interface KeyOwner {
  readonly id: string;
  readonly accountId: number;
  /** Null: the account was deleted. */
  readonly email: string | null;
  /** The tier of the key, else that of its account; null: the one of accounts without a grant. */
  readonly tier: string | null;
  /** The place of the key among those of its account. */
  readonly row: number;
}

const FIRST_OWNER = { accountId: 0, row: 0 };

const LIST_KEYS_OF_ACCOUNT = `${SELECT} WHERE account_id = ? ORDER BY api_keys.created_ms, key_id`;

/** Keys. A key is stored as its keyed digest only. */
export class ApiKeys {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      findByDigest: database.query<KeyRow, [Uint8Array]>(FIND_KEY_BY_DIGEST),
      find: database.query<KeyRow, [string]>(`${SELECT} WHERE key_id = ?`),
      findUsable: database.query<KeyRow, [string]>(FIND_USABLE_KEY),
      list: database.query<KeyRow, []>(`${SELECT} ORDER BY api_keys.created_ms, key_id`),
      listOfAccount: database.query<KeyRow, [number]>(LIST_KEYS_OF_ACCOUNT),
      listIds: database.query<{ id: string }, [number]>(LIST_KEY_IDS),
      countUsable: database.query<{ keys: number }, [number, InstantMs]>(COUNT_USABLE_KEYS),
      ownersAfter: database.query<KeyOwner, [InstantMs, number, number, number]>(LIST_OWNERS_AFTER),
      listPinned: database.query<KeyRow, [string]>(`${SELECT} WHERE tier_id = ? ORDER BY api_keys.created_ms, key_id`),
      removeName: database.query<never, [string]>('UPDATE api_keys SET name = NULL WHERE key_id = ?'),
      update: database.query<never, (string | number | null)[]>(
        'UPDATE api_keys SET (name, tier_id, requests_per_minute, expires_ms) = (?, ?, ?, ?) WHERE key_id = ?',
      ),
      any: database.query<KeyRow, []>(`${SELECT} LIMIT 1`),
      insert: database.query<never, (string | number | Uint8Array | null)[]>(
        `INSERT INTO api_keys (key_id, account_id, tier_id, name, digest, prefix, requests_per_minute, as_of_ms, created_ms,
         expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      rotate: database.query<never, [Uint8Array, string, number, string]>(
        'UPDATE api_keys SET digest = ?, prefix = ?, rotated_ms = ? WHERE key_id = ?',
      ),
      rotated: database.query<RotatedKey & { readonly rotatedMs: number }, []>(
        `SELECT key_id AS id, prefix, lower(hex(digest)) AS digest, rotated_ms AS rotatedMs FROM api_keys
         WHERE rotated_ms IS NOT NULL AND revoked_ms IS NULL`,
      ),
      revoke: database.query<never, [number, string]>('UPDATE api_keys SET revoked_ms = ? WHERE key_id = ?'),
    };
  }

  /**
   * The key that a request sent; undefined when it is malformed, unknown or revoked, or its account is disabled. The caller checks
   * whether it has expired. Every text is digested and looked up once, so the time taken does not show which of these is the case.
   */
  authenticate(key: string): ApiKey | undefined {
    const row = this.#sql.findByDigest.get(this.#secret.digest(key));
    return row === null ? undefined : toApiKey(row);
  }

  /** Reads the tables that a request with a key reads, and throws the errors that the request would get. */
  probe(): void {
    this.#sql.any.get();
    this.authenticate('');
  }

  find(id: string): ApiKey | undefined {
    const row = this.#sql.find.get(id);
    return row === null ? undefined : toApiKey(row);
  }

  /** The key with this id; undefined as for `authenticate`. */
  findUsable(id: string): ApiKey | undefined {
    const row = this.#sql.findUsable.get(id);
    return row === null ? undefined : toApiKey(row);
  }

  /** All keys, the oldest first, including revoked ones. */
  list(): ApiKey[] {
    return this.#sql.list.all().map(toApiKey);
  }

  /** The keys of an account, the oldest first. */
  ofAccount(accountId: number): ApiKey[] {
    return this.#sql.listOfAccount.all(accountId).map(toApiKey);
  }

  /** The ids of the keys of an account, the oldest first, also of thousands of revoked ones. */
  idsOf(accountId: number): string[] {
    return this.#sql.listIds.all(accountId).map(({ id }) => id);
  }

  /** At most `limit` keys after one, by default the first, in the order of their accounts, with their tiers at `nowMs`. */
  ownersAfter(
    nowMs: InstantMs,
    limit: number,
    { accountId, row }: Pick<KeyOwner, 'accountId' | 'row'> = FIRST_OWNER,
  ): KeyOwner[] {
    return this.#sql.ownersAfter.all(nowMs, accountId, row, limit);
  }

  /** The number of an account's keys that are neither revoked nor expired. */
  countUsable(accountId: number, nowMs: number): number {
    return this.#sql.countUsable.get(accountId, nowMs)!.keys;
  }

  /** The keys that are pinned to a tier and neither revoked nor expired, oldest first. */
  pinnedTo(tier: string, nowMs: number): ApiKey[] {
    return this.#sql.listPinned
      .all(tier)
      .map(toApiKey)
      .filter((key) => isUsable(key, nowMs));
  }

  /** Creates a key of an account. Within a write transaction. */
  create(request: NewKey, nowMs: number): IssuedKey {
    const key = generateKey();
    const id = generateKeyId();
    this.#sql.insert.run(
      id,
      request.accountId,
      request.tier ?? null,
      request.name ?? null,
      this.#secret.digest(key),
      publicPrefix(key),
      request.requestsPerMinute ?? null,
      request.asOfMs ?? null,
      nowMs,
      request.expiresMs ?? null,
    );
    return { apiKey: this.find(id)!, key };
  }

  /** Gives the key with `id` a new secret; the old one is refused from then on. Within a write transaction. */
  rotate(id: string, nowMs: number): IssuedKey {
    this.changeable(id);
    const key = generateKey();
    this.#sql.rotate.run(this.#secret.digest(key), publicPrefix(key), nowMs, id);
    return { apiKey: this.#mustFind(id), key };
  }

  /** The keys that were rotated and not revoked. */
  rotated() {
    return this.#sql.rotated.all();
  }

  /** Gives a key the form that it got in a later archive. Within a write transaction. */
  replace({ id, prefix, digest }: RotatedKey, nowMs: number): ApiKey {
    this.#sql.rotate.run(Buffer.from(digest, 'hex'), prefix, nowMs, id);
    return this.#mustFind(id);
  }

  /** The key, to change it. Throws 'not-found' without such a key, 'conflict' for a revoked one. */
  changeable(id: string): ApiKey {
    const found = this.#mustFind(id);
    if (found.revokedMs === undefined) return found;
    throw new DomainError('conflict', `key '${id}' was revoked, which is final: create a new one`);
  }

  /** Replaces the settable fields of the key with this id. Within a write transaction. */
  update({ id, name, tier, requestsPerMinute, expiresMs }: Pick<ApiKey, 'id' | SettableField>): void {
    this.#sql.update.run(name ?? null, tier ?? null, requestsPerMinute ?? null, expiresMs ?? null, id);
  }

  /** Refuses the key with `id` from now on; revoking twice changes nothing. Within a write transaction. */
  revoke(id: string, nowMs: number): ApiKey {
    if (this.#mustFind(id).revokedMs === undefined) this.#sql.revoke.run(nowMs, id);
    return this.#mustFind(id);
  }

  /** Removes the name of the key with `id`. Within a write transaction. */
  removeName(id: string): void {
    this.#sql.removeName.run(id);
  }

  #mustFind(id: string): ApiKey {
    const found = this.find(id);
    if (found === undefined) {
      // A text that is not an id may be a key. Keys are never printed: terminals and logs keep them.
      const named = isKeyId(id) ? `there is no key '${id}'` : 'that is not the id of a key';
      throw new DomainError('not-found', `${named}: 'bookreel key list' shows the ids`);
    }
    return found;
  }
}

/** Returns true if a key is neither revoked nor expired. */
export function isUsable({ revokedMs, expiresMs = Infinity }: ApiKey, nowMs: number): boolean {
  return revokedMs === undefined && nowMs < expiresMs;
}

export function hasKeys(database: Database): boolean {
  return database.read(() => database.query('SELECT 1 FROM api_keys LIMIT 1').get() !== null);
}

function toApiKey(row: KeyRow): ApiKey {
  return fromRow<ApiKey>(row);
}
