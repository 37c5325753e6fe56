import { canonicalCoin, isCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';

const COINS_MAX = 256;
const MARKETS_MAX = 4096;

/** Finds the coin and the market that a path names. Within `Database.readShared`. */
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
   * The coin, canonical. Throws 'not-found' when nothing of it was ever recorded; with `asOfMs` when nothing of it was known
   * then.
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
   * The market by conditionId or slug; of markets with one slug the latest, with `asOfMs` of those that were listed
   * then. Throws 'not-found' when there is none.
   */
  market(coinText: string, conditionIdOrSlug: string, asOfMs?: InstantMs): StoredMarket {
    const canonical = canonicalCoin(coinText);
    // A coin whose markets are all to come may have records of one: that is found by its name before any list has it.
    // A text that is no coin's name may be a key, and is not repeated in the answer.
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
