import type { InstantMs } from '../../domain/instant.ts';

/** Something that comes up at an instant; of one instant the lower rank comes first. */
export interface Upcoming {
  readonly atMs: InstantMs;
  readonly rank: number;
}

/** What lies ahead of a replay, in order. */
export class Agenda<T extends Upcoming> {
  /** The next one stands last. */
  #items: T[] = [];

  /** Infinity where nothing is left. */
  get nextMs(): InstantMs {
    return this.#items.at(-1)?.atMs ?? Infinity;
  }

  add(item: T): void {
    const items = this.#items;
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = items[middle]!;
      const isLater = other.atMs > item.atMs || (other.atMs === item.atMs && other.rank > item.rank);
      if (isLater) low = middle + 1;
      else high = middle;
    }
    if (low === items.length) items.push(item);
    else items.splice(low, 0, item);
  }

  /** The next one, which must be there. */
  take(): T {
    return this.#items.pop()!;
  }

  remove(isUnwanted: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => !isUnwanted(item));
  }
}
