import { createInterface } from 'node:readline';
import { DuckDBInstance } from '@duckdb/node-api';

/**
 * DuckDB in this process with one Parquet file (zstd) of JSON texts, sorted by market and time in the smallest row groups. It copies
 * NDJSON into PARQUET. Then each line of the input is a query, and each line of the output is the length of its result, or the
 * result itself as a JSON string if `show` is set.
 *
 * Queries: {market, from, limit, nextCursor} for a page, {market, at} for the nearest of each outcome.
 */
const [ndjson, parquet] = process.argv.slice(2);
const instance = await DuckDBInstance.create(':memory:');
const duckdb = await instance.connect();
const OPENING = '{"type":"snapshot",';
await duckdb.run('SET parquet_metadata_cache = true');
await duckdb.run(`
  COPY (
    SELECT json->>'conditionId' AS condition_id, json->>'outcome' AS outcome, (json->>'id')::BIGINT AS id,
      epoch_ms((json->>'timestamp')::TIMESTAMP) AS timestamp_ms, '{' || substr(json::VARCHAR, ${OPENING.length + 1}) AS body
    FROM read_json_objects('${ndjson}', format = 'newline_delimited')
    WHERE json->>'type' = 'snapshot'
    ORDER BY condition_id, timestamp_ms, id
  ) TO '${parquet}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`);

const page = await duckdb.prepare(`
  SELECT body FROM '${parquet}' WHERE condition_id = $1 AND timestamp_ms >= $2 ORDER BY timestamp_ms, id LIMIT $3`);
/** The nearest of each outcome, the nearer one first. Ties: the earlier one; at one time the highest id. */
const nearest = await duckdb.prepare(`
  WITH times AS (
    SELECT outcome, arg_min(timestamp_ms, [abs(timestamp_ms - $2), timestamp_ms]) AS timestamp_ms
    FROM (
      SELECT outcome, max(timestamp_ms) AS timestamp_ms FROM '${parquet}'
      WHERE condition_id = $1 AND timestamp_ms <= $2 GROUP BY outcome
      UNION ALL
      SELECT outcome, min(timestamp_ms) FROM '${parquet}'
      WHERE condition_id = $1 AND timestamp_ms > $2 GROUP BY outcome)
    GROUP BY outcome)
  SELECT snapshots.body FROM '${parquet}' AS snapshots JOIN times USING (outcome, timestamp_ms)
  WHERE snapshots.condition_id = $1
    AND timestamp_ms >= (SELECT min(timestamp_ms) FROM times) AND timestamp_ms <= (SELECT max(timestamp_ms) FROM times)
  QUALIFY row_number() OVER (PARTITION BY outcome ORDER BY id DESC) = 1
  ORDER BY abs(timestamp_ms - $2), outcome DESC`);
const { version } = (await duckdb.runAndReadAll('SELECT version() AS version')).getRowObjects()[0];
console.log(JSON.stringify(version));

for await (const line of createInterface({ input: process.stdin })) {
  const { show, ...question } = JSON.parse(line);
  const answer = question.at === undefined ? await pageOf(question) : await nearestOf(question);
  console.log(show ? JSON.stringify(answer) : answer.length);
}

async function pageOf({ market, from, limit, nextCursor }) {
  page.bindVarchar(1, market);
  page.bindBigInt(2, BigInt(from));
  page.bindBigInt(3, BigInt(limit));
  return `{"data":[${await bodies(page)}],"nextCursor":${JSON.stringify(nextCursor)}}`;
}

async function nearestOf({ market, at }) {
  nearest.bindVarchar(1, market);
  nearest.bindBigInt(2, BigInt(at));
  return `{"data":[${await bodies(nearest)}]}`;
}

async function bodies(statement) {
  return (await statement.runAndReadAll()).getColumns()[0].join();
}
