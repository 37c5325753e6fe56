import { randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Payment, PaymentQuote } from '../domain/payment.ts';
import type { Database } from './database.ts';

interface QuoteRow extends Omit<PaymentQuote, 'amount'> {
  readonly amount: string;
}

type Columns = 'payer' | 'nonce' | 'validBefore' | 'state' | 'createdMs';
type PaymentRow = Pick<Payment, Columns> &
  Omit<QuoteRow, 'id' | 'createdMs'> & {
    readonly id: string;
    readonly quoteId: string;
    readonly quotedMs: InstantMs;
    readonly transaction: string | null;
    readonly block: number | null;
    readonly settledMs: InstantMs | null;
    readonly refund: string | null;
    readonly invoice: number | null;
  };

/** The fields by which a chain identifies a transfer to the service. */
export type TransferName = Pick<PaymentQuote, 'network' | 'asset'> & Pick<Payment, 'payer' | 'nonce'>;
export type NewPayment = Pick<Payment, 'quote' | 'payer' | 'nonce' | 'validBefore'>;

const QUOTE_COLUMNS = `account_id AS accountId, tier_id AS tier, price_cents AS priceCents, q.network, q.asset,
  pay_to AS payTo, amount, since_block AS sinceBlock, expires_ms AS expiresMs`;
const SELECT_QUOTE = `SELECT quote_id AS id, ${QUOTE_COLUMNS}, created_ms AS createdMs FROM payment_quotes AS q`;
const SELECT = `SELECT payment_id AS id, quote_id AS quoteId, payer, nonce, valid_before AS validBefore, state,
  tx_hash AS "transaction", block, settled_ms AS settledMs, refund_hash AS refund, number AS invoice,
  p.created_ms AS createdMs, ${QUOTE_COLUMNS.replace('account_id', 'p.account_id')}, q.created_ms AS quotedMs
  FROM payments AS p JOIN payment_quotes AS q USING (quote_id) LEFT JOIN refunds USING (payment_id)
  LEFT JOIN invoices USING (payment_id)`;
const BEFORE = 'sequence < COALESCE((SELECT sequence FROM payments WHERE payment_id = ?), 9223372036854775807)';

/** The unpaid quotes of an account for a tier and a token that are valid at an instant, the last one first. */
export const FIND_OPEN_QUOTE = `${SELECT_QUOTE} WHERE account_id = ? AND tier_id = ? AND network = ? AND asset = ?
  AND expires_ms > ? AND NOT EXISTS (SELECT * FROM payments AS p WHERE p.quote_id = q.quote_id)
  ORDER BY expires_ms DESC LIMIT 1`;
export const DELETE_OLD_QUOTES = `DELETE FROM payment_quotes WHERE expires_ms < ?
  AND NOT EXISTS (SELECT * FROM payments AS p WHERE p.quote_id = payment_quotes.quote_id)`;
export const FIND_PAYMENT = `${SELECT} WHERE p.network = ? AND p.asset = ? AND payer = ? AND nonce = ?`;
export const FIND_PAYMENT_OF_QUOTE = `${SELECT} WHERE quote_id = ?`;
export const FIND_IDENTIFIED_PAYMENT = `${SELECT} WHERE payment_id =
  (SELECT i.payment_id FROM payment_identifiers AS i WHERE i.account_id = ? AND identifier = ?)`;
export const LIST_PAYMENTS_OF_ACCOUNT = `${SELECT} WHERE p.account_id = ? AND ${BEFORE} ORDER BY sequence DESC LIMIT ?`;
export const LIST_PAYMENTS = `${SELECT} WHERE ${BEFORE} ORDER BY sequence DESC LIMIT ?`;
export const LIST_OPEN_PAYMENTS = `${SELECT} WHERE state IN ('pending', 'settled') AND sequence > COALESCE(
  (SELECT sequence FROM payments WHERE payment_id = ?), 0) ORDER BY sequence LIMIT ?`;
/** A reorganisation deeper than expected may have mined the transfer of a failed payment. */
export const LIST_UNFINISHED_PAYMENTS = `${SELECT} WHERE state <> 'final' AND sequence > COALESCE(
  (SELECT sequence FROM payments WHERE payment_id = ?), 0) ORDER BY sequence LIMIT ?`;
/** The last payment of an account for a tier that is pending, or that a client was told is pending and that was mined after an instant. */
export const FIND_UNDERWAY = `${SELECT} LEFT JOIN payment_sends USING (payment_id) WHERE p.account_id = ? AND tier_id = ?
  AND (state = 'pending' OR was_pending = 1 AND settled_ms > ?) ORDER BY sequence DESC LIMIT 1`;
/** The condition on both states lets it use the index of open payments, that on the sequence search in it. */
export const COUNT_PENDING_PAYMENTS = `SELECT COUNT(*) AS pending FROM payments
  WHERE state IN ('pending', 'settled') AND state = 'pending' AND sequence > 0`;

const ID_BYTES = 8;

/** Quotes and payments. All methods that change one belong in a write transaction. */
export class Payments {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      findQuote: database.query<QuoteRow, [string]>(`${SELECT_QUOTE} WHERE quote_id = ?`),
      findOpenQuote: database.query<QuoteRow, [number, string, string, string, InstantMs]>(FIND_OPEN_QUOTE),
      insertQuote: database.query<never, (string | number)[]>(
        `INSERT INTO payment_quotes (quote_id, account_id, tier_id, price_cents, network, asset, pay_to, amount,
         since_block, created_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      deleteOldQuotes: database.query<never, [InstantMs]>(DELETE_OLD_QUOTES),
      get: database.query<PaymentRow, [string]>(`${SELECT} WHERE payment_id = ?`),
      find: database.query<PaymentRow, [string, string, string, string]>(FIND_PAYMENT),
      ofQuote: database.query<PaymentRow, [string]>(FIND_PAYMENT_OF_QUOTE),
      listOfAccount: database.query<PaymentRow, [number, string, number]>(LIST_PAYMENTS_OF_ACCOUNT),
      list: database.query<PaymentRow, [string, number]>(LIST_PAYMENTS),
      findUnderway: database.query<PaymentRow, [number, string, InstantMs]>(FIND_UNDERWAY),
      firstBlock: database.query<{ block: number }, [string, string]>(
        'SELECT block FROM first_quotes WHERE network = ? AND asset = ?',
      ),
      addFirst: database.query<never, [string, string, number]>(
        'INSERT INTO first_quotes (network, asset, block) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      countPending: database.query<{ pending: number }, []>(COUNT_PENDING_PAYMENTS),
      listOpen: database.query<PaymentRow, [string, number]>(LIST_OPEN_PAYMENTS),
      listUnfinished: database.query<PaymentRow, [string, number]>(LIST_UNFINISHED_PAYMENTS),
      insert: database.query<never, (string | number)[]>(
        `INSERT INTO payments (payment_id, account_id, quote_id, network, asset, payer, nonce, valid_before, created_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ),
      findIdentified: database.query<PaymentRow, [number, string]>(FIND_IDENTIFIED_PAYMENT),
      identify: database.query<never, [number, string, string]>(
        `INSERT INTO payment_identifiers (account_id, identifier, payment_id) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET payment_id = excluded.payment_id`,
      ),
      refund: database.query<never, [string, string, InstantMs]>('INSERT INTO refunds VALUES (?, ?, ?)'),
      update: database.query<never, (string | number | null)[]>(
        'UPDATE payments SET (state, tx_hash, block, settled_ms) = (?, ?, ?, ?) WHERE payment_id = ?',
      ),
    };
  }

  addQuote(quote: Omit<PaymentQuote, 'id'>): PaymentQuote {
    const id = newId('quote');
    const { accountId, tier, priceCents, network, asset, payTo, amount, sinceBlock, createdMs, expiresMs } = quote;
    const terms = [network, asset, payTo, String(amount), sinceBlock, createdMs, expiresMs];
    this.#sql.insertQuote.run(id, accountId, tier, priceCents, ...terms);
    this.#sql.addFirst.run(network, asset, sinceBlock);
    return { id, ...quote };
  }

  findQuote(id: string): PaymentQuote | undefined {
    return toQuote(this.#sql.findQuote.get(id));
  }

  /** The unpaid quote of an account for a tier and a token that is valid at an instant; of several, the one that expires last. */
  openQuote(
    { accountId, tier, network, asset }: Pick<PaymentQuote, 'accountId' | 'tier' | 'network' | 'asset'>,
    nowMs: InstantMs,
  ): PaymentQuote | undefined {
    return toQuote(this.#sql.findOpenQuote.get(accountId, tier, network, asset, nowMs));
  }

  /** Deletes the unpaid quotes that expired before an instant. */
  deleteOldQuotes(beforeMs: InstantMs): void {
    this.#sql.deleteOldQuotes.run(beforeMs);
  }

  /** Throws 'conflict' if the transfer or the quote has a payment already. */
  add({ quote, payer, nonce, validBefore }: NewPayment, nowMs: InstantMs): Payment {
    const id = newId('pay');
    const transfer = [quote.network, quote.asset, payer, nonce, validBefore];
    const { changes } = this.#sql.insert.run(id, quote.accountId, quote.id, ...transfer, nowMs);
    if (changes === 1) return this.get(id)!;
    throw new DomainError('conflict', 'this quote or this signed transfer was already used: ask for another quote');
  }

  get(id: string): Payment | undefined {
    return toPayment(this.#sql.get.get(id));
  }

  /** Throws 'not-found'. */
  named(id: string): Payment {
    const payment = this.get(id);
    if (payment !== undefined) return payment;
    throw new DomainError('not-found', `there is no payment '${id}': 'bookreel billing list' shows all`);
  }

  /** Stores that a payment was paid back, which is done once. */
  refund(id: string, transaction: string, nowMs: InstantMs): void {
    this.#sql.refund.run(id, transaction, nowMs);
  }

  /** The last payment that a client of an account has given an identifier. */
  identified(accountId: number, identifier: string): Payment | undefined {
    return toPayment(this.#sql.findIdentified.get(accountId, identifier));
  }

  /** Gives a payment an identifier of its client; it may have several. */
  identify({ id, quote }: Pick<Payment, 'id' | 'quote'>, identifier: string): void {
    this.#sql.identify.run(quote.accountId, identifier, id);
  }

  /** The payment of a transfer. */
  find({ network, asset, payer, nonce }: TransferName): Payment | undefined {
    return toPayment(this.#sql.find.get(network, asset, payer, nonce));
  }

  /**
   * The payment of an account for a tier that is pending, else one that a client was told is pending and that was mined after an instant;
   * of several the last one.
   */
  underway(accountId: number, tier: string, settledAfterMs: InstantMs): Payment | undefined {
    return toPayment(this.#sql.findUnderway.get(accountId, tier, settledAfterMs));
  }

  /** The block of the first quote for a token; undefined if there never was one. */
  firstBlock(network: string, asset: string): number | undefined {
    return this.#sql.firstBlock.get(network, asset)?.block;
  }

  ofQuote(quoteId: string): Payment | undefined {
    return toPayment(this.#sql.ofQuote.get(quoteId));
  }

  /** At most `limit` payments, of an account if given, that were made before the payment `beforeId`; the latest first. */
  list(
    limit: number,
    { accountId, beforeId = '' }: { accountId?: number | undefined; beforeId?: string | undefined } = {},
  ): Payment[] {
    const rows =
      accountId === undefined
        ? this.#sql.list.all(beforeId, limit)
        : this.#sql.listOfAccount.all(accountId, beforeId, limit);
    return rows.map((row) => toPayment(row)!);
  }

  /** At most `limit` payments that the chain may still change, with those that failed if wanted, made after the payment `afterId`; the oldest first. */
  open(limit: number, afterId = '', withFailed = false): Payment[] {
    const { listOpen, listUnfinished } = this.#sql;
    return (withFailed ? listUnfinished : listOpen).all(afterId, limit).map((row) => toPayment(row)!);
  }

  /** The number of payments that are not mined yet. */
  pendingCount(): number {
    return this.#sql.countPending.get()!.pending;
  }

  /** Stores the state of a payment, and what the chain says of it. */
  update({ id, state, transaction, block, settledMs }: Payment): void {
    this.#sql.update.run(state, transaction ?? null, block ?? null, settledMs ?? null, id);
  }
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(ID_BYTES).toString('hex')}`;
}

function toQuote(row: QuoteRow | null): PaymentQuote | undefined {
  return row === null ? undefined : { ...row, amount: BigInt(row.amount) };
}

function toPayment(row: PaymentRow | null): Payment | undefined {
  if (row === null) return undefined;
  const { id, payer, nonce, validBefore, state, createdMs, quoteId, quotedMs, ...rest } = row;
  const { transaction, block, settledMs, refund, invoice, amount, ...quote } = rest;
  return {
    id,
    quote: { ...quote, id: quoteId, amount: BigInt(amount), createdMs: quotedMs },
    payer,
    nonce,
    validBefore,
    state,
    transaction: transaction ?? undefined,
    block: block ?? undefined,
    settledMs: settledMs ?? undefined,
    refund: refund ?? undefined,
    invoice: invoice ?? undefined,
    createdMs,
  };
}
