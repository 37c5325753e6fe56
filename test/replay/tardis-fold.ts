import type { OrderBook } from '../../src/domain/orderbook.ts';

interface Level {
  readonly price: number;
  readonly amount: number;
}

/** A `book_change` as it comes. */
export interface ChangeRecord {
  readonly type: string;
  readonly symbol: string;
  readonly isSnapshot: boolean;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly timestamp: string;
  readonly localTimestamp: string;
}

interface Sides {
  readonly bids: Map<number, number>;
  readonly asks: Map<number, number>;
}

/** Books as a client builds them from `book_change` alone. */
export class FoldedBooks {
  readonly #books = new Map<string, Sides>();
  readonly faults: string[] = [];

  take({ symbol, isSnapshot, bids, asks, localTimestamp }: ChangeRecord): void {
    const held = this.#books.get(symbol);
    if (held === undefined && !isSnapshot) {
      this.faults.push(`${localTimestamp}: ${symbol.slice(0, 6)} changes before it was told`);
      return;
    }
    const book = isSnapshot || held === undefined ? { bids: new Map(), asks: new Map() } : held;
    this.#books.set(symbol, book);
    for (const [side, levels] of [
      [book.bids, bids],
      [book.asks, asks],
    ] as const) {
      for (const { price, amount } of levels) {
        if (amount === 0) side.delete(price);
        else side.set(price, amount);
      }
    }
  }

  /** As behind a new connection. */
  reset(): void {
    this.#books.clear();
  }

  get symbols(): string[] {
    return [...this.#books.keys()];
  }

  /** Best levels first, as the archive has it; undefined for what nothing was told of. */
  book(symbol: string): OrderBook | undefined {
    const book = this.#books.get(symbol);
    if (book === undefined) return undefined;
    const bids = [...book.bids].sort((a, b) => b[0] - a[0]);
    const asks = [...book.asks].sort((a, b) => a[0] - b[0]);
    return {
      bidPrices: bids.map(([price]) => price),
      bidSizes: bids.map(([, size]) => size),
      askPrices: asks.map(([price]) => price),
      askSizes: asks.map(([, size]) => size),
    };
  }
}
