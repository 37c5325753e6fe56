import Fastify from 'fastify';
import { cursorOf, listQuery, loadRecords, pageQuery } from './records.mjs';
import { nearestOf, openSqlite, PLACES, pageOf } from './sqlite.mjs';

/**
 * The faster way with the same packages: Fastify with better-sqlite3, a row per record with its JSON as text, and answers joined
 * from these texts. Without keys, tiers, limits or checks of parameters.
 */
const directory = process.argv[2];
const sqlite = openSqlite(`${directory}/text.db`);
await load();

const MARKETS =
  'SELECT body FROM markets WHERE symbol = ? ORDER BY start_time DESC, condition_id DESC LIMIT ? OFFSET ?';
const markets = sqlite.prepare(MARKETS).pluck();
const page = sqlite.prepare(pageOf('body, timestamp_ms, id'));
const nearest = sqlite.prepare(nearestOf('body, timestamp_ms'));

const app = Fastify();
app.addHook('onRequest', (_request, reply, done) => {
  reply.type('application/json');
  done();
});
app.get('/v1/:coin/markets', ({ params, query }, reply) => {
  const { limit, skip, fetched } = listQuery(query);
  const bodies = markets.all(params.coin, fetched, skip);
  const hasMore = bodies.length > limit;
  if (hasMore) bodies.pop();
  const pagination = { limit, skip, count: bodies.length, hasMore };
  return reply.send(`{"data":[${bodies.join()}],"pagination":${JSON.stringify(pagination)}}`);
});
app.get('/v1/:coin/markets/:market/snapshots', ({ params, query }, reply) => {
  const { limit, ...window } = pageQuery(query);
  const rows = page.all({ market: params.market, ...window });
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  const next = hasMore ? `"${cursorOf(last.timestamp_ms, last.id)}"` : 'null';
  return reply.send(`{"data":[${rows.map(({ body }) => body).join()}],"nextCursor":${next}}`);
});
app.get('/v1/:coin/markets/:market/snapshots/at/:at', ({ params, query }, reply) => {
  const at = Number(params.at);
  const outcomes = query.outcome === undefined ? ['up', 'down'] : [query.outcome];
  const rows = outcomes
    .map((outcome) => nearest.get({ market: params.market, outcome, at }))
    .filter((row) => row !== undefined)
    .sort((a, b) => Math.abs(a.timestamp_ms - at) - Math.abs(b.timestamp_ms - at));
  return reply.send(`{"data":[${rows.map(({ body }) => body).join()}]}`);
});
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));

async function load() {
  sqlite.exec(`
    CREATE TABLE markets (condition_id TEXT PRIMARY KEY, symbol TEXT, start_time TEXT, body TEXT);
    CREATE INDEX markets_by_start ON markets (symbol, start_time, condition_id);
    CREATE TABLE snapshots (
      id INTEGER PRIMARY KEY, condition_id TEXT, outcome TEXT, timestamp_ms INTEGER, body TEXT);`);
  const addMarket = sqlite.prepare('INSERT INTO markets VALUES (?, ?, ?, ?)');
  await loadRecords(directory, 'markets', (batch) => {
    for (const [text, { conditionId, symbol, startTime }] of batch) addMarket.run(conditionId, symbol, startTime, text);
  });
  const addSnapshot = sqlite.prepare('INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)');
  const addSnapshots = sqlite.transaction((batch) => {
    for (const [text, { id, conditionId, outcome, timestamp }] of batch) {
      addSnapshot.run(Number(id), conditionId, outcome, Date.parse(timestamp), text);
    }
  });
  await loadRecords(directory, 'snapshots', addSnapshots);
  sqlite.exec(PLACES);
}
