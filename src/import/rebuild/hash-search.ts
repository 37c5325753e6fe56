import type { OrderBook } from '../../domain/orderbook.ts';
import { BookHasher, type HashedBook, hashedLevels, tradePriceText } from '../../venue/book-hash.ts';
import type { HashClaim } from '../../venue/book-message-parser.ts';
import type { MarketTrades } from './market-trades.ts';

/** So often in vain is the last trade's price searched among all prices there are. */
const SEARCHES_IN_VAIN_MAX = 3;
const TICK_SIZES = ['0.01', '0.001'];
const EVERY_PRICE = Array.from({ length: 999 }, (_, index) => tradePriceText((index + 1) / 1000));

/**
 * Finds out whether a book has a hash, though the tick and the last trade's price, which the hash depends on, are not said with it:
 * a match proves both. What matched is tried first the next time.
 */
export class HashSearch {
  readonly #trades: MarketTrades;
  #tickSize: string | undefined;
  #lastTradePrice: string | undefined;
  #searchesInVain = 0;

  constructor(trades: MarketTrades) {
    this.#trades = trades;
  }

  noteTick(tickSize: string): void {
    this.#tickSize = tickSize;
  }

  /** Whether the hash that a recorded book came with is its own; with `levels`, whether it is that of another book instead. */
  isHashOf({ hash, hashed, tickSize, lastTradePrice }: HashClaim, levels?: OrderBook): boolean {
    const other = levels === undefined ? undefined : hashedLevels(levels);
    // Of the levels that were stated it was asked before.
    if (other !== undefined && other.bids === hashed.bids && other.asks === hashed.asks) return false;
    const hasher = new BookHasher({ ...hashed, ...other });
    const wanted = new Set([hash]);
    const tickSizes = tickSize === undefined ? this.#likelyTicks() : [tickSize];
    if (lastTradePrice !== undefined) return this.#isFound(hasher, wanted, [lastTradePrice], tickSizes);
    if (this.#isFound(hasher, wanted, this.#likelyPrices(Number(hashed.timestamp)), tickSizes)) return true;
    return this.#isFoundAnywhere(hasher, wanted, tickSize === undefined ? TICK_SIZES : [tickSize]);
  }

  /** Whether a book has one of the hashes; `thoroughly`: with any last trade's price, else with one that is likely. */
  isOneOf(hashes: ReadonlySet<string>, book: HashedBook, thoroughly: boolean): boolean {
    const hasher = new BookHasher(book);
    if (this.#isFound(hasher, hashes, this.#likelyPrices(Number(book.timestamp)), this.#likelyTicks())) return true;
    if (thoroughly) return this.#isFound(hasher, hashes, EVERY_PRICE, TICK_SIZES);
    // Nothing is likely as long as no trade is known.
    return this.#lastTradePrice === undefined && this.#isFoundAnywhere(hasher, hashes, TICK_SIZES);
  }

  /** A thousand prices take a millisecond: given up when it is in vain a few times running. */
  #isFoundAnywhere(hasher: BookHasher, hashes: ReadonlySet<string>, tickSizes: readonly string[]): boolean {
    if (this.#searchesInVain >= SEARCHES_IN_VAIN_MAX) return false;
    const isFound = this.#isFound(hasher, hashes, EVERY_PRICE, tickSizes);
    this.#searchesInVain = isFound ? 0 : this.#searchesInVain + 1;
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
    hasher: BookHasher,
    hashes: ReadonlySet<string>,
    prices: readonly string[],
    tickSizes: readonly string[],
  ): boolean {
    for (const tickSize of tickSizes) {
      for (const lastTradePrice of prices) {
        if (!hashes.has(hasher.digest({ tickSize, lastTradePrice }))) continue;
        this.#tickSize = tickSize;
        this.#lastTradePrice = lastTradePrice;
        return true;
      }
    }
    return false;
  }
}
