import type { AssetEvent, AssetTarget } from './asset-event.ts';
import { RebuildChecks } from './checks.ts';
import { HashSearch } from './hash-search.ts';
import { MarketTrades } from './market-trades.ts';
import { type StatedMoment, StatedMoments } from './stated-moments.ts';

/** Maximum number of assets whose last prices are tried first. With more, the asset that was added first is forgotten. */
const ASSETS_MAX = 4096;
const MARKETS_MAX = 4096;
/** Numbers of messages, and of levels of whole books, that are merged at a time. Each merge begins at a known book before. */
const EVENTS_MAX = 16_384;
const LEVELS_MAX = 500_000;
/** With more moments that wait for further messages, none waits. */
const WAITING_MAX = 65_536;

/** The messages of an import about one asset, and the means to check its hashes. */
export interface StatedAsset {
  readonly target: AssetTarget;
  readonly hashes: HashSearch;
  readonly trades: MarketTrades;
  readonly moments: readonly StatedMoment[];
  /** The moments to which further messages may still add. */
  readonly waiting: readonly StatedMoment[];
}

interface Asset {
  readonly target: AssetTarget;
  readonly hashes: HashSearch;
  readonly trades: MarketTrades;
  readonly moments: StatedMoments;
}

/** The messages of an import about books, until they are merged with the archive. */
export class StatedBooks {
  readonly checks = new RebuildChecks();
  /** Assets by id; the one without a message for the longest time comes first. */
  readonly #assets = new Map<string, Asset>();
  /** Trades by the conditionId of their market. */
  readonly #trades = new Map<string, MarketTrades>();
  /** The number of messages, and of levels in whole books, that were added since `take`. */
  #events = 0;
  #levels = 0;

  add(target: AssetTarget, event: AssetEvent): void {
    const { assetId } = target;
    const asset = this.#assets.get(assetId) ?? this.#newAsset(target);
    asset.moments.add(event);
    this.#events += 1;
    if (event.kind === 'book')
      this.#levels += event.message.book.bidPrices.length + event.message.book.askPrices.length;
  }

  /** Notes the price of a trade, on which the hashes of its market's books depend. */
  noteTrade(conditionId: string, timestampMs: number, price: number): void {
    this.#tradesOf(conditionId).add(timestampMs, price);
  }

  /** True if the messages should be merged before more are added. */
  get isFull(): boolean {
    return this.#events >= EVENTS_MAX || this.#levels >= LEVELS_MAX;
  }

  /** Removes and returns the moments of every asset, see StatedMoments.take. */
  take(isLast: boolean): StatedAsset[] {
    this.#events = 0;
    this.#levels = 0;
    let waiting = 0;
    for (const { moments } of this.#assets.values()) waiting += moments.size;
    const taken = [...this.#assets.values()].map((asset) => {
      const moments = asset.moments.take(isLast || waiting > WAITING_MAX);
      return { ...asset, moments, waiting: asset.moments.waiting() };
    });
    for (const [assetId, { moments }] of this.#assets) {
      if (this.#assets.size <= ASSETS_MAX) break;
      if (moments.size === 0) this.#assets.delete(assetId);
    }
    return taken.filter(({ moments }) => moments.length > 0);
  }

  #newAsset(target: AssetTarget): Asset {
    const trades = this.#tradesOf(target.conditionId);
    const asset = { target, hashes: new HashSearch(trades), trades, moments: new StatedMoments() };
    this.#assets.set(target.assetId, asset);
    return asset;
  }

  #tradesOf(conditionId: string): MarketTrades {
    const trades = this.#trades.getOrInsertComputed(conditionId, () => new MarketTrades());
    const [oldest] = this.#trades.keys();
    if (this.#trades.size > MARKETS_MAX) this.#trades.delete(oldest!);
    return trades;
  }
}
