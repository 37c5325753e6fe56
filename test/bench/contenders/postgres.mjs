import { createServer } from 'node:http';
import pg from 'pg';
import { cursorOf, listQuery, loadRecords, pageQuery } from './records.mjs';

/**
 * PostgreSQL with a thin server: node:http and a pool of connections over a Unix socket, prepared statements, a row per record with
 * its JSON in a json column, and answers joined from its text. Without keys, tiers, limits or checks.
 */
const [directory, socketDirectory] = process.argv.slice(2);
// The text of a json column is sent without parsing.
pg.types.setTypeParser(pg.types.builtins.JSON, (text) => text);
const pool = new pg.Pool({ host: socketDirectory, user: 'postgres', database: 'postgres', max: 8 });
await load();

const MARKETS = {
  name: 'markets',
  text: 'SELECT body FROM markets WHERE symbol = $1 ORDER BY start_time DESC, condition_id DESC LIMIT $2 OFFSET $3',
};
const PAGE = {
  name: 'page',
  text: `SELECT body, timestamp_ms, id FROM snapshots
    WHERE condition_id = $1 AND timestamp_ms BETWEEN $2 AND $3 ORDER BY timestamp_ms, id LIMIT $4`,
};
/** The nearest of each outcome in one round trip, the nearer one first, then up before down. */
const NEAREST = {
  name: 'nearest',
  text: `SELECT nearest.body FROM unnest($2::text[]) AS outcomes (outcome) CROSS JOIN LATERAL (
      SELECT body, timestamp_ms FROM snapshots
      WHERE condition_id = $1 AND outcome = outcomes.outcome AND timestamp_ms = (
        SELECT timestamp_ms FROM (
          (SELECT timestamp_ms FROM snapshots
            WHERE condition_id = $1 AND outcome = outcomes.outcome AND timestamp_ms <= $3
            ORDER BY timestamp_ms DESC LIMIT 1)
          UNION ALL
          (SELECT timestamp_ms FROM snapshots
            WHERE condition_id = $1 AND outcome = outcomes.outcome AND timestamp_ms > $3
            ORDER BY timestamp_ms LIMIT 1)) AS around
        ORDER BY abs(timestamp_ms - $3), timestamp_ms LIMIT 1)
      ORDER BY id DESC LIMIT 1) AS nearest
    ORDER BY abs(nearest.timestamp_ms - $3), outcomes.outcome DESC`,
};
const PATH = /^\/v1\/([^/]+)\/markets(?:\/([^/]+)\/snapshots(?:\/at\/(\d+))?)?$/;

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const [, coin, market, at] = PATH.exec(url.pathname) ?? [];
  const query = Object.fromEntries(url.searchParams);
  const body = await (at !== undefined ? nearest(market, at, query) : market ? page(market, query) : list(coin, query));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

async function nearest(market, at, { outcome }) {
  const outcomes = outcome === undefined ? ['up', 'down'] : [outcome];
  const { rows } = await pool.query({ ...NEAREST, values: [market, outcomes, at] });
  return `{"data":[${rows.map(({ body }) => body).join()}]}`;
}

async function page(market, query) {
  const { from, to, limit, fetched } = pageQuery(query);
  const { rows } = await pool.query({ ...PAGE, values: [market, from, to, fetched] });
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  const next = hasMore ? `"${cursorOf(last.timestamp_ms, last.id)}"` : 'null';
  return `{"data":[${rows.map(({ body }) => body).join()}],"nextCursor":${next}}`;
}

async function list(coin, query) {
  const { limit, skip, fetched } = listQuery(query);
  const { rows } = await pool.query({ ...MARKETS, values: [coin, fetched, skip] });
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  const pagination = { limit, skip, count: rows.length, hasMore };
  return `{"data":[${rows.map(({ body }) => body).join()}],"pagination":${JSON.stringify(pagination)}}`;
}

async function load() {
  await pool.query(`
    CREATE TABLE markets (condition_id text PRIMARY KEY, symbol text, start_time text, body json);
    CREATE INDEX ON markets (symbol, start_time, condition_id);
    CREATE TABLE snapshots (id bigint PRIMARY KEY, condition_id text, outcome text, timestamp_ms bigint, body json);`);
  await loadRecords(directory, 'markets', (batch) =>
    pool.query('INSERT INTO markets SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::json[])', [
      ...['conditionId', 'symbol', 'startTime'].map((field) => batch.map(([, record]) => record[field])),
      batch.map(([text]) => text),
    ]),
  );
  await loadRecords(directory, 'snapshots', (batch) =>
    pool.query(
      'INSERT INTO snapshots SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::json[])',
      [
        ...['id', 'conditionId', 'outcome'].map((field) => batch.map(([, record]) => record[field])),
        batch.map(([, { timestamp }]) => Date.parse(timestamp)),
        batch.map(([text]) => text),
      ],
    ),
  );
  await pool.query('CREATE UNIQUE INDEX ON snapshots (condition_id, timestamp_ms, id)');
  await pool.query('CREATE UNIQUE INDEX ON snapshots (condition_id, outcome, timestamp_ms, id)');
  await pool.query('VACUUM ANALYZE');
}
