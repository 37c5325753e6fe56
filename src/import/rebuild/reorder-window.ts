/** What a window puts in order. */
export interface Timed {
  readonly timestampMs: number;
  /** Comes after all others of its timestamp. */
  readonly isLast: boolean;
}

/** Events that arrived out of order, by their timestamps; at ties in the order of arrival, but those that are last after the others. */
export class ReorderWindow<E extends Timed> {
  readonly #events: E[] = [];

  get length(): number {
    return this.#events.length;
  }

  /** The timestamp of the first event. Undefined when there is none. */
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

  /** Takes the first event and all that share its timestamp. Empty when there is none. */
  takeFirst(): E[] {
    const events = this.#events;
    let count = 0;
    while (count < events.length && events[count]!.timestampMs === events[0]!.timestampMs) count += 1;
    return events.splice(0, count);
  }

  /** Whether any event that is waiting fits. */
  some(fits: (event: E) => boolean): boolean {
    return this.#events.some(fits);
  }
}

function isAfter(waiting: Timed, event: Timed): boolean {
  if (waiting.timestampMs !== event.timestampMs) return waiting.timestampMs > event.timestampMs;
  return waiting.isLast && !event.isLast;
}
