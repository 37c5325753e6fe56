import type { OrderBook } from '../../src/domain/orderbook.ts';

/** A book as two maps of sizes by price, changed level by level. */
export class FoldedBook {
  readonly #bids = new Map<number, number>();
  readonly #asks = new Map<number, number>();

  constructor({ bidPrices, bidSizes, askPrices, askSizes }: Partial<OrderBook> = {}) {
    for (const [i, price] of (bidPrices ?? []).entries()) this.#bids.set(price, bidSizes![i]!);
    for (const [i, price] of (askPrices ?? []).entries()) this.#asks.set(price, askSizes![i]!);
  }

  /** Sets the size at a price; 0 removes the level. False when nothing changes. */
  set(isBid: boolean, price: number, size: number): boolean {
    const side = isBid ? this.#bids : this.#asks;
    if (size === 0) return side.delete(price);
    const isNew = side.get(price) !== size;
    side.set(price, size);
    return isNew;
  }

  /** The best levels first, as the archive has it. */
  book(): OrderBook {
    const bids = [...this.#bids].sort((a, b) => b[0] - a[0]);
    const asks = [...this.#asks].sort((a, b) => a[0] - b[0]);
    return {
      bidPrices: bids.map(([price]) => price),
      bidSizes: bids.map(([, size]) => size),
      askPrices: asks.map(([price]) => price),
      askSizes: asks.map(([, size]) => size),
    };
  }
}
