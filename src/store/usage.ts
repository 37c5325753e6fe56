import type { InstantMs } from '../domain/instant.ts';
import { HOUR_MS, type UsageCounts } from '../domain/usage.ts';
import type { Database } from './database.ts';

/** Usage is deleted when it is older than this. */
const USAGE_KEPT_MS = 400 * 24 * HOUR_MS;

/** The requests of one key to one route in one hour, or in one interval of a query. */
export interface UsageRow extends UsageCounts {
  readonly keyId: string;
  /** The route's template: `/v1/{coin}/markets`. */
  readonly route: string;
  readonly startMs: InstantMs;
}

type Counting = { -readonly [Field in keyof UsageRow]: UsageRow[Field] };

export const LIST_USAGE = `SELECT key_id AS keyId, route, hour_ms - hour_ms % ?1 AS startMs, SUM(requests) AS requests,
  SUM(forbidden) AS forbidden, SUM(limited) AS limited, SUM(failed) AS failed, SUM(bytes) AS bytes
  FROM usage WHERE key_id = ?2 AND hour_ms BETWEEN ?3 AND ?4 GROUP BY startMs, route`;
export const DELETE_OLD_USAGE = 'DELETE FROM usage WHERE hour_ms < ?';

const UNSTORED_MAX = 500_000;
const CLOCK_STEP_MS_MAX = HOUR_MS;
const FORBIDDEN = 403;
const LIMITED = 429;

/**
 * Requests of keys by route and hour, and the last use of each key. They are counted in memory and stored by `flush`; kill -9
 * loses the rest.
 */
export class Usage {
  readonly #database: Database;
  readonly #sql;
  #hourMs = 0;
  /** The rows of the present hour that are not stored yet, by key and route. */
  readonly #present = new Map<string, Map<string, Counting>>();
  /** The last uses that are not stored yet, by key. */
  readonly #lastUses = new Map<string, InstantMs>();
  /** The clock at the last flush. */
  #flushedMs: InstantMs | undefined;
  /** The clock of the first flush, and the time since then without jumps of the clock. */
  #steadyMs = 0;
  /** Rows of earlier hours that are not stored yet. */
  #earlier: Counting[] = [];

  constructor(database: Database) {
    this.#database = database;
    this.#sql = {
      list: database.query<UsageRow, [number, string, InstantMs, InstantMs]>(LIST_USAGE),
      add: database.query<never, [string, InstantMs, string, number, number, number, number, number]>(
        `INSERT INTO usage (key_id, hour_ms, route, requests, forbidden, limited, failed, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (key_id, hour_ms, route) DO UPDATE SET requests = requests + excluded.requests,
         forbidden = forbidden + excluded.forbidden, limited = limited + excluded.limited,
         failed = failed + excluded.failed, bytes = bytes + excluded.bytes`,
      ),
      deleteOld: database.query<never, [InstantMs]>(DELETE_OLD_USAGE),
      use: database.query<never, [string, InstantMs]>(
        `INSERT INTO key_uses (key_id, last_used_ms) VALUES (?, ?)
         ON CONFLICT (key_id) DO UPDATE SET last_used_ms = MAX(last_used_ms, excluded.last_used_ms)`,
      ),
      lastUses: database.query<{ keyId: string; lastMs: InstantMs }, []>(
        'SELECT key_id AS keyId, last_used_ms AS lastMs FROM key_uses',
      ),
    };
  }

  /** Counts an answer to a key. `bytes`: of its body; those of a streamed body are counted by `countBytes`. */
  count(keyId: string, route: string, status: number, bytes: number, nowMs: InstantMs): void {
    const row = this.#row(keyId, route, nowMs);
    row.requests += 1;
    row.bytes += bytes;
    if (status < 400) return;
    if (status === FORBIDDEN) row.forbidden += 1;
    else if (status === LIMITED) row.limited += 1;
    else row.failed += 1;
  }

  /** Counts bytes of an answer that was counted before, in the present hour. */
  countBytes(keyId: string, route: string, bytes: number, nowMs: InstantMs): void {
    this.#row(keyId, route, nowMs).bytes += bytes;
  }

  /**
   * Stores the counts in one transaction, and deletes old rows. Counts that cannot be stored are kept for the next call. A clock that
   * moves by more than an hour between two flushes was set: rows get no older by that.
   */
  flush(nowMs: InstantMs): void {
    const stepMs = nowMs - (this.#flushedMs ?? nowMs);
    if (this.#flushedMs === undefined) this.#steadyMs = nowMs;
    else if (Math.abs(stepMs) <= CLOCK_STEP_MS_MAX) this.#steadyMs += stepMs;
    this.#flushedMs = nowMs;
    const rows = [...this.#unstored()];
    this.#database.write(() => {
      for (const { keyId, startMs, route, requests, forbidden, limited, failed, bytes } of rows) {
        this.#sql.add.run(keyId, startMs, route, requests, forbidden, limited, failed, bytes);
      }
      for (const [keyId, lastMs] of this.#lastUses) this.#sql.use.run(keyId, lastMs);
      this.#sql.deleteOld.run(Math.min(nowMs, this.#steadyMs) - USAGE_KEPT_MS);
    });
    this.#present.clear();
    this.#lastUses.clear();
    this.#earlier = [];
  }

  /** The usage of keys in the hours that begin from `fromMs` to `toMs`, by key, route and interval; rows that are not stored too. */
  list(keyIds: readonly string[], fromMs: InstantMs, toMs: InstantMs, intervalMs: number): UsageRow[] {
    const wanted = new Set(keyIds);
    const stored = this.#database.read(() =>
      keyIds.flatMap((keyId) => this.#sql.list.all(intervalMs, keyId, fromMs, toMs)),
    );
    for (const row of this.#unstored()) {
      if (!wanted.has(row.keyId) || row.startMs < fromMs || row.startMs > toMs) continue;
      stored.push({ ...row, startMs: row.startMs - (row.startMs % intervalMs) });
    }
    return stored;
  }

  /** The last stored use of each key, by its id. */
  lastUses(): ReadonlyMap<string, InstantMs> {
    return new Map(this.#sql.lastUses.all().map(({ keyId, lastMs }) => [keyId, lastMs]));
  }

  *#unstored(): Generator<Counting> {
    yield* this.#earlier;
    for (const rows of this.#present.values()) yield* rows.values();
  }

  #row(keyId: string, route: string, nowMs: InstantMs): Counting {
    // An hour ends seldom: comparing is cheaper than a key for each hour.
    if (nowMs - this.#hourMs >= HOUR_MS || nowMs < this.#hourMs) this.#beginHour(nowMs);
    let rows = this.#present.get(keyId);
    if (rows === undefined) {
      rows = new Map();
      this.#present.set(keyId, rows);
    }
    this.#lastUses.set(keyId, nowMs);
    let row = rows.get(route);
    if (row === undefined) {
      row = { keyId, route, startMs: this.#hourMs, requests: 0, forbidden: 0, limited: 0, failed: 0, bytes: 0 };
      rows.set(route, row);
    }
    return row;
  }

  #beginHour(nowMs: InstantMs): void {
    // Without a limit they would fill the memory while nothing can be stored.
    this.#earlier = [...this.#unstored()].slice(-UNSTORED_MAX);
    this.#present.clear();
    this.#hourMs = nowMs - (nowMs % HOUR_MS);
  }
}
