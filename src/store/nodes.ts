import type { InstantMs } from '../domain/instant.ts';
import type { Database } from './database.ts';
import type { Usage, UsageBatch } from './usage.ts';

/** A node that has not reported for this time is forgotten: a batch that it sends again would be counted twice. */
const KEPT_MS = 30 * 86_400_000;

/** A node as it last reported. */
export interface Node {
  readonly id: string;
  readonly seenMs: InstantMs;
  /** A JSON object. */
  readonly status: string;
}

export interface NodeReport extends UsageBatch {
  readonly id: string;
  /** The number of the batch: greater than those of the batches before. */
  readonly batch: number;
  readonly status: object;
}

/** The nodes of this service, and their usage. */
export class Nodes {
  readonly #database: Database;
  readonly #usage: Usage;
  readonly #sql;

  constructor(database: Database, usage: Usage) {
    this.#database = database;
    this.#usage = usage;
    this.#sql = {
      batch: database.query<{ batch: number }, [string]>('SELECT batch FROM nodes WHERE node_id = ?'),
      store: database.query<never, [string, number, InstantMs, string]>(
        'INSERT OR REPLACE INTO nodes (node_id, batch, seen_ms, status) VALUES (?, ?, ?, ?)',
      ),
      forget: database.query<never, [InstantMs]>('DELETE FROM nodes WHERE seen_ms < ?'),
      list: database.query<Node, [InstantMs]>(
        'SELECT node_id AS id, seen_ms AS seenMs, status FROM nodes WHERE seen_ms >= ? ORDER BY node_id',
      ),
    };
  }

  /** Stores a report. The counts of a batch that is stored already are left out: the node did not get the answer. */
  store({ id, batch, status, ...counts }: NodeReport, nowMs: InstantMs): void {
    this.#database.write(() => {
      const last = this.#sql.batch.get(id)?.batch;
      if (last === undefined) this.#sql.forget.run(nowMs - KEPT_MS);
      if (last === undefined || batch > last) this.#usage.add(counts);
      this.#sql.store.run(id, Math.max(batch, last ?? 0), nowMs, JSON.stringify(status));
    });
  }

  /** The nodes that have reported since an instant. */
  list(sinceMs: InstantMs): Node[] {
    return this.#database.read(() => this.#sql.list.all(sinceMs));
  }
}
