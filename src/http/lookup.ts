import { canonicalCoin, isCoin } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Archive } from '../store/archive.ts';
import type { MarketState, StoredMarket } from '../store/markets.ts';
import { Remembered } from '../store/remembered.ts';

const COINS_MAX = 256;
const MARKETS_MAX = 4096;
/** Lists are remembered in stretches of so many markets: few enough to be looked up for a short list alone. */
const STRETCH = 256;
const STRETCHES_MAX = 256;

/** Finds what paths name. Within `Database.readInTurn`. */
export class Lookup {
  readonly #archive: Archive;
  readonly #coins: Remembered<string>;
  readonly #markets: Remembered<StoredMarket>;
  readonly #stretches: Remembered<readonly MarketState[]>;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#coins = new Remembered(archive.database, COINS_MAX);
    this.#markets = new Remembered(archive.database, MARKETS_MAX);
    this.#stretches = new Remembered(archive.database, STRETCHES_MAX);
  }

  /**
   * The coin a path names, canonical. Throws 'not-found' when nothing of it was ever recorded; with `asOfMs` when nothing of it
   * was known then.
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
   * The market a path names by conditionId or slug; of markets with one slug the latest, with `asOfMs` of those that were listed
   * then. Throws 'not-found' when there is none.
   */
  market(coinText: string, conditionIdOrSlug: string, asOfMs?: InstantMs): StoredMarket {
    const canonical = canonicalCoin(coinText);
    // Of a coin whose markets are all to come, one may have records already: it is found by its name, before any list has it.
    // What is no coin's name may be a key, and is not said back.
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

  /** See Markets.list; `coin` is canonical. */
  markets(coin: string, timeframe: Timeframe | undefined, limit: number, skip: number): MarketState[] {
    const listed: MarketState[] = [];
    for (let nth = Math.floor(skip / STRETCH); listed.length < limit; nth += 1) {
      const stretch = this.#stretch(coin, timeframe, nth);
      const from = Math.max(0, skip - nth * STRETCH);
      for (let i = from; i < stretch.length && listed.length < limit; i += 1) listed.push(stretch[i]!);
      if (stretch.length < STRETCH) break;
    }
    return listed;
  }

  #stretch(coin: string, timeframe: Timeframe | undefined, nth: number): readonly MarketState[] {
    const look = () => this.#archive.markets.list(coin, timeframe, STRETCH, nth * STRETCH);
    return this.#stretches.find(`${coin} ${timeframe ?? ''} ${nth}`, look)!;
  }
}
