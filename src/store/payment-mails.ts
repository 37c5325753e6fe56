import type { InstantMs } from '../domain/instant.ts';
import type { PaymentQuote } from '../domain/payment.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Database } from './database.ts';

/** An email to a buyer that was not sent yet: after a purchase, or some time before the last paid term ends. */
export interface DueMail extends Pick<PaymentQuote, 'priceCents'> {
  readonly occasion: 'receipt' | 'week' | 'day';
  readonly paymentId: string;
  readonly quoteId: string;
  readonly email: string;
  /** The name of the tier. */
  readonly tier: string;
  readonly startsMs: InstantMs;
  /** Exclusive. */
  readonly endsMs: InstantMs;
}

const COLUMNS = `p.payment_id AS paymentId, p.quote_id AS quoteId, price_cents AS priceCents, a.email, t.name AS tier`;
const JOINED = `JOIN payments AS p ON p.payment_id = g.payment_id JOIN payment_quotes AS q ON q.quote_id = p.quote_id
  JOIN accounts AS a ON a.account_id = g.account_id JOIN tiers AS t ON t.tier_id = g.tier_id`;
/** Addresses of this machine get no email: those of keys without an account, and of a demo. */
const REACHABLE = `a.disabled_ms IS NULL AND a.email NOT LIKE '%@localhost'`;
const notSent = (occasion: string, endsMs: string) => `NOT EXISTS (SELECT * FROM payment_mails AS m
  WHERE m.payment_id = p.payment_id AND m.occasion = ${occasion} AND m.ends_ms = ${endsMs})`;
const OCCASION = `CASE WHEN g.ends_ms > ?1 + ${DAY_MS} THEN 'week' ELSE 'day' END`;

/** The payments that were mined since an instant. */
export const LIST_DUE_RECEIPTS = `SELECT ${COLUMNS}, 'receipt' AS occasion, MIN(starts_ms) AS startsMs, MAX(ends_ms) AS endsMs
  FROM payments AS p JOIN grants AS g ON g.account_id = p.account_id AND g.payment_id = p.payment_id
  JOIN payment_quotes AS q ON q.quote_id = p.quote_id
  JOIN accounts AS a ON a.account_id = p.account_id JOIN tiers AS t ON t.tier_id = q.tier_id
  WHERE settled_ms > ?1 AND ${REACHABLE} AND ${notSent("'receipt'", '0')} GROUP BY settled_ms, p.sequence LIMIT ?2`;
/** The paid terms that end in a week, unless a paid one or one of the same tier or a higher one ends later. */
export const LIST_DUE_ENDS = `SELECT ${COLUMNS}, ${OCCASION} AS occasion, starts_ms AS startsMs, g.ends_ms AS endsMs FROM grants AS g ${JOINED}
  WHERE g.source = 'payment' AND g.ends_ms > ?1 AND g.ends_ms > g.starts_ms AND g.ends_ms <= ?1 + 7 * ${DAY_MS} AND ${REACHABLE}
  AND NOT EXISTS (SELECT * FROM grants AS later JOIN tiers AS o ON o.tier_id = later.tier_id
    WHERE later.account_id = g.account_id AND (later.ends_ms IS NULL OR later.ends_ms > MAX(g.ends_ms, later.starts_ms))
    AND (later.source = 'payment' OR o.position >= t.position))
  AND ${notSent(OCCASION, 'g.ends_ms')} LIMIT ?2`;

/** Earlier purchases get no receipt: the service sent no email then. */
const RECEIPT_MS = DAY_MS;
/** The others follow at the next call. */
const GROUP = 100;

/** The emails about payments that buyers get, each once. */
export class PaymentMails {
  readonly #database: Database;
  readonly #sql;

  constructor(database: Database) {
    this.#database = database;
    this.#sql = {
      receipts: database.query<DueMail, [InstantMs, number]>(LIST_DUE_RECEIPTS),
      ends: database.query<DueMail, [InstantMs, number]>(LIST_DUE_ENDS),
      insert: database.query<never, [string, string, InstantMs]>(
        'INSERT INTO payment_mails (payment_id, occasion, ends_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      ),
    };
  }

  /** At most 200 mails that are due, which are stored as sent: whatever happens then, none is sent twice. */
  take(nowMs: InstantMs): DueMail[] {
    const find = () => [...this.#sql.receipts.all(nowMs - RECEIPT_MS, GROUP), ...this.#sql.ends.all(nowMs, GROUP)];
    if (this.#database.read(find).length === 0) return [];
    return this.#database.write(() =>
      find().filter(
        ({ paymentId, occasion, endsMs }) =>
          this.#sql.insert.run(paymentId, occasion, occasion === 'receipt' ? 0 : endsMs).changes === 1,
      ),
    );
  }
}
