import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import { SealedText } from './sealed-text.ts';

/** An email that the mail server did not take. It is tried until `untilMs`, exclusive. */
export interface WaitingMail {
  readonly id: number;
  readonly text: string;
  readonly untilMs: InstantMs;
}

/** Pauses after the tries of a stored mail; the last one is that of all later ones too. */
const PAUSES_MS = [10, 20, 40, 60].map((minutes) => minutes * 60_000);
const KEPT_MAX = 10_000;
/** The others follow at the next call. */
const GROUP = 50;

export const TAKE_MAILS =
  'SELECT mail_id AS id, sealed, tries, until_ms AS untilMs FROM waiting_mails WHERE next_ms <= ? LIMIT ?';

/** Emails that wait for a next try, across restarts. They are stored encrypted, since their links sign in. */
export class WaitingMails {
  readonly #database: Database;
  readonly #seal: SealedText;

  constructor(database: Database, secret: KeySecret) {
    this.#database = database;
    this.#seal = new SealedText(secret, 'waiting-mail');
  }

  get count(): number {
    return this.#database.read(
      () => this.#database.query<{ count: number }, []>('SELECT COUNT(*) AS count FROM waiting_mails').get()!.count,
    );
  }

  /** Stores a mail. Returns false if there is no place; mails that it is too late for have none. */
  add(text: string, untilMs: InstantMs, dueMs: InstantMs, nowMs: InstantMs): boolean {
    const sealed = this.#seal.seal(String(untilMs), text);
    const sql = 'INSERT INTO waiting_mails (sealed, tries, next_ms, until_ms) VALUES (?, 0, ?, ?)';
    if (this.count >= KEPT_MAX) {
      const late = this.#database.query('DELETE FROM waiting_mails WHERE until_ms <= ?');
      if (this.#database.write(() => late.run(nowMs).changes) === 0) return false;
    }
    this.#database.write(() => this.#database.query(sql).run(sealed, dueMs, untilMs));
    return true;
  }

  /** Emails that are due. Each is due again after its next pause, unless it is removed. One of another key secret is removed. */
  take(nowMs: InstantMs): WaitingMail[] {
    const find = this.#database.query<WaitingMail & { sealed: Uint8Array; tries: number }, [InstantMs, number]>(
      TAKE_MAILS,
    );
    const later = this.#database.query('UPDATE waiting_mails SET tries = tries + 1, next_ms = ? WHERE mail_id = ?');
    return this.#database.write(() =>
      find.all(nowMs, GROUP).flatMap(({ id, sealed, tries, untilMs }) => {
        later.run(nowMs + (PAUSES_MS[tries] ?? PAUSES_MS.at(-1)!), id);
        try {
          return [{ id, text: this.#seal.open(String(untilMs), sealed), untilMs }];
        } catch (error) {
          if (!(error instanceof DomainError)) throw error;
          this.#database.query('DELETE FROM waiting_mails WHERE mail_id = ?').run(id);
          return [];
        }
      }),
    );
  }

  remove(id: number): void {
    this.#database.write(() => this.#database.query('DELETE FROM waiting_mails WHERE mail_id = ?').run(id));
  }
}
