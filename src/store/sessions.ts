import { randomBytes } from 'node:crypto';
import { randomToken } from '../domain/random-token.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import { fromRow, type Row } from './row.ts';

const SESSION_IDLE_MS = 14 * 86_400_000;
/** A session ends after this time at the latest. */
export const SESSION_MS = 90 * 86_400_000;
/** `last_used_ms` is written again after this time at the earliest. */
const USE_MS = 5 * 60_000;
const ID_BYTES = 9;
/** Maximum number of sessions of an account. */
const PER_ACCOUNT_MAX = 20;

/** A browser in which a person is signed in. */
export interface Session {
  readonly id: string;
  readonly accountId: number;
  /** The way in which the person signed in: `email`, `command`, `passkey`, `recovery-code` or the name of an OIDC provider. */
  readonly method: string;
  readonly userAgent: string | undefined;
  readonly createdMs: number;
  /** The time of the last use, or up to five minutes earlier. */
  readonly lastUsedMs: number;
  /** The time at which the person proved who they are: at a provider, the time that it states. Undefined: not known. */
  readonly provedMs: number | undefined;
}

type SessionRow = Row<Session>;

const SELECT = `SELECT session_id AS id, account_id AS accountId, method, user_agent AS userAgent, created_ms AS createdMs,
  last_used_ms AS lastUsedMs, proved_ms AS provedMs FROM sessions`;
const VALID = 'last_used_ms > ? AND created_ms > ?';

export const FIND_SESSION_BY_DIGEST = `${SELECT} WHERE digest = ? AND ${VALID}`;
const LIST_SESSIONS = `${SELECT} WHERE account_id = ? AND ${VALID} ORDER BY created_ms, session_id`;
export const DELETE_IDLE_SESSIONS = 'DELETE FROM sessions WHERE last_used_ms <= ?';

/** Sessions. The value of a session's cookie is stored as its keyed digest only. A session ends after 14 idle days, and after 90 days. */
export class Sessions {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      find: database.query<SessionRow, [Uint8Array, number, number]>(FIND_SESSION_BY_DIGEST),
      list: database.query<SessionRow, [number, number, number]>(LIST_SESSIONS),
      insert: database.query<never, [string, Uint8Array, number, string, string | null, number, number, number | null]>(
        `INSERT INTO sessions (session_id, digest, account_id, method, user_agent, created_ms, last_used_ms, proved_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      use: database.query<never, [number, string]>('UPDATE sessions SET last_used_ms = ? WHERE session_id = ?'),
      delete: database.query<never, [string, number]>('DELETE FROM sessions WHERE session_id = ? AND account_id = ?'),
      deleteAll: database.query<never, [number, string]>(
        'DELETE FROM sessions WHERE account_id = ? AND session_id <> ?',
      ),
      deleteIdle: database.query<never, [number]>(DELETE_IDLE_SESSIONS),
    };
  }

  /**
   * Creates a session, and deletes all sessions that have ended, and the one used longest ago if the account has 20. `token`, 256 random
   * bits, is stored nowhere. Within a write.
   */
  create(
    request: Pick<Session, 'accountId' | 'method' | 'userAgent' | 'provedMs'>,
    nowMs: number,
  ): { readonly session: Session; readonly token: string } {
    // A session that is 90 days old is not used any more, so it becomes idle.
    this.#sql.deleteIdle.run(nowMs - SESSION_IDLE_MS);
    const token = randomToken();
    const session = {
      ...request,
      id: `ses_${randomBytes(ID_BYTES).toString('hex')}`,
      createdMs: nowMs,
      lastUsedMs: nowMs,
    };
    const { id, accountId, method, userAgent, provedMs } = session;
    const others = this.list(accountId, nowMs).toSorted(
      (a, b) => b.lastUsedMs - a.lastUsedMs || b.createdMs - a.createdMs,
    );
    for (const { id: surplus } of others.slice(PER_ACCOUNT_MAX - 1)) this.revoke(accountId, surplus);
    this.#sql.insert.run(id, this.#digest(token), accountId, method, userAgent ?? null, nowMs, nowMs, provedMs ?? null);
    return { session, token };
  }

  /** The session of a cookie; undefined when it is unknown, revoked or has ended. */
  find(token: string, nowMs: number): Session | undefined {
    const row = this.#sql.find.get(this.#digest(token), nowMs - SESSION_IDLE_MS, nowMs - SESSION_MS);
    return row === null ? undefined : fromRow<Session>(row);
  }

  /** Returns true if the time of the last use is due to be written. */
  isUseDue(session: Session, nowMs: number): boolean {
    return nowMs - session.lastUsedMs >= USE_MS;
  }

  /** Writes that the session was used now. Within a write. */
  use(session: Session, nowMs: number): void {
    this.#sql.use.run(nowMs, session.id);
  }

  /** Oldest first. */
  list(accountId: number, nowMs: number): Session[] {
    return this.#sql.list.all(accountId, nowMs - SESSION_IDLE_MS, nowMs - SESSION_MS).map(fromRow<Session>);
  }

  /** Ends a session of the account; false if it has none with this id. Within a write. */
  revoke(accountId: number, id: string): boolean {
    return this.#sql.delete.run(id, accountId).changes > 0;
  }

  /** Ends all sessions of the account, except the one with this id, and returns their number. Within a write. */
  revokeAll(accountId: number, except = ''): number {
    return this.#sql.deleteAll.run(accountId, except).changes;
  }

  #digest(token: string): Uint8Array {
    return this.#secret.digest(`session:${token}`);
  }
}
