import Database from 'better-sqlite3';

/** A database that is written once and then only read, with large caches. */
export function openSqlite(path) {
  const sqlite = new Database(path);
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = OFF');
  sqlite.pragma('cache_size = -262144');
  sqlite.pragma('mmap_size = 4294967296');
  return sqlite;
}

export const PLACES = `
  CREATE UNIQUE INDEX snapshots_by_market ON snapshots (condition_id, timestamp_ms, id);
  CREATE UNIQUE INDEX snapshots_by_outcome ON snapshots (condition_id, outcome, timestamp_ms, id);
  ANALYZE;`;

export const pageOf = (columns) => `
  SELECT ${columns} FROM snapshots
  WHERE condition_id = @market AND timestamp_ms BETWEEN @from AND @to
  ORDER BY timestamp_ms, id LIMIT @fetched`;

/** The nearer of the last at or before and the first after. Ties: the earlier one; at one time the highest id. */
export const nearestOf = (columns) => `
  SELECT ${columns} FROM snapshots
  WHERE condition_id = @market AND outcome = @outcome AND timestamp_ms = (
    SELECT timestamp_ms FROM (
      SELECT * FROM (
        SELECT timestamp_ms FROM snapshots
        WHERE condition_id = @market AND outcome = @outcome AND timestamp_ms <= @at
        ORDER BY timestamp_ms DESC LIMIT 1)
      UNION ALL
      SELECT * FROM (
        SELECT timestamp_ms FROM snapshots
        WHERE condition_id = @market AND outcome = @outcome AND timestamp_ms > @at
        ORDER BY timestamp_ms LIMIT 1))
    ORDER BY abs(timestamp_ms - @at), timestamp_ms LIMIT 1)
  ORDER BY id DESC LIMIT 1`;
