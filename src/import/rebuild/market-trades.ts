import { firstIndex } from '../../domain/first-index.ts';
import { TRADE_DELAY_MAX_MS, tradePriceText } from '../../venue/book-hash.ts';

/** Trades kept per market: several minutes of busy trading. The trades of a batch are known before its books are proved. */
const TRADES_MAX = 8192;

/** A trade may belong to a book that is at most this much later, or TRADE_DELAY_MAX_MS earlier. */
const BEFORE_MS = 100;
const USUAL_DELAY_MS = 20;
const PRICES_MAX = 16;
/** The number of older trades that are tried for a book without a trade close to it. */
const EARLIER_MAX = 2;

/** The latest trades of both outcomes of one market. The hashes of its books depend on their prices. */
export class MarketTrades {
  readonly #trades: { readonly timestampMs: number; readonly price: number }[] = [];

  add(timestampMs: number, price: number): void {
    const trades = this.#trades;
    const at = this.#after(timestampMs);
    for (let before = at - 1; trades[before]?.timestampMs === timestampMs; before -= 1) {
      if (trades[before]!.price === price) return;
    }
    trades.splice(at, 0, { timestampMs, price });
    if (trades.length > TRADES_MAX) trades.shift();
  }

  /** The index of the first trade after a time. */
  #after(timestampMs: number): number {
    const trades = this.#trades;
    return firstIndex(trades.length, (index) => trades[index]!.timestampMs > timestampMs);
  }

  /**
   * Likely prices of the last trade of a book at `timestampMs`, most likely first, in the hash's notation. Each trade gives two: one
   * that mints or merges both outcomes is sent with the price of one outcome and hashed with that of the other.
   */
  pricesAround(timestampMs: number): string[] {
    const expectedMs = timestampMs + USUAL_DELAY_MS;
    const [from, to] = [this.#after(timestampMs - BEFORE_MS - 1), this.#after(timestampMs + TRADE_DELAY_MAX_MS)];
    const near = this.#trades
      .slice(from, to)
      .sort((a, b) => Math.abs(a.timestampMs - expectedMs) - Math.abs(b.timestampMs - expectedMs));
    const earlier = this.#trades.slice(Math.max(0, from - EARLIER_MAX), from).reverse();
    const prices = new Set<string>();
    for (const { price } of [...near, ...earlier]) {
      prices.add(tradePriceText(price)).add(tradePriceText(1 - price));
      if (prices.size >= PRICES_MAX) break;
    }
    return [...prices];
  }
}
