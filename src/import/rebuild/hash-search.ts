import type { OrderBook } from '../../domain/orderbook.ts';
import {
  type BookHash,
  type BookHasher,
  type HashedBook,
  hashedLevels,
  tradePriceText,
} from '../../venue/book-hash.ts';
import type { HashClaim } from '../../venue/book-message-parser.ts';
import type { MarketTrades } from './market-trades.ts';

/** After this number of failures in a row only likely prices of the last trade are tried. */
const FAILED_SEARCHES_MAX = 3;
const TICK_SIZES = ['0.01', '0.001'];
/** The prices that matched last: a market trades at few prices in a minute. */
const RECENT_MAX = 16;
/** By the number of thousandths. */
const PRICE_TEXTS = Array.from({ length: 1000 }, (_, thousandths) => tradePriceText(thousandths / 1000));

/** Prices of the last trade in the order in which they are tried, for each tick again. */
type Prices = () => Iterable<string>;

/**
 * Checks whether a hash is the hash of a book. It also depends on the tick and the last trade's price, which messages do not state:
 * likely values are tried, and a match proves both. The values that matched are tried first the next time.
 */
export class HashSearch {
  readonly #trades: MarketTrades;
  readonly #hasher: BookHasher;
  /** Prices of the last trade that matched, the latest first. */
  readonly #recent: string[] = [];
  #tickSize: string | undefined;
  #failedSearches = 0;

  constructor(trades: MarketTrades, hasher: BookHasher) {
    this.#trades = trades;
    this.#hasher = hasher;
  }

  noteTick(tickSize: string): void {
    this.#tickSize = tickSize;
  }

  /** Whether the hash of a recorded book matches its own levels or, if given, `levels` instead. */
  isHashOf({ hash, hashed, tickSize, lastTradePrice }: HashClaim, levels?: OrderBook): boolean {
    const other = levels === undefined ? undefined : hashedLevels(levels);
    // The book's own levels were checked before.
    if (other !== undefined && other.bids === hashed.bids && other.asks === hashed.asks) return false;
    const hashOf = this.#hasher.of({ ...hashed, ...other });
    const wanted = new Set([hash]);
    const tickSizes = tickSize === undefined ? this.#likelyTicks() : [tickSize];
    if (lastTradePrice !== undefined) return this.#isFound(hashOf, wanted, () => [lastTradePrice], tickSizes);
    const likely = this.#likelyPrices(Number(hashed.timestamp));
    if (this.#isFound(hashOf, wanted, () => likely, tickSizes)) return true;
    return this.#isFoundAnywhere(hashOf, wanted, tickSize === undefined ? this.#everyTick() : [tickSize]);
  }

  /** Whether a book has one of the hashes. `thoroughly`: tries every price of the last trade, not only likely ones. */
  isOneOf(hashes: ReadonlySet<string>, book: HashedBook, thoroughly: boolean): boolean {
    const hashOf = this.#hasher.of(book);
    const likely = this.#likelyPrices(Number(book.timestamp));
    if (this.#isFound(hashOf, hashes, () => likely, this.#likelyTicks())) return true;
    if (thoroughly) return this.#isFound(hashOf, hashes, () => this.#everyPrice(), this.#everyTick());
    // No price is likely while no trade is known.
    return this.#recent.length === 0 && this.#isFoundAnywhere(hashOf, hashes, this.#everyTick());
  }

  /** Tries a thousand prices, which takes a millisecond; stops trying after FAILED_SEARCHES_MAX failures in a row. */
  #isFoundAnywhere(hashOf: BookHash, hashes: ReadonlySet<string>, tickSizes: readonly string[]): boolean {
    if (this.#failedSearches >= FAILED_SEARCHES_MAX) return false;
    const isFound = this.#isFound(hashOf, hashes, () => this.#everyPrice(), tickSizes);
    this.#failedSearches = isFound ? 0 : this.#failedSearches + 1;
    return isFound;
  }

  #likelyTicks(): readonly string[] {
    return this.#tickSize === undefined ? TICK_SIZES : [this.#tickSize];
  }

  /** The known tick first. */
  #everyTick(): readonly string[] {
    return [...this.#likelyTicks(), ...TICK_SIZES.filter((tickSize) => !this.#likelyTicks().includes(tickSize))];
  }

  #likelyPrices(timestampMs: number): readonly string[] {
    const [last, ...others] = this.#recent;
    const known = last === undefined ? [] : [last];
    return [...new Set([...known, ...this.#trades.pricesAround(timestampMs), ...others, ''])];
  }

  /** No price and every price, the most likely first: whole cents outward from the last price and from its complement, then the others. */
  *#everyPrice(): Generator<string> {
    const cents = Math.round(Number(this.#recent[0] || '0.5') * 100);
    const seen = new Set<number>();
    yield '';
    for (let away = 0; away < 100; away += 1) {
      for (const price of [cents - away, cents + away, 100 - cents - away, 100 - cents + away]) {
        if (price <= 0 || price >= 100 || seen.has(price)) continue;
        seen.add(price);
        yield PRICE_TEXTS[price * 10]!;
      }
    }
    for (let thousandths = 1; thousandths < 1000; thousandths += 1) {
      if (thousandths % 10 !== 0) yield PRICE_TEXTS[thousandths]!;
    }
  }

  #isFound(hashOf: BookHash, hashes: ReadonlySet<string>, prices: Prices, tickSizes: readonly string[]): boolean {
    for (const tickSize of tickSizes) {
      for (const lastTradePrice of prices()) {
        if (!hashes.has(hashOf({ tickSize, lastTradePrice }))) continue;
        this.#tickSize = tickSize;
        this.#noteMatch(lastTradePrice);
        return true;
      }
    }
    return false;
  }

  #noteMatch(price: string): void {
    const recent = this.#recent;
    if (recent[0] === price) return;
    const at = recent.indexOf(price);
    if (at >= 0) recent.splice(at, 1);
    recent.unshift(price);
    if (recent.length > RECENT_MAX) recent.pop();
  }
}
