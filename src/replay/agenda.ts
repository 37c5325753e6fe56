import type { InstantMs } from '../domain/instant.ts';

/** Something that comes up at an instant; of one instant the lower rank comes first. */
export interface Upcoming {
  readonly atMs: InstantMs;
  readonly rank: number;
}

/** Items in the order in which they come up. */
export class Agenda<T extends Upcoming> {
  /** The next one is the last. */
  #items: T[] = [];

  /** Infinity where nothing is left. */
  get nextMs(): InstantMs {
    return this.#items.at(-1)?.atMs ?? Infinity;
  }

  /** Walks from the next one on: most new items come up soon. */
  add(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0 && isEarlier(items[at - 1]!, item)) at -= 1;
    items.splice(at, 0, item);
  }

  /** The next one, which must be there. */
  take(): T {
    return this.#items.pop()!;
  }

  remove(isUnwanted: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => !isUnwanted(item));
  }
}

function isEarlier(a: Upcoming, b: Upcoming): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.rank < b.rank);
}
