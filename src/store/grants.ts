import { randomBytes } from 'node:crypto';
import type { AccountGrant } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import { fromRow, type Row } from './row.ts';

type NewGrant = Omit<AccountGrant, 'id' | 'paymentId' | 'createdMs'> & Partial<Pick<AccountGrant, 'paymentId'>>;

const LIST_GRANTS = `SELECT grant_id AS id, account_id AS accountId, tier_id AS tier, source,
  payment_id AS paymentId, starts_ms AS startsMs,
  ends_ms AS endsMs, created_ms AS createdMs FROM grants JOIN tiers USING (tier_id) WHERE account_id = ?
  ORDER BY position DESC, ends_ms DESC NULLS FIRST, starts_ms`;

const LIST_ACCOUNTS_WITH = `SELECT account_id AS accountId, email, MAX(COALESCE(ends_ms, ${Number.MAX_SAFE_INTEGER})) AS endsMs
  FROM grants JOIN accounts USING (account_id) WHERE tier_id = ?1 AND deleted_ms IS NULL AND (ends_ms IS NULL OR ends_ms > MAX(?2, starts_ms))
  GROUP BY account_id ORDER BY email`;

const ID_BYTES = 8;

/** An account with an unexpired grant of a tier. */
export interface GrantedAccount {
  readonly accountId: number;
  readonly email: string;
  /** The end of the grant that ends last; undefined: no end. */
  readonly endsMs: InstantMs | undefined;
}

/** Grants of tiers to accounts. A grant is never removed. */
export class Grants {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      list: database.query<Row<AccountGrant>, [number]>(LIST_GRANTS),
      accountsWith: database.query<GrantedAccount & { readonly endsMs: InstantMs }, [string, InstantMs]>(
        LIST_ACCOUNTS_WITH,
      ),
      insert: database.query<never, (string | number | null)[]>(
        `INSERT INTO grants (grant_id, account_id, tier_id, source, payment_id, starts_ms, ends_ms, created_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      end: database.query<never, [InstantMs, string]>(
        'UPDATE grants SET ends_ms = MAX(?, starts_ms) WHERE grant_id = ?',
      ),
      move: database.query<never, [InstantMs, InstantMs, string]>(
        'UPDATE grants SET starts_ms = ?, ends_ms = ? WHERE grant_id = ?',
      ),
    };
  }

  /** All grants of an account, past ones too: the highest tier first, and of one tier the one that ends last. */
  ofAccount(accountId: number): AccountGrant[] {
    return this.#sql.list.all(accountId).map(fromRow<AccountGrant>);
  }

  /** The accounts with unexpired grants of a tier, also of grants that begin later, in the order of the addresses. */
  accountsWith(tier: string, nowMs: InstantMs): GrantedAccount[] {
    return this.#sql.accountsWith
      .all(tier, nowMs)
      .map((row) => ({ ...row, endsMs: row.endsMs === Number.MAX_SAFE_INTEGER ? undefined : row.endsMs }));
  }

  /** Adds a grant. Within a write transaction. */
  add(grant: NewGrant, nowMs: InstantMs): AccountGrant {
    const id = `grant_${randomBytes(ID_BYTES).toString('hex')}`;
    const { accountId, tier, source, paymentId, startsMs, endsMs } = grant;
    this.#sql.insert.run(id, accountId, tier, source, paymentId ?? null, startsMs, endsMs ?? null, nowMs);
    return { ...grant, id, paymentId, createdMs: nowMs };
  }

  /** Changes the start and the end of a grant. Within a write transaction. */
  move(id: string, startsMs: InstantMs, endsMs: InstantMs): void {
    this.#sql.move.run(startsMs, endsMs, id);
  }

  /** Ends a grant of an account now; one that has not started yet is then never valid. Throws 'not-found', or 'conflict' if it has already ended. Within a write transaction. */
  end(accountId: number, id: string, nowMs: InstantMs): void {
    const grant = this.ofAccount(accountId).find((one) => one.id === id);
    if (grant === undefined) {
      throw new DomainError('not-found', `the account has no grant '${id}': 'bookreel account show' lists its grants`);
    }
    if (grant.endsMs !== undefined && grant.endsMs <= Math.max(nowMs, grant.startsMs)) {
      throw new DomainError('conflict', `the grant '${id}' has already ended`);
    }
    this.#sql.end.run(nowMs, id);
  }
}
