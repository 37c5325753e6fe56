import Fastify from 'fastify';
import { cursorOf, listQuery, loadRecords, pageQuery } from './records.mjs';
import { nearestOf, openSqlite, PLACES, pageOf } from './sqlite.mjs';

/**
 * The common way: Fastify with better-sqlite3, a row per record with a column per field, lists as JSON text, and answers as
 * objects. Without keys, tiers, limits or checks of parameters.
 */
const directory = process.argv[2];
const sqlite = openSqlite(`${directory}/rows.db`);
await load();

const MARKETS = 'SELECT * FROM markets WHERE symbol = ? ORDER BY start_time DESC, condition_id DESC LIMIT ? OFFSET ?';
const markets = sqlite.prepare(MARKETS);
const page = sqlite.prepare(pageOf('*'));
const nearest = sqlite.prepare(nearestOf('*'));

const app = Fastify();
app.get('/v1/:coin/markets', ({ params, query }) => {
  const { limit, skip, fetched } = listQuery(query);
  const rows = markets.all(params.coin, fetched, skip);
  const data = rows.slice(0, limit).map(toMarket);
  return { data, pagination: { limit, skip, count: data.length, hasMore: rows.length > limit } };
});
app.get('/v1/:coin/markets/:market/snapshots', ({ params, query }) => {
  const { limit, ...window } = pageQuery(query);
  const rows = page.all({ market: params.market, ...window });
  const data = rows.slice(0, limit).map(toSnapshot);
  const last = rows[limit - 1];
  return { data, nextCursor: rows.length > limit ? cursorOf(last.timestamp_ms, last.id) : null };
});
app.get('/v1/:coin/markets/:market/snapshots/at/:at', ({ params, query }) => {
  const at = Number(params.at);
  const outcomes = query.outcome === undefined ? ['up', 'down'] : [query.outcome];
  const rows = outcomes
    .map((outcome) => nearest.get({ market: params.market, outcome, at }))
    .filter((row) => row !== undefined)
    .sort((a, b) => Math.abs(a.timestamp_ms - at) - Math.abs(b.timestamp_ms - at));
  return { data: rows.map(toSnapshot) };
});
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));

function toSnapshot(row) {
  return {
    id: String(row.id),
    assetId: row.asset_id,
    conditionId: row.condition_id,
    symbol: row.symbol,
    outcome: row.outcome,
    timeframe: row.timeframe,
    timestamp: new Date(row.timestamp_ms).toISOString(),
    bids: JSON.parse(row.bids),
    asks: JSON.parse(row.asks),
  };
}

function toMarket(row) {
  return {
    conditionId: row.condition_id,
    marketId: row.market_id,
    eventId: row.event_id,
    slug: row.slug,
    symbol: row.symbol,
    timeframe: row.timeframe,
    outcomes: JSON.parse(row.outcomes),
    clobTokenIds: JSON.parse(row.clob_token_ids),
    active: row.active === 1,
    closed: row.closed === 1,
    winner: row.winner,
    startTime: row.start_time,
    endTime: row.end_time,
    volume: row.volume,
    liquidity: row.liquidity,
    resolvedAt: row.resolved_at,
    priceStart: row.price_start,
    priceEnd: row.price_end,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

async function load() {
  sqlite.exec(`
    CREATE TABLE markets (
      condition_id TEXT PRIMARY KEY, market_id TEXT, event_id TEXT, slug TEXT, symbol TEXT, timeframe TEXT, outcomes TEXT,
      clob_token_ids TEXT, active INTEGER, closed INTEGER, winner TEXT, start_time TEXT, end_time TEXT, volume REAL,
      liquidity REAL, resolved_at TEXT, price_start REAL, price_end REAL, created_at TEXT, updated_at TEXT);
    CREATE INDEX markets_by_start ON markets (symbol, start_time, condition_id);
    CREATE TABLE snapshots (
      id INTEGER PRIMARY KEY, asset_id TEXT, condition_id TEXT, symbol TEXT, outcome TEXT, timeframe TEXT,
      timestamp_ms INTEGER, bids TEXT, asks TEXT);`);
  const addMarket = sqlite.prepare(`INSERT INTO markets VALUES (${Array(20).fill('?').join()})`);
  await loadRecords(directory, 'markets', (batch) => {
    for (const [, { outcomes, clobTokenIds, active, closed, ...market }] of batch) {
      addMarket.run(
        ...[market.conditionId, market.marketId, market.eventId, market.slug, market.symbol, market.timeframe],
        ...[JSON.stringify(outcomes), JSON.stringify(clobTokenIds), Number(active), Number(closed), market.winner],
        ...[market.startTime, market.endTime, market.volume, market.liquidity, market.resolvedAt],
        ...[market.priceStart, market.priceEnd, market.createdAt, market.updatedAt],
      );
    }
  });
  const addSnapshot = sqlite.prepare('INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const addSnapshots = sqlite.transaction((batch) => {
    for (const [, { id, assetId, conditionId, symbol, outcome, timeframe, timestamp, bids, asks }] of batch) {
      addSnapshot.run(
        ...[Number(id), assetId, conditionId, symbol, outcome, timeframe, Date.parse(timestamp)],
        ...[JSON.stringify(bids), JSON.stringify(asks)],
      );
    }
  });
  await loadRecords(directory, 'snapshots', addSnapshots);
  sqlite.exec(PLACES);
}
