import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Number of stored records of one series, and the times of the first and the last. */
interface StoredSeries {
  readonly kind: string;
  readonly outcome: string | null;
  readonly records: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The content of a data directory, read with SQLite alone. */
export interface Stored {
  readonly integrity: string;
  readonly markets: number;
  readonly series: readonly StoredSeries[];
  readonly givenIds: readonly { readonly first: number; readonly last: number }[];
}

export function storedIn(data: string): Stored {
  using database = open(data);
  const all = <Row>(sql: string) => database.query<Row, []>(sql).all();
  return {
    integrity: all<{ integrity_check: string }>('PRAGMA integrity_check')
      .map((row) => row.integrity_check)
      .join('; '),
    markets: all('SELECT condition_id FROM markets').length,
    series: all<StoredSeries>(
      `SELECT kind, outcome, SUM(records) AS records, MIN(first_ms) AS firstMs, MAX(last_ms) AS lastMs
       FROM segments JOIN series USING (series_id) GROUP BY series_id ORDER BY kind, outcome`,
    ),
    givenIds: all('SELECT first_id AS first, last_id AS last FROM given_ids ORDER BY first_id'),
  };
}

/** Whether the recordings have their tables already. */
export function hasSchema(data: string): boolean {
  using database = open(data);
  database.run('PRAGMA busy_timeout = 5000');
  return database.query("SELECT 1 FROM sqlite_schema WHERE name = 'gaps'").get() !== null;
}

/** A digest over every row of every table but the id of the archive: equal for two data directories with the same content. */
export function contentDigest(data: string): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const file of ['accounts.db', 'activity.db', 'bookreel.db']) {
    if (existsSync(join(data, file))) digestTables(data, file, hasher);
  }
  return hasher.digest('hex');
}

function digestTables(data: string, file: string, hasher: Bun.CryptoHasher): void {
  using database = open(data, file);
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  for (const { name } of tables) {
    const columns = name === 'archive' ? 'created_ms' : '*';
    const rows = database.query<Record<string, unknown>, []>(`SELECT ${columns} FROM "${name}"`).all();
    const texts = rows.map((row) =>
      JSON.stringify(row, (_, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ),
    );
    hasher.update(`${name}\n${texts.sort().join('\n')}\n`);
  }
}

function open(data: string, file = 'bookreel.db'): Database {
  return new Database(join(data, file), { readwrite: true });
}
