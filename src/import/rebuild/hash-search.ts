import type { OrderBook } from '../../domain/orderbook.ts';
import { BookHasher, type HashedBook, hashedLevels, tradePriceText } from '../../venue/book-hash.ts';
import type { HashClaim } from '../../venue/book-message-parser.ts';
import type { MarketTrades } from './market-trades.ts';

/** After this number of failures in a row only likely prices of the last trade are tried. */
const FAILED_SEARCHES_MAX = 3;
const TICK_SIZES = ['0.01', '0.001'];
/** If none of this number of first books matches, the hashes are of another kind: only one in UNMATCHED_EVERY is tried then. */
const UNMATCHED_MAX = 256;
const UNMATCHED_EVERY = 16;
/** The prices that matched last: a market trades at few prices in a minute. */
const RECENT_MAX = 16;
/** Prices as hashes write them, by their number of thousandths. */
const PRICE_TEXTS = Array.from({ length: 1000 }, (_, thousandths) => tradePriceText(thousandths / 1000));

/** Prices of the last trade in the order in which they are tried, for each tick again. */
type Prices = () => Iterable<string>;
type HashTest = (hash: string) => boolean;
/** The prices of the last trade to try: the one that matched last; also those of trades around the book; also likely ones; or all. */
export type TriedPrices = 'last' | 'traded' | 'likely' | 'every';

/**
 * Checks whether a hash is the hash of a book. It also depends on the tick and the last trade's price, which messages do not state:
 * likely values are tried, and a match proves both. The values that matched are tried first the next time.
 */
export class HashSearch {
  readonly #trades: MarketTrades;
  readonly #hasher = new BookHasher();
  /** Prices of the last trade that matched, the latest first. */
  readonly #recent: string[] = [];
  #tickSize: string | undefined;
  /** The tick that a message stated last. Changes of its millisecond may have come before it. */
  #statedTick: string | undefined;
  #failedSearches = 0;
  /** Books that were tried before the first match. */
  #unmatched = 0;
  #hasMatched = false;

  constructor(trades: MarketTrades) {
    this.#trades = trades;
  }

  /** Call it when a hash of the asset has matched in an earlier import. */
  noteMatched(): void {
    this.#hasMatched = true;
  }

  noteTick(tickSize: string): void {
    this.#statedTick = tickSize;
  }

  /**
   * The last trade's price, in the hash's notation, with which the hash of a recorded book matches its own levels or, if given,
   * `levels` instead: it is proven, as far as SHA-1 proves. Empty before the first trade; undefined if the hash does not match.
   */
  lastTradePriceOf({ hash, hashed, tickSize, lastTradePrice }: HashClaim, levels?: OrderBook): string | undefined {
    const other = levels === undefined ? undefined : hashedLevels(levels);
    // The book's own levels were checked before.
    if (other !== undefined && other.bids === hashed.bids && other.asks === hashed.asks) return undefined;
    const book = other === undefined ? hashed : { ...hashed, ...other };
    const isWanted = (found: string) => found === hash;
    const tickSizes = tickSize === undefined ? this.#likelyTicks() : [tickSize];
    if (lastTradePrice !== undefined) return this.#found(book, isWanted, () => [lastTradePrice], tickSizes);
    return (
      this.#found(book, isWanted, () => this.#likelyPrices(book), tickSizes) ??
      this.#foundAnywhere(book, isWanted, tickSize === undefined ? this.#everyTick() : [tickSize])
    );
  }

  /** Call it with the proven price of a book: books around it have the same one, or that of a trade. */
  noteLastTrade({ hashed }: HashClaim, price: string): void {
    if (price !== '') this.#trades.add(Number(hashed.timestamp), Number(price));
  }

  isOneOf(hashes: readonly string[], book: HashedBook, prices: TriedPrices): boolean {
    const [lastTradePrice] = this.#recent;
    const tickSize = this.#tickSize;
    // Most books have what matched last.
    if (lastTradePrice !== undefined && tickSize !== undefined) {
      if (hashes.includes(this.#hasher.hashOf(book, { tickSize, lastTradePrice }))) return true;
    }
    if (prices === 'last' || this.#isHopeless()) return false;
    const isWanted = (hash: string) => hashes.includes(hash);
    if (prices === 'traded') {
      const traded = this.#trades.pricesAround(Number(book.timestamp));
      return this.#found(book, isWanted, () => traded, this.#likelyTicks()) !== undefined;
    }
    if (this.#found(book, isWanted, () => this.#likelyPrices(book), this.#likelyTicks()) !== undefined) return true;
    if (prices === 'every')
      return this.#found(book, isWanted, () => this.#everyPrice(), this.#everyTick()) !== undefined;
    // No price is likely while no trade is known.
    return this.#recent.length === 0 && this.#foundAnywhere(book, isWanted, this.#everyTick()) !== undefined;
  }

  #isHopeless(): boolean {
    if (this.#hasMatched || this.#recent.length > 0) return false;
    this.#unmatched += 1;
    return this.#unmatched > UNMATCHED_MAX && this.#unmatched % UNMATCHED_EVERY !== 0;
  }

  /** Tries a thousand prices, which takes a millisecond; stops trying after FAILED_SEARCHES_MAX failures in a row. */
  #foundAnywhere(book: HashedBook, isWanted: HashTest, tickSizes: readonly string[]): string | undefined {
    if (this.#failedSearches >= FAILED_SEARCHES_MAX) return undefined;
    const found = this.#found(book, isWanted, () => this.#everyPrice(), tickSizes);
    this.#failedSearches = found === undefined ? this.#failedSearches + 1 : 0;
    return found;
  }

  #likelyTicks(): readonly string[] {
    const known = [this.#tickSize, this.#statedTick].filter((tickSize) => tickSize !== undefined);
    return known.length === 0 ? TICK_SIZES : [...new Set(known)];
  }

  /** The known tick first. */
  #everyTick(): readonly string[] {
    return [...this.#likelyTicks(), ...TICK_SIZES.filter((tickSize) => !this.#likelyTicks().includes(tickSize))];
  }

  /**
   * Half of all books have the price that matched last, a quarter the one before it, which is often of the other outcome's trades,
   * and most of the rest the price of the trade that the book is sent for: one of its best ones, or the complement of one.
   */
  *#likelyPrices({ timestamp, best: { bid, ask } }: HashedBook): Generator<string> {
    const [last, beforeLast] = this.#recent;
    if (last !== undefined) yield last;
    yield* this.#trades.pricesAround(Number(timestamp));
    if (beforeLast !== undefined) yield beforeLast;
    for (const price of [ask, bid, 1 - ask, 1 - bid]) {
      const text = tradePriceText(price);
      if (text !== last && text !== beforeLast) yield text;
    }
    yield* this.#recent.slice(2);
    yield '';
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

  /** The price of the last trade with which the book has one of the hashes. */
  #found(book: HashedBook, isWanted: HashTest, prices: Prices, tickSizes: readonly string[]): string | undefined {
    for (const tickSize of tickSizes) {
      this.#hasher.open(book, tickSize);
      for (const lastTradePrice of prices()) {
        if (!isWanted(this.#hasher.hash(lastTradePrice))) continue;
        this.#tickSize = tickSize;
        this.#noteMatch(lastTradePrice);
        return lastTradePrice;
      }
    }
    return undefined;
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
