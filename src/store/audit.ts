import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';

/** One action. `detail` has ids and names of the things concerned, and no secrets. */
export interface AuditEntry {
  readonly id: number;
  readonly atMs: InstantMs;
  /** The account that acted; undefined: a command on this machine, or the service itself. */
  readonly actorId: number | undefined;
  /** What was done, as `noun.verb`: `key.create`. */
  readonly action: string;
  /** The account that the action concerns; undefined: none. */
  readonly accountId: number | undefined;
  readonly detail: AuditDetail;
}

export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;
export type NewAuditEntry = Pick<AuditEntry, 'atMs' | 'action'> &
  Partial<Pick<AuditEntry, 'actorId' | 'accountId' | 'detail'>>;

export interface AuditFilter {
  readonly accountId?: number | undefined;
  readonly beforeId?: number | undefined;
}

interface AuditRow extends Pick<AuditEntry, 'id' | 'atMs' | 'action'> {
  readonly actorId: number | null;
  readonly accountId: number | null;
  readonly detail: string;
}

const SELECT =
  'SELECT entry_id AS id, at_ms AS atMs, actor_id AS actorId, action, account_id AS accountId, detail FROM audit';

export const LIST_AUDIT = `${SELECT} WHERE entry_id < ? ORDER BY entry_id DESC LIMIT ?`;
export const LIST_AUDIT_OF_ACCOUNT = `${SELECT} WHERE account_id = ? AND entry_id < ? ORDER BY entry_id DESC LIMIT ?`;

/** Who did what, to which account, and when. Entries are never changed or removed. */
export class Audit {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      append: database.query<never, [InstantMs, number | null, string, number | null, string]>(
        'INSERT INTO audit (at_ms, actor_id, action, account_id, detail) VALUES (?, ?, ?, ?, ?)',
      ),
      list: database.query<AuditRow, [number, number]>(LIST_AUDIT),
      listOfAccount: database.query<AuditRow, [number, number, number]>(LIST_AUDIT_OF_ACCOUNT),
    };
  }

  /** Within the write transaction of the action. */
  append({ atMs, actorId, action, accountId, detail = {} }: NewAuditEntry): void {
    this.#sql.append.run(atMs, actorId ?? null, action, accountId ?? null, JSON.stringify(detail));
  }

  /** At most `limit` entries, the latest first; those before the entry `beforeId`, and about one account, if given. */
  list(limit: number, { accountId, beforeId = Number.MAX_SAFE_INTEGER }: AuditFilter = {}): AuditEntry[] {
    const rows =
      accountId === undefined
        ? this.#sql.list.all(beforeId, limit)
        : this.#sql.listOfAccount.all(accountId, beforeId, limit);
    return rows.map(toEntry);
  }
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    ...row,
    actorId: row.actorId ?? undefined,
    accountId: row.accountId ?? undefined,
    detail: JSON.parse(row.detail) as AuditDetail,
  };
}
