import { randomBytes } from 'node:crypto';
import { Database, type OpenOptions } from './database.ts';
import { RECORDINGS } from './database-file.ts';
import { Gaps } from './gaps.ts';
import { GivenIds } from './ids.ts';
import { Markets } from './markets.ts';
import { Prices } from './prices.ts';
import { Quotes } from './quotes.ts';
import { recordCounter } from './record-counts.ts';
import { RecordedCoins } from './recorded-coins.ts';
import { RecordedDays } from './recorded-days.ts';
import { RecordedTimes } from './recorded-times.ts';
import { SealedFiles } from './sealed-files.ts';
import { Segments } from './segments.ts';
import { SeriesCatalog } from './series.ts';
import { SnapshotTotals } from './snapshot-totals.ts';
import { Snapshots } from './snapshots.ts';
import { Statements } from './statements.ts';

/** An open bookreel.db: the recordings. */
export type Archive = Readonly<ReturnType<typeof openArchive>>;

/** Opens the recordings of a data directory. Creates its database and throws as `Database.open` does. */
export function openArchive(directory: string, nowMs: number, options: OpenOptions) {
  const database = Database.open(directory, RECORDINGS, options);
  try {
    const archiveId = identify(database, nowMs);
    const shown = recordingsIn(database);
    const { segments, series, markets, prices, snapshotTotals } = shown;
    return {
      ...shown,
      archiveId,
      recordCounts: recordCounter(database),
      recordedCoins: new RecordedCoins(database, markets, prices, snapshotTotals),
      recordedDays: new RecordedDays(database, snapshotTotals),
      quotes: new Quotes(segments, series),
      statements: new Statements(segments, series),
      givenIds: new GivenIds(database),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** One state of the recordings, see `openArchiveView`. */
export type ArchiveView = Readonly<ReturnType<typeof openArchiveView>>;

/**
 * Opens one state of the recordings through a connection of its own: for an answer that takes many turns. Throws as
 * `Database.openToRead` does.
 */
export function openArchiveView(path: string) {
  const database = Database.openToRead(path, RECORDINGS);
  const view = database.beginView();
  const recordings = recordingsIn(database);
  const close = () => {
    view[Symbol.dispose]();
    recordings.sealed[Symbol.dispose]();
    database.close();
  };
  return { ...recordings, [Symbol.dispose]: close };
}

function recordingsIn(database: Database) {
  const sealed = new SealedFiles(database, database.path);
  const segments = new Segments(database, sealed);
  const series = new SeriesCatalog(database);
  const snapshotTotals = new SnapshotTotals(database, segments, series);
  const recordedTimes = new RecordedTimes(database, segments);
  const snapshots = new Snapshots(segments, series, snapshotTotals);
  const [markets, prices, gaps] = [new Markets(database), new Prices(segments, series), new Gaps(database)];
  return { database, sealed, segments, series, snapshotTotals, recordedTimes, snapshots, markets, prices, gaps };
}

/**
 * Gives a restored copy an id of its own: it gives ids again that records got after the backup, so those in other backups of the archive are no
 * longer its ids.
 */
export function identifyAnew(directory: string): void {
  using database = Database.open(directory, RECORDINGS, { create: false });
  database.write(() =>
    database.query<never, [string]>('UPDATE archive SET archive_id = ? WHERE only_row = 1').run(newId()),
  );
}

function newId(): string {
  return randomBytes(16).toString('hex');
}

/** Reads the archive's id; a new archive gets one. */
function identify(database: Database, nowMs: number): string {
  const select = database.query<{ archive_id: string }, []>('SELECT archive_id FROM archive');
  const known = database.read(() => select.get());
  if (known !== null) return known.archive_id;
  return database.write(() => {
    // Read again under the lock: two commands may create the archive at the same time.
    const raced = select.get();
    if (raced !== null) return raced.archive_id;
    const archiveId = newId();
    database
      .query<never, [string, number]>('INSERT INTO archive (only_row, archive_id, created_ms) VALUES (1, ?, ?)')
      .run(archiveId, nowMs);
    return archiveId;
  });
}
