import { DomainError } from '../domain/errors.ts';
import { DETAIL_KINDS, DETAIL_NAMES, isDetail, joinedDetails, type MarketDetails } from '../domain/market-details.ts';
import { type Fields, isFields, parsedJson } from '../record/fields.ts';
import type { Database } from './database.ts';

const NONE: MarketDetails = {};

/** The details of markets, in a table of their own: most readers of markets do not need them, and descriptions are long. */
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

  /** The details of the market with `key`; empty if no recording states any. Throws DomainError 'unavailable' when they are damaged. */
  of(key: number): MarketDetails {
    const details = this.#read(key);
    if (details !== undefined) return details;
    throw new DomainError(
      'unavailable',
      'the stored details of a market are damaged: restore the data directory from a backup',
    );
  }

  /** Returns true if the details of the market with `key` can be read, for `verify`. */
  isReadable(key: number): boolean {
    return this.#read(key) !== undefined;
  }

  /** Adds stated details; `outranks`: they replace known ones. True if any changed. Within a write transaction. */
  put(key: number, stated: MarketDetails, outranks: boolean): boolean {
    const known = this.of(key);
    const next = outranks ? joinedDetails(stated, known) : joinedDetails(known, stated);
    if (Bun.deepEquals(known, next)) return false;
    this.#sql.put.run(key, JSON.stringify(next));
    return true;
  }

  /** Undefined when they are damaged. */
  #read(key: number): MarketDetails | undefined {
    const row = this.#sql.of.get(key);
    if (row === null) return NONE;
    const details = parsedJson(row.details);
    return isFields(details) && isWhole(details) ? details : undefined;
  }
}

/** Returns true if an object has only known details, each with a value of its kind. */
function isWhole(details: Fields): details is MarketDetails {
  const known = DETAIL_NAMES.filter((name) => name in details);
  return (
    known.length === Object.keys(details).length && known.every((name) => isDetail(DETAIL_KINDS[name], details[name]))
  );
}
