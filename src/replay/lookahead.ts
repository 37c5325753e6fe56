/** Items in order; the next one can be read before it is taken. */
export class Lookahead<T> {
  readonly #items: Iterator<T>;
  /** The next item; undefined after the last one. */
  next: T | undefined;

  constructor(items: Iterable<T>) {
    this.#items = items[Symbol.iterator]();
    this.next = this.#items.next().value;
  }

  /** Removes and returns the next item, which must exist. */
  take(): T {
    const taken = this.next!;
    this.next = this.#items.next().value;
    return taken;
  }
}
