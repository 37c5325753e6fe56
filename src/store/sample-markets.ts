import type { InstantMs } from '../domain/instant.ts';
import type { Tier } from '../domain/tier.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Archive } from './archive.ts';
import type { StoredMarket } from './markets.ts';

/** The fullest of this number of markets is the sample. */
const MARKETS_MAX = 20;

/** The market of the day of each coin: what tiers without books may see as a sample. It stays the same until midnight (UTC). */
export class SampleMarkets {
  readonly #archive: Archive;
  /** By coin. */
  readonly #chosen = new Map<string, { readonly dayMs: InstantMs; readonly conditionId: string }>();

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  /** The market of the day of the first coin that the tier grants and that has one; undefined: none has. */
  of({ coins }: Pick<Tier, 'coins'>, nowMs: InstantMs): StoredMarket | undefined {
    const { database, recordedCoins } = this.#archive;
    return database.readShared(() => {
      for (const coin of coins ?? recordedCoins.symbols()) {
        const found = this.#ofCoin(coin, nowMs - (nowMs % DAY_MS));
        if (found !== undefined) return found;
      }
      return undefined;
    });
  }

  /**
   * The market with the most snapshots among the latest with books whose windows ended before the day: among those that are recorded for
   * half of their window, if any is. Ties: the latest.
   */
  #ofCoin(coin: string, dayMs: InstantMs): StoredMarket | undefined {
    const { markets, recordedTimes, snapshotTotals } = this.#archive;
    const chosen = this.#chosen.get(coin);
    const kept = chosen?.dayMs === dayMs ? markets.findByConditionId(chosen.conditionId) : undefined;
    if (kept !== undefined) return kept;
    const filter = { timeframe: undefined, recorded: true, closed: undefined, fromMs: 0, toMs: dayMs - 1 };
    const latest = markets.filtered(coin, filter).filter(({ endMs }) => endMs <= dayMs);
    const counted = latest.take(MARKETS_MAX).map((market) => ({
      market,
      isHalf: Number(2 * recordedTimes.ofMarket(market.key) >= market.endMs - market.startMs),
      count: snapshotTotals.count(market.key),
    }));
    const sample = counted.toArray().toSorted((a, b) => b.isHalf - a.isHalf || b.count - a.count)[0]?.market;
    if (sample !== undefined) this.#chosen.set(coin, { dayMs, conditionId: sample.conditionId });
    return sample;
  }
}
