import type { RecordSink } from '../record-sink.ts';
import { AssetBook, type AssetEvent, type AssetTarget } from './asset-rebuild.ts';
import { noChecks, type VenueChecks } from './checks.ts';
import { MarketTrades } from './market-trades.ts';
import type { SnapshotPace } from './pace.ts';

/** So many assets have a book at a time; of others the least recently heard of is finished and forgotten. */
const ASSETS_MAX = 4096;
const MARKETS_MAX = 4096;
/** So many messages of all assets are held back for order. */
const WAITING_MAX = 262_144;

/** The books of all assets that messages arrive for, within bounded memory. */
export class VenueBooks {
  readonly checks: VenueChecks = noChecks();
  readonly #every: SnapshotPace;
  /** Least recently heard of first. */
  readonly #assets = new Map<string, AssetBook>();
  readonly #trades = new Map<string, MarketTrades>();
  #waiting = 0;

  constructor(every: SnapshotPace) {
    this.#every = every;
  }

  push(target: AssetTarget, event: AssetEvent, intake: RecordSink): void {
    const { assetId } = target;
    const known = this.#assets.get(assetId);
    if (known !== undefined) this.#assets.delete(assetId);
    const asset = known ?? new AssetBook(target, this.#options(target.conditionId));
    this.#assets.set(assetId, asset);
    this.#waiting -= asset.waiting;
    asset.push(event, intake);
    this.#waiting += asset.waiting;
    if (this.#assets.size > ASSETS_MAX) this.#forgetOldest(intake);
    if (this.#waiting > WAITING_MAX) this.#drainOldest(intake);
  }

  addTrade({ conditionId }: AssetTarget, timestampMs: number, price: number): void {
    this.#tradesOf(conditionId).add({ timestampMs, price });
  }

  /** Makes records of everything that is held back. */
  finish(intake: RecordSink): void {
    for (const asset of this.#assets.values()) asset.finish(intake);
    this.#assets.clear();
    this.#trades.clear();
    this.#waiting = 0;
  }

  #options(conditionId: string) {
    return { every: this.#every, checks: this.checks, trades: this.#tradesOf(conditionId) };
  }

  #tradesOf(conditionId: string): MarketTrades {
    const known = this.#trades.get(conditionId);
    if (known !== undefined) return known;
    const trades = new MarketTrades();
    this.#trades.set(conditionId, trades);
    for (const oldest of this.#trades.keys()) {
      if (this.#trades.size <= MARKETS_MAX) break;
      this.#trades.delete(oldest);
    }
    return trades;
  }

  #forgetOldest(intake: RecordSink): void {
    for (const [assetId, asset] of this.#assets) {
      this.#assets.delete(assetId);
      this.#waiting -= asset.waiting;
      asset.finish(intake);
      return;
    }
  }

  #drainOldest(intake: RecordSink): void {
    for (const asset of this.#assets.values()) {
      if (asset.waiting === 0) continue;
      this.#waiting -= asset.waiting;
      asset.drain(intake);
      return;
    }
  }
}
