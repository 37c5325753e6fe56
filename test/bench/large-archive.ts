import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import type { MarketStatement } from '../../src/domain/market-statement.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS } from '../support/archive.ts';
import { bytesOf } from './corpus.ts';

const CACHE_PREFIX = 'bookreel-bench-archive-';
/** Archives of other versions that were not used for this time are deleted. */
const UNUSED_MS_MAX = 24 * 3_600_000;

/** Minimum size of an archive of repeated recordings. */
export interface ArchiveSize {
  readonly snapshots: number;
  readonly bytes: number;
}

/** Snapshots of one outcome of a recorded market, ascending. */
interface RecordedSeries {
  readonly outcome: Outcome;
  readonly records: readonly BookRecord[];
}

interface RecordedMarket {
  readonly market: StoredMarket;
  readonly series: readonly RecordedSeries[];
}

/** A market of the large archive, and the times of its records. */
export interface CopiedMarket {
  readonly symbol: string;
  readonly conditionId: string;
  /** Times of the snapshots of all outcomes, ascending; shared by all copies, which add `shiftMs`. */
  readonly timestampsMs: readonly number[];
  readonly shiftMs: number;
}

/** A data directory in the cache. */
export interface CopiedArchive {
  readonly data: string;
  readonly snapshots: number;
  readonly bytes: number;
  readonly markets: readonly CopiedMarket[];
  /** Undefined if it was in the cache. */
  readonly madeSeconds: number | undefined;
}

/**
 * An archive of at least `size`: repeated copies of `source` as new markets in later windows, with their own ids, stored through the
 * stores like an import. If `smaller` is an archive of the same source, its copy is extended. The archive is kept outside the
 * project for the next run; its name contains the schema and a digest of the source.
 */
export function copiedArchive(source: Archive, size: ArchiveSize, smaller?: CopiedArchive): CopiedArchive {
  const recorded = recordedMarkets(source);
  const copiedSnapshots = recorded.reduce((sum, { series }) => sum + countOf(series), 0);
  const version = `${RECORDINGS.version}-${digestOf(source)}`;
  const data = join(tmpdir(), `${CACHE_PREFIX}${version}-${size.snapshots}-${size.bytes}`);
  const started = performance.now();
  const found = existsSync(data);
  if (!found) {
    deleteUnused(version);
    makeCopies(recorded, size, data, smaller);
  }
  const madeSeconds = found ? undefined : (performance.now() - started) / 1000;
  const archive = openArchive(data, NOW_MS, { create: false });
  try {
    const copies = Math.floor(storedMarkets(archive) / recorded.length);
    return {
      data,
      snapshots: copies * copiedSnapshots,
      bytes: bytesOf(join(data, RECORDINGS.name)),
      markets: Array.from({ length: copies }, (_, copy) => copiedMarkets(recorded, copy)).flat(),
      madeSeconds,
    };
  } finally {
    archive.database.close();
  }
}

/** Digest of all stored segments, and so of the recordings and of their byte format. */
function digestOf({ database }: Archive): string {
  const hash = createHash('sha256');
  const rows = database.query<{ digest: Uint8Array }, []>('SELECT digest FROM segments ORDER BY digest').all();
  for (const { digest } of rows) hash.update(digest);
  return hash.digest('hex').slice(0, 12);
}

function storedMarkets({ database }: Archive): number {
  return database.query<{ count: number }, []>('SELECT COUNT(*) AS count FROM markets').get()!.count;
}

function deleteUnused(version: string): void {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(CACHE_PREFIX) || name.startsWith(`${CACHE_PREFIX}${version}`)) continue;
    if (Date.now() - statSync(path).mtimeMs > UNUSED_MS_MAX) rmSync(path, { recursive: true, force: true });
  }
}

/** Creates it under a temporary name and renames it, so that a killed run leaves no incomplete archive under the final name. */
function makeCopies(
  recorded: readonly RecordedMarket[],
  size: ArchiveSize,
  data: string,
  smaller: CopiedArchive | undefined,
): void {
  const copiedSnapshots = recorded.reduce((sum, { series }) => sum + countOf(series), 0);
  const making = `${data}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  if (smaller === undefined) mkdirSync(making, { mode: 0o700 });
  else cpSync(smaller.data, making, { recursive: true });
  const archive = openArchive(making, NOW_MS, { create: true });
  try {
    let copy = Math.floor(storedMarkets(archive) / recorded.length);
    for (; copy * copiedSnapshots < size.snapshots || storedBytes(archive) < size.bytes; copy += 1) {
      addCopy(archive, recorded, copy);
    }
    archive.database.checkpoint();
  } finally {
    archive.database.close();
  }
  renameSync(making, data);
}

function storedBytes({ database }: Archive): number {
  const pages = database.query<{ page_count: number }, []>('PRAGMA page_count').get()!;
  const { page_size } = database.query<{ page_size: number }, []>('PRAGMA page_size').get()!;
  return pages.page_count * page_size;
}

function addCopy(archive: Archive, recorded: readonly RecordedMarket[], copy: number): void {
  const { database, givenIds, markets, snapshots } = archive;
  const shiftMs = copy * spanOf(recorded);
  database.write(() => {
    givenIds.load();
    for (const { market, series } of recorded) {
      const { market: added } = markets.put(statementOf(market, copy, shiftMs), NOW_MS);
      for (const { outcome, records } of series) {
        const shifted = records.map(({ timestampMs, book }) => ({
          timestampMs: timestampMs + shiftMs,
          id: givenIds.take(undefined),
          book,
        }));
        snapshots.add(added, outcome, shifted);
      }
    }
    givenIds.save();
  });
}

function copiedMarkets(recorded: readonly RecordedMarket[], copy: number): CopiedMarket[] {
  const shiftMs = copy * spanOf(recorded);
  return recorded
    .filter(({ series }) => series.length > 0)
    .map(({ market, series }) => ({
      symbol: market.symbol,
      conditionId: conditionIdOf(market, copy),
      timestampsMs: timestampsOf(series),
      shiftMs,
    }));
}

/** Time from the first window's start to the last one's end: the distance of two copies. */
function spanOf(recorded: readonly RecordedMarket[]): number {
  const firstMs = Math.min(...recorded.map(({ market }) => market.startMs));
  return Math.max(...recorded.map(({ market }) => market.endMs)) - firstMs;
}

function statementOf(market: StoredMarket, copy: number, shiftMs: number): MarketStatement {
  const startMs = market.startMs + shiftMs;
  return {
    conditionId: conditionIdOf(market, copy),
    slug: `${market.slug.replace(/-?\d+$/, '')}-${startMs / 1000}`,
    symbol: market.symbol,
    timeframe: market.timeframe,
    clobTokenIds: [assetOf(market, 'up', copy), assetOf(market, 'down', copy)],
    startMs,
    endMs: market.endMs + shiftMs,
    winner: market.winner,
    resolvedMs: market.resolvedMs === undefined ? undefined : market.resolvedMs + shiftMs,
    priceStart: market.priceStart,
    priceEnd: market.priceEnd,
    active: market.stated.active,
    closed: market.stated.closed,
    volume: market.stated.volume,
    liquidity: market.stated.liquidity,
  };
}

function conditionIdOf({ conditionId }: StoredMarket, copy: number): string {
  return `0x${hashed(`${conditionId} ${copy}`)}`;
}

function assetOf({ conditionId }: StoredMarket, outcome: Outcome, copy: number): string {
  return BigInt(`0x${hashed(`${conditionId} ${outcome} ${copy}`)}`).toString();
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function recordedMarkets(source: Archive): RecordedMarket[] {
  const recorded: RecordedMarket[] = [];
  for (const coin of source.markets.coins()) {
    for (let market = source.markets.after(coin, undefined); market !== undefined; ) {
      recorded.push({ market, series: recordedSeries(source, market) });
      market = source.markets.after(coin, market);
    }
  }
  return recorded;
}

function recordedSeries(source: Archive, market: StoredMarket): RecordedSeries[] {
  return OUTCOMES.flatMap((outcome) => {
    const records: BookRecord[] = [];
    for (const { payload } of source.snapshots.slices(market, outcome, 0, INSTANT_MAX_MS)) {
      for (const record of bookCodec.decode(payload)) records.push(sharing(records.at(-1), record));
    }
    return records.length === 0 ? [] : [{ outcome, records }];
  });
}

/** `record` with the columns of the book before if they are equal, like a record of an import: equal columns are encoded faster. */
function sharing(before: BookRecord | undefined, record: BookRecord): BookRecord {
  if (before === undefined) return record;
  const column = (held: readonly number[], own: readonly number[]) => (sameColumn(held, own) ? held : own);
  const { bidPrices, bidSizes, askPrices, askSizes } = before.book;
  return {
    ...record,
    book: {
      bidPrices: column(bidPrices, record.book.bidPrices),
      bidSizes: column(bidSizes, record.book.bidSizes),
      askPrices: column(askPrices, record.book.askPrices),
      askSizes: column(askSizes, record.book.askSizes),
    },
  };
}

function sameColumn(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

function countOf(series: readonly RecordedSeries[]): number {
  return series.reduce((sum, { records }) => sum + records.length, 0);
}

function timestampsOf(series: readonly RecordedSeries[]): number[] {
  return series.flatMap(({ records }) => records.map(({ timestampMs }) => timestampMs)).sort((a, b) => a - b);
}
