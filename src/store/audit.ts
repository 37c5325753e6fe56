import type { Account } from '../domain/account.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { HOUR_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';

/** The one who acts, and the request. Without an account and a user: a stranger, or the service itself. */
export interface AuditActor {
  /** A person who is signed in, or signs in. */
  readonly account?: Pick<Account, 'id'> | undefined;
  /** The user of this machine who runs a command. */
  readonly operatingUser?: string | undefined;
  /** The IP address of the client. */
  readonly clientAddress?: string | undefined;
  readonly requestId?: string | undefined;
}

/** One action. `detail` has ids and names of the things concerned, and no secrets. */
export interface AuditEntry {
  readonly id: number;
  readonly atMs: InstantMs;
  /** The account that acted; undefined: a command on this machine, or the service itself. */
  readonly actorId: number | undefined;
  /** The name of the action, as `noun.verb`: `key.create`. */
  readonly action: string;
  /** The account that the action concerns; undefined: none. */
  readonly accountId: number | undefined;
  readonly detail: AuditDetail;
  /** As in `AuditActor`. */
  readonly operatingUser: string | undefined;
  readonly clientAddress: string | undefined;
  readonly requestId: string | undefined;
  /** The number of such actions; above 1 only for those of strangers. */
  readonly count: number;
}

export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;
export type NewAuditEntry = Pick<AuditEntry, 'atMs' | 'action'> &
  Partial<Pick<AuditEntry, 'accountId' | 'detail'>> & { readonly by: AuditActor };

export interface AuditFilter {
  readonly accountId?: number | undefined;
  readonly action?: string | undefined;
  readonly beforeId?: number | undefined;
  /** The first instant of the entries, and the first one after them. */
  readonly fromMs?: InstantMs | undefined;
  readonly untilMs?: InstantMs | undefined;
}

interface AuditRow extends Pick<AuditEntry, 'id' | 'atMs' | 'action' | 'count'> {
  readonly actorId: number | null;
  readonly accountId: number | null;
  readonly detail: string;
  readonly operatingUser: string | null;
  readonly clientAddress: string | null;
  readonly requestId: string | null;
}

const SELECT = `SELECT entry_id AS id, at_ms AS atMs, actor_id AS actorId, action, account_id AS accountId, detail,
  operating_user AS operatingUser, client AS clientAddress, request_id AS requestId, count FROM audit`;

type Range = [beforeMs: InstantMs, beforeId: number, fromMs: InstantMs, limit: number];
const IN_RANGE = '(at_ms, entry_id) < (?, ?) AND at_ms >= ? ORDER BY at_ms DESC, entry_id DESC LIMIT ?';
export const LIST_AUDIT = `${SELECT} WHERE ${IN_RANGE}`;
export const LIST_AUDIT_OF_ACCOUNT = `${SELECT} WHERE account_id = ? AND ${IN_RANGE}`;
export const LIST_AUDIT_OF_ACTION = `${SELECT} WHERE action = ? AND ${IN_RANGE}`;
/** An account has fewer entries than an action: the plus keeps the index of actions out. */
export const LIST_AUDIT_OF_ACCOUNT_AND_ACTION = `${SELECT} WHERE account_id = ? AND +action = ? AND ${IN_RANGE}`;

/** The addresses of clients in entries of an account: of itself and of strangers, but not of admins who acted on it. */
export const FORGET_CLIENTS =
  'UPDATE audit SET client = NULL WHERE actor_id = ?1 OR (account_id = ?1 AND actor_id IS NULL)';
export const LIST_PERSONAL_DETAILS = `SELECT entry_id AS id, detail FROM audit
  WHERE account_id = ? AND (detail LIKE '%@%' OR detail LIKE '%"subject"%')`;

/** The entry of an action in an hour, which began at the third parameter. */
export const COUNT_STRANGER = `UPDATE audit SET count = count + 1 WHERE entry_id = (
  SELECT entry_id FROM audit WHERE actor_id IS NULL AND operating_user IS NULL AND action = ?1 AND account_id IS ?2
    AND at_ms >= ?3 AND at_ms < ?3 + ${HOUR_MS} AND detail = ?4 LIMIT 1)`;

/**
 * The log of actions, the accounts that acted, and the accounts concerned. Entries are never removed, and never changed except as `count`
 * and `forget` say.
 */
export class Audit {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      append: database.query<never, [InstantMs, number | null, string, number | null, string, ...(string | null)[]]>(
        `INSERT INTO audit (at_ms, actor_id, action, account_id, detail, operating_user, client, request_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      countStranger: database.query<never, [string, number | null, InstantMs, string]>(COUNT_STRANGER),
      forgetClients: database.query<never, [number]>(FORGET_CLIENTS),
      personalDetails: database.query<{ id: number; detail: string }, [number]>(LIST_PERSONAL_DETAILS),
      setDetail: database.query<never, [string, number]>('UPDATE audit SET detail = ? WHERE entry_id = ?'),
      timeOf: database.query<{ atMs: InstantMs }, [number]>('SELECT at_ms AS atMs FROM audit WHERE entry_id = ?'),
      list: database.query<AuditRow, Range>(LIST_AUDIT),
      listOfAccount: database.query<AuditRow, [number, ...Range]>(LIST_AUDIT_OF_ACCOUNT),
      listOfAction: database.query<AuditRow, [string, ...Range]>(LIST_AUDIT_OF_ACTION),
      listOfBoth: database.query<AuditRow, [number, string, ...Range]>(LIST_AUDIT_OF_ACCOUNT_AND_ACTION),
    };
  }

  /** Adds an entry. Within the write transaction of the action. */
  append({ atMs, by, action, accountId, detail = {} }: NewAuditEntry): void {
    const { account, operatingUser, clientAddress, requestId } = by;
    const values = [operatingUser, clientAddress, requestId].map((value) => value ?? null);
    this.#sql.append.run(atMs, account?.id ?? null, action, accountId ?? null, JSON.stringify(detail), ...values);
  }

  /**
   * Adds an action of somebody who is not signed in: one entry for each hour of UTC, action, account and detail, with the number of actions
   * and without addresses, so that no stranger can fill the file. Within a write transaction.
   */
  count({ atMs, action, accountId, detail = {} }: Omit<NewAuditEntry, 'by'>): void {
    const hourMs = atMs - (atMs % HOUR_MS);
    if (this.#sql.countStranger.run(action, accountId ?? null, hourMs, JSON.stringify(detail)).changes > 0) return;
    this.append({ atMs, by: {}, action, accountId, detail });
  }

  /** Replaces the addresses of a deleted account by `email`, and removes its subjects at providers and the addresses of its clients. */
  forget(accountId: number, email: string): void {
    this.#sql.forgetClients.run(accountId);
    for (const { id, detail } of this.#sql.personalDetails.all(accountId)) {
      const kept = JSON.stringify(JSON.parse(detail), (name, value: unknown) => {
        if (name === 'subject') return null;
        return typeof value === 'string' && value.includes('@') ? email : value;
      });
      this.#sql.setDetail.run(kept, id);
    }
  }

  /**
   * At most `limit` entries, the latest first, and of one instant the last added first; those before the entry `beforeId`, of a range,
   * about one account, and of one action, if given.
   */
  list(limit: number, filter: AuditFilter = {}): AuditEntry[] {
    return this.#rows(limit, filter).map(toEntry);
  }

  #rows(limit: number, filter: AuditFilter): AuditRow[] {
    const { accountId, action, beforeId, fromMs = 0, untilMs = INSTANT_MAX_MS + 1 } = filter;
    const { timeOf, list, listOfAccount, listOfAction, listOfBoth } = this.#sql;
    const before = beforeId === undefined ? undefined : timeOf.get(beforeId)?.atMs;
    // Ids begin with 1: none of the first instant after the range is before 0.
    const range: Range =
      before === undefined || before >= untilMs ? [untilMs, 0, fromMs, limit] : [before, beforeId!, fromMs, limit];
    if (accountId === undefined) {
      return action === undefined ? list.all(...range) : listOfAction.all(action, ...range);
    }
    return action === undefined ? listOfAccount.all(accountId, ...range) : listOfBoth.all(accountId, action, ...range);
  }
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    ...row,
    actorId: row.actorId ?? undefined,
    accountId: row.accountId ?? undefined,
    operatingUser: row.operatingUser ?? undefined,
    clientAddress: row.clientAddress ?? undefined,
    requestId: row.requestId ?? undefined,
    detail: JSON.parse(row.detail) as AuditDetail,
  };
}
