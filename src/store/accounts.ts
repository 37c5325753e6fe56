import { type Account, hasOneOwner, OPERATOR_EMAIL, type Role } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import { fromRow, type Row } from './row.ts';

type AccountRow = Row<Account>;

export type NewAccount = Pick<Account, 'email'> & Partial<Pick<Account, 'name' | 'role'>>;

const SELECT = `SELECT account_id AS id, email, name, role, created_ms AS createdMs, disabled_ms AS disabledMs,
  deleted_ms AS deletedMs FROM accounts`;

export const FIND_ACCOUNT_BY_EMAIL = `${SELECT} WHERE email = ? AND deleted_ms IS NULL`;
export const LIST_DELETED_ACCOUNTS = 'SELECT account_id AS id FROM accounts WHERE deleted_ms >= ?';
const FILTER = `deleted_ms IS NULL AND (?1 IS NULL OR instr(lower(email), lower(?1)) > 0 OR instr(lower(name), lower(?1)) > 0)
  AND (?2 IS NULL OR ?2 = CASE WHEN disabled_ms IS NOT NULL THEN 'disabled' WHEN role = 'admin' THEN 'admin' ELSE 'user' END)
  AND created_ms >= ?3 AND created_ms < ?4`;

/** The orders of a list of accounts; those with a minus go down. Ids have the order of creation. */
export const ACCOUNT_ORDERS = ['created', '-created', 'address', '-address'] as const;
export type AccountOrder = (typeof ACCOUNT_ORDERS)[number];

/** Each with what is before the first account. */
const STARTS = { created: 0, '-created': Number.MAX_SAFE_INTEGER, address: '', '-address': '\u{10ffff}' };

/** A page of accounts. */
export function listAccountsBy(order: AccountOrder): string {
  const column = order.endsWith('address') ? 'email' : 'account_id';
  const [compare, direction] = order.startsWith('-') ? ['<', 'DESC'] : ['>', 'ASC'];
  return `${SELECT} WHERE ${FILTER} AND ${column} ${compare} ?5 ORDER BY ${column} ${direction} LIMIT ?6`;
}

/** The kinds of accounts that are not deleted: each is one of them. */
export const ACCOUNT_KINDS = ['user', 'admin', 'disabled'] as const;

export interface AccountFilter {
  /** A text in the address or the name. */
  readonly text?: string | undefined;
  /** One of ACCOUNT_KINDS; others have no accounts. */
  readonly kind?: string | undefined;
  /** The first instant of their creation, and the first one after it. */
  readonly fromMs?: InstantMs | undefined;
  readonly untilMs?: InstantMs | undefined;
}

export interface AccountCursor {
  readonly order?: AccountOrder | undefined;
  /** The id of an account, or its address in an order of addresses. */
  readonly after?: number | string | undefined;
}

type FilterValues = [text: string | null, kind: string | null, fromMs: InstantMs, untilMs: InstantMs];

/** Accounts. Deleted ones are found only by their id. All methods that change one belong in a write transaction. */
export class Accounts {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      find: database.query<AccountRow, [number]>(`${SELECT} WHERE account_id = ?`),
      findByEmail: database.query<AccountRow, [string]>(FIND_ACCOUNT_BY_EMAIL),
      list: (order: AccountOrder) =>
        database.query<AccountRow, [...FilterValues, after: number | string, limit: number]>(listAccountsBy(order)),
      count: database.query<{ accounts: number }, FilterValues>(
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

  /** The account with an email address, whose ASCII letters match in upper or lower case. */
  findByEmail(email: string): Account | undefined {
    return toAccount(this.#sql.findByEmail.get(email));
  }

  /** At most `limit` accounts of a filter, after the one that `after` names, oldest first if no order is given. */
  list(
    limit: number,
    { order = 'created', after = STARTS[order], ...filter }: AccountCursor & AccountFilter = {},
  ): Account[] {
    return this.#sql
      .list(order)
      .all(...valuesOf(filter), after, limit)
      .map((row) => toAccount(row)!);
  }

  count(filter: AccountFilter = {}): number {
    return this.#sql.count.get(...valuesOf(filter))!.accounts;
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

function valuesOf({ text, kind, fromMs = 0, untilMs = INSTANT_MAX_MS + 1 }: AccountFilter): FilterValues {
  return [text ?? null, kind ?? null, fromMs, untilMs];
}

function toAccount(row: AccountRow | null): Account | undefined {
  return row === null ? undefined : fromRow<Account>(row);
}
