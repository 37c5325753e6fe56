import type { AssetEvent, BookEvent, ChangeEvent } from './asset-event.ts';

/** Changes of one time that are at most this number of messages apart come from one source, in its order. */
const SOURCE_EVENTS = 256;

/** Most moments have none. */
const NO_BOOKS: readonly BookEvent[] = [];
const NO_OTHERS: readonly AssetEvent[] = [];

/** The messages of an import about one asset at one time. */
export class StatedMoment {
  readonly timestampMs: number;
  /** The changes of each source, in its order. */
  readonly sources: ChangeEvent[][] = [];
  /** The whole books, in the order in which they were added. */
  books = NO_BOOKS;
  /** The messages that state a tick or the best prices. */
  others = NO_OTHERS;
  lastEvent = -1;

  constructor(timestampMs: number) {
    this.timestampMs = timestampMs;
  }

  add(event: AssetEvent, number: number): void {
    if (event.kind === 'book') this.books = [...this.books, event];
    else if (event.kind !== 'change') this.others = [...this.others, event];
    else if (this.sources.length > 0 && number - this.lastEvent <= SOURCE_EVENTS) this.sources.at(-1)!.push(event);
    else this.sources.push([event]);
    this.lastEvent = number;
  }

  /** Calls `take` with each message. */
  forEach(take: (event: AssetEvent) => void): void {
    for (const source of this.sources) for (const event of source) take(event);
    for (const event of this.books) take(event);
    for (const event of this.others) take(event);
  }

  /** Any message of the moment; undefined without one. */
  get first(): AssetEvent | undefined {
    return this.sources[0]?.[0] ?? this.books[0] ?? this.others[0];
  }
}

/** The messages of an import about one asset that are not merged yet, by their time. */
export class StatedMoments {
  readonly #moments = new Map<number, StatedMoment>();
  #events = 0;

  add(event: AssetEvent): void {
    const { timestampMs } = event;
    this.#moments.getOrInsertComputed(timestampMs, () => new StatedMoment(timestampMs)).add(event, this.#events);
    this.#events += 1;
  }

  get size(): number {
    return this.#moments.size;
  }

  /** The moments that were not taken. */
  waiting(): StatedMoment[] {
    return [...this.#moments.values()];
  }

  /** Removes and returns the moments, ascending; without those to which the next messages may add, unless `isLast`. */
  take(isLast: boolean): StatedMoment[] {
    const taken: StatedMoment[] = [];
    for (const moment of this.#moments.values()) {
      if (isLast || this.#events - moment.lastEvent > SOURCE_EVENTS) taken.push(moment);
    }
    for (const { timestampMs } of taken) this.#moments.delete(timestampMs);
    return taken.sort((a, b) => a.timestampMs - b.timestampMs);
  }
}
