import type { RecordedCoin } from '../domain/recorded-coin.ts';
import type { Database } from './database.ts';
import type { Markets } from './markets.ts';
import type { Prices } from './prices.ts';
import type { SnapshotTotals } from './snapshot-totals.ts';
import { VersionedCache } from './versioned-cache.ts';

/** Every coin of an archive with its totals, cached until the archive changes. Within `Database.readShared`. */
export class RecordedCoins {
  readonly #markets: Markets;
  readonly #prices: Prices;
  readonly #totals: SnapshotTotals;
  readonly #cache: VersionedCache<readonly RecordedCoin[]>;

  constructor(database: Database, markets: Markets, prices: Prices, totals: SnapshotTotals) {
    this.#markets = markets;
    this.#prices = prices;
    this.#totals = totals;
    this.#cache = new VersionedCache(database, 1);
  }

  /** Coins with markets or with reference prices, by name. */
  symbols(): readonly string[] {
    return [...new Set([...this.#markets.coins(), ...this.#prices.coins()])].sort();
  }

  /** All coins, by name. Takes 0.3 ms per 1,000 recorded markets after a change of the archive. */
  all(): readonly RecordedCoin[] {
    return this.#cache.find('', () => this.symbols().map((symbol) => this.#totals.ofCoin(symbol).coin)) ?? [];
  }
}
