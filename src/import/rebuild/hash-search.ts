import type { OrderBook } from '../../domain/orderbook.ts';
import { type BookHash, bookHash, type HashedBook, hashedLevels, tradePriceText } from '../../venue/book-hash.ts';
import type { HashClaim } from '../../venue/book-message-parser.ts';
import type { MarketTrades } from './market-trades.ts';

/** After this number of failures in a row only likely prices of the last trade are tried. */
const FAILED_SEARCHES_MAX = 3;
const TICK_SIZES = ['0.01', '0.001'];
const EVERY_PRICE = Array.from({ length: 999 }, (_, index) => tradePriceText((index + 1) / 1000));

/**
 * Checks whether a hash is the hash of a book. It also depends on the tick and the last trade's price, which messages do not state:
 * likely values are tried, and a match proves both. The values that matched are tried first the next time.
 */
export class HashSearch {
  readonly #trades: MarketTrades;
  #tickSize: string | undefined;
  #lastTradePrice: string | undefined;
  #failedSearches = 0;

  constructor(trades: MarketTrades) {
    this.#trades = trades;
  }

  noteTick(tickSize: string): void {
    this.#tickSize = tickSize;
  }

  /** Whether the hash of a recorded book matches its own levels or, if given, `levels` instead. */
  isHashOf({ hash, hashed, tickSize, lastTradePrice }: HashClaim, levels?: OrderBook): boolean {
    const other = levels === undefined ? undefined : hashedLevels(levels);
    // The book's own levels were checked before.
    if (other !== undefined && other.bids === hashed.bids && other.asks === hashed.asks) return false;
    const hashOf = bookHash({ ...hashed, ...other });
    const wanted = new Set([hash]);
    const tickSizes = tickSize === undefined ? this.#likelyTicks() : [tickSize];
    if (lastTradePrice !== undefined) return this.#isFound(hashOf, wanted, [lastTradePrice], tickSizes);
    if (this.#isFound(hashOf, wanted, this.#likelyPrices(Number(hashed.timestamp)), tickSizes)) return true;
    return this.#isFoundAnywhere(hashOf, wanted, tickSize === undefined ? TICK_SIZES : [tickSize]);
  }

  /** Whether a book has one of the hashes. `thoroughly`: tries every price of the last trade, not only likely ones. */
  isOneOf(hashes: ReadonlySet<string>, book: HashedBook, thoroughly: boolean): boolean {
    const hashOf = bookHash(book);
    if (this.#isFound(hashOf, hashes, this.#likelyPrices(Number(book.timestamp)), this.#likelyTicks())) return true;
    if (thoroughly) return this.#isFound(hashOf, hashes, EVERY_PRICE, TICK_SIZES);
    // No price is likely while no trade is known.
    return this.#lastTradePrice === undefined && this.#isFoundAnywhere(hashOf, hashes, TICK_SIZES);
  }

  /** Tries a thousand prices, which takes a millisecond; stops trying after FAILED_SEARCHES_MAX failures in a row. */
  #isFoundAnywhere(hashOf: BookHash, hashes: ReadonlySet<string>, tickSizes: readonly string[]): boolean {
    if (this.#failedSearches >= FAILED_SEARCHES_MAX) return false;
    const isFound = this.#isFound(hashOf, hashes, EVERY_PRICE, tickSizes);
    this.#failedSearches = isFound ? 0 : this.#failedSearches + 1;
    return isFound;
  }

  #likelyTicks(): readonly string[] {
    return this.#tickSize === undefined ? TICK_SIZES : [this.#tickSize];
  }

  #likelyPrices(timestampMs: number): readonly string[] {
    const known = this.#lastTradePrice === undefined ? [] : [this.#lastTradePrice];
    return [...known, ...this.#trades.pricesAround(timestampMs), ''];
  }

  #isFound(
    hashOf: BookHash,
    hashes: ReadonlySet<string>,
    prices: readonly string[],
    tickSizes: readonly string[],
  ): boolean {
    for (const tickSize of tickSizes) {
      for (const lastTradePrice of prices) {
        if (!hashes.has(hashOf({ tickSize, lastTradePrice }))) continue;
        this.#tickSize = tickSize;
        this.#lastTradePrice = lastTradePrice;
        return true;
      }
    }
    return false;
  }
}
