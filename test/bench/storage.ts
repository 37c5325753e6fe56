import { Database, SQLiteError } from 'bun:sqlite';
import { basename, join } from 'node:path';
import { openArchive } from '../../src/store/archive.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';
import { bytesOf, type Corpus } from './corpus.ts';
import { type Goal, type Section, table } from './report.ts';

const BOOK_BYTES_MAX = 45;

export interface Storage {
  readonly bookPayload: number;
  /** Bytes of all segments' pages with their index; undefined if SQLite has no dbstat. */
  readonly segmentPages: number | undefined;
  /** The books' share of these, by bytes of payload and digest. */
  readonly bookPages: number | undefined;
  readonly file: number;
  /** All files of the same archive with its markets sealed. */
  readonly sealed: number;
  /** Bytes of the API's JSON, for the largest markets. */
  readonly json: number;
  /** Whether these are real books. */
  readonly isReal: boolean;
}

/** Bytes per snapshot. */
export function measureStorage(corpus: Corpus): Storage {
  const { database } = corpus.place.archive;
  database.checkpoint();
  const sqlite = new Database(database.path, { readonly: true });
  try {
    const payload = sqlite
      .query<{ bytes: number; share: number }, []>(
        `SELECT SUM(LENGTH(payload)) FILTER (WHERE kind = 'book') AS bytes,
          SUM(LENGTH(payload) + LENGTH(digest)) FILTER (WHERE kind = 'book') * 1.0
            / SUM(LENGTH(payload) + LENGTH(digest)) AS share
        FROM segments JOIN series USING (series_id)`,
      )
      .get()!;
    const rows = corpus.large.reduce((sum, market) => sum + market.timestampsMs.length, 0);
    const json = corpus.large.reduce((sum, { jsonBytes }) => sum + jsonBytes, 0);
    const pages = segmentPages(sqlite);
    const segments = pages === undefined ? undefined : pages / corpus.snapshots;
    return {
      bookPayload: payload.bytes / corpus.snapshots,
      segmentPages: segments,
      bookPages: segments === undefined ? undefined : segments * payload.share,
      isReal: corpus.books !== undefined,
      file: bytesOf(database.path) / corpus.snapshots,
      sealed: sealedBytes(database) / corpus.snapshots,
      json: json / rows,
    };
  } finally {
    sqlite.close();
  }
}

export function storageSection({ bookPayload, segmentPages, bookPages, file, json, isReal, sealed }: Storage): Section {
  const row = (name: string, bytes: number) => [name, bytes.toFixed(1), `${(json / bytes).toFixed(0)} ×`];
  const rows = [
    row('JSON of the API, for comparison', json),
    row('segments of books, payload', bookPayload),
    ...(bookPages === undefined
      ? []
      : [row('segments of books, their share of the pages with index (dbstat)', bookPages)]),
    ...(segmentPages === undefined
      ? []
      : [row('segments of books, derived quotes and midpoints, pages with index (dbstat)', segmentPages)]),
    row('whole database file', file),
    row('all files, with every market sealed', sealed),
  ];
  const goal: Goal = {
    figure: 'bytes a snapshot on disk, segments of real books',
    required: `≤ ${BOOK_BYTES_MAX}`,
    measured: bookPages === undefined || !isReal ? 'not measured' : bookPages.toFixed(1),
    met: bookPages === undefined || !isReal ? undefined : bookPages <= BOOK_BYTES_MAX,
  };
  return { text: `## Storage\n\n${table(['stored as', 'bytes a snapshot', 'JSON is larger'], rows)}`, goals: [goal] };
}

/** Seals a copy: other sections measure the archive as it is. */
function sealedBytes(database: Corpus['place']['archive']['database']): number {
  using directory = temporaryDirectory();
  const path = join(directory.path, basename(database.path));
  database.copyInto(path);
  const copy = openArchive(directory.path, Date.now(), { create: false });
  sealAll(copy);
  const files = sealedMarkets(copy).reduce((sum, { bytes }) => sum + bytes, 0);
  copy.database.checkpoint();
  copy.database.close();
  return files + bytesOf(path);
}

function segmentPages(sqlite: Database): number | undefined {
  try {
    return sqlite
      .query<{ bytes: number }, []>(
        "SELECT SUM(pgsize) AS bytes FROM dbstat WHERE name IN ('segments', 'segments_by_position')",
      )
      .get()!.bytes;
  } catch (error) {
    // "no such table": this SQLite has no dbstat.
    if (error instanceof SQLiteError) return undefined;
    throw error;
  }
}
