import { randomToken } from '../domain/random-token.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';

/** A device is forgotten after this time without a sign-in. Browsers keep no cookie longer. */
export const DEVICE_MS = 400 * DAY_MS;
const PER_ACCOUNT_MAX = 20;

export const FIND_DEVICE = 'SELECT 1 FROM devices WHERE account_id = ? AND digest = ? AND last_used_ms > ?';
export const FIND_DEVICE_OF_ANY = 'SELECT 1 FROM devices WHERE digest = ? AND last_used_ms > ?';
export const DELETE_OLD_DEVICES = 'DELETE FROM devices WHERE last_used_ms <= ?';

/**
 * Browsers in which a person signed in to an account before, by a cookie of 256 random bits, stored as its keyed digest. A device signs
 * nobody in: it only has limits of its own, which no stranger uses up. It ends after 400 days without a sign-in, when 20 others are
 * newer, and with all sessions of the account.
 */
export class Devices {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      find: database.query<object, [number, Uint8Array, number]>(FIND_DEVICE),
      findOfAny: database.query<object, [Uint8Array, number]>(FIND_DEVICE_OF_ANY),
      upsert: database.query<never, [number, Uint8Array, number]>(
        'INSERT INTO devices (account_id, digest, last_used_ms) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last_used_ms = excluded.last_used_ms',
      ),
      deleteSurplus: database.query<never, [number, number]>(
        `DELETE FROM devices WHERE account_id = ? AND digest IN
           (SELECT digest FROM devices WHERE account_id = ? ORDER BY last_used_ms DESC LIMIT -1 OFFSET ${PER_ACCOUNT_MAX})`,
      ),
      deleteOld: database.query<never, [number]>(DELETE_OLD_DEVICES),
      deleteAll: database.query<never, [number, Uint8Array]>(
        'DELETE FROM devices WHERE account_id = ? AND digest <> ?',
      ),
    };
  }

  /** Returns the cookie's value if the browser signed in before: to the account with this id (0: to none), or to any without one. */
  known(token: string | undefined, nowMs: number, accountId?: number): string | undefined {
    const [digest, sinceMs] = [this.#digest(token ?? ''), nowMs - DEVICE_MS];
    const { find, findOfAny } = this.#sql;
    const row = accountId === undefined ? findOfAny.get(digest, sinceMs) : find.get(accountId, digest, sinceMs);
    return row === null ? undefined : token;
  }

  /** Remembers a browser that signs in to the account, and returns its cookie's value: a new one unless it had one of ours. Within a write. */
  remember(token: string | undefined, accountId: number, nowMs: number): string {
    const kept = this.known(token, nowMs) ?? randomToken();
    this.#sql.deleteOld.run(nowMs - DEVICE_MS);
    this.#sql.upsert.run(accountId, this.#digest(kept), nowMs);
    this.#sql.deleteSurplus.run(accountId, accountId);
    return kept;
  }

  /** Forgets all devices of the account, except the one with this cookie. Within a write. */
  forgetAll(accountId: number, except = ''): void {
    this.#sql.deleteAll.run(accountId, this.#digest(except));
  }

  #digest(token: string): Uint8Array {
    return this.#secret.digest(`device:${token}`);
  }
}
