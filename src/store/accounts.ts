import { type Account, hasOneOwner, OPERATOR_EMAIL, type Role } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import { fromRow, type Row } from './row.ts';

type AccountRow = Row<Account>;

export type NewAccount = Pick<Account, 'email'> & Partial<Pick<Account, 'name' | 'role'>>;

const SELECT = `SELECT account_id AS id, email, name, role, created_ms AS createdMs, disabled_ms AS disabledMs,
  deleted_ms AS deletedMs FROM accounts`;

export const FIND_ACCOUNT_BY_EMAIL = `${SELECT} WHERE email = ? AND deleted_ms IS NULL`;
/** A page of accounts, oldest first. */
export const LIST_ACCOUNTS = `${SELECT} WHERE account_id > ? AND deleted_ms IS NULL ORDER BY account_id LIMIT ?`;
export const LIST_DELETED_ACCOUNTS = 'SELECT account_id AS id FROM accounts WHERE deleted_ms >= ?';
const FILTER = `deleted_ms IS NULL AND (?1 IS NULL OR instr(lower(email), lower(?1)) > 0 OR instr(lower(name), lower(?1)) > 0)
  AND (?2 IS NULL OR ?2 = CASE WHEN disabled_ms IS NOT NULL THEN 'disabled' WHEN role = 'admin' THEN 'admin' ELSE 'user' END)`;
const SEARCH_ACCOUNTS = `${SELECT} WHERE ${FILTER} AND account_id > ?3 ORDER BY account_id LIMIT ?4`;

/** The kinds of accounts that are not deleted: each is one of them. */
export const ACCOUNT_KINDS = ['user', 'admin', 'disabled'] as const;

export interface AccountFilter {
  /** A text in the address or the name. */
  readonly text?: string | undefined;
  /** One of ACCOUNT_KINDS; others have no accounts. */
  readonly kind?: string | undefined;
}

/** Accounts. Deleted ones are found only by their id. All methods that change one belong in a write transaction. */
export class Accounts {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      find: database.query<AccountRow, [number]>(`${SELECT} WHERE account_id = ?`),
      findByEmail: database.query<AccountRow, [string]>(FIND_ACCOUNT_BY_EMAIL),
      list: database.query<AccountRow, [number, number]>(LIST_ACCOUNTS),
      search: database.query<AccountRow, [string | null, string | null, number, number]>(SEARCH_ACCOUNTS),
      count: database.query<{ accounts: number }, [string | null, string | null]>(
        `SELECT COUNT(*) AS accounts FROM accounts WHERE ${FILTER}`,
      ),
      insert: database.query<{ id: number }, [string, string | null, Role, InstantMs]>(
        `INSERT INTO accounts (email, name, role, created_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT (email) WHERE deleted_ms IS NULL DO NOTHING RETURNING account_id AS id`,
      ),
      countAdmins: database.query<{ admins: number }, []>(
        "SELECT COUNT(*) AS admins FROM accounts WHERE role = 'admin' AND disabled_ms IS NULL",
      ),
      disabled: database.query<AccountRow, []>(`${SELECT} WHERE disabled_ms IS NOT NULL ORDER BY account_id`),
      listDeleted: database.query<{ id: number }, [InstantMs]>(LIST_DELETED_ACCOUNTS),
      delete: database.query<never, [string, InstantMs, number]>(
        `UPDATE accounts SET email = ?1, name = NULL, role = 'user', deleted_ms = ?2, disabled_ms = ?2 WHERE account_id = ?3`,
      ),
      // Ignored if another account has the address.
      setEmail: database.query<never, [string, number]>('UPDATE OR IGNORE accounts SET email = ? WHERE account_id = ?'),
      setRole: database.query<never, [Role, number]>('UPDATE accounts SET role = ? WHERE account_id = ?'),
      setDisabled: database.query<never, [InstantMs | null, number]>(
        'UPDATE accounts SET disabled_ms = ? WHERE account_id = ?',
      ),
    };
  }

  find(id: number): Account | undefined {
    return toAccount(this.#sql.find.get(id));
  }

  /** The account with an e-mail address, whose ASCII letters match in upper or lower case. */
  findByEmail(email: string): Account | undefined {
    return toAccount(this.#sql.findByEmail.get(email));
  }

  /** At most `limit` accounts of a filter after the account `afterId`, oldest first. */
  list(limit: number, afterId = 0, { text, kind }: AccountFilter = {}): Account[] {
    const isAll = text === undefined && kind === undefined;
    const { list, search } = this.#sql;
    const rows = isAll ? list.all(afterId, limit) : search.all(text ?? null, kind ?? null, afterId, limit);
    return rows.map((row) => toAccount(row)!);
  }

  count({ text, kind }: AccountFilter = {}): number {
    return this.#sql.count.get(text ?? null, kind ?? null)!.accounts;
  }

  /** Throws DomainError 'conflict' if the address has an account. */
  create({ email, name, role = 'user' }: NewAccount, nowMs: InstantMs): Account {
    const inserted = this.#sql.insert.get(email, name ?? null, role, nowMs);
    if (inserted === null) {
      throw new DomainError('conflict', `'${email}' has an account already: 'bookreel account show ${email}' shows it`);
    }
    return this.find(inserted.id)!;
  }

  /** Throws DomainError 'conflict' if another account has the address, or if either is the account of keys without a named account. */
  setEmail({ id, email }: Pick<Account, 'id' | 'email'>, to: string): void {
    if (!hasOneOwner(email) || !hasOneOwner(to)) {
      throw new DomainError(
        'conflict',
        `'${OPERATOR_EMAIL}' is the account of keys that were created without one: its address does not change`,
      );
    }
    if (this.#sql.setEmail.run(to, id).changes > 0) return;
    throw new DomainError('conflict', `'${to}' has an account already: choose another address`);
  }

  setRole(id: number, role: Role): void {
    this.#sql.setRole.run(role, id);
  }

  /** The number of admins that are not disabled. */
  countAdmins(): number {
    return this.#sql.countAdmins.get()!.admins;
  }

  /** The ids of the accounts that were deleted then or later. */
  deletedSince(sinceMs: InstantMs): number[] {
    return this.#sql.listDeleted.all(sinceMs).map(({ id }) => id);
  }

  /** The accounts that are disabled; deleted ones are too. */
  disabled(): Account[] {
    return this.#sql.disabled.all().map((row) => toAccount(row)!);
  }

  /** Removes the address and the name, and disables the account. Its id is never used again. */
  delete(id: number, nowMs: InstantMs): void {
    this.#sql.delete.run(`account-${id}@deleted.invalid`, nowMs, id);
  }

  disable(id: number, nowMs: InstantMs): void {
    this.#sql.setDisabled.run(nowMs, id);
  }

  enable(id: number): void {
    this.#sql.setDisabled.run(null, id);
  }
}

function toAccount(row: AccountRow | null): Account | undefined {
  return row === null ? undefined : fromRow<Account>(row);
}
