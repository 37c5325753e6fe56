import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from '../domain/account.ts';
import type { Database } from './database.ts';
import type { Identity } from './identities.ts';
import type { KeySecret } from './key-secret.ts';

export const ATTEMPT_MS = 15 * 60_000;
export const CODE_TRIES_MAX = 5;
/** The time for which attempts count towards the limits of sign-ins. */
const KEPT_MS = 86_400_000;
/** Maximum number of attempts that are kept: the newest ones. */
const KEPT_MAX = 100_000;
const ID_BYTES = 9;

/** A sign-in, or a change of address, that was started and may be completed once, within 15 minutes. */
export interface SignInAttempt {
  readonly id: string;
  /** `email`, `command` or the name of an OIDC provider; `email-change` is no sign-in. */
  readonly method: string;
  /** Undefined for the answer of a provider. */
  readonly email: string | undefined;
  /** Linked to the account when the person has proved the address. */
  readonly identity: Identity | undefined;
  readonly codeTries: number;
  readonly createdMs: number;
  readonly usedMs: number | undefined;
}

/** A new attempt. Its link, code, browser and client are stored as keyed digests. */
export interface NewAttempt extends Pick<SignInAttempt, 'method' | 'email'> {
  readonly identity?: Identity | undefined;
  readonly link?: string;
  readonly code?: string;
  readonly isMailed?: boolean;
  /** The value of a cookie of the browser that asked. */
  readonly browser?: string;
  /** The client's address. */
  readonly client?: string;
  readonly createdMs: number;
  readonly usedMs?: number;
}

interface NewEmailChange {
  readonly account: Pick<Account, 'id' | 'email'>;
  /** The new address. */
  readonly email: string;
  readonly link: string;
  readonly client: string;
  readonly createdMs: number;
}

interface AttemptRow extends Pick<SignInAttempt, 'id' | 'method' | 'codeTries' | 'createdMs'> {
  readonly email: string | null;
  readonly identity: string | null;
  readonly usedMs: number | null;
}

const SELECT = `SELECT attempt_id AS id, method, email, identity, code_tries AS codeTries, created_ms AS createdMs, used_ms AS usedMs
  FROM sign_in_attempts`;
const COUNT = 'SELECT COUNT(*) AS count FROM sign_in_attempts';

export const FIND_ATTEMPT_BY_LINK = `${SELECT} WHERE link_digest = ?`;
export const FIND_ATTEMPT_BY_BROWSER = `${SELECT} WHERE browser_digest = ?`;
export const COUNT_ATTEMPTS_BY_CLIENT = `${COUNT} WHERE client_digest = ? AND created_ms > ?`;
export const COUNT_ATTEMPTS_BY_EMAIL = `${COUNT} WHERE email = ? AND created_ms > ? AND client_digest IS NOT NULL`;
export const COUNT_MAILED_ATTEMPTS = `${COUNT} WHERE is_mailed AND created_ms > ?`;
export const DELETE_OLD_ATTEMPTS = 'DELETE FROM sign_in_attempts WHERE created_ms <= ?';
export const DELETE_SURPLUS_ATTEMPTS = `DELETE FROM sign_in_attempts WHERE created_ms <=
  (SELECT created_ms FROM sign_in_attempts ORDER BY created_ms DESC LIMIT 1 OFFSET ${KEPT_MAX})`;

/** Attempts to sign in, and to change the address of an account. */
export class SignInAttempts {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      byLink: database.query<AttemptRow, [Uint8Array]>(FIND_ATTEMPT_BY_LINK),
      byBrowser: database.query<AttemptRow, [Uint8Array]>(FIND_ATTEMPT_BY_BROWSER),
      code: database.query<{ code_digest: Uint8Array | null }, [string]>(
        'SELECT code_digest FROM sign_in_attempts WHERE attempt_id = ?',
      ),
      insert: database.query<never, (string | number | Uint8Array | null)[]>(
        `INSERT INTO sign_in_attempts (attempt_id, method, email, link_digest, code_digest, browser_digest, client_digest, is_mailed, identity, created_ms,
           used_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (browser_digest) DO NOTHING`,
      ),
      markUsed: database.query<never, [number, string]>('UPDATE sign_in_attempts SET used_ms = ? WHERE attempt_id = ?'),
      addTry: database.query<never, [string]>(
        'UPDATE sign_in_attempts SET code_tries = code_tries + 1 WHERE attempt_id = ?',
      ),
      countByClient: database.query<{ count: number }, [Uint8Array, number]>(COUNT_ATTEMPTS_BY_CLIENT),
      countByEmail: database.query<{ count: number }, [string, number]>(COUNT_ATTEMPTS_BY_EMAIL),
      countMailed: database.query<{ count: number }, [number]>(COUNT_MAILED_ATTEMPTS),
    };
  }

  /** Adds an attempt. False if the browser's cookie has an attempt already. Within a write. */
  add(attempt: NewAttempt): boolean {
    return this.#insert(attempt, this.#digestOrNull('sign-in-link', attempt.link));
  }

  /** Adds a change of the account's address. Within a write. */
  addEmailChange({ account, link, ...attempt }: NewEmailChange): void {
    this.#insert({ ...attempt, method: 'email-change', isMailed: true }, this.#emailChangeDigest(account, link));
  }

  #insert(attempt: NewAttempt, linkDigest: Uint8Array | null): boolean {
    const id = `sia_${randomBytes(ID_BYTES).toString('hex')}`;
    const { method, email, code, browser, client, isMailed, identity, createdMs, usedMs } = attempt;
    const added = this.#sql.insert.run(
      id,
      method,
      email ?? null,
      linkDigest,
      this.#digestOrNull(`sign-in-code:${id}`, code),
      this.#digestOrNull('sign-in-browser', browser),
      this.#digestOrNull('sign-in-client', client),
      isMailed === true ? 1 : 0,
      identity === undefined ? null : JSON.stringify(identity),
      createdMs,
      usedMs ?? null,
    );
    return added.changes > 0;
  }

  /** The attempt with a link, even if it has expired or was used. */
  findByLink(link: string): SignInAttempt | undefined {
    return toAttempt(this.#sql.byLink.get(this.#digest('sign-in-link', link)));
  }

  /** The change that an account asked for while it had this address, even if it has expired or was used. */
  findEmailChange(account: Pick<Account, 'id' | 'email'>, link: string): SignInAttempt | undefined {
    return toAttempt(this.#sql.byLink.get(this.#emailChangeDigest(account, link)));
  }

  /** The attempt of a browser's cookie, even if it has expired or was used. */
  findByBrowser(browser: string): SignInAttempt | undefined {
    return toAttempt(this.#sql.byBrowser.get(this.#digest('sign-in-browser', browser)));
  }

  /** Returns true if the attempt has this code; always false for an attempt without a code. */
  isCode({ id }: SignInAttempt, code: string): boolean {
    const digest = this.#digest(`sign-in-code:${id}`, code);
    const stored = this.#sql.code.get(id)?.code_digest ?? new Uint8Array(digest.length);
    return timingSafeEqual(stored, digest);
  }

  /** Marks the attempt as used. Within the write that found it unused. */
  markUsed({ id }: SignInAttempt, nowMs: number): void {
    this.#sql.markUsed.run(nowMs, id);
  }

  /** Counts a wrong code. Within a write. */
  addTry({ id }: SignInAttempt): void {
    this.#sql.addTry.run(id);
  }

  /** The number of attempts of any kind from a client address after `sinceMs`. */
  countByClient(client: string, sinceMs: number): number {
    return this.#sql.countByClient.get(this.#digest('sign-in-client', client), sinceMs)!.count;
  }

  /** The number of attempts with an e-mail address after `sinceMs`, without those of commands. */
  countByEmail(email: string, sinceMs: number): number {
    return this.#sql.countByEmail.get(email, sinceMs)!.count;
  }

  /** The number of mails that were sent after `sinceMs`. */
  countMailed(sinceMs: number): number {
    return this.#sql.countMailed.get(sinceMs)!.count;
  }

  /** The digest of a link, the account and its address: no other account can use the link, nor this one after another change. */
  #emailChangeDigest({ id, email }: Pick<Account, 'id' | 'email'>, link: string): Uint8Array {
    return this.#digest(`email-change:${id}:${email}`, link);
  }

  #digest(purpose: string, text: string): Uint8Array {
    return this.#secret.digest(`${purpose}:${text}`);
  }

  #digestOrNull(purpose: string, text: string | undefined): Uint8Array | null {
    return text === undefined ? null : this.#digest(purpose, text);
  }
}

/** Deletes the attempts that no limit counts any more, and keeps only the newest 100,000 of the others. */
export function deleteOldAttempts(database: Database, nowMs: number): void {
  database.write(() => {
    database.query<never, [number]>(DELETE_OLD_ATTEMPTS).run(nowMs - KEPT_MS);
    database.query<never, []>(DELETE_SURPLUS_ATTEMPTS).run();
  });
}

function toAttempt(row: AttemptRow | null): SignInAttempt | undefined {
  if (row === null) return undefined;
  const identity: Identity | undefined = row.identity === null ? undefined : JSON.parse(row.identity);
  return { ...row, email: row.email ?? undefined, identity, usedMs: row.usedMs ?? undefined };
}
