import { DAY_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';

/** A link is valid for this time. */
export const UNDO_MS = 7 * DAY_MS;

/** A change of how the person of an account signs in. Its link takes the account back to the state before it. */
export interface UndoLink {
  readonly accountId: number;
  /** The address of the account then, or the one that the operator has given it since. */
  readonly email: string;
  readonly createdMs: number;
}

const SELECT = 'SELECT account_id AS accountId, email, created_ms AS createdMs FROM undo_links';
export const FIND_UNDO_LINK = `${SELECT} WHERE digest = ? AND created_ms > ?`;
export const COUNT_UNDO_LINKS = 'SELECT COUNT(*) AS count FROM undo_links WHERE account_id = ?';
export const SET_UNDO_EMAIL = 'UPDATE undo_links SET email = ? WHERE account_id = ?';
export const DELETE_UNDO_LINKS = 'DELETE FROM undo_links WHERE account_id = ? AND created_ms >= ?';
export const DELETE_OLD_UNDO_LINKS = 'DELETE FROM undo_links WHERE created_ms <= ?';

/** Links that undo changes. The secret of a link is stored as its keyed digest only. */
export class UndoLinks {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      insert: database.query<never, [Uint8Array, number, string, number]>(
        'INSERT INTO undo_links (digest, account_id, email, created_ms) VALUES (?, ?, ?, ?)',
      ),
      find: database.query<UndoLink, [Uint8Array, number]>(FIND_UNDO_LINK),
      count: database.query<{ count: number }, [number]>(COUNT_UNDO_LINKS),
      setEmail: database.query<never, [string, number]>(SET_UNDO_EMAIL),
      delete: database.query<never, [number, number]>(DELETE_UNDO_LINKS),
      deleteOld: database.query<never, [number]>(DELETE_OLD_UNDO_LINKS),
    };
  }

  /** Adds a link, deletes all that are 7 days old, and returns the number of links of the account. Within a write. */
  add(token: string, { accountId, email, createdMs }: UndoLink): number {
    this.#sql.deleteOld.run(createdMs - UNDO_MS);
    this.#sql.insert.run(this.#digest(token), accountId, email, createdMs);
    return this.#sql.count.get(accountId)!.count;
  }

  /** Undefined for a link that is unknown, used, 7 days old, or of a deleted account. */
  find(token: string, nowMs: number): UndoLink | undefined {
    return this.#sql.find.get(this.#digest(token), nowMs - UNDO_MS) ?? undefined;
  }

  /** Makes all links of the account lead to this address. Within a write. */
  setEmail(accountId: number, email: string): void {
    this.#sql.setEmail.run(email, accountId);
  }

  /** Deletes the links of the account to changes then and later. Within a write. */
  deleteSince(accountId: number, sinceMs: number): void {
    this.#sql.delete.run(accountId, sinceMs);
  }

  #digest(token: string): Uint8Array {
    return this.#secret.digest(`undo:${token}`);
  }
}
