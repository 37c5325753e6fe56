import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { BookReader } from '../segment/book-decoder.ts';
import { firstAfter } from '../segment/segment-header.ts';
import type { StoredMarket } from './markets.ts';
import { ID_MAX } from './series-walk.ts';
import type { Snapshots } from './snapshots.ts';

/** The books of one outcome at ascending instants. A segment is decoded once, and only as far as it is needed. */
export class BookWalk {
  readonly reader = new BookReader();
  /** Bytes of the segments that were read so far. */
  bytesRead = 0;
  readonly #find: (instantMs: InstantMs) => ReturnType<Snapshots['nearest']>;
  /** The last record of the open segment. */
  #lastMs = -Infinity;

  constructor(snapshots: Snapshots, market: StoredMarket, outcome: Outcome) {
    this.#find = (instantMs) => snapshots.nearest(market, outcome, instantMs, 'before');
  }

  /** The time of the book that `moveTo` found. */
  get timestampMs(): InstantMs {
    return this.reader.head.timestamps[this.reader.index]!;
  }

  get id(): number {
    return this.reader.head.ids[this.reader.index]!;
  }

  /**
   * Moves to the last book at or before an instant, which is not before that of the last call; of several with one timestamp to
   * that with the highest id. False without one. Throws DomainError 'unavailable' when a segment is damaged.
   */
  moveTo(instantMs: InstantMs): boolean {
    if (instantMs >= this.#lastMs && !this.#open(instantMs)) return false;
    const { reader } = this;
    reader.advanceTo(firstAfter(reader.head, { timestampMs: instantMs, id: ID_MAX }) - 1);
    return true;
  }

  /** Opens the segment with the book; false without one. */
  #open(instantMs: InstantMs): boolean {
    const found = this.#find(instantMs);
    if (found === undefined) return false;
    const { payload, head } = found;
    this.bytesRead += payload.length;
    const open = this.reader.head;
    // It is open already if no record has come since its last one.
    if (head.ids[0] === open.ids[0] && head.timestamps[0] === open.timestamps[0]) return true;
    this.reader.open(payload, head);
    this.#lastMs = head.timestamps.at(-1)!;
    return true;
  }
}
