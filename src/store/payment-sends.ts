import type { InstantMs } from '../domain/instant.ts';
import type { Payment, PaymentQuote } from '../domain/payment.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import { SealedText } from './sealed-text.ts';

/** A transaction that may have carried a payment's transfer. `own`: of the service's gas key. */
export interface PaymentTransaction {
  readonly hash: string;
  readonly own: OwnTransaction | undefined;
}

interface OwnTransaction {
  readonly nonce: number;
  /** For each unit of gas, in the smallest unit of the network's currency. */
  readonly fee: bigint;
  readonly tip: bigint;
}

interface TransactionRow {
  readonly hash: string;
  readonly nonce: number | null;
}

interface OwnRow {
  readonly nonce: number;
  readonly fee: string;
  readonly tip: string;
  readonly isTaken: number;
  readonly isRecent: number;
  readonly paymentId: string;
}

export const LIST_TRANSACTIONS_OF_PAYMENT = `SELECT tx_hash AS hash, nonce FROM payment_transactions
  WHERE payment_id = ? ORDER BY sent_ms, tx_hash`;
/** `isTaken`: it is that of another payment, which can still be mined. */
export const LIST_OWN_TRANSACTIONS = `SELECT t.nonce, fee, tip, t.payment_id AS paymentId, sent_ms > ? AS isRecent,
  t.payment_id <> ? AND state = 'pending' AND valid_before > ? AS isTaken
  FROM payment_transactions AS t JOIN payments USING (payment_id) WHERE t.network = ? AND t.nonce >= ?`;

/** The signed transfers of payments and the transactions that carried them, to send them again. All methods that change it belong in a write transaction. */
export class PaymentSends {
  readonly #sealed: SealedText;
  readonly #sql;

  constructor(database: Database, secret: KeySecret) {
    this.#sealed = new SealedText(secret, 'signed-transfer');
    this.#sql = {
      insert: database.query<never, [string, Uint8Array]>(
        'INSERT INTO payment_sends (payment_id, sealed) VALUES (?, ?) ON CONFLICT DO UPDATE SET sealed = excluded.sealed',
      ),
      get: database.query<{ sealed: Uint8Array | null; nextBlock: number | null }, [string]>(
        'SELECT sealed, next_block AS nextBlock FROM payment_sends WHERE payment_id = ?',
      ),
      forget: database.query<never, [string]>('UPDATE payment_sends SET sealed = NULL WHERE payment_id = ?'),
      setNextBlock: database.query<never, [number | null, string]>(
        'UPDATE payment_sends SET next_block = ? WHERE payment_id = ?',
      ),
      setPending: database.query<never, [string]>('UPDATE payment_sends SET was_pending = 1 WHERE payment_id = ?'),
      addTransaction: database.query<never, (string | number | null)[]>(
        `INSERT INTO payment_transactions (tx_hash, payment_id, network, nonce, fee, tip, sent_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ),
      transactions: database.query<TransactionRow, [string]>(LIST_TRANSACTIONS_OF_PAYMENT),
      own: database.query<OwnRow, [InstantMs, string, number, string, number]>(LIST_OWN_TRANSACTIONS),
    };
  }

  /** Keeps the signed part of a payment's transfer, encrypted. */
  keep({ id }: Pick<Payment, 'id'>, signed: string): void {
    this.#sql.insert.run(id, this.#sealed.seal(id, signed));
  }

  /** The signed part of a payment's transfer; undefined if the chain has decided it, or it was stored by an earlier version. */
  signed({ id }: Pick<Payment, 'id'>): string | undefined {
    const sealed = this.#sql.get.get(id)?.sealed ?? undefined;
    return sealed === undefined ? undefined : this.#sealed.open(id, sealed);
  }

  /** Deletes the signed part: it is used, or can never be. */
  forget({ id }: Pick<Payment, 'id'>): void {
    this.#sql.forget.run(id);
  }

  /** Where to look for a payment's transfer on its chain. */
  traces({ id, quote }: Pick<Payment, 'id' | 'quote'>): Pick<PaymentQuote, 'sinceBlock'> & {
    readonly hashes: readonly string[];
    readonly nextBlock: number | undefined;
  } {
    const hashes = this.#sql.transactions.all(id).map(({ hash }) => hash);
    return { sinceBlock: quote.sinceBlock, hashes, nextBlock: this.#sql.get.get(id)?.nextBlock ?? undefined };
  }

  /** The next search of the logs begins at this block; undefined: at that of the quote. */
  setNextBlock({ id }: Pick<Payment, 'id'>, block: number | undefined): void {
    this.#sql.setNextBlock.run(block ?? null, id);
  }

  /** A client was told that the payment is pending. */
  setPending({ id }: Pick<Payment, 'id'>): void {
    this.#sql.setPending.run(id);
  }

  /** Stores a transaction of a payment. */
  addTransaction(
    { id, quote }: Pick<Payment, 'id' | 'quote'>,
    { hash, own }: PaymentTransaction,
    nowMs: InstantMs,
  ): void {
    const fees = own === undefined ? [null, null, null] : [own.nonce, String(own.fee), String(own.tip)];
    this.#sql.addTransaction.run(hash, id, quote.network, ...fees, nowMs);
  }

  /** The nonce of the last transaction of a payment that this service has sent. */
  lastNonce({ id }: Pick<Payment, 'id'>): number | undefined {
    return this.#sql.transactions.all(id).findLast(({ nonce }) => nonce !== null)?.nonce ?? undefined;
  }

  /**
   * The service's transactions of a payment's network from a nonce on. `isTaken`: of another payment, which can still be mined, and which
   * this service can send again or has sent after `recentMs`: nobody else can free its nonce if its node has lost it.
   */
  ownFrom(
    { id, quote }: Pick<Payment, 'id' | 'quote'>,
    {
      nonce,
      nowSeconds,
      recentMs,
    }: { readonly nonce: number; readonly nowSeconds: number; readonly recentMs: InstantMs },
  ): (OwnTransaction & { readonly isTaken: boolean })[] {
    return this.#sql.own
      .all(recentMs, id, nowSeconds, quote.network, nonce)
      .map(({ nonce: own, fee, tip, isTaken, isRecent, paymentId }) => ({
        nonce: own,
        fee: BigInt(fee),
        tip: BigInt(tip),
        isTaken: isTaken === 1 && (isRecent === 1 || this.#canBeSent(paymentId)),
      }));
  }

  #canBeSent(id: string): boolean {
    try {
      return this.signed({ id }) !== undefined;
    } catch {
      // Sealed with another key secret: its own payment logs it.
      return false;
    }
  }
}
