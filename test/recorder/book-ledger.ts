import type { OrderBook } from '../../src/domain/orderbook.ts';

/** A list of books of one outcome as lines `time bids asks`, the best levels first. Long lists keep only their digest. */
export class BookLedger {
  readonly #hasher = new Bun.CryptoHasher('sha1');
  /** Empty unless they are kept. */
  readonly lines: string[] = [];
  readonly #keepsLines: boolean;
  count = 0;

  constructor(keepsLines: boolean) {
    this.#keepsLines = keepsLines;
  }

  add(line: string): void {
    this.#hasher.update(`${line}\n`);
    if (this.#keepsLines) this.lines.push(line);
    this.count += 1;
  }

  /** Of all lines until now. */
  digest(): string {
    return this.#hasher.copy().digest('hex');
  }
}

/** The line of a stored book. */
export function bookLine(timestampMs: number, book: OrderBook): string {
  const side = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((price, index) => `${price}x${sizes[index]}`).join(',');
  return `${timestampMs} ${side(book.bidPrices, book.bidSizes)} ${side(book.askPrices, book.askSizes)}`;
}
