import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { CHAINLINK } from '../domain/publisher.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { Replay } from './replay.ts';

/** The venue resolves these by Chainlink's price at the start and the end of the window; until then by averages of it. */
const BY_CHAINLINK: readonly Timeframe[] = ['5m', '15m', '4h'];
const AVERAGES_FROM_MS = Date.UTC(2026, 7, 7);

/** The price of a coin at the start of a window and at its end, as far as they are known at an instant. */
export interface WindowPrices {
  readonly openPrice: number | undefined;
  readonly closePrice: number | undefined;
  readonly isResolved: boolean;
}

/**
 * The prices that decide a market: those of its record; without these, Chainlink's price that is recorded for exactly that instant, if the
 * venue resolves such markets by it. The start price is known from the start on, the other one from the resolution on.
 */
export function windowPrices(replay: Replay, market: StoredMarket, nowMs: InstantMs): WindowPrices {
  const { priceStart, priceEnd, resolvedMs } = marketAsOf(market, nowMs);
  const isResolved = resolvedMs !== undefined;
  const { startMs, endMs } = market;
  return {
    openPrice: priceStart ?? (startMs <= nowMs ? chainlinkAt(replay, market, startMs) : undefined),
    closePrice: priceEnd ?? (isResolved ? chainlinkAt(replay, market, endMs) : undefined),
    isResolved,
  };
}

function chainlinkAt({ archive }: Replay, { symbol, timeframe }: StoredMarket, atMs: InstantMs): number | undefined {
  if (!BY_CHAINLINK.includes(timeframe) || atMs >= AVERAGES_FROM_MS) return undefined;
  const found = archive.prices.latestOfSource(symbol, CHAINLINK, atMs);
  return found?.timestampMs === atMs ? found.price : undefined;
}
