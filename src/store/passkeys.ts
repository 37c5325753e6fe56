import { randomBytes, randomInt } from 'node:crypto';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import { UNDO_MS } from './undo-links.ts';

/** None of them looks like another one. A code of four groups of five has 98 random bits. */
const CODE_CHARACTERS = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODES = 10;

/** A public key of WebAuthn that signs in to an account. */
export interface Passkey {
  readonly id: string;
  readonly accountId: number;
  /** The id that the authenticator chose, as base64url. */
  readonly credentialId: string;
  /** COSE_Key. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** The number of signatures that the authenticator stated last; 0: it does not count them. */
  readonly counter: number;
  /** How browsers reach the authenticator, as WebAuthn names it, separated by commas: `internal,hybrid`. */
  readonly transports: string;
  readonly name: string;
  readonly createdMs: InstantMs;
  readonly lastUsedMs: InstantMs | null;
  /** The time of the latest challenge that it answered. */
  readonly challengeMs: InstantMs;
}

const SELECT = `SELECT passkey_id AS id, account_id AS accountId, credential_id AS credentialId, public_key AS publicKey, counter,
  transports, name, created_ms AS createdMs, last_used_ms AS lastUsedMs, challenge_ms AS challengeMs FROM passkeys`;
export const FIND_PASSKEY = `${SELECT} WHERE credential_id = ? AND removed_ms IS NULL`;
export const LIST_PASSKEYS = `${SELECT} WHERE account_id = ? AND removed_ms IS NULL ORDER BY created_ms, passkey_id`;
const FIND_OWNER = 'SELECT account_id AS accountId FROM passkeys WHERE passkey_id = ? AND removed_ms IS NULL';
const INSERT = `INSERT INTO passkeys (passkey_id, account_id, credential_id, public_key, counter, transports, name, created_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (credential_id) DO NOTHING`;
const USE = 'UPDATE passkeys SET counter = ?, challenge_ms = ?, last_used_ms = ? WHERE passkey_id = ?';
const REMOVE = 'UPDATE passkeys SET removed_ms = ? WHERE passkey_id = ? AND account_id = ? AND removed_ms IS NULL';
const DELETE_REMOVED = 'DELETE FROM passkeys WHERE account_id = ? AND removed_ms <= ?';
const DELETE_SINCE = 'DELETE FROM passkeys WHERE account_id = ? AND created_ms >= ?';
const GIVE_BACK = `UPDATE passkeys SET removed_ms = NULL WHERE account_id = ? AND removed_ms >= ? RETURNING passkey_id AS id`;
const INSERT_CODE = 'INSERT INTO recovery_codes (account_id, digest) VALUES (?, ?)';
const COUNT_CODES = 'SELECT COUNT(*) AS count FROM recovery_codes WHERE account_id = ?';
const DELETE_CODE = 'DELETE FROM recovery_codes WHERE account_id = ? AND digest = ?';
const DELETE_CODES = 'DELETE FROM recovery_codes WHERE account_id = ?';

/** The passkeys of accounts, and the codes that replace one, each once, of which only keyed digests are stored. */
export class Passkeys {
  readonly #database: Database;
  readonly #secret: KeySecret;

  constructor(database: Database, secret: KeySecret) {
    this.#database = database;
    this.#secret = secret;
  }

  find(credentialId: string): Passkey | undefined {
    return this.#database.query<Passkey, [string]>(FIND_PASSKEY).get(credentialId) ?? undefined;
  }

  /** The account of a passkey; undefined for an id that is unknown or was removed. */
  accountOf(id: string): number | undefined {
    return this.#database.query<{ accountId: number }, [string]>(FIND_OWNER).get(id)?.accountId;
  }

  /** Oldest first. */
  ofAccount(accountId: number): Passkey[] {
    return this.#database.query<Passkey, [number]>(LIST_PASSKEYS).all(accountId);
  }

  /** Adds a passkey, deletes those that were removed 7 days ago, and returns its id; undefined if an account has it already. Within a write. */
  add(passkey: Omit<Passkey, 'id' | 'lastUsedMs' | 'challengeMs'>): string | undefined {
    const { accountId, credentialId, publicKey, counter, transports, name, createdMs } = passkey;
    this.#database.query(DELETE_REMOVED).run(accountId, createdMs - UNDO_MS);
    const id = `pk_${randomBytes(9).toString('hex')}`;
    const values = [id, accountId, credentialId, publicKey, counter, transports, name, createdMs];
    return this.#database.query(INSERT).run(...values).changes > 0 ? id : undefined;
  }

  /** Writes that the passkey answered the challenge of this time. Within a write. */
  use({ id }: Passkey, counter: number, challengeMs: InstantMs, nowMs: InstantMs): void {
    this.#database.query(USE).run(counter, challengeMs, nowMs, id);
  }

  /**
   * Removes a passkey of the account, and all codes with the last one; false if it has none with this id. `undoSince` gives it back for 7
   * days from `removedMs`; with 0 never. Within a write.
   */
  remove(accountId: number, id: string, removedMs: InstantMs): boolean {
    const isRemoved = this.#database.query(REMOVE).run(removedMs, id, accountId).changes > 0;
    if (this.ofAccount(accountId).length === 0) this.#database.query(DELETE_CODES).run(accountId);
    return isRemoved;
  }

  /**
   * Deletes the passkeys that were added then or later, and all codes; gives back those that were removed since, and returns their ids.
   * With 0 it deletes everything of the account. Within a write.
   */
  undoSince(accountId: number, sinceMs: InstantMs): string[] {
    this.#database.query(DELETE_SINCE).run(accountId, sinceMs);
    this.#database.query(DELETE_CODES).run(accountId);
    return this.#database
      .query<{ id: string }, [number, InstantMs]>(GIVE_BACK)
      .all(accountId, sinceMs)
      .map(({ id }) => id);
  }

  /** Gives the account ten new codes instead of those that are left: `AB2CD-EFGHJ-…`. Within a write. */
  newCodes(accountId: number): string[] {
    this.#database.query(DELETE_CODES).run(accountId);
    const codes = Array.from({ length: CODES }, randomCode);
    for (const code of codes) this.#database.query(INSERT_CODE).run(accountId, this.#digest(code));
    return codes;
  }

  /** The number of codes that were not used yet. */
  codesLeft(accountId: number): number {
    return this.#database.query<{ count: number }, [number]>(COUNT_CODES).get(accountId)!.count;
  }

  /** Uses a code up, in any spelling; false if it is none of the account. Within a write. */
  useCode(accountId: number, typed: string): boolean {
    return this.#database.query(DELETE_CODE).run(accountId, this.#digest(typed)).changes > 0;
  }

  #digest(code: string): Uint8Array {
    return this.#secret.digest(`recovery-code:${code.toUpperCase().replace(/[^0-9A-Z]/g, '')}`);
  }
}

function randomCode(): string {
  const group = () => Array.from({ length: 5 }, () => CODE_CHARACTERS[randomInt(CODE_CHARACTERS.length)]).join('');
  return Array.from({ length: 4 }, group).join('-');
}
