import { Database, SQLiteError } from 'bun:sqlite';
import { bytesOf, type Corpus } from './corpus.ts';

export interface Storage {
  readonly bookPayload: number;
  /** Undefined where SQLite was built without dbstat. */
  readonly segmentPages: number | undefined;
  readonly file: number;
  /** Of the API's JSON, in the largest markets. */
  readonly json: number;
}

/** Bytes a snapshot. */
export function measureStorage(corpus: Corpus): Storage {
  const { database } = corpus.place.archive;
  database.checkpoint();
  const sqlite = new Database(database.path, { readonly: true });
  try {
    const payload = sqlite
      .query<{ bytes: number }, []>(
        "SELECT SUM(LENGTH(payload)) AS bytes FROM segments JOIN series USING (series_id) WHERE kind = 'book'",
      )
      .get()!;
    const rows = corpus.large.reduce((sum, market) => sum + market.timestampsMs.length, 0);
    const json = corpus.large.reduce((sum, { jsonBytes }) => sum + jsonBytes, 0);
    const pages = segmentPages(sqlite);
    return {
      bookPayload: payload.bytes / corpus.snapshots,
      segmentPages: pages === undefined ? undefined : pages / corpus.snapshots,
      file: bytesOf(database.path) / corpus.snapshots,
      json: json / rows,
    };
  } finally {
    sqlite.close();
  }
}

function segmentPages(sqlite: Database): number | undefined {
  try {
    return sqlite
      .query<{ bytes: number }, []>(
        "SELECT SUM(pgsize) AS bytes FROM dbstat WHERE name IN ('segments', 'segments_by_place')",
      )
      .get()!.bytes;
  } catch (error) {
    // "no such table": this SQLite cannot tell.
    if (error instanceof SQLiteError) return undefined;
    throw error;
  }
}
