import type { InstantMs } from './instant.ts';
import type { Outcome } from './outcome.ts';
import type { Timeframe } from './timeframe.ts';

export interface CoinTick {
  readonly timestampMs: InstantMs;
  /** USD. */
  readonly price: number;
}

/** The source of the venue's settlement prices, as recordings name it. */
export const SETTLEMENT_SOURCE = 'chainlink';
/** Markets that settle by these prices; the others settle by another exchange's candles. */
export const SETTLED_BY_TICKS: readonly Timeframe[] = ['5m', '15m', '4h'];

/** The source of the prices that decide markets of a timeframe, as recordings name it. */
export function settlementSource(timeframe: Timeframe): string {
  return SETTLED_BY_TICKS.includes(timeframe) ? SETTLEMENT_SOURCE : 'binance';
}

/** Up wins when the end price is at or above the start price. */
export function directionOf(priceStart: number, priceEnd: number): Outcome {
  return priceEnd >= priceStart ? 'up' : 'down';
}
