/** A queue of items whose owners take turns; the items of one owner come in the order in which they were added. */
export class Turns<T> {
  /** The waiting items by owner, in the order of the owners' next turns. */
  readonly #waiting = new Map<unknown, Set<T>>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Adds an item. One that is waiting already keeps its place. */
  add(item: T, owner: unknown): void {
    const items = this.#waiting.get(owner);
    if (items === undefined) this.#waiting.set(owner, new Set([item]));
    else items.add(item);
  }

  remove(item: T, owner: unknown): void {
    const items = this.#waiting.get(owner);
    if (items?.delete(item) === true && items.size === 0) this.#waiting.delete(owner);
  }

  /** Removes the first item of the owner whose turn it is; the owner's next turn comes after those of all others. */
  take(): T | undefined {
    for (const [owner, items] of this.#waiting) {
      this.#waiting.delete(owner);
      const [item] = items;
      items.delete(item!);
      if (items.size > 0) this.#waiting.set(owner, items);
      return item;
    }
    return undefined;
  }
}
