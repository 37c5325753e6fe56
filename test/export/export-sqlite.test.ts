import { Database } from 'bun:sqlite';
import { expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { exported } from './exported.ts';
import { expectedExport, generatedRecording, type Line } from './generated-recording.ts';

setDefaultTimeout(120_000);

type Row = Readonly<Record<string, string | number | null>>;

/** Every table of a database, in the order of its rows. */
function tablesOf(bytes: Buffer): Record<string, Row[]> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'export.sqlite');
  writeFileSync(path, bytes);
  using database = new Database(path, { readonly: true });
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  const tables = database
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    .all();
  for (const { sql } of tables) expect(sql).toEndWith('STRICT');
  return Object.fromEntries(
    tables.map(({ name }) => [name, database.query<Row, []>(`SELECT * FROM "${name}" ORDER BY rowid`).all()]),
  );
}

const ms = (iso: unknown) => (typeof iso === 'string' ? Date.parse(iso) : null);
const bit = (value: unknown) => (value === undefined ? null : Number(value));
const byId = (a: Row, b: Row) => Number(a.id) - Number(b.id);

/** The rows of the documented tables for the lines of bookreel's own format. */
function expectedTables(lines: readonly Line[]): Record<string, Row[]> {
  const tables: Record<string, Row[]> = {};
  const names = ['markets', 'gaps', 'snapshots', 'levels', 'quotes', 'prices', 'last_trade_prices', 'coin_prices'];
  for (const name of names) tables[name] = [];
  for (const line of lines) {
    if (line.type === 'market') {
      tables.markets!.push({
        condition_id: line.conditionId,
        slug: line.slug,
        symbol: line.symbol,
        timeframe: line.timeframe,
        up_asset_id: line.clobTokenIds[0],
        down_asset_id: line.clobTokenIds[1],
        market_id: (line.marketId as string | undefined) ?? null,
        event_id: (line.eventId as string | undefined) ?? null,
        active: bit(line.active),
        closed: bit(line.closed),
        winner: (line.winner as string | undefined) ?? null,
        start_ms: ms(line.startTime),
        end_ms: ms(line.endTime),
        volume: (line.volume as number | undefined) ?? null,
        liquidity: (line.liquidity as number | undefined) ?? null,
        resolved_ms: ms(line.resolvedAt),
        price_start: (line.priceStart as number | undefined) ?? null,
        price_end: (line.priceEnd as number | undefined) ?? null,
        created_ms: ms(line.createdAt),
        updated_ms: ms(line.updatedAt),
      });
      continue;
    }
    if (line.type === 'gap') {
      tables.gaps!.push({
        condition_id: line.conditionId,
        from_ms: ms(line.from),
        to_ms: ms(line.to),
        reason: line.reason,
      });
      continue;
    }
    const id = Number(line.id);
    if (line.type === 'coinPrice') {
      tables.coin_prices!.push({
        id,
        symbol: line.symbol,
        source: line.source,
        timestamp_ms: ms(line.timestamp),
        price: line.price,
        size: line.size ?? null,
        side: line.side ?? null,
        received_ms: ms(line.receivedAt),
      });
      continue;
    }
    const row = { id, condition_id: line.conditionId, outcome: line.outcome, timestamp_ms: ms(line.timestamp) };
    if (line.type === 'price') {
      tables.prices!.push({
        ...row,
        kind: line.kind,
        price: line.price,
        size: line.size ?? null,
        side: line.side ?? null,
        fee_rate_bps: line.feeRateBps ?? null,
        transaction_hash: line.transactionHash ?? null,
        received_ms: ms(line.receivedAt),
      });
    }
    if (line.type === 'lastTradePrice') tables.last_trade_prices!.push({ ...row, price: line.price });
    if (line.type === 'quote') {
      tables.quotes!.push({
        ...row,
        bid_price: line.bidPrice,
        bid_size: line.bidSize,
        ask_price: line.askPrice,
        ask_size: line.askSize,
        received_ms: ms(line.receivedAt),
      });
    }
    if (line.type === 'snapshot') {
      tables.snapshots!.push({ ...row, mirrored: bit(line.mirrored ?? false), received_ms: ms(line.receivedAt) });
      for (const [side, levels] of [
        ['bid', line.bids],
        ['ask', line.asks],
      ] as const) {
        for (const [i, { price, size }] of levels.entries()) {
          tables.levels!.push({ snapshot_id: id, side, level: i + 1, price, size });
        }
      }
    }
  }
  for (const name of ['snapshots', 'quotes', 'prices', 'last_trade_prices', 'coin_prices']) tables[name]!.sort(byId);
  return tables;
}

test('an export as SQLite has every record in plain tables', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 30 }), async (seed) => {
      using temporary = temporaryArchive();
      const lines = generatedRecording(seed, { hasArrivals: seed % 2 === 0 });
      await importRecords(temporary.archive, lines);
      const tables = tablesOf((await exported(temporary.archive, 'sqlite')).bytes);
      expect(tables).toEqual(expectedTables(expectedExport(lines)));
    }),
    { seed: 20260416, numRuns: 6 },
  );
});

test('an export of nothing is a database with empty tables', async () => {
  using temporary = temporaryArchive();
  expect(tablesOf((await exported(temporary.archive, 'sqlite')).bytes)).toEqual(expectedTables([]));
});
