/** What a window puts in order. */
export interface Timed {
  readonly timestampMs: number;
  /** Stands behind all others of its timestamp. */
  readonly isLast: boolean;
}

/** So many taken entries are dropped at once from the front of the array. */
const COMPACT_AT = 1024;

/**
 * Events that arrived out of order, in the order of their timestamps; at ties in the order of arrival, those that are to stand
 * last behind the others.
 */
export class ReorderWindow<E extends Timed> {
  readonly #events: E[] = [];
  #from = 0;

  get length(): number {
    return this.#events.length - this.#from;
  }

  /** The timestamp of the first event. Undefined when there is none. */
  get firstMs(): number | undefined {
    return this.#events[this.#from]?.timestampMs;
  }

  push(event: E): void {
    const events = this.#events;
    let at = events.length;
    while (at > this.#from && standsBehind(events[at - 1]!, event)) at -= 1;
    if (at === events.length) events.push(event);
    else events.splice(at, 0, event);
  }

  /** Takes the first event and all that share its timestamp. Empty when there is none. */
  takeFirst(): E[] {
    const start = this.#from;
    const firstMs = this.firstMs;
    while (this.#from < this.#events.length && this.firstMs === firstMs) this.#from += 1;
    const taken = this.#events.slice(start, this.#from);
    if (this.#from >= COMPACT_AT || this.#from === this.#events.length) {
      this.#events.splice(0, this.#from);
      this.#from = 0;
    }
    return taken;
  }

  /** Whether any event that is waiting fits. */
  some(fits: (event: E) => boolean): boolean {
    for (let i = this.#from; i < this.#events.length; i += 1) if (fits(this.#events[i]!)) return true;
    return false;
  }
}

function standsBehind(held: Timed, event: Timed): boolean {
  return (
    held.timestampMs > event.timestampMs || (held.timestampMs === event.timestampMs && held.isLast && !event.isLast)
  );
}
