import type { InstantMs } from '../../domain/instant.ts';
import { type MarketResource, type MarketWithCounts, marketResource } from '../../domain/market.ts';
import { marketResourceAsOf } from '../../domain/market-as-of.ts';
import { recordedSeconds } from '../../domain/recorded-time.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { MarketListQuery } from './market-list.ts';

/** A market as an answer has it, with what is recorded of it if the request wants counts. */
export function resourceOf(
  archive: Archive,
  market: StoredMarket,
  { asOfMs, hasCounts }: Pick<MarketListQuery, 'asOfMs' | 'hasCounts'>,
): MarketResource | MarketWithCounts {
  if (hasCounts) return marketWithCounts(archive, market, asOfMs);
  return asOfMs === undefined ? marketResource(market) : marketResourceAsOf(market, asOfMs);
}

/** A market with what is recorded of it, and null where a volume or a liquidity is unknown. */
export function marketWithCounts(
  { snapshotTotals, recordedTimes }: Archive,
  market: StoredMarket,
  asOfMs: InstantMs | undefined,
): MarketWithCounts {
  const { volume = null, liquidity = null } = market.stated;
  return {
    ...(asOfMs === undefined ? { ...marketResource(market), volume, liquidity } : marketResourceAsOf(market, asOfMs)),
    snapshotCount: snapshotTotals.count(market.key, asOfMs),
    ...recordedSeconds(market, recordedTimes.ofMarket(market.key, asOfMs)),
  };
}
