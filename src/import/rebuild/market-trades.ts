import { TRADE_DELAY_MAX_MS, tradePriceText } from '../../venue/book-hash.ts';

/** Trades kept per market: about 15 seconds of busy trading. */
const TRADES_MAX = 256;

/** A trade may belong to a book that is at most this much later, or TRADE_DELAY_MAX_MS earlier. */
const BEFORE_MS = 100;
const USUAL_DELAY_MS = 20;
const NEAR_MAX = 8;

/** The latest trades of both outcomes of one market. The hashes of its books depend on their prices. */
export class MarketTrades {
  readonly #trades: { readonly timestampMs: number; readonly price: number }[] = [];

  add(timestampMs: number, price: number): void {
    const trades = this.#trades;
    const at = trades.findLastIndex((trade) => trade.timestampMs <= timestampMs) + 1;
    trades.splice(at, 0, { timestampMs, price });
    if (trades.length > TRADES_MAX) trades.shift();
  }

  /**
   * Likely prices of the last trade of a book at `timestampMs`, most likely first, in the hash's notation. Each trade gives two: one
   * that mints or merges both outcomes is sent with the price of one outcome and hashed with that of the other.
   */
  pricesAround(timestampMs: number): string[] {
    const expectedMs = timestampMs + USUAL_DELAY_MS;
    const near = this.#trades
      .filter(
        (trade) =>
          trade.timestampMs >= timestampMs - BEFORE_MS && trade.timestampMs <= timestampMs + TRADE_DELAY_MAX_MS,
      )
      .sort((a, b) => Math.abs(a.timestampMs - expectedMs) - Math.abs(b.timestampMs - expectedMs))
      .slice(0, NEAR_MAX);
    return near.flatMap(({ price }) => [tradePriceText(price), tradePriceText(1 - price)]);
  }
}
