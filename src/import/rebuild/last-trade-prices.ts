import { type HashClaim, lastTradePriceIn } from '../../venue/book-message-parser.ts';
import { HashSearch } from './hash-search.ts';
import { MarketTrades } from './market-trades.ts';

/** Maximum number of assets whose last prices are tried first. With more, the asset that was added first is forgotten. */
const ASSETS_MAX = 4096;

/**
 * The prices of the last trade in book messages of a recording without other messages. Most messages do not state the price, but
 * their hash depends on it: the price with which it matches is proven.
 */
export class LastTradePrices {
  readonly #searches = new Map<string, HashSearch>();

  /** The price that the hash proves, else the one that the message states, see `lastTradePriceIn`. */
  of(assetId: string, claim: HashClaim | undefined, stated: string | undefined): number | undefined {
    const proven = claim === undefined ? undefined : this.#searchOf(assetId).lastTradePriceOf(claim);
    return lastTradePriceIn(proven ?? stated);
  }

  #searchOf(assetId: string): HashSearch {
    const search = this.#searches.getOrInsertComputed(assetId, () => new HashSearch(new MarketTrades()));
    const [oldest] = this.#searches.keys();
    if (this.#searches.size > ASSETS_MAX) this.#searches.delete(oldest!);
    return search;
  }
}
