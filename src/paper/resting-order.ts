import type { InstantMs } from '../domain/instant.ts';
import type { Micros } from './micros.ts';
import type { EditableOrder } from './paper-account.ts';

/**
 * At the venue a trade is told about 21 ms after the book that it changed (70 of 71 in a capture, six of them outside 17 to 28 ms). So a
 * trade concerns orders that rested longer than this, and the queue by the books before.
 */
export const TRADE_DELAY_MS = 30;

/** An order in the book's queue. */
export class RestingOrder {
  readonly order: EditableOrder;
  readonly sinceMs: InstantMs;
  /** The shares ahead by all records until now. */
  #queue: Micros;
  /** Those ahead by trades, and by the books that are older than TRADE_DELAY_MS. */
  #queueOfTrades: Micros;
  /** The shares of the level at the end of later milliseconds, the oldest first; each is the least so far. */
  readonly #caps: { readonly atMs: InstantMs; readonly shares: Micros }[] = [];

  constructor(order: EditableOrder, queue: Micros, sinceMs: InstantMs) {
    this.order = order;
    this.sinceMs = sinceMs;
    this.#queue = queue;
    this.#queueOfTrades = queue;
  }

  /** Its level has `shares` recorded ones now: it cannot be behind more. */
  cap(shares: Micros, atMs: InstantMs): void {
    if (shares >= this.#queue) return;
    this.#apply(atMs);
    this.#caps.push({ atMs, shares });
    this.#queue = shares;
  }

  /** A trade of `shares` in its queue or through its price. Returns the shares ahead of it and those that reach it. */
  reachedBy(shares: Micros, atMs: InstantMs): { readonly queue: Micros; readonly beyond: Micros } {
    this.#apply(atMs);
    const queue = this.#queueOfTrades;
    this.#queueOfTrades = Math.max(0, queue - shares);
    this.#queue = Math.min(this.#queue, this.#queueOfTrades);
    return { queue, beyond: Math.max(0, shares - queue) };
  }

  /** Applies the caps of books that no trade of `atMs` or later was part of. */
  #apply(atMs: InstantMs): void {
    while (this.#caps[0] !== undefined && this.#caps[0].atMs < atMs - TRADE_DELAY_MS) {
      this.#queueOfTrades = Math.min(this.#queueOfTrades, this.#caps.shift()!.shares);
    }
  }
}
