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

/** A taker's fee is shares × rate × (price × (1 − price))^exponent. */
interface ScheduledFee {
  readonly rate: number;
  readonly exponent: number;
  readonly source: string;
}

/** When the venue's schedule of fees became 0.07 and exponent 1 for crypto (docs.polymarket.com/changelog, "Fee Structure V2"). */
const CURVE_FROM_MS = Date.UTC(2026, 2, 30);
const CURVE = { rate: 0.07, exponent: 1 };

/** The fee of takers that the venue published for crypto markets of a timeframe that were listed at an instant. Rate 0: none. */
export function scheduledFee(timeframe: Timeframe, listedMs: InstantMs): ScheduledFee {
  if (scheduledBaseFee(timeframe, listedMs) === 0) {
    return { rate: 0, exponent: 1, source: "the venue's changelog: no fee at the listing" };
  }
  const isLater = listedMs < CURVE_FROM_MS;
  const source = "the venue's schedule of 30 March 2026";
  return {
    ...CURVE,
    source: isLater ? `${source}, which is later than the listing: its curve of then is not used` : source,
  };
}
