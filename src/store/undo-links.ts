import { DAY_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';

/** A link undoes its change for this time. */
export const UNDO_MS = 7 * DAY_MS;

/** A change of how the person of an account signs in. */
export type WayInChange =
  | { readonly kind: 'address'; readonly to: string }
  | { readonly kind: 'identity'; readonly provider: string; readonly issuer: string; readonly subject: string };

/** A change that a link undoes, with all later ones of the account. */
export interface UndoLink {
  /** Later changes have larger ones. */
  readonly id: number;
  readonly accountId: number;
  /** The address of the account before the change. */
  readonly email: string;
  readonly change: WayInChange;
  readonly createdMs: number;
}

type UndoLinkRow = Omit<UndoLink, 'change'> & { readonly change: string };

export const FIND_UNDO_LINK =
  'SELECT undo_id AS id, account_id AS accountId FROM undo_links WHERE digest = ? AND created_ms > ?';
export const LIST_UNDO_LINKS = `SELECT undo_id AS id, account_id AS accountId, email, change, created_ms AS createdMs
  FROM undo_links WHERE account_id = ? AND undo_id >= ? ORDER BY undo_id DESC`;
export const DELETE_UNDO_LINKS = 'DELETE FROM undo_links WHERE account_id = ? AND undo_id >= ?';
export const DELETE_OLD_UNDO_LINKS = 'DELETE FROM undo_links WHERE created_ms <= ?';

/** Links that undo changes. The secret of a link is stored as its keyed digest only. */
export class UndoLinks {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      insert: database.query<never, [number, Uint8Array, string, string, number]>(
        'INSERT INTO undo_links (account_id, digest, email, change, created_ms) VALUES (?, ?, ?, ?, ?)',
      ),
      find: database.query<Pick<UndoLink, 'id' | 'accountId'>, [Uint8Array, number]>(FIND_UNDO_LINK),
      list: database.query<UndoLinkRow, [number, number]>(LIST_UNDO_LINKS),
      delete: database.query<never, [number, number]>(DELETE_UNDO_LINKS),
      deleteOld: database.query<never, [number]>(DELETE_OLD_UNDO_LINKS),
    };
  }

  /** Adds a link, and deletes all that are 7 days old. Within a write. */
  add(token: string, { accountId, email, change, createdMs }: Omit<UndoLink, 'id'>): void {
    this.#sql.deleteOld.run(createdMs - UNDO_MS);
    this.#sql.insert.run(accountId, this.#digest(token), email, JSON.stringify(change), createdMs);
  }

  /**
   * The link with this secret and all later ones of its account, the latest first; empty for a link that is unknown, used, 7 days old, or of
   * a deleted account.
   */
  find(token: string, nowMs: number): UndoLink[] {
    const row = this.#sql.find.get(this.#digest(token), nowMs - UNDO_MS);
    return row === null ? [] : this.since(row.accountId, row.id);
  }

  /** The links of an account from this id on, the latest first. */
  since(accountId: number, id = 0): UndoLink[] {
    return this.#sql.list.all(accountId, id).map((row) => ({ ...row, change: JSON.parse(row.change) }));
  }

  /** Deletes them. Within a write. */
  deleteSince(accountId: number, id = 0): void {
    this.#sql.delete.run(accountId, id);
  }

  #digest(token: string): Uint8Array {
    return this.#secret.digest(`undo:${token}`);
  }
}
