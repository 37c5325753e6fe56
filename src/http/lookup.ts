import { canonicalCoin } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { Remembered } from '../store/remembered.ts';

const COINS_MAX = 256;
const MARKETS_MAX = 4096;

/** Finds what paths name. Within `Database.readInTurn`. */
export class Lookup {
  readonly #archive: Archive;
  readonly #coins: Remembered<string>;
  readonly #markets: Remembered<StoredMarket>;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#coins = new Remembered(archive.database, COINS_MAX);
    this.#markets = new Remembered(archive.database, MARKETS_MAX);
  }

  /** The coin a path names, canonical. Throws 'not-found' when nothing of it was ever recorded. */
  coin(text: string): string {
    const { markets, prices } = this.#archive;
    const found = this.#coins.find(text, () => {
      const coin = canonicalCoin(text);
      return markets.knowsCoin(coin) || prices.knowsCoin(coin) ? coin : undefined;
    });
    if (found === undefined) throw new DomainError('not-found', 'nothing of this coin is recorded here');
    return found;
  }

  /** The market a path names by conditionId or slug. Throws 'not-found' when the coin has none of that name. */
  market(coinText: string, conditionIdOrSlug: string): StoredMarket {
    const coin = this.coin(coinText);
    const market = this.#markets.find(`${coin}/${conditionIdOrSlug}`, () =>
      this.#archive.markets.find(coin, conditionIdOrSlug),
    );
    if (market === undefined) {
      throw new DomainError(
        'not-found',
        `no market of ${coin} has this conditionId or slug: /v1/${coin}/markets lists them`,
      );
    }
    return market;
  }
}
