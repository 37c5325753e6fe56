import { Database } from './database.ts';
import { RECORDINGS } from './database-file.ts';
import { Gaps } from './gaps.ts';
import { Markets } from './markets.ts';
import { Prices } from './prices.ts';
import { Segments } from './segments.ts';
import { SeriesCatalog } from './series.ts';
import { SnapshotTotals } from './snapshot-totals.ts';
import { Snapshots } from './snapshots.ts';

/** One state of the recordings, read through a connection of its own: for an answer that takes many turns. */
export class ArchiveView implements Disposable {
  readonly markets: Markets;
  readonly snapshots: Snapshots;
  readonly prices: Prices;
  readonly gaps: Gaps;
  readonly segments: Segments;
  readonly series: SeriesCatalog;
  readonly snapshotTotals: SnapshotTotals;
  readonly #database: Database;
  readonly #view: Disposable;

  /** Throws as `Database.openToRead` does. */
  constructor(path: string) {
    this.#database = Database.openToRead(path, RECORDINGS);
    this.#view = this.#database.beginView();
    this.segments = new Segments(this.#database);
    this.series = new SeriesCatalog(this.#database);
    this.snapshotTotals = new SnapshotTotals(this.#database, this.segments, this.series);
    this.markets = new Markets(this.#database);
    this.snapshots = new Snapshots(this.segments, this.series, this.snapshotTotals);
    this.prices = new Prices(this.segments, this.series);
    this.gaps = new Gaps(this.#database);
  }

  [Symbol.dispose](): void {
    this.#view[Symbol.dispose]();
    this.#database.close();
  }
}
