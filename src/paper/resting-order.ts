import type { InstantMs } from '../domain/instant.ts';
import type { Micros } from './micros.ts';
import type { EditableOrder } from './paper-account.ts';

/**
 * At the venue a trade is told about 21 ms after the book that it changed (70 of 71 in a capture, six of them outside 17 to 28 ms). So a
 * trade concerns orders that rested longer than this, and the queue by the books before.
 */
export const TRADE_DELAY_MS = 30;

/** An upper bound of the shares ahead of an order: those recorded at its level at the end of a millisecond. */
export interface QueueCap {
  readonly atMs: InstantMs;
  readonly shares: Micros;
}

/** An order in the book's queue. */
export class RestingOrder {
  readonly order: EditableOrder;
  readonly sinceMs: InstantMs;
  /** The shares ahead by trades, and by the books that are older than TRADE_DELAY_MS. */
  #queue: Micros;
  readonly #caps: readonly QueueCap[];
  /** The number of caps that were applied, or are older than the order. */
  #applied: number;

  /** `caps` are those of its level, the oldest first; the level appends later ones. */
  constructor(order: EditableOrder, queue: Micros, sinceMs: InstantMs, caps: readonly QueueCap[]) {
    this.order = order;
    this.sinceMs = sinceMs;
    this.#queue = queue;
    this.#caps = caps;
    this.#applied = caps.length;
  }

  /** A trade of `shares` in its queue or through its price. Returns the shares ahead of it and those that reach it. */
  reachedBy(shares: Micros, atMs: InstantMs): { readonly queue: Micros; readonly beyond: Micros } {
    // Caps of books that no trade of `atMs` or later was part of.
    for (
      let cap = this.#caps[this.#applied];
      cap !== undefined && cap.atMs < atMs - TRADE_DELAY_MS;
      cap = this.#caps[this.#applied]
    ) {
      this.#queue = Math.min(this.#queue, cap.shares);
      this.#applied += 1;
    }
    const queue = this.#queue;
    this.#queue = Math.max(0, queue - shares);
    return { queue, beyond: Math.max(0, shares - queue) };
  }
}
