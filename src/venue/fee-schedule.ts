import type { InstantMs } from '../domain/instant.ts';
import type { Timeframe } from '../domain/timeframe.ts';

/**
 * When markets that are listed then begin to have a fee for takers, by the venue's changelog (docs.polymarket.com/changelog): 15m on
 * 6 January 2026, all others on 6 March 2026. 5m, which the venue offers since 12 February 2026, always had one. All 673 objects of
 * Gamma of coins that were listed later have it, and the 12 older ones do not.
 */
const FEES_FROM_MS: Readonly<Record<Timeframe, InstantMs>> = {
  '5m': Date.UTC(2026, 1, 12),
  '15m': Date.UTC(2026, 0, 6),
  '1h': Date.UTC(2026, 2, 6),
  '4h': Date.UTC(2026, 2, 6),
  '24h': Date.UTC(2026, 2, 6),
};
/** In hundredths of a percent, in all of these objects. */
const TAKER_BASE_FEE = 1000;

/** The taker's base fee in hundredths of a percent that the venue gave up-or-down markets of a timeframe at their listing. */
export function scheduledBaseFee(timeframe: Timeframe, listedMs: InstantMs): number {
  return listedMs >= FEES_FROM_MS[timeframe] ? TAKER_BASE_FEE : 0;
}
