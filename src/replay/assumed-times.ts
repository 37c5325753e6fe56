import type { InstantMs } from '../domain/instant.ts';
import { listedMs } from '../domain/market-as-of.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { StoredMarket } from '../store/markets.ts';
import { WINDOW_MS } from '../venue/slug.ts';

const HOUR_MS = WINDOW_MS['1h'];

/**
 * The time from a market's listing to the start of its window at the venue, in whole hours: the medians of 684 objects of Gamma of
 * March and June 2026 are 23.9 hours for 5m, 15m and 4h, 48.0 hours for 1h, and 23.9 hours for 24h.
 */
const LISTED_AHEAD_MS: Readonly<Record<Timeframe, number>> = {
  '5m': 24 * HOUR_MS,
  '15m': 24 * HOUR_MS,
  '1h': 48 * HOUR_MS,
  '4h': 24 * HOUR_MS,
  '24h': 24 * HOUR_MS,
};

/** The time from the end of a window to its resolution, at the venue: the median of 584 markets (BTC, 5m). */
const RESOLVED_AFTER_MS = 20_000;

/**
 * When a replay lists a market: when the recording states, its first record at the latest. A recording that does not state it before the
 * start of the window was made without the listing; then the market is listed as far ahead of its window as the venue lists it.
 */
export function replayedListingMs(market: StoredMarket, firstRecordMs: InstantMs | undefined): InstantMs {
  const recordedMs = listedMs(market, firstRecordMs);
  const { createdMs, startMs, timeframe } = market;
  return createdMs < startMs ? recordedMs : Math.min(recordedMs, startMs - LISTED_AHEAD_MS[timeframe]);
}

/** The market with the time at which a replay resolves it: the recorded one; if only its winner is recorded, shortly after its window. */
export function withResolution(market: StoredMarket): StoredMarket {
  const { winner, resolvedMs, endMs } = market;
  if (winner === undefined || resolvedMs !== undefined) return market;
  return { ...market, resolvedMs: endMs + RESOLVED_AFTER_MS };
}
