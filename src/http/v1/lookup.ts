import { canonicalCoin, refuseUnknownCoins } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';
import { windowOfSlug } from '../../venue/slug.ts';
import type { NodeAnswers } from './node-answers.ts';

const COINS_MAX = 256;
const MARKETS_MAX = 4096;

/** Finds the coin and the market of a path. Call it within `Database.readShared`. */
export class Lookup {
  readonly #archive: Archive;
  readonly #coins: VersionedCache<string>;
  readonly #markets: VersionedCache<StoredMarket>;
  readonly #node: Pick<NodeAnswers, 'need' | 'hold'> | undefined;

  /** `node`: left out if this machine has all records. */
  constructor(archive: Archive, node?: Pick<NodeAnswers, 'need' | 'hold'>) {
    this.#archive = archive;
    this.#node = node;
    this.#coins = new VersionedCache(archive.database, COINS_MAX);
    this.#markets = new VersionedCache(archive.database, MARKETS_MAX);
  }

  /** The code of a coin. Throws 'not-found' if nothing of it is recorded, or with `asOfMs` was known then. */
  coin(text: string, asOfMs?: InstantMs): string {
    const { markets, prices, recordedCoins } = this.#archive;
    const isRecorded = (coin: string) => markets.knowsCoin(coin, asOfMs) || prices.knowsCoin(coin, asOfMs);
    const coin = canonicalCoin(text);
    const look = () => (isRecorded(coin) ? coin : undefined);
    const found = asOfMs === undefined ? this.#coins.find(text, look) : look();
    if (found !== undefined) return found;
    refuseUnknownCoins(
      [coin],
      asOfMs === undefined ? recordedCoins.symbols() : recordedCoins.symbols().filter(isRecorded),
    );
    throw new DomainError('not-found', 'this coin is not recorded here');
  }

  /**
   * The market by conditionId or slug. Of several markets with one slug it is the latest, with `asOfMs` the latest that was listed
   * then. Throws 'not-found' if there is none, and on a node as `NodeAnswers.need` does. `needsBooks`: false if the catalog is enough.
   */
  market(coinText: string, conditionIdOrSlug: string, asOfMs?: InstantMs, needsBooks = true): StoredMarket {
    // A market with records is found by its name before it is listed, even if no market of the coin is listed yet.
    const coin = asOfMs === undefined ? this.coin(coinText) : canonicalCoin(coinText);
    const { markets } = this.#archive;
    const latest = this.#markets.find(`${coin}/${conditionIdOrSlug}`, () => markets.find(coin, conditionIdOrSlug));
    const isKnown = latest === undefined || asOfMs === undefined || markets.isListed(latest, asOfMs);
    const market = isKnown ? latest : markets.find(coin, conditionIdOrSlug, asOfMs);
    if (market === undefined) {
      this.coin(coinText, asOfMs);
      throw new DomainError('not-found', `${absence(coin, conditionIdOrSlug, asOfMs)}: /v1/${coin}/markets lists them`);
    }
    this.#node?.need(market, needsBooks);
    return market;
  }

  /** Keeps the books of a market on this machine, for an answer in steps. Call the returned function at its end. */
  hold(market: StoredMarket): () => void {
    return this.#node?.hold(market) ?? (() => undefined);
  }
}

/** Why there is no market: its slug may have a window after `asOfMs`. Nothing is said that is recorded later. */
function absence(coin: string, conditionIdOrSlug: string, asOfMs: InstantMs | undefined): string {
  const startMs = asOfMs === undefined ? undefined : windowOfSlug(conditionIdOrSlug, asOfMs)?.startMs;
  if (startMs === undefined || startMs <= asOfMs!) return `no market of ${coin} has this slug or ID`;
  return `no market with this slug is listed yet; its window begins at ${formatInstant(startMs)}`;
}
