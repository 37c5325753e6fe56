import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { type Archive, openArchive } from './archive.ts';
import { readManifest } from './backup-manifest.ts';
import { RECORDINGS } from './database-file.ts';
import { DELETE_MARKET_ROWS } from './deletion.ts';
import { HAS_CONDITION_ID, NEW_KEY, NEW_REVISION, type StoredMarket } from './markets.ts';
import { discard, draftOf } from './on-disk.ts';
import { expandBackup } from './restore.ts';
import { Sealing } from './sealing.ts';
import { SegmentQueries } from './segment-queries.ts';

/** The markets of a backup to restore: those of these names, or those whose window begins in a range. */
export type MarketSelection =
  | { readonly names: readonly string[] }
  | { readonly fromMs: InstantMs; readonly beforeMs: InstantMs };

export interface RestoreMarketsOptions {
  /** Replaces markets that the archive has. */
  readonly force: boolean;
  /** Verifies markets of a data directory; throws when one has a fault. */
  readonly check: (directory: string, conditionIds: readonly string[]) => Promise<void>;
  /** Gives the backup the files of sealed markets that are wanted; left out: it has all. */
  readonly fetch?: ((paths: ReadonlySet<string>) => Promise<void>) | undefined;
  readonly onProgress: (done: number, all: number) => void;
}

/** Numbers of markets. */
export interface RestoredMarkets {
  readonly restored: number;
  /** Of these, the markets that replaced one of the archive. */
  readonly replaced: number;
  /** Markets that the archive has, which stay as they are. */
  readonly present: number;
}

const FACTS = `condition_id, venue_market_id, venue_event_id, venue_market_id_ms, venue_event_id_ms, slug, symbol, timeframe,
  up_asset_id, down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
  created_ms, updated_ms, stated_updated_ms, snapshot_count, first_snapshot_ms, last_snapshot_ms, recorded_ms`;
const COPY_MARKET = `INSERT INTO markets (market_key, revision, ${FACTS})
  SELECT ${NEW_KEY}, ${NEW_REVISION}, ${FACTS} FROM backup.markets WHERE market_key = ? RETURNING market_key AS key, revision`;
/** ?1: the key in the archive; ?2: the key in the backup. */
const COPY_DETAILS = [
  'INSERT INTO market_details (market_key, details) SELECT ?1, details FROM backup.market_details WHERE market_key = ?2',
  'INSERT INTO gaps (market_key, from_ms, to_ms, reason) SELECT ?1, from_ms, to_ms, reason FROM backup.gaps WHERE market_key = ?2',
];
const BACKED_UP_SERIES = 'SELECT series_id AS seriesId FROM backup.series WHERE market_key = ?';
const COPY_SERIES = `INSERT INTO series (kind, market_key, outcome, recorded_from_ms)
  SELECT kind, ?1, outcome, recorded_from_ms FROM backup.series WHERE series_id = ?2 RETURNING series_id AS seriesId`;
const MARKETS_BETWEEN =
  'SELECT market_key AS key FROM markets WHERE start_ms >= ? AND start_ms < ? ORDER BY market_key';
/** A stand-in conditionId may have been replaced since the backup. */
export const PRESENT_MARKET = `SELECT market_key AS key FROM markets WHERE ${HAS_CONDITION_ID}
  UNION SELECT market_key FROM markets WHERE slug = ?2 AND symbol = ?3 AND start_ms = ?4`;
/** The ids of a backup of this archive, which gets another id when all of it is restored, are given, and never again. */
const IS_OF_ARCHIVE = `SELECT 1 AS known WHERE (SELECT archive_id FROM archive) = (SELECT archive_id FROM backup.archive)
  AND NOT EXISTS (SELECT 1 FROM backup.given_ids AS b WHERE b.last_id > IFNULL((
    SELECT last_id FROM main.given_ids WHERE first_id <= b.first_id ORDER BY first_id DESC LIMIT 1), 0))`;

/**
 * Takes markets from the backup `source` into an archive, which may be in use, with their records, ids, gaps and facts; not the prices of
 * coins. The copies are compared with the manifest, and checked before the first market is stored. Each market is stored in one transaction,
 * and sealed again if it was: when this is interrupted, each is as it was before, or as in the backup.
 *
 * Throws 'not-found' if the backup has no such market, 'conflict' if it is not of this archive since that was last restored as a whole, 'unreadable' if it differs from its manifest,
 * 'unavailable' when something is missing or cannot be read or written, and what `check` throws.
 */
export async function restoreMarkets(
  archive: Archive,
  source: string,
  selection: MarketSelection,
  { force, check, fetch, onProgress }: RestoreMarketsOptions,
): Promise<RestoredMarkets> {
  const { database } = archive;
  const file = readManifest(source).files.find(({ name }) => name === RECORDINGS.name);
  if (file === undefined) throw new DomainError('not-found', `the backup '${source}' has no recordings`);
  const draft = draftOf(join(resolve(dirname(database.path)), 'restore'));
  const path = join(draft, file.name);
  using opened = new DisposableStack();
  opened.defer(() => discard(draft));
  await expandBackup(source, draft, { files: [file] });
  const backup = openArchive(draft, 0, { create: false, readOnly: true });
  opened.defer(() => backup.database.close());
  opened.use(backup.sealed);
  database.query<never, [string]>('ATTACH ? AS backup').run(path);
  opened.defer(() => database.query('DETACH backup').run());
  if (database.read(() => database.query(IS_OF_ARCHIVE).get()) === null) {
    const remedy = 'restore all of it into a new directory, and import an export of that';
    const sentence = `'${source}' is not an earlier state of this archive, or is from before all of it was restored`;
    throw new DomainError('conflict', `${sentence}: ${remedy}`);
  }
  const store = storing(archive, backup);
  const chosen = selected(backup, source, selection);
  const wanted = force ? chosen : chosen.filter((market) => store.present(market).length === 0);
  const names = wanted.map(({ conditionId }) => conditionId);
  await fetch?.(new Set(wanted.flatMap(({ key }) => backup.sealed.byKey(key)?.path ?? [])));
  if (names.length > 0) await check(draft, names);
  const sealing = new Sealing(archive);
  const stored = wanted.flatMap((market, done) => {
    onProgress(done, wanted.length);
    const found = store.store(market, force);
    if (found !== undefined && backup.sealed.byKey(market.key) !== undefined) sealing.seal(found);
    return found ?? [];
  });
  const replaced = stored.filter(({ isReplaced }) => isReplaced).length;
  return { restored: stored.length, replaced, present: chosen.length - stored.length };
}

function selected({ database, markets }: Archive, source: string, selection: MarketSelection): StoredMarket[] {
  if ('names' in selection) {
    return selection.names.flatMap((name) => {
      const found = markets.named(name);
      if (found.length > 0) return found;
      throw new DomainError('not-found', `'${source}' has no market with the conditionId or slug '${name}'`);
    });
  }
  const found = database
    .query<{ key: number }, [number, number]>(MARKETS_BETWEEN)
    .all(selection.fromMs, selection.beforeMs)
    .map(({ key }) => markets.byKey(key)!);
  if (found.length > 0) return found;
  throw new DomainError('not-found', `'${source}' has no market that began on this day`);
}

/** Functions that store markets of a backup, which is attached to the connection of the archive. */
function storing({ database, sealed }: Archive, backup: Archive) {
  const sql = {
    market: database.query<{ key: number; revision: number }, [number]>(COPY_MARKET),
    details: COPY_DETAILS.map((text) => database.query<never, [number, number]>(text)),
    series: database.query<{ seriesId: number }, [number, number]>(COPY_SERIES),
    seriesOf: database.query<{ seriesId: number }, [number]>(BACKED_UP_SERIES),
    present: database.query<{ key: number }, [string, string, string, number]>(PRESENT_MARKET),
    remove: DELETE_MARKET_ROWS.map((text) => database.query<never, [number]>(text)),
  };
  const [from, to] = [new SegmentQueries(backup.database), new SegmentQueries(database)];

  /** The keys of the market in the archive. */
  const present = ({ conditionId, slug, symbol, startMs }: StoredMarket): number[] =>
    sql.present.all(conditionId, slug, symbol, startMs).map(({ key }) => key);

  /** Stores a market. Undefined if the archive has it, and `isForced` is not set. */
  const store = (market: StoredMarket, isForced: boolean) => {
    const files: string[] = [];
    const stored = database.write(() => {
      const former = present(market);
      if (former.length > 0 && !isForced) return undefined;
      for (const key of former) {
        const file = sealed.byKey(key);
        if (file !== undefined) files.push(sealed.placeOf(file));
        sealed.forget(key);
        for (const statement of sql.remove) statement.run(key);
      }
      const { key, revision } = sql.market.get(market.key)!;
      for (const statement of sql.details) statement.run(key, market.key);
      for (const { seriesId } of sql.seriesOf.all(market.key)) copySegments(seriesId, sql.series.get(key, seriesId)!);
      return { key, revision, isReplaced: former.length > 0 };
    });
    for (const file of files) discard(file);
    return stored;
  };

  const copySegments = (fromId: number, series: { readonly seriesId: number }) => {
    const copy = (segments: SegmentQueries) => {
      for (const row of segments.all(fromId)) to.insert({ ...row, ...series });
    };
    copy(from);
    backup.sealed.read(fromId, copy);
  };
  return { present, store };
}
