import type { InstantMs } from '../domain/instant.ts';
import { DAY_MS, HOUR_MS, NO_USAGE, type UsageCounts } from '../domain/usage.ts';
import type { Database } from './database.ts';

/** The usage of an interval is deleted when its end is older than this. */
export const USAGE_KEPT_MS = 400 * DAY_MS;
/** A request is counted in a row of each of these intervals. */
const STORED_MS = [HOUR_MS, DAY_MS];
/** The id that replaces the key ids in the usage of deleted accounts. */
export const DELETED_KEYS = 'deleted';

/** The requests of one key to one route in one hour, or in one interval of a query. */
export interface UsageRow extends UsageCounts {
  readonly keyId: string;
  /** The route's template: `/v1/{coin}/markets`. */
  readonly route: string;
  readonly startMs: InstantMs;
}

/** Counts of usage that are not stored yet. */
export interface UsageBatch {
  readonly rows: readonly UsageRow[];
  /** The last uses of keys. */
  readonly uses: readonly (readonly [keyId: string, lastMs: InstantMs])[];
}

type Counting = { -readonly [Field in keyof UsageRow]: UsageRow[Field] };

const COUNTS = 'requests, forbidden, limited, failed, bytes';
export const LIST_USAGE = `SELECT key_id AS keyId, route, start_ms AS startMs, ${COUNTS} FROM usage
  WHERE key_id = ? AND interval_ms = ? AND start_ms BETWEEN ? AND ?`;
export const SUM_REQUESTS = `SELECT SUM(requests) AS requests FROM usage
  WHERE key_id = ? AND interval_ms = ? AND start_ms BETWEEN ? AND ?`;
export const DELETE_OLD_USAGE = 'DELETE FROM usage WHERE interval_ms = ? AND start_ms < ?';
const ADDED = `ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
  forbidden = forbidden + excluded.forbidden, limited = limited + excluded.limited, failed = failed + excluded.failed,
  bytes = bytes + excluded.bytes`;

const UNSTORED_MAX = 500_000;
const CLOCK_STEP_MS_MAX = HOUR_MS;
const FORBIDDEN = 403;
const LIMITED = 429;

/** Requests by key, route and hour, and last uses of keys, in memory until `flush`: kill -9 loses the rest. */
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
  /** The time that has passed since the first flush, added to its clock: jumps of the clock do not count. */
  #steadyMs = 0;
  /** Rows of earlier hours that are not stored yet. */
  #earlier: Counting[] = [];
  /** Settles when the other processes of the server have stored their counts: before all of them are read. */
  gather: () => Promise<void> = async () => undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#sql = {
      list: database.query<UsageRow, [string, number, InstantMs, InstantMs]>(LIST_USAGE),
      sum: database.query<{ requests: number | null }, [string, number, InstantMs, InstantMs]>(SUM_REQUESTS),
      add: database.query<never, [string, number, InstantMs, string, number, number, number, number, number]>(
        `INSERT INTO usage (key_id, interval_ms, start_ms, route, ${COUNTS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ${ADDED}`,
      ),
      forget: database.query<never, [string]>(
        `INSERT INTO usage (key_id, interval_ms, start_ms, route, ${COUNTS})
         SELECT '${DELETED_KEYS}', interval_ms, start_ms, route, ${COUNTS} FROM usage WHERE key_id = ? ${ADDED}`,
      ),
      delete: database.query<never, [string]>('DELETE FROM usage WHERE key_id = ?'),
      deleteUse: database.query<never, [string]>('DELETE FROM key_uses WHERE key_id = ?'),
      deleteOld: database.query<never, [number, InstantMs]>(DELETE_OLD_USAGE),
      use: database.query<never, [string, InstantMs]>(
        `INSERT INTO key_uses (key_id, last_used_ms) VALUES (?, ?)
         ON CONFLICT (key_id) DO UPDATE SET last_used_ms = MAX(last_used_ms, excluded.last_used_ms)`,
      ),
      lastUse: database.query<{ lastMs: InstantMs }, [string]>(
        'SELECT last_used_ms AS lastMs FROM key_uses WHERE key_id = ?',
      ),
    };
  }

  /** Counts an answer to a request with a key. `bytes` is the size of its body; `countBytes` counts the bytes of a streamed body. */
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
   * moves by more than an hour between two flushes was set: that does not make rows older.
   */
  flush(nowMs: InstantMs): void {
    const stepMs = nowMs - (this.#flushedMs ?? nowMs);
    if (this.#flushedMs === undefined) this.#steadyMs = nowMs;
    else if (Math.abs(stepMs) <= CLOCK_STEP_MS_MAX) this.#steadyMs += stepMs;
    this.#flushedMs = nowMs;
    const batch = { rows: [...this.#unstored()], uses: [...this.#lastUses] };
    this.#database.write(() => {
      this.add(batch);
      const oldMs = Math.min(nowMs, this.#steadyMs) - USAGE_KEPT_MS;
      for (const intervalMs of STORED_MS) this.#sql.deleteOld.run(intervalMs, oldMs - (oldMs % intervalMs));
    });
    this.#present.clear();
    this.#lastUses.clear();
    this.#earlier = [];
  }

  /** Stores counts. Within a write transaction. */
  add({ rows, uses }: UsageBatch): void {
    for (const { keyId, startMs, route, requests, forbidden, limited, failed, bytes } of rows) {
      for (const intervalMs of STORED_MS) {
        const beginMs = startMs - (startMs % intervalMs);
        this.#sql.add.run(keyId, intervalMs, beginMs, route, requests, forbidden, limited, failed, bytes);
      }
    }
    for (const [keyId, lastMs] of uses) this.#sql.use.run(keyId, lastMs);
  }

  /** Removes counts that are not stored yet, at most this number of rows and of last uses: another program stores them. */
  take(max: number): UsageBatch {
    const rows = [...this.#unstored()];
    const uses = [...this.#lastUses].slice(0, max);
    this.#earlier = rows.slice(max);
    this.#present.clear();
    for (const [keyId] of uses) this.#lastUses.delete(keyId);
    return { rows: rows.slice(0, max), uses };
  }

  /**
   * The usage of keys in the hours that begin from `fromMs` to `toMs`, by key, route and interval, including rows that are not stored yet.
   * `fromMs` must be the start of an interval. A key may have several rows of one route and interval.
   */
  list(keyIds: readonly string[], fromMs: InstantMs, toMs: InstantMs, intervalMs: number): UsageRow[] {
    const unstored = this.#unstoredOf(keyIds, fromMs, toMs);
    const lastMs = toMs - (toMs % intervalMs);
    const started = (row: UsageRow) => ({ ...row, startMs: row.startMs - (row.startMs % intervalMs) });
    const rows = this.#database.read(() =>
      keyIds.flatMap((keyId) => [
        ...this.#sql.list.all(keyId, intervalMs, fromMs, lastMs - 1),
        ...this.#sql.list.all(keyId, HOUR_MS, Math.max(fromMs, lastMs), toMs).map(started),
      ]),
    );
    for (const row of unstored) rows.push(started(row));
    return rows;
  }

  /** The sum of the requests of `list`, without its rows. */
  requests(keyIds: readonly string[], fromMs: InstantMs, toMs: InstantMs, intervalMs: number): number {
    const lastMs = toMs - (toMs % intervalMs);
    let sum = 0;
    for (const { requests } of this.#unstoredOf(keyIds, fromMs, toMs)) sum += requests;
    this.#database.read(() => {
      for (const keyId of keyIds) {
        sum += this.#sql.sum.get(keyId, intervalMs, fromMs, lastMs - 1)?.requests ?? 0;
        sum += this.#sql.sum.get(keyId, HOUR_MS, Math.max(fromMs, lastMs), toMs)?.requests ?? 0;
      }
    });
    return sum;
  }

  /** The last use of each of these keys, by its id; keys that were never used are missing. */
  lastUses(keyIds: readonly string[]): ReadonlyMap<string, InstantMs> {
    const uses = new Map<string, InstantMs>();
    this.#database.read(() => {
      for (const keyId of keyIds) {
        const lastMs = this.#lastUses.get(keyId) ?? this.#sql.lastUse.get(keyId)?.lastMs;
        if (lastMs !== undefined) uses.set(keyId, lastMs);
      }
    });
    return uses;
  }

  /** Adds the usage of keys to that of DELETED_KEYS, and removes their last use. Within a write. */
  forget(keyIds: readonly string[]): void {
    const forgotten = new Set(keyIds);
    for (const keyId of keyIds) {
      this.#sql.forget.run(keyId);
      this.#sql.delete.run(keyId);
      this.#sql.deleteUse.run(keyId);
      this.#lastUses.delete(keyId);
    }
    // Rows that are not stored are added to the stored ones by the flush, even when several have the same key, hour and route.
    this.#earlier = [...this.#unstored()].map((row) =>
      forgotten.has(row.keyId) ? { ...row, keyId: DELETED_KEYS } : row,
    );
    this.#present.clear();
  }

  /** The rows of keys, and of the hours that begin from `fromMs` to `toMs`, that are not stored yet. */
  #unstoredOf(keyIds: readonly string[], fromMs: InstantMs, toMs: InstantMs): Counting[] {
    const wanted = new Set(keyIds);
    // Rows of the present hour are found by their key: with many keys in use a scan for each of them would take seconds.
    const rows = [
      ...this.#earlier.filter(({ keyId }) => wanted.has(keyId)),
      ...[...wanted].flatMap((keyId) => [...(this.#present.get(keyId)?.values() ?? [])]),
    ];
    return rows.filter(({ startMs }) => startMs >= fromMs && startMs <= toMs);
  }

  *#unstored(): Generator<Counting> {
    yield* this.#earlier;
    for (const rows of this.#present.values()) yield* rows.values();
  }

  #row(keyId: string, route: string, nowMs: InstantMs): Counting {
    // The hour rarely changes: comparing it is cheaper than a map per hour.
    if (nowMs - this.#hourMs >= HOUR_MS || nowMs < this.#hourMs) this.#beginHour(nowMs);
    this.#lastUses.set(keyId, nowMs);
    const rows = this.#present.get(keyId) ?? this.#present.getOrInsert(keyId, new Map());
    return rows.get(route) ?? rows.getOrInsert(route, { keyId, route, startMs: this.#hourMs, ...NO_USAGE });
  }

  #beginHour(nowMs: InstantMs): void {
    // Without a limit they would fill the memory while nothing can be stored.
    this.#earlier = [...this.#unstored()].slice(-UNSTORED_MAX);
    this.#present.clear();
    this.#hourMs = nowMs - (nowMs % HOUR_MS);
  }
}
