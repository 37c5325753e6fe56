export interface Timed {
  readonly timestampMs: number;
  /** Whether it comes after all others of its timestamp. */
  readonly isLast: boolean;
}

/** Sorts events by timestamp; at ties the `isLast` ones come last, otherwise in the order of arrival. */
export class ReorderWindow<E extends Timed> {
  readonly #events: E[] = [];

  get length(): number {
    return this.#events.length;
  }

  /** The timestamp of the first event; undefined if there is none. */
  get firstMs(): number | undefined {
    return this.#events[0]?.timestampMs;
  }

  push(event: E): void {
    const events = this.#events;
    let at = events.length;
    while (at > 0 && isAfter(events[at - 1]!, event)) at -= 1;
    if (at === events.length) events.push(event);
    else events.splice(at, 0, event);
  }

  /** Takes the first event and all others of its timestamp; empty if there is none. */
  takeFirst(): E[] {
    const events = this.#events;
    let count = 0;
    while (count < events.length && events[count]!.timestampMs === events[0]!.timestampMs) count += 1;
    return events.splice(0, count);
  }

  /** In order. */
  [Symbol.iterator](): Iterator<E> {
    return this.#events[Symbol.iterator]();
  }

  some(isMatch: (event: E) => boolean): boolean {
    return this.#events.some(isMatch);
  }
}

function isAfter(waiting: Timed, event: Timed): boolean {
  if (waiting.timestampMs !== event.timestampMs) return waiting.timestampMs > event.timestampMs;
  return waiting.isLast && !event.isLast;
}
