import type { InstantMs } from '../domain/instant.ts';
import type { Payment, Seller } from '../domain/payment.ts';
import type { Database } from './database.ts';

/** The invoice of a payment. It never changes, except that it gets the buyer if it has none. */
export interface Invoice {
  readonly number: number;
  readonly issuedMs: InstantMs;
  readonly seller: Seller;
  /** Lines of name and address; empty: the buyer has not given them. */
  readonly buyer: string;
}

type InvoiceRow = Omit<Invoice, 'seller'> & { readonly seller: string };

export const FIND_INVOICE = `SELECT number, issued_ms AS issuedMs, seller, COALESCE(buyer, '') AS buyer FROM invoices WHERE payment_id = ?`;
export const NAME_BUYER = `UPDATE invoices SET buyer = NULLIF(?2, '') WHERE buyer IS NULL
  AND payment_id IN (SELECT payment_id FROM payments WHERE account_id = ?1)`;

/** Invoices, and the names and addresses of buyers. All methods that change something belong in a write transaction. */
export class Invoices {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      find: database.query<InvoiceRow, [string]>(FIND_INVOICE),
      issue: database.query<never, [string, InstantMs, string, number]>(
        `INSERT INTO invoices (number, payment_id, issued_ms, seller, buyer)
         SELECT COALESCE(MAX(number), 0) + 1, ?, ?, ?, (SELECT NULLIF(lines, '') FROM buyers WHERE account_id = ?)
         FROM invoices WHERE true ON CONFLICT DO NOTHING`,
      ),
      buyer: database.query<{ lines: string }, [number]>('SELECT lines FROM buyers WHERE account_id = ?'),
      setBuyer: database.query<never, [number, string]>('REPLACE INTO buyers (account_id, lines) VALUES (?, ?)'),
      nameBuyer: database.query<never, [number, string]>(NAME_BUYER),
    };
  }

  /** Gives a payment the next number, unless it has one, and copies seller and buyer. Numbers have no holes. */
  issue({ id, quote }: Pick<Payment, 'id' | 'quote'>, seller: Seller, nowMs: InstantMs): void {
    this.#sql.issue.run(id, nowMs, JSON.stringify(seller), quote.accountId);
  }

  of({ id }: Pick<Payment, 'id'>): Invoice | undefined {
    const row = this.#sql.find.get(id);
    return row === null ? undefined : { ...row, seller: JSON.parse(row.seller) as Seller };
  }

  /** Lines of the name and the address of an account on its next invoices; empty if it has given none. */
  buyer(accountId: number): string {
    return this.#sql.buyer.get(accountId)?.lines ?? '';
  }

  /** Also names the buyer of the account's invoices that have none; those that have one keep it, being records of accounting. */
  setBuyer(accountId: number, lines: string): void {
    this.#sql.setBuyer.run(accountId, lines);
    this.#sql.nameBuyer.run(accountId, lines);
  }
}
