import { Database as Sqlite } from 'bun:sqlite';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';

/** The records of an archive without the ids that it gave them: an import that is killed gives others. */
export async function recordsOf(archive: Archive): Promise<string[]> {
  const { bytes } = await exported(archive, 'ndjson');
  return bytes
    .toString()
    .replaceAll(/"id":"\d+",?/g, '')
    .split('\n')
    .sort();
}

const RELEASED = join(import.meta.dir, '../../fixtures/released/0.3.0/bookreel.db.zst');
/** What schema 7 has of `markets`. */
const FACTS = `market_key, condition_id, venue_market_id, venue_event_id, venue_market_id_ms, venue_event_id_ms, slug, symbol, timeframe,
  up_asset_id, down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end, created_ms,
  updated_ms, stated_updated_ms, revision, snapshot_count, first_snapshot_ms, last_snapshot_ms`;

/** Writes the recordings of an archive as release 0.3.0 had them: into its database. */
export function writeEarlier(data: string, path: string): void {
  writeFileSync(path, Bun.zstdDecompressSync(readFileSync(RELEASED)));
  using sqlite = new Sqlite(path, { readwrite: true });
  sqlite.run('PRAGMA foreign_keys = OFF');
  sqlite.query('ATTACH ? AS present').run(join(data, 'bookreel.db'));
  const copy = (table: string, columns: string) => {
    sqlite.run(`DELETE FROM main.${table}`);
    sqlite.run(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM present.${table}`);
  };
  copy('archive', 'only_row, archive_id, created_ms');
  copy('markets', FACTS);
  copy('market_details', 'market_key, details');
  copy('series', 'series_id, kind, market_key, outcome, symbol, source, recorded_from_ms');
  copy('segments', 'segment_id, series_id, first_ms, first_id, last_ms, last_id, records, digest, payload');
  copy('given_ids', 'first_id, last_id');
  copy('gaps', 'market_key, from_ms, to_ms, reason');
  assert.equal(versionOf(path), 7);
}

/** The version of the schema of a database. */
export function versionOf(path: string): number {
  using sqlite = new Sqlite(path, { readwrite: true });
  return sqlite.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
}
