import type { Database } from './database.ts';

/** A stretch of a market that a recording says it missed; both ends inclusive. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly reason: string;
}

export class Gaps {
  readonly #insert;
  readonly #list;

  constructor(database: Database) {
    this.#insert = database.query<{ market_key: number }, [number, number, number, string]>(
      `INSERT INTO gaps (market_key, from_ms, to_ms, reason) VALUES (?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING market_key`,
    );
    this.#list = database.query<{ from_ms: number; to_ms: number; reason: string }, [number]>(
      'SELECT from_ms, to_ms, reason FROM gaps WHERE market_key = ? ORDER BY from_ms, to_ms, reason',
    );
  }

  /** False when the gap is already known. */
  add(marketKey: number, gap: Gap): boolean {
    return this.#insert.get(marketKey, gap.fromMs, gap.toMs, gap.reason) !== null;
  }

  list(marketKey: number): Gap[] {
    return this.#list.all(marketKey).map((row) => ({ fromMs: row.from_ms, toMs: row.to_ms, reason: row.reason }));
  }
}
