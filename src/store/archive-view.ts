import { Database } from './database.ts';
import { RECORDINGS } from './database-file.ts';
import { Gaps } from './gaps.ts';
import { Markets } from './markets.ts';
import { Segments } from './segments.ts';
import { SeriesCatalog } from './series.ts';
import { SnapshotTotals } from './snapshot-totals.ts';
import { Snapshots } from './snapshots.ts';

/** One state of the recordings, read through a connection of its own: for an answer that takes many turns. */
export class ArchiveView implements Disposable {
  readonly markets: Markets;
  readonly snapshots: Snapshots;
  readonly gaps: Gaps;
  readonly #database: Database;
  readonly #view: Disposable;

  /** Throws as `Database.openToRead` does. */
  constructor(path: string) {
    this.#database = Database.openToRead(path, RECORDINGS);
    this.#view = this.#database.beginView();
    const segments = new Segments(this.#database);
    const series = new SeriesCatalog(this.#database);
    this.markets = new Markets(this.#database);
    this.snapshots = new Snapshots(segments, series, new SnapshotTotals(this.#database, segments, series));
    this.gaps = new Gaps(this.#database);
  }

  [Symbol.dispose](): void {
    this.#view[Symbol.dispose]();
    this.#database.close();
  }
}
