import { SQLiteError, Database as Sqlite } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UNIT_MS } from '../domain/duration.ts';
import type { InstantMs } from '../domain/instant.ts';
import { VERIFY_PROGRESS_FILES } from '../store/backup-manifest.ts';
import { discard } from '../store/on-disk.ts';
import type { MarketFindings } from './market-verifier.ts';

const [NAME] = VERIFY_PROGRESS_FILES;
/** What was verified this long ago is verified again. */
const AGE_MS_MAX = 7 * UNIT_MS.d!;
/** The table has another name whenever `Kept` has another shape. */
export const PROGRESS_SCHEMA = `CREATE TABLE IF NOT EXISTS verified_1 (
  market_key INTEGER PRIMARY KEY, state TEXT NOT NULL, verified_ms INTEGER NOT NULL, kept TEXT NOT NULL) STRICT`;

type Kept = Pick<MarketFindings, 'observed' | 'totals'>;

/**
 * The sealed markets in which a run of `verify` found no problem, and when: in a file of the data directory, which the end of a run deletes.
 * A run that was interrupted leaves it, and the next one goes on. Where it cannot be read or written (a medium that is read-only, a full
 * disk, damage) nothing is kept, and the run goes on without.
 */
export class VerifyProgress implements Disposable {
  readonly #directory: string;
  #sqlite: Sqlite | undefined;
  #isPossible = true;
  /** The number of markets that an interrupted run has verified, and when it verified the first of them. */
  readonly earlier: { readonly markets: number; readonly sinceMs: InstantMs | null };

  /** `isAnew`: nothing of an interrupted run is used. */
  constructor(directory: string, nowMs: InstantMs, isAnew: boolean) {
    this.#directory = directory;
    const none = { markets: 0, sinceMs: null };
    const count = (sqlite: Sqlite) => {
      if (isAnew) sqlite.run('DELETE FROM verified_1');
      sqlite.query('DELETE FROM verified_1 WHERE verified_ms < ?').run(nowMs - AGE_MS_MAX);
      return sqlite
        .query<typeof none, []>('SELECT COUNT(*) AS markets, MIN(verified_ms) AS sinceMs FROM verified_1')
        .get();
    };
    this.earlier = (existsSync(join(directory, NAME)) ? this.#attempt(count) : undefined) ?? none;
  }

  /** What was found in a market, if an interrupted run has verified it in this state. */
  find(key: number, state: string): Kept | undefined {
    if (this.earlier.markets === 0) return undefined;
    const sql = 'SELECT kept FROM verified_1 WHERE market_key = ? AND state = ?';
    const row = this.#attempt((sqlite) => sqlite.query<{ kept: string }, [number, string]>(sql).get(key, state));
    return row == null ? undefined : JSON.parse(row.kept);
  }

  /** Keeps what was found in a sealed market that has no problem. */
  add({ key, state, observed, totals, problems }: MarketFindings, nowMs: InstantMs): void {
    if (state === undefined || problems.count > 0) return;
    const kept: Kept = { observed, totals };
    const sql = 'INSERT OR REPLACE INTO verified_1 (market_key, state, verified_ms, kept) VALUES (?, ?, ?, ?)';
    this.#attempt((sqlite) => sqlite.query(sql).run(key, state, nowMs, JSON.stringify(kept)));
  }

  /** Deletes the file: the next run reads everything. */
  finish(): void {
    this[Symbol.dispose]();
    this.#isPossible = false;
    for (const name of VERIFY_PROGRESS_FILES) discard(join(this.#directory, name));
  }

  [Symbol.dispose](): void {
    this.#sqlite?.close();
    this.#sqlite = undefined;
  }

  #attempt<T>(work: (sqlite: Sqlite) => T): T | undefined {
    if (!this.#isPossible) return undefined;
    try {
      this.#sqlite ??= opened(join(this.#directory, NAME));
      return work(this.#sqlite);
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
      this.#isPossible = false;
      return undefined;
    }
  }
}

function opened(path: string): Sqlite {
  const sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true });
  // A loss of power may cost all of it: then the next run reads everything.
  for (const sql of ['PRAGMA journal_mode = WAL', 'PRAGMA synchronous = OFF', PROGRESS_SCHEMA]) sqlite.run(sql);
  return sqlite;
}
