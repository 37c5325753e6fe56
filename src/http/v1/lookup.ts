import { canonicalCoin, isCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';

const COINS_MAX = 256;
const MARKETS_MAX = 4096;

/** Finds the coin and the market of a path. Call it within `Database.readShared`. */
export class Lookup {
  readonly #archive: Archive;
  readonly #coins: VersionedCache<string>;
  readonly #markets: VersionedCache<StoredMarket>;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#coins = new VersionedCache(archive.database, COINS_MAX);
    this.#markets = new VersionedCache(archive.database, MARKETS_MAX);
  }

  /**
   * The canonical name of a coin. Throws 'not-found' if nothing of it is recorded, with `asOfMs` if nothing of it was known then.
   */
  coin(text: string, asOfMs?: InstantMs): string {
    const { markets, prices } = this.#archive;
    const look = () => {
      const coin = canonicalCoin(text);
      return markets.knowsCoin(coin, asOfMs) || prices.knowsCoin(coin, asOfMs) ? coin : undefined;
    };
    const found = asOfMs === undefined ? this.#coins.find(text, look) : look();
    if (found === undefined) throw new DomainError('not-found', 'nothing of this coin is recorded here');
    return found;
  }

  /**
   * The market by conditionId or slug. Of several markets with one slug it is the latest, with `asOfMs` the latest that was listed
   * then. Throws 'not-found' if there is none.
   */
  market(coinText: string, conditionIdOrSlug: string, asOfMs?: InstantMs): StoredMarket {
    const canonical = canonicalCoin(coinText);
    // A market with records is found by its name before it is listed, even if no market of the coin is listed yet.
    // A text that is not a coin's name may be a key, which the answer must not repeat.
    const coin = asOfMs !== undefined && isCoin(canonical) ? canonical : this.coin(coinText);
    const { markets } = this.#archive;
    const latest = this.#markets.find(`${coin}/${conditionIdOrSlug}`, () => markets.find(coin, conditionIdOrSlug));
    const isKnown = latest === undefined || asOfMs === undefined || markets.isListed(latest, asOfMs);
    const market = isKnown ? latest : markets.find(coin, conditionIdOrSlug, asOfMs);
    if (market === undefined) {
      throw new DomainError(
        'not-found',
        `no market of ${coin} has this conditionId or slug: /v1/${coin}/markets lists them`,
      );
    }
    return market;
  }
}
