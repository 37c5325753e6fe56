import { Database as Sqlite } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { formatInstant } from '../domain/instant.ts';
import type { Archive } from './archive.ts';
import { PAGE_BYTES } from './database-connection.ts';
import { explained, isDamageError } from './database-errors.ts';
import { DELETE_MARKET_SEGMENTS } from './deletion.ts';
import { sizeAndDigest } from './file-digest.ts';
import type { StoredMarket } from './markets.ts';
import { discard, draftOf, flush, removeIfEmpty } from './on-disk.ts';
import { queriesOf } from './queries.ts';
import sealedSchema from './sealed.sql' with { type: 'text' };
import { BOOKS } from './sealed-files.ts';
import { SegmentQueries } from './segment-queries.ts';

/** A market that ended this long ago is sealed even if no recording states its winner. */
const UNSETTLED_MS = 7 * 86_400_000;
/** A file that the catalog no longer names is kept for this long: a view of an earlier state may open it. */
const GRACE_MS = 60 * 60_000;
const SEAL_BYTES = 8;
/** The name of a file that `seal` writes, or has left as a draft. */
const OURS = /^0x[0-9a-f]+-[0-9a-f]{16}\.db(?:\.partial-[0-9a-f]+)?$/;

/** ?1: keys after this one; ?2: ended by; ?3: ended by, though without a winner; */
export const NEXT_TO_SEAL = `SELECT market_key AS key FROM markets NOT INDEXED
  WHERE market_key > ?1 AND end_ms <= ?2 AND (winner IS NOT NULL OR end_ms <= ?3)
    AND NOT EXISTS (SELECT 1 FROM sealed_markets WHERE sealed_markets.market_key = markets.market_key)
    AND EXISTS (SELECT 1 FROM series JOIN segments USING (series_id) WHERE series.market_key = markets.market_key)
  ORDER BY market_key LIMIT 1`;
export const SERIES_OF_MARKET = 'SELECT series_id AS seriesId FROM series WHERE market_key = ?';
export const IS_NAMED = 'SELECT 1 AS known FROM sealed_markets WHERE path = ?';

/** The records of one series in the file of a sealed market. */
interface SeriesTotal {
  readonly seriesId: number;
  readonly firstMs: InstantMs;
  readonly lastMs: InstantMs;
  readonly segments: number;
  readonly records: number;
  readonly bytes: number;
}

export interface SealedTotals {
  readonly markets: number;
  readonly bytes: number;
  /** The errors of markets that are damaged, and stay as they are. */
  readonly failures: readonly string[];
}

/**
 * Moves the segments of markets that are over into a file of their own each, which is never changed: `books/YYYY-MM-DD/CONDITIONID-SEAL.db`.
 * A file is on disk before the catalog names it, and the catalog names it in the transaction that deletes the segments: when this is killed,
 * each market is whole in bookreel.db or in its file.
 */
export class Sealing {
  readonly #archive: Archive;
  readonly #folder: string;
  readonly #sql;

  constructor(archive: Archive) {
    const { database } = archive;
    this.#archive = archive;
    this.#folder = join(dirname(database.path), BOOKS);
    this.#sql = {
      next: database.query<{ key: number }, [number, number, number]>(NEXT_TO_SEAL),
      series: database.query<{ seriesId: number }, [number]>(SERIES_OF_MARKET),
      add: database.query<never, [number, string, string, number, Uint8Array]>(
        'INSERT INTO sealed_markets (market_key, path, seal, bytes, digest) VALUES (?, ?, ?, ?, ?)',
      ),
      addSeries: database.query<never, [number, number, number, number, number, number, number]>(
        `INSERT INTO sealed_series (series_id, market_key, first_ms, last_ms, segments, records, bytes)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ),
      deleteSegments: database.query<never, [number]>(DELETE_MARKET_SEGMENTS),
      isNamed: database.query<{ known: number }, [string]>(IS_NAMED),
    };
  }

  /**
   * Seals the markets that ended by `beforeMs` and have a winner; those without one if they ended seven days before `nowMs`. After each one
   * it yields the totals so far. Others may read and write meanwhile; a market that changes while its file is written stays as it is.
   */
  *run(beforeMs: InstantMs, nowMs: InstantMs): Generator<SealedTotals> {
    const { database, markets } = this.#archive;
    let totals: SealedTotals = { markets: 0, bytes: 0, failures: [] };
    for (let key = -1; ; ) {
      const next = database.read(() => {
        const found = this.#sql.next.get(key, beforeMs, Math.min(beforeMs, nowMs - UNSETTLED_MS));
        return found === null ? undefined : markets.byKey(found.key);
      });
      if (next === undefined) return;
      key = next.key;
      try {
        const bytes = this.seal(next);
        if (bytes === undefined) continue;
        totals = { ...totals, markets: totals.markets + 1, bytes: totals.bytes + bytes };
      } catch (error) {
        if (!(error instanceof DomainError) || !isDamageError(error)) throw error;
        totals = { ...totals, failures: [...totals.failures, `${next.slug}: ${error.message}`] };
      }
      yield totals;
    }
  }

  /** Seals a market. Returns the bytes of its file; undefined if it changed meanwhile, has no records, or is sealed already. */
  seal({ key }: Pick<StoredMarket, 'key'>): number | undefined {
    const seal = randomBytes(SEAL_BYTES).toString('hex');
    const { database, markets } = this.#archive;
    const market = database.read(() => markets.byKey(key));
    if (market === undefined) return undefined;
    const path = `${formatInstant(market.startMs).slice(0, 10)}/${market.conditionId}-${seal}.db`;
    const place = join(this.#folder, path);
    const draft = draftOf(place);
    try {
      return explained(place, () => {
        this.#makeFolders(dirname(place));
        const series = this.#write(draft, market, seal);
        if (series.length === 0) return undefined;
        const { bytes, sha256 } = sizeAndDigest(draft);
        linkSync(draft, place);
        flush(dirname(place));
        const isSealed = database.write(() => {
          const present = markets.byKey(key);
          if (present?.revision !== market.revision || this.#archive.sealed.byKey(key) !== undefined) return false;
          this.#sql.add.run(key, path, seal, bytes, Buffer.from(sha256, 'hex'));
          for (const { seriesId, firstMs, lastMs, segments, records, bytes: payload } of series) {
            this.#sql.addSeries.run(seriesId, key, firstMs, lastMs, segments, records, payload);
          }
          this.#sql.deleteSegments.run(key);
          database.giveBack();
          return true;
        });
        if (isSealed) return bytes;
        rmSync(place);
        return undefined;
      });
    } finally {
      discard(draft);
    }
  }

  /** Deletes files that the catalog no longer names, and what a killed `seal` has left. Returns their number. */
  sweep(nowMs: InstantMs): number {
    let swept = 0;
    if (!existsSync(this.#folder)) return swept;
    for (const day of readdirSync(this.#folder, { withFileTypes: true })) {
      if (!day.isDirectory()) continue;
      const folder = join(this.#folder, day.name);
      for (const name of readdirSync(folder)) {
        const place = join(folder, name);
        if (!OURS.test(name) || nowMs - statSync(place).mtimeMs < GRACE_MS) continue;
        if (this.#archive.database.read(() => this.#sql.isNamed.get(`${day.name}/${name}`)) !== null) continue;
        discard(place);
        swept += 1;
      }
      removeIfEmpty(folder);
    }
    return swept;
  }

  /** Writes the file, which is on disk when this returns, and returns what it has. */
  #write(draft: string, { key, conditionId, revision }: StoredMarket, seal: string): SeriesTotal[] {
    const { database, markets } = this.#archive;
    using file = new Sqlite(draft, { create: true, readwrite: true, strict: true });
    file.run(`PRAGMA page_size = ${PAGE_BYTES}`);
    // Nobody uses the file before it is complete.
    file.run('PRAGMA journal_mode = OFF');
    file.run('PRAGMA synchronous = OFF');
    file.run(sealedSchema);
    const totals = database.read(() => {
      if (markets.byKey(key)?.revision !== revision || this.#archive.sealed.byKey(key) !== undefined) return [];
      const copy = file.transaction(() => {
        file
          .query<never, [string, string]>('INSERT INTO sealed (condition_id, seal) VALUES (?, ?)')
          .run(conditionId, seal);
        const [from, to] = [new SegmentQueries(database), new SegmentQueries(queriesOf(file))];
        return this.#sql.series.all(key).flatMap(({ seriesId }) => copySeries(seriesId, from, to));
      });
      return copy();
    });
    file.close();
    chmodSync(draft, 0o600);
    flush(draft);
    return totals;
  }

  #makeFolders(day: string): void {
    for (const folder of [this.#folder, day]) {
      if (existsSync(folder)) continue;
      mkdirSync(folder, { mode: 0o700 });
      flush(dirname(folder));
    }
  }
}

/** Copies the segments of a series; nothing for a series without any. */
function copySeries(seriesId: number, from: SegmentQueries, to: SegmentQueries): SeriesTotal[] {
  const total = { seriesId, firstMs: Infinity, lastMs: 0, segments: 0, records: 0, bytes: 0 };
  for (const row of from.all(seriesId)) {
    to.insert(row);
    total.firstMs = Math.min(total.firstMs, row.firstMs);
    total.lastMs = row.lastMs;
    total.segments += 1;
    total.records += row.records;
    total.bytes += row.payload.length;
  }
  return total.segments === 0 ? [] : [total];
}
