import { constants, Database as Sqlite } from 'bun:sqlite';
import { statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { AtHome, explained, isDamageError, MissingFile, type NamedFile, UnusableFile } from './database-errors.ts';
import { sizeAndDigest } from './file-digest.ts';
import { KeptSegments } from './kept-segments.ts';
import { type Queries, queriesOf } from './queries.ts';
import { SegmentQueries } from './segment-queries.ts';
import { ShortPayloads, WholePayloads } from './short-payloads.ts';

/** The folder of the sealed markets in a data directory. */
export const BOOKS = 'books';
/** The names of a folder and of a file in it. */
export const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_LENGTH = 10;
export const SEALED_FILE = /^0x[0-9a-f]+-[0-9a-f]{16}\.db$/;

/** The row of a sealed market in bookreel.db. */
export interface SealedMarket extends NamedFile {
  readonly key: number;
  /** Below BOOKS. The market had this conditionId when it was sealed; a stand-in may have been replaced since. */
  readonly path: string;
  /** Random, also in the file: a file that was sealed before, or for another market, is refused. */
  readonly seal: string;
}

/** The records of one series in the file of a sealed market, as the catalog states them. */
export interface SealedSeries {
  readonly seriesId: number;
  readonly firstMs: InstantMs;
  readonly lastMs: InstantMs;
  readonly segments: number;
  readonly records: number;
}

/** A database that numbers its views. */
interface Viewed extends Queries {
  /** Undefined outside of views and transactions. */
  readonly view: number | undefined;
}

/** An open file of a sealed market. */
interface OpenFile extends SealedMarket {
  readonly place: string;
  readonly sqlite: Sqlite;
  readonly segments: SegmentQueries;
  /** The view in which the catalog named it last. */
  view: number | undefined;
  /** The number of the last read of this file. */
  read: number;
}

const COLUMNS = 'sealed_markets.market_key AS key, path, seal, bytes, digest';
export const SEALED_MARKET = `SELECT ${COLUMNS} FROM sealed_markets WHERE market_key = ?`;
/** Also of a series that the file does not have. */
export const SEALED_OF_SERIES = `SELECT ${COLUMNS} FROM series JOIN sealed_markets USING (market_key) WHERE series_id = ?`;
export const NEXT_SEALED = `SELECT ${COLUMNS} FROM sealed_markets WHERE market_key > ? ORDER BY market_key LIMIT 1`;
/** The index has the day of a path and half of its seal. */
const inIndex = (path: string) => `SUBSTR(${path}, 1, 11) || SUBSTR(${path}, -11, 8)`;
const INDEXED = inIndex('path');
/** ?1: the first day, inclusive; ?2: the last one, exclusive. */
const IS_BETWEEN = `${INDEXED} >= ?1 AND ${INDEXED} < ?2`;
export const SEALED_BY_PATH = `SELECT path, bytes, LOWER(HEX(digest)) AS sha256 FROM sealed_markets WHERE ${IS_BETWEEN}
  ORDER BY ${INDEXED}`;
/** The first path after a text, in the order of the index. */
export const NEXT_SEALED_PATH = `SELECT path FROM sealed_markets WHERE ${INDEXED} > ? ORDER BY ${INDEXED} LIMIT 1`;
export const IS_SEALED = 'SELECT 1 AS known FROM sealed_markets WHERE market_key = ? AND seal = ?';
export const IS_NAMED = `SELECT 1 AS known FROM sealed_markets WHERE ${INDEXED} = ${inIndex('?1')} AND path = ?1`;
export const SERIES_OF_SEALED = `SELECT series_id AS seriesId, first_ms AS firstMs, last_ms AS lastMs, segments, records
  FROM sealed_series WHERE market_key = ?`;
const SEALED_TOTALS = 'SELECT COUNT(*) AS markets, IFNULL(SUM(bytes), 0) AS bytes FROM sealed_markets';
export const SEALED_BYTES_BETWEEN = `SELECT IFNULL(SUM(bytes), 0) AS bytes FROM sealed_markets WHERE ${IS_BETWEEN}`;
export const FIRST_SEALED_PATH = `SELECT MIN(${INDEXED}) AS path FROM sealed_markets`;
const LEFT_OPEN = `SELECT COUNT(*) AS markets, MIN(end_ms) AS firstMs FROM markets NOT INDEXED WHERE end_ms <= ?
  AND NOT EXISTS (SELECT 1 FROM sealed_markets WHERE sealed_markets.market_key = markets.market_key)
  AND EXISTS (SELECT 1 FROM series JOIN segments USING (series_id) WHERE series.market_key = markets.market_key)`;
export const IS_REPLICA = 'SELECT 1 AS known FROM replica';
const FORGET = ['DELETE FROM sealed_series WHERE market_key = ?', 'DELETE FROM sealed_markets WHERE market_key = ?'];

/** The files of later versions may have payloads that this one cannot read. */
const VERSION_MAX = 2;
/** An open file takes 0.2 MB. */
const OPEN_MAX = 64;
/** The limit of one file: some segments of each of its series. */
const KEPT_BYTES_MAX = 128 * 1024;

/**
 * The files of the sealed markets of an archive: their segments are there, and nowhere else. A bounded number of them is open, the
 * last used ones. Every call belongs to a view or a transaction of `database`, whose catalog says which file is valid.
 */
export class SealedFiles {
  readonly #folder: string;
  readonly #database: Viewed;
  readonly #main: SegmentQueries;
  readonly #sql;
  /** By market. */
  readonly #open = new Map<number, OpenFile>();
  readonly #bySeries = new Map<number, OpenFile>();
  readonly #wholes = new WholePayloads();
  #reads = 0;
  /** Undefined until it is asked for. */
  #isReplica: boolean | undefined;

  /** `path`: that of bookreel.db. */
  constructor(database: Viewed, path: string) {
    this.#database = database;
    this.#folder = join(dirname(path), BOOKS);
    this.#main = new SegmentQueries(database);
    this.#sql = {
      byKey: database.query<SealedMarket, [number]>(SEALED_MARKET),
      bySeries: database.query<SealedMarket, [number]>(SEALED_OF_SERIES),
      next: database.query<SealedMarket, [number]>(NEXT_SEALED),
      isSealed: database.query<{ known: number }, [number, string]>(IS_SEALED),
      byPath: database.query<{ known: number }, [string]>(IS_NAMED),
      series: database.query<SealedSeries, [number]>(SERIES_OF_SEALED),
      totals: database.query<{ markets: number; bytes: number }, []>(SEALED_TOTALS),
      bytesBetween: database.query<{ bytes: number }, [string, string]>(SEALED_BYTES_BETWEEN),
      firstPath: database.query<{ path: string | null }, []>(FIRST_SEALED_PATH),
      leftOpen: database.query<{ markets: number; firstMs: InstantMs | null }, [number]>(LEFT_OPEN),
      isReplica: () => database.query<{ known: number }, []>(IS_REPLICA).get() !== null,
      forget: FORGET.map((sql) => database.query<never, [number]>(sql)),
    };
  }

  /** Undefined for a market that is not sealed. */
  byKey(marketKey: number): SealedMarket | undefined {
    return this.#sql.byKey.get(marketKey) ?? undefined;
  }

  /** The sealed market with the next key after `marketKey`. */
  after(marketKey: number): SealedMarket | undefined {
    return this.#sql.next.get(marketKey) ?? undefined;
  }

  /** The number of sealed markets, and the bytes of their files. Takes 20 µs per 1,000 of them. */
  totals(): { readonly markets: number; readonly bytes: number } {
    return this.#sql.totals.get()!;
  }

  /** The bytes of the files of days (UTC), from the first to before the other one, as in `2026-11-26`. */
  bytesBetween(firstDay: string, otherDay: string): number {
    return this.#sql.bytesBetween.get(firstDay, otherDay)!.bytes;
  }

  /** The first day (UTC) of a sealed market; undefined without any. */
  firstDay(): string | undefined {
    return this.#sql.firstPath.get()!.path?.slice(0, DAY_LENGTH);
  }

  /** The number of markets that ended by an instant, have records and are not sealed, and the earliest end. Reads all markets. */
  leftOpen(endedByMs: InstantMs): { readonly markets: number; readonly firstMs: InstantMs | null } {
    return this.#sql.leftOpen.get(endedByMs)!;
  }

  /** True if the database is a copy of a published catalog. */
  get isReplica(): boolean {
    this.#isReplica ??= this.#sql.isReplica();
    return this.#isReplica;
  }

  /** Returns true if a sealed market has the file of this path. */
  names(path: string): boolean {
    return this.#sql.byPath.get(path) !== null;
  }

  placeOf({ path }: Pick<SealedMarket, 'path'>): string {
    return join(this.#folder, path);
  }

  /** The same as `read` if the file of the series is open already, so that bookreel.db need not be asked first; else undefined. */
  readOpen<T>(seriesId: number, work: (segments: SegmentQueries) => T): T | undefined {
    const file = this.#bySeries.size === 0 ? undefined : this.#bySeries.get(seriesId);
    if (file === undefined || !this.#isNamed(file)) return undefined;
    file.read = this.#numberOfRead();
    return explained(file.place, () => work(file.segments));
  }

  /** Asks the catalog once in each view: `forget` closes files. */
  #isNamed(file: OpenFile): boolean {
    const { view } = this.#database;
    if (view !== undefined && file.view === view) return true;
    if (this.#sql.isSealed.get(file.key, file.seal) === null) return false;
    file.view = view;
    return true;
  }

  /**
   * Reads segments of a series in the file of its market; undefined if that is not sealed. Throws as `openSealed` does, and AtHome in a
   * replica, which has no other segments.
   */
  read<T>(seriesId: number, work: (segments: SegmentQueries) => T): T | undefined {
    const found = this.#sql.bySeries.get(seriesId);
    if (found === null) {
      if (this.isReplica) throw new AtHome();
      return undefined;
    }
    const file = this.#opened(found);
    return explained(file.place, () => work(file.segments));
  }

  /** The connection to the file of a series, for an audit; undefined if its market is not sealed. */
  queriesOf(seriesId: number): Queries | undefined {
    const found = this.#sql.bySeries.get(seriesId);
    return found === null ? undefined : queriesOf(this.#opened(found).sqlite);
  }

  /** The series of a sealed market that have records. */
  seriesOf(marketKey: number): readonly SealedSeries[] {
    return this.#sql.series.all(marketKey);
  }

  /**
   * Brings the segments of the market of a series back into bookreel.db if it is sealed. Within a write transaction. Throws 'unavailable' if
   * the file is not as it was sealed: then nothing of it is taken.
   */
  unsealSeries(seriesId: number): void {
    const found = this.#sql.bySeries.get(seriesId);
    if (found === null) return;
    const { segments, place, key } = this.#opened(found);
    const fault = changeOf(place, found);
    if (fault !== undefined) throw new DomainError('unavailable', fault);
    explained(place, () => {
      for (const { seriesId: each } of this.seriesOf(key)) for (const row of segments.all(each)) this.#main.insert(row);
      // Views of the states before may open it for a while, see Sealing.sweep; the system dates its other files by the same clock.
      utimesSync(place, new Date(), new Date());
    });
    this.forget(key);
  }

  /** Deletes a market from the catalog of sealed ones. Within a write transaction. */
  forget(marketKey: number): void {
    for (const statement of this.#sql.forget) statement.run(marketKey);
    const file = this.#open.get(marketKey);
    if (file !== undefined) this.#close(file);
  }

  [Symbol.dispose](): void {
    for (const { sqlite } of this.#open.values()) sqlite.close();
    this.#open.clear();
    this.#bySeries.clear();
  }

  #opened(market: SealedMarket): OpenFile {
    const known = this.#open.get(market.key);
    if (known?.seal === market.seal) {
      known.read = this.#numberOfRead();
      return known;
    }
    if (known !== undefined) this.#close(known);
    const file = this.#connect(market);
    this.#open.set(market.key, file);
    for (const { seriesId } of this.#sql.series.all(market.key)) this.#bySeries.set(seriesId, file);
    if (this.#open.size > OPEN_MAX) {
      this.#close([...this.#open.values()].reduce((first, each) => (each.read < first.read ? each : first)));
    }
    return file;
  }

  #close(file: OpenFile): void {
    this.#open.delete(file.key);
    for (const [seriesId, each] of this.#bySeries) if (each === file) this.#bySeries.delete(seriesId);
    file.sqlite.close();
  }

  #numberOfRead(): number {
    this.#reads += 1;
    return this.#reads;
  }

  #connect(market: SealedMarket): OpenFile {
    const place = this.placeOf(market);
    const sqlite = openSealed(place, market);
    // Until it is closed: the file never changes, and a transaction of each statement's own takes time.
    sqlite.run('BEGIN');
    const queries = queriesOf(sqlite);
    const payloads = new ShortPayloads(queries, this.#wholes);
    // The file never changes.
    const kept = new KeptSegments(KEPT_BYTES_MAX, () => 0);
    const segments = new SegmentQueries(queries, kept, (row) => payloads.whole(row));
    return { ...market, place, sqlite, segments, view: undefined, read: this.#numberOfRead() };
  }
}

/** Opens the file of a sealed market to read it. Throws MissingFile, or 'unavailable' if it is not the file that was sealed. */
export function openSealed(place: string, market: SealedMarket): Sqlite {
  const { seal, bytes } = market;
  const found = explained(place, () => statSync(place, { throwIfNoEntry: false }));
  if (found === undefined) {
    throw new MissingFile(`'${place}' is missing: unless its market was just deleted, ${RESTORE}`, market);
  }
  const other = () =>
    new UnusableFile(`'${place}' is not the file that was sealed for this market: ${RESTORE}`, market);
  if (found.size !== bytes) throw other();
  const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
  const sqlite = explained(place, () => new Sqlite(`${pathToFileURL(place).href}?mode=ro&immutable=1`, flags));
  try {
    if (sqlite.query<{ seal: string }, []>('SELECT seal FROM sealed').get()?.seal !== seal) throw other();
    const version = sqlite.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
    if (version <= VERSION_MAX) return sqlite;
    throw new DomainError('conflict', `'${place}' was sealed by a later version of bookreel: use that one`);
  } catch (error) {
    sqlite.close();
    throw isDamageError(error) ? other() : error;
  }
}

/** One sentence if the bytes of a file are not those that were sealed. Reads all of it. */
export function changeOf(place: string, { digest }: SealedMarket): string | undefined {
  if (sizeAndDigest(place).sha256 === Buffer.from(digest).toString('hex')) return undefined;
  return `'${place}' was changed after it was sealed, or is damaged: ${RESTORE}`;
}

const RESTORE = 'restore it from a backup';
