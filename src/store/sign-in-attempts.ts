import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from '../domain/account.ts';
import { baseOf } from '../domain/email-address.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';
import type { Identity } from './identities.ts';
import type { KeySecret } from './key-secret.ts';

export const ATTEMPT_MS = 15 * 60_000;
export const CODE_TRIES_MAX = 5;
/** The time for which attempts count towards the limits of sign-ins. */
const KEPT_MS = DAY_MS;
/** Maximum number of attempts that are kept. */
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
  /** The client's address: that of IPv4, or the first 64 bits of IPv6 in hexadecimal digits. */
  readonly client?: string;
  /** The value of the cookie of a browser that signed in before. */
  readonly device?: string | undefined;
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

/** Numbers of wrong codes of a day. */
interface WrongCodes {
  /** Of the device; of another browser, those from its network with the address. */
  readonly own: WrongRow;
  /** Of all unknown browsers with the address; 0 for a device. */
  readonly ofAddress: number;
  readonly ofNetwork: number;
}

interface WrongRow {
  readonly count: number;
  readonly lastMs: number | null;
}

interface Digests {
  readonly base: Uint8Array | null;
  readonly network: Uint8Array | null;
  readonly device: Uint8Array | null;
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
const BY_STRANGER = 'succeeded = 0 AND device_digest IS NULL';
export const COUNT_ATTEMPTS_BY_CLIENT = `${COUNT} WHERE client_digest = ? AND created_ms > ? AND ${BY_STRANGER}`;
export const COUNT_ATTEMPTS_BY_NETWORK = `${COUNT} WHERE network_digest = ? AND created_ms > ? AND ${BY_STRANGER}`;
export const COUNT_ATTEMPTS_BY_DEVICE = `${COUNT} WHERE device_digest = ? AND created_ms > ? AND succeeded = 0`;
export const COUNT_ATTEMPTS_WITH_ADDRESS = `${COUNT} WHERE base_digest = ? AND created_ms > ? AND network_digest = ? AND ${BY_STRANGER}`;
/** A change of an address is no sign-in: each has its own limits. */
export const COUNT_MAILS_TO = `${COUNT} WHERE base_digest = ? AND created_ms > ? AND is_mailed AND (method = 'email-change') = ? AND ${BY_STRANGER}`;
/** The links of attempts that are linked to an identity do not work in every browser. */
export const FIND_LAST_MAIL = `SELECT 1 FROM sign_in_attempts
  WHERE base_digest = ? AND created_ms > ? AND is_mailed AND method = 'email' AND email = ? AND used_ms IS NULL`;
const WRONG_CODES = 'SELECT TOTAL(code_tries) AS count, MAX(last_try_ms) AS lastMs FROM sign_in_attempts';
export const WRONG_CODES_WITH_ADDRESS = `${WRONG_CODES} WHERE base_digest = ? AND created_ms > ? AND device_digest IS NULL`;
export const WRONG_CODES_OF_NETWORK = `${WRONG_CODES} WHERE network_digest = ? AND created_ms > ? AND device_digest IS NULL`;
export const WRONG_CODES_OF_DEVICE = `${WRONG_CODES} WHERE device_digest = ? AND created_ms > ?`;
export const WRONG_CODES_OF_BOTH = `${WRONG_CODES_WITH_ADDRESS} AND network_digest = ?`;
export const COUNT_MAILED_ATTEMPTS = `${COUNT} WHERE is_mailed AND created_ms > ?`;
export const DELETE_OLD_ATTEMPTS = 'DELETE FROM sign_in_attempts WHERE created_ms <= ?';
/** Those without wrong codes first, of the networks that have most, the oldest of each: a flood forgets its own. */
const DELETE_SURPLUS_ATTEMPTS = `DELETE FROM sign_in_attempts WHERE attempt_id IN (
  SELECT attempt_id FROM sign_in_attempts ORDER BY code_tries = 0,
    ROW_NUMBER() OVER (PARTITION BY code_tries = 0, network_digest ORDER BY created_ms DESC), created_ms DESC LIMIT -1 OFFSET ${KEPT_MAX})`;

/** Attempts to sign in, and to change the address of an account. */
export class SignInAttempts {
  readonly #secret: KeySecret;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#secret = secret;
    this.#sql = {
      byLink: database.query<AttemptRow, [Uint8Array]>(FIND_ATTEMPT_BY_LINK),
      byBrowser: database.query<AttemptRow, [Uint8Array]>(FIND_ATTEMPT_BY_BROWSER),
      digests: database.query<Digests, [string]>(
        'SELECT base_digest AS base, network_digest AS network, device_digest AS device FROM sign_in_attempts WHERE attempt_id = ?',
      ),
      code: database.query<{ code_digest: Uint8Array | null }, [string]>(
        'SELECT code_digest FROM sign_in_attempts WHERE attempt_id = ?',
      ),
      insert: database.query<never, (string | number | Uint8Array | null)[]>(
        `INSERT INTO sign_in_attempts (attempt_id, method, email, base_digest, link_digest, code_digest, browser_digest, client_digest,
           network_digest, device_digest, is_mailed, identity, created_ms, used_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (browser_digest) DO NOTHING`,
      ),
      markUsed: database.query<never, [number, string]>(
        'UPDATE sign_in_attempts SET used_ms = ?, succeeded = 1 WHERE attempt_id = ?',
      ),
      forgive: database.query<never, [Uint8Array]>(
        'UPDATE sign_in_attempts SET succeeded = 1 WHERE browser_digest = ? AND email IS NULL',
      ),
      addTry: database.query<never, [number, string]>(
        'UPDATE sign_in_attempts SET code_tries = code_tries + 1, last_try_ms = ? WHERE attempt_id = ?',
      ),
      countByClient: database.query<{ count: number }, [Uint8Array, number]>(COUNT_ATTEMPTS_BY_CLIENT),
      countByNetwork: database.query<{ count: number }, [Uint8Array, number]>(COUNT_ATTEMPTS_BY_NETWORK),
      countByDevice: database.query<{ count: number }, [Uint8Array, number]>(COUNT_ATTEMPTS_BY_DEVICE),
      countWith: database.query<{ count: number }, [Uint8Array, number, Uint8Array]>(COUNT_ATTEMPTS_WITH_ADDRESS),
      countMailsTo: database.query<{ count: number }, [Uint8Array, number, number]>(COUNT_MAILS_TO),
      lastMail: database.query<object, [Uint8Array, number, string]>(FIND_LAST_MAIL),
      wrongWith: database.query<WrongRow, [Uint8Array, number]>(WRONG_CODES_WITH_ADDRESS),
      wrongOfNetwork: database.query<WrongRow, [Uint8Array, number]>(WRONG_CODES_OF_NETWORK),
      wrongOfDevice: database.query<WrongRow, [Uint8Array, number]>(WRONG_CODES_OF_DEVICE),
      wrongOfBoth: database.query<WrongRow, [Uint8Array, number, Uint8Array]>(WRONG_CODES_OF_BOTH),
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
    const { method, email, code, browser, client, device, isMailed, identity, createdMs, usedMs } = attempt;
    const added = this.#sql.insert.run(
      id,
      method,
      email ?? null,
      email === undefined ? null : this.#baseDigest(email),
      linkDigest,
      this.#digestOrNull(`sign-in-code:${id}`, code),
      this.#digestOrNull('sign-in-browser', browser),
      this.#digestOrNull('sign-in-client', client),
      client === undefined ? null : this.#networkDigest(client),
      this.#digestOrNull('sign-in-device', device),
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

  /** Marks the attempt as used, by a person who signed in. Within the write that found it unused. */
  markUsed({ id }: SignInAttempt, nowMs: number): void {
    this.#sql.markUsed.run(nowMs, id);
  }

  /** Stops counting the answer of a provider in a browser that has signed in. A request for an email counts until it is used. Within a write. */
  forgive(browser: string): void {
    this.#sql.forgive.run(this.#digest('sign-in-browser', browser));
  }

  /** Counts a wrong code. Within a write. */
  addTry({ id }: SignInAttempt, nowMs: number): void {
    this.#sql.addTry.run(nowMs, id);
  }

  /** The wrong codes after `sinceMs` that limit an attempt, and when the last one of the same requester was typed. */
  wrongCodes({ id }: SignInAttempt, sinceMs: number): WrongCodes {
    const { base, network, device } = this.#sql.digests.get(id)!;
    const { wrongWith, wrongOfNetwork, wrongOfDevice, wrongOfBoth } = this.#sql;
    if (device !== null) return { own: wrongOfDevice.get(device, sinceMs)!, ofAddress: 0, ofNetwork: 0 };
    // An attempt of version 1 has neither, and is 15 minutes old soon.
    if (base === null || network === null) return { own: { count: 0, lastMs: null }, ofAddress: 0, ofNetwork: 0 };
    return {
      own: wrongOfBoth.get(base, sinceMs, network)!,
      ofAddress: wrongWith.get(base, sinceMs)!.count,
      ofNetwork: wrongOfNetwork.get(network, sinceMs)!.count,
    };
  }

  /** The number of failed attempts of any kind of unknown browsers after `sinceMs`, from a client address. */
  countByClient(client: string, sinceMs: number): number {
    return this.#sql.countByClient.get(this.#digest('sign-in-client', client), sinceMs)!.count;
  }

  /** The same from the network of a client address. */
  countByNetwork(client: string, sinceMs: number): number {
    return this.#sql.countByNetwork.get(this.#networkDigest(client), sinceMs)!.count;
  }

  /** The same with an email address, from the network of a client address. */
  countWith(email: string, client: string, sinceMs: number): number {
    return this.#sql.countWith.get(this.#baseDigest(email), sinceMs, this.#networkDigest(client))!.count;
  }

  /** The number of failed attempts of a browser that signed in before. */
  countByDevice(device: string, sinceMs: number): number {
    return this.#sql.countByDevice.get(this.#digest('sign-in-device', device), sinceMs)!.count;
  }

  /** The number of emails that unknown browsers caused to an address in all spellings after `sinceMs`, without those of sign-ins that succeeded. */
  countMailsTo(email: string, sinceMs: number, isChange: boolean): number {
    return this.#sql.countMailsTo.get(this.#baseDigest(email), sinceMs, isChange ? 1 : 0)!.count;
  }

  /** Returns true if a link was mailed to this spelling after `sinceMs` that nobody used and that works in every browser. */
  hasMailSince(email: string, sinceMs: number): boolean {
    return this.#sql.lastMail.get(this.#baseDigest(email), sinceMs, email) !== null;
  }

  /** The number of emails that were sent after `sinceMs`. */
  countMailed(sinceMs: number): number {
    return this.#sql.countMailed.get(sinceMs)!.count;
  }

  /** The digest of a link, the account and its address: no other account can use the link, nor this one after another change. */
  #emailChangeDigest({ id, email }: Pick<Account, 'id' | 'email'>, link: string): Uint8Array {
    return this.#digest(`email-change:${id}:${email}`, link);
  }

  #baseDigest(email: string): Uint8Array {
    return this.#digest('sign-in-base', baseOf(email));
  }

  #networkDigest(client: string): Uint8Array {
    return this.#digest('sign-in-network', networkOf(client));
  }

  #digest(purpose: string, text: string): Uint8Array {
    return this.#secret.digest(`${purpose}:${text}`);
  }

  #digestOrNull(purpose: string, text: string | undefined): Uint8Array | null {
    return text === undefined ? null : this.#digest(purpose, text);
  }
}

/** The /24 of an IPv4 address, or the /48 of the first 64 bits of an IPv6 address. */
export function networkOf(client: string): string {
  return client.includes('.') ? client.replace(/\.\d+$/, '') : client.slice(0, -4);
}

/** Deletes the attempts that no limit counts any more, and keeps only 100,000 of the others: a flood forgets its own first. */
export function deleteOldAttempts(database: Database, nowMs: number): void {
  database.write(() => {
    database.query<never, [number]>(DELETE_OLD_ATTEMPTS).run(nowMs - KEPT_MS);
    const { count } = database.query<{ count: number }, []>(COUNT).get()!;
    if (count > KEPT_MAX) database.query<never, []>(DELETE_SURPLUS_ATTEMPTS).run();
  });
}

function toAttempt(row: AttemptRow | null): SignInAttempt | undefined {
  if (row === null) return undefined;
  const identity: Identity | undefined = row.identity === null ? undefined : JSON.parse(row.identity);
  return { ...row, email: row.email ?? undefined, identity, usedMs: row.usedMs ?? undefined };
}
