import type { Database } from './database.ts';

/** A person at an OIDC provider: the claims `iss` and `sub`. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** An identity that signs in to an account, since `linkedMs`. */
export interface LinkedIdentity extends Identity {
  readonly linkedMs: number;
}

export const LIST_IDENTITIES =
  'SELECT issuer, subject, created_ms AS linkedMs FROM identities WHERE account_id = ? ORDER BY issuer, subject';

/** The links of identities to the accounts that they sign in to. */
export class Identities {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      find: database.query<{ account_id: number }, [string, string]>(
        'SELECT account_id FROM identities WHERE issuer = ? AND subject = ?',
      ),
      insert: database.query<never, [string, string, number, number]>(
        `INSERT INTO identities (issuer, subject, account_id, created_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT (issuer, subject) DO NOTHING`,
      ),
      list: database.query<LinkedIdentity, [number]>(LIST_IDENTITIES),
      delete: database.query<never, [string, string]>('DELETE FROM identities WHERE issuer = ? AND subject = ?'),
    };
  }

  /** The id of the account that the identity is linked to. */
  find({ issuer, subject }: Identity): number | undefined {
    return this.#sql.find.get(issuer, subject)?.account_id;
  }

  /** Links the identity to the account; false if it is linked already. Within a write. */
  link({ issuer, subject }: Identity, accountId: number, nowMs: number): boolean {
    return this.#sql.insert.run(issuer, subject, accountId, nowMs).changes > 0;
  }

  /** The identities that sign in to an account, by issuer and subject. */
  ofAccount(accountId: number): LinkedIdentity[] {
    return this.#sql.list.all(accountId);
  }

  /** Removes the link of an identity. Within a write. */
  unlink({ issuer, subject }: Identity): void {
    this.#sql.delete.run(issuer, subject);
  }
}
