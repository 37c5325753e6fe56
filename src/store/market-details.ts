import { joinedDetails, type MarketDetails } from '../domain/market-details.ts';
import type { Database } from './database.ts';

const NONE: MarketDetails = {};

/** The details of markets, apart from the markets: most readers of those do not need them, and descriptions are long. */
export class StoredDetails {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      of: database.query<{ details: string }, [number]>('SELECT details FROM market_details WHERE market_key = ?'),
      put: database.query<never, [number, string]>(
        `INSERT INTO market_details (market_key, details) VALUES (?, ?)
         ON CONFLICT (market_key) DO UPDATE SET details = excluded.details`,
      ),
    };
  }

  /** The details of the market with `key`; empty if no recording states any. */
  of(key: number): MarketDetails {
    const row = this.#sql.of.get(key);
    // Written by `put` only.
    return row === null ? NONE : (JSON.parse(row.details) as MarketDetails);
  }

  /**
   * Adds the details of one more statement; `outranks`: they replace known ones. Returns whether anything changed. Within a
   * write transaction.
   */
  put(key: number, stated: MarketDetails, outranks: boolean): boolean {
    const held = this.of(key);
    const next = outranks ? joinedDetails(stated, held) : joinedDetails(held, stated);
    if (Bun.deepEquals(held, next)) return false;
    this.#sql.put.run(key, JSON.stringify(next));
    return true;
  }
}
