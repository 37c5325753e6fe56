import { tradePriceText } from '../../venue/book-hash.ts';

/** So many trades of a market are remembered: about a quarter of a minute where trading is busy. */
const TRADES_MAX = 256;

/** Trades that count for a book: it is stamped about 20 ms before the message of the trade that changed it. */
const AFTER_MS = 250;
const BEFORE_MS = 100;
const USUAL_DELAY_MS = 20;
const NEAR_MAX = 8;

/** The last trades of one market, of both outcomes: what the hashes of its books depend on. */
export class MarketTrades {
  readonly #trades: { readonly timestampMs: number; readonly price: number }[] = [];

  add(timestampMs: number, price: number): void {
    const trades = this.#trades;
    const at = trades.findLastIndex((trade) => trade.timestampMs <= timestampMs) + 1;
    trades.splice(at, 0, { timestampMs, price });
    if (trades.length > TRADES_MAX) trades.shift();
  }

  /**
   * The prices that a book of `timestampMs` may have as its last trade's, as the hash has them: of the trades around that time,
   * most likely first. A trade that mints or merges both outcomes is sent with the price of one and hashed with that of the other.
   */
  pricesAround(timestampMs: number): string[] {
    const expectedMs = timestampMs + USUAL_DELAY_MS;
    const near = this.#trades
      .filter((trade) => trade.timestampMs >= timestampMs - BEFORE_MS && trade.timestampMs <= timestampMs + AFTER_MS)
      .sort((a, b) => Math.abs(a.timestampMs - expectedMs) - Math.abs(b.timestampMs - expectedMs))
      .slice(0, NEAR_MAX);
    return near.flatMap(({ price }) => [tradePriceText(price), tradePriceText(1 - price)]);
  }
}
