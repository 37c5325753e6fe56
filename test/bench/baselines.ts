import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { pack, unpack } from 'msgpackr';
import { type Corpus, snapshotsOf } from './corpus.ts';

/** Other ways to store the same snapshots in SQLite: one row each, with the whole record as JSON text or as msgpack. */
export interface Baselines extends Disposable {
  /** Rows of JSON text, parsed into objects; JSON.stringify writes the page. */
  jsonPage(conditionId: string, fromMs: number, limit: number, nextCursor: string | null): string;
  /** Rows of msgpack, unpacked into objects; JSON.stringify writes the page. */
  msgpackPage(conditionId: string, fromMs: number, limit: number, nextCursor: string | null): string;
}

export async function createBaselines(directory: string, { service, large }: Corpus): Promise<Baselines> {
  const path = join(directory, 'baselines.db');
  using sqlite = new Database(path, { create: true, strict: true });
  sqlite.run('PRAGMA journal_mode = WAL');
  sqlite.run('PRAGMA page_size = 8192');
  for (const [table, type] of [
    ['json_rows', 'TEXT'],
    ['msgpack_rows', 'BLOB'],
  ]) {
    sqlite.run(`CREATE TABLE ${table} (condition_id TEXT, timestamp_ms INTEGER, id INTEGER, body ${type}) STRICT`);
    sqlite.run(`CREATE UNIQUE INDEX ${table}_by_place ON ${table} (condition_id, timestamp_ms, id)`);
  }
  const addJson = sqlite.query<never, [string, number, number, string]>('INSERT INTO json_rows VALUES (?, ?, ?, ?)');
  const addMsgpack = sqlite.query<never, [string, number, number, Uint8Array]>(
    'INSERT INTO msgpack_rows VALUES (?, ?, ?, ?)',
  );
  sqlite.run('BEGIN');
  for (const { market } of large) {
    for await (const row of snapshotsOf(service, market)) {
      const timestampMs = Date.parse(row.timestamp);
      addJson.run(row.conditionId, timestampMs, Number(row.id), JSON.stringify(row));
      addMsgpack.run(row.conditionId, timestampMs, Number(row.id), pack(row));
    }
  }
  sqlite.run('COMMIT');
  return openBaselines(path);
}

function openBaselines(path: string): Baselines {
  const sqlite = new Database(path, { readonly: true, strict: true });
  sqlite.run('PRAGMA cache_size = -65536');
  const where = 'WHERE condition_id = ? AND timestamp_ms >= ? ORDER BY timestamp_ms, id LIMIT ?';
  const json = sqlite.query<{ body: string }, [string, number, number]>(`SELECT body FROM json_rows ${where}`);
  const msgpack = sqlite.query<{ body: Uint8Array }, [string, number, number]>(
    `SELECT body FROM msgpack_rows ${where}`,
  );
  return {
    jsonPage: (conditionId, fromMs, limit, nextCursor) => {
      const data = json.all(conditionId, fromMs, limit).map(({ body }): unknown => JSON.parse(body));
      return JSON.stringify({ data, nextCursor });
    },
    msgpackPage: (conditionId, fromMs, limit, nextCursor) => {
      const data = msgpack.all(conditionId, fromMs, limit).map(({ body }): unknown => unpack(body));
      return JSON.stringify({ data, nextCursor });
    },
    [Symbol.dispose]: () => sqlite.close(),
  };
}
