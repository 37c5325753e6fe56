import { Database as Sqlite } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { formatInstant } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { DamagedSegment, damaged } from '../segment/varint.ts';
import type { Archive } from './archive.ts';
import { explained, isDamageError } from './database-errors.ts';
import { DELETE_MARKET_SEGMENTS } from './deletion.ts';
import { sizeAndDigest } from './file-digest.ts';
import type { StoredMarket } from './markets.ts';
import { discard, draftOf, flush, removeIfEmpty } from './on-disk.ts';
import { queriesOf } from './queries.ts';
import sealedSchema from './sealed.sql' with { type: 'text' };
import { BOOKS, IS_NAMED } from './sealed-files.ts';
import { isIntact, SegmentQueries, type SegmentRow } from './segment-queries.ts';
import type { MarketSeries } from './series.ts';
import { ShortPayloads } from './short-payloads.ts';

/** A market that ended this long ago is sealed even if no recording states its winner. */
const UNSETTLED_MS = 7 * 86_400_000;
/** A file that the catalog no longer names is kept for this long: a view of an earlier state may open it. */
const GRACE_MS = 60 * 60_000;
const SEAL_BYTES = 8;
/** Two full segments fit a page, and small files have less room that they do not use than with larger pages. */
const SEALED_PAGE_BYTES = 4096;
/** The name of a file that `seal` writes, or has left as a draft. */
const OURS = /^0x[0-9a-f]+-[0-9a-f]{16}\.db(?:\.partial-[0-9a-f]+)?$/;

/** Markets are looked at in steps of this many keys: a step of an archive that is all sealed takes 2 ms. */
const KEYS_PER_STEP = 1000;
const LAST_KEY = 'SELECT MAX(market_key) AS last FROM markets';
/** ?1: keys after this one; ?2: and up to this one. */
export const UNSEALED_MARKETS = `SELECT market_key AS key, slug, end_ms AS endMs, winner, revision FROM markets NOT INDEXED
  WHERE market_key > ?1 AND market_key <= ?2
    AND NOT EXISTS (SELECT 1 FROM sealed_markets WHERE sealed_markets.market_key = markets.market_key)
    AND EXISTS (SELECT 1 FROM series JOIN segments USING (series_id) WHERE series.market_key = markets.market_key)
  ORDER BY market_key`;
export const SERIES_OF_MARKET = 'SELECT series_id AS seriesId, outcome, kind FROM series WHERE market_key = ?';

/** A market that has records, and is not sealed. */
export interface OpenMarket {
  readonly key: number;
  readonly slug: string;
  readonly endMs: InstantMs;
  readonly winner: string | null;
  readonly revision: number;
}

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
      lastKey: database.query<{ last: number | null }, []>(LAST_KEY),
      open: database.query<OpenMarket, [number, number]>(UNSEALED_MARKETS),
      series: database.query<MarketSeries, [number]>(SERIES_OF_MARKET),
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

  /** The markets after a key that are not sealed, ascending; a step may have none. */
  *open(after = -1): Generator<readonly OpenMarket[]> {
    const { database } = this.#archive;
    const last = database.read(() => this.#sql.lastKey.get()!.last ?? -1);
    for (let from = after; from < last; from += KEYS_PER_STEP) {
      yield database.read(() => this.#sql.open.all(from, from + KEYS_PER_STEP));
    }
  }

  /**
   * Seals the markets that ended by `beforeMs` and are settled. After each one it yields the totals so far. Others may read and write
   * meanwhile; a market that changes while its file is written stays as it is.
   */
  *run(beforeMs: InstantMs, nowMs: InstantMs): Generator<SealedTotals> {
    let totals: SealedTotals = { markets: 0, bytes: 0, failures: [] };
    for (const markets of this.open()) {
      for (const market of markets) {
        if (!isOver(market, beforeMs, nowMs)) continue;
        try {
          const bytes = this.seal(market);
          if (bytes === undefined) continue;
          totals = { ...totals, markets: totals.markets + 1, bytes: totals.bytes + bytes };
        } catch (error) {
          totals = { ...totals, failures: [...totals.failures, failureOf(market, error)] };
        }
        yield totals;
      }
    }
  }

  /**
   * Seals a market if it has this revision. Returns the bytes of its file; undefined if it has changed, has no records, is sealed already,
   * or `sweep` deleted the file. Throws 'unavailable' if it is damaged (see `failureOf`), or cannot be read or written.
   */
  seal({ key, revision }: Pick<OpenMarket, 'key' | 'revision'>): number | undefined {
    const seal = randomBytes(SEAL_BYTES).toString('hex');
    const { database, markets } = this.#archive;
    const market = database.read(() => markets.byKey(key));
    if (market?.revision !== revision) return undefined;
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
          if (present?.revision !== revision || this.#archive.sealed.byKey(key) !== undefined) return false;
          // If writing it took longer than GRACE_MS, another command may have deleted it.
          if (statSync(place, { throwIfNoEntry: false })?.size !== bytes) return false;
          this.#sql.add.run(key, path, seal, bytes, Buffer.from(sha256, 'hex'));
          for (const { seriesId, firstMs, lastMs, segments, records, bytes: payload } of series) {
            this.#sql.addSeries.run(seriesId, key, firstMs, lastMs, segments, records, payload);
          }
          this.#sql.deleteSegments.run(key);
          database.giveBack();
          return true;
        });
        if (isSealed) return bytes;
        rmSync(place, { force: true });
        return undefined;
      });
    } finally {
      discard(draft);
    }
  }

  /** Deletes files that the catalog no longer names, and what a killed `seal` has left. Yields their number after each folder. */
  *sweep(nowMs: InstantMs): Generator<number> {
    if (!existsSync(this.#folder)) return;
    const entries = explained(this.#folder, () => readdirSync(this.#folder, { withFileTypes: true }));
    for (const day of entries) if (day.isDirectory()) yield this.#sweepDay(day.name, nowMs);
  }

  #sweepDay(day: string, nowMs: InstantMs): number {
    const { database } = this.#archive;
    const folder = join(this.#folder, day);
    return explained(folder, () => {
      let swept = 0;
      for (const name of readdirSync(folder)) {
        const place = join(folder, name);
        // Another command may have deleted it.
        const changedMs = statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
        if (!OURS.test(name) || nowMs - changedMs < GRACE_MS) continue;
        const isNamed = () => this.#sql.isNamed.get(`${day}/${name}`) !== null;
        if (database.read(isNamed)) continue;
        // A `seal` that names it meanwhile has the write lock while it looks for the file.
        swept += database.write(() => {
          if (isNamed()) return 0;
          discard(place);
          return 1;
        });
      }
      removeIfEmpty(folder);
      return swept;
    });
  }

  /** Writes the file, which is on disk when this returns, and returns what it has. */
  #write(draft: string, { key, conditionId, revision }: StoredMarket, seal: string): SeriesTotal[] {
    const { database, markets } = this.#archive;
    using file = new Sqlite(draft, { create: true, readwrite: true, strict: true });
    file.run(`PRAGMA page_size = ${SEALED_PAGE_BYTES}`);
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
        const payloads = new ShortPayloads(queriesOf(file));
        const series = this.#sql.series.all(key);
        const books = OUTCOMES.flatMap((of) => series.filter(({ outcome, kind }) => outcome === of && kind === 'book'));
        return [...books, ...series.filter(({ kind }) => kind !== 'book')].flatMap((one) =>
          copySeries(one.seriesId, from, to, (row) => payloads.shortest(row, one, books)),
        );
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

/** Returns true if a market ended by `beforeMs` and has a winner; without one if it ended seven days before `nowMs` too. */
export function isOver({ endMs, winner }: OpenMarket, beforeMs: InstantMs, nowMs: InstantMs): boolean {
  return endMs <= beforeMs && (winner !== null || endMs <= nowMs - UNSETTLED_MS);
}

/** One line about a market that is damaged, and stays as it is. Throws all other errors. */
export function failureOf({ slug }: OpenMarket, error: unknown): string {
  const isDamage = error instanceof DamagedSegment || isDamageError(error);
  if (error instanceof DomainError && isDamage) return `${slug}: ${error.message}`;
  throw error;
}

/**
 * Copies the segments of a series; nothing for a series without any. `stored`: the payload to store of each. Throws DamagedSegment
 * if one does not match its digest.
 */
function copySeries(
  seriesId: number,
  from: SegmentQueries,
  to: SegmentQueries,
  stored: (row: SegmentRow) => Uint8Array,
): SeriesTotal[] {
  const total = { seriesId, firstMs: Infinity, lastMs: 0, segments: 0, records: 0, bytes: 0 };
  for (const row of from.all(seriesId)) {
    if (!isIntact(row)) throw damaged();
    to.insert({ ...row, payload: stored(row) });
    total.firstMs = Math.min(total.firstMs, row.firstMs);
    total.lastMs = row.lastMs;
    total.segments += 1;
    total.records += row.records;
    total.bytes += row.payload.length;
  }
  return total.segments === 0 ? [] : [total];
}
