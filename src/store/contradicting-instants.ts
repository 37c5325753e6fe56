import { CONTRADICTING_LISTED_MAX } from '../domain/coverage.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { BookReader } from '../segment/book-decoder.ts';

/** An instant at which an outcome has different books of different imports. */
export interface ContradictingInstant {
  readonly timestampMs: InstantMs;
  /** The number of snapshots at the instant. */
  readonly books: number;
}

interface SuspectInstant extends ContradictingInstant {
  books: number;
  isCounted: boolean;
}

/** The ids of two different books of one instant, both exclusive: ids between them were given in the meantime. */
interface IdInterval {
  readonly afterId: number;
  readonly beforeId: number;
  readonly instant: SuspectInstant;
}

/** Maximum number of intervals that wait for an id. With more, the oldest is dropped: many later books have not decided it. */
const WAITING_MAX = 256;

/**
 * Finds the instants at which different imports stored different books of one outcome, by their ids. A source may state X, Y within one
 * millisecond: a batch gives both their ids together. An import that comes later gives others, after those of the later books of the
 * first one. So an instant contradicts if between the ids of two of its books, which follow each other, there is the id of a book of
 * another instant. That the ids are not consecutive is not enough: a batch may end between X and Y, as may a piece of a recording that
 * is imported by a second command, and a recording may have ids of its own.
 *
 * A second recording that states X, Y where the first one has X alone is found too, although it continues the first: the ids do not tell
 * it from one that contradicts. This takes a recording without changes that lost one of two books of a millisecond, which is rare. So are
 * several books of a millisecond whose recorded ids are in no order of time.
 */
export class ContradictingInstants {
  /** The number of instants found so far. */
  count = 0;
  readonly #listed: SuspectInstant[] = [];
  readonly #isMerged: (timestampMs: InstantMs) => boolean;
  readonly #waiting: IdInterval[] = [];
  /** The instant of the last book, and that book's id. */
  #timestampMs = -1;
  #id = 0;
  #books = 0;
  #suspect: SuspectInstant | undefined;
  #highestId = 0;

  /** `isMerged` returns true for an instant whose books a merge has judged; it is called with ascending times. */
  constructor(isMerged: (timestampMs: InstantMs) => boolean) {
    this.#isMerged = isMerged;
  }

  /** The first instants, ascending, CONTRADICTING_LISTED_MAX at most. */
  get listed(): readonly ContradictingInstant[] {
    return this.#listed.map(({ timestampMs, books }) => ({ timestampMs, books }));
  }

  /** Takes the present book of `reader`, a recorded one. Books come in ascending order. */
  add({ head, index, bidEdits, askEdits }: BookReader): void {
    const timestampMs = head.timestamps[index]!;
    const id = head.ids[index]!;
    if (this.#waiting.length > 0) this.#decide(id);
    if (timestampMs !== this.#timestampMs) {
      this.#timestampMs = timestampMs;
      this.#books = 1;
      this.#suspect = undefined;
    } else {
      this.#books += 1;
      if (this.#suspect !== undefined) this.#suspect.books = this.#books;
      // The first book of a segment has no edits. Equal books do not follow each other within an instant.
      const isDifferent = index === 0 || bidEdits.length > 0 || askEdits.length > 0;
      if (isDifferent && id > this.#id + 1) this.#suspectBetween(this.#id, id);
    }
    this.#id = id;
    this.#highestId = Math.max(this.#highestId, id);
  }

  #suspectBetween(afterId: number, beforeId: number): void {
    const { isCounted } = this.#suspect ?? { isCounted: false };
    if (isCounted || this.#isMerged(this.#timestampMs)) return;
    this.#suspect ??= { timestampMs: this.#timestampMs, books: this.#books, isCounted: false };
    const instant = this.#suspect;
    // The highest id of the earlier books is enough, as long as ids ascend; the later books decide the rest.
    if (afterId < this.#highestId && this.#highestId < beforeId) this.#found(instant);
    else this.#waiting.push({ afterId, beforeId, instant });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
  }

  /** Counts the instants of the waiting intervals that contain an id. */
  #decide(id: number): void {
    for (let at = this.#waiting.length - 1; at >= 0; at -= 1) {
      const { afterId, beforeId, instant } = this.#waiting[at]!;
      if (id <= afterId || id >= beforeId) continue;
      this.#waiting.splice(at, 1);
      this.#found(instant);
    }
  }

  #found(instant: SuspectInstant): void {
    if (instant.isCounted) return;
    instant.isCounted = true;
    this.count += 1;
    // Instants are found nearly in order.
    let at = this.#listed.length;
    while (at > 0 && this.#listed[at - 1]!.timestampMs > instant.timestampMs) at -= 1;
    if (at >= CONTRADICTING_LISTED_MAX) return;
    this.#listed.splice(at, 0, instant);
    if (this.#listed.length > CONTRADICTING_LISTED_MAX) this.#listed.pop();
  }
}
