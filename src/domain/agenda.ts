import type { InstantMs } from '../domain/instant.ts';

/** An item that is due at an instant; of items due at the same instant the lower rank comes first. */
export interface Upcoming {
  readonly atMs: InstantMs;
  readonly rank: number;
}

/** Items in the order in which they are due. */
export class Agenda<T extends Upcoming> {
  /** In reverse order: the next item is the last. */
  #items: T[] = [];

  /** When the next item is due; Infinity if no item is left. */
  get nextMs(): InstantMs {
    return this.#items.at(-1)?.atMs ?? Infinity;
  }

  /** Adds an item. The search for its place starts at the next item, since most new items are due soon. */
  add(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0 && isEarlier(items[at - 1]!, item)) at -= 1;
    items.splice(at, 0, item);
  }

  /** Removes and returns the next item, which must exist. */
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
