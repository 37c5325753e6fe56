import type { InstantMs } from '../domain/instant.ts';
import type { Timeframe } from '../domain/timeframe.ts';

/** The time for which the venue holds marketable orders, from an instant on, and the source of it. */
interface TakerDelay {
  readonly fromMs: InstantMs;
  readonly delayMs: number;
  readonly source: string;
  /** Undefined: all timeframes. */
  readonly timeframes?: readonly Timeframe[];
}

/**
 * The taker delays of crypto markets, latest first. The last two are in the venue's changelog (docs.polymarket.com/changelog/predictions,
 * 17 August and 4 September 2026). The earlier ones were not announced: 500 ms on 15m and 1h markets from 14 November 2025
 * (research.capitola.xyz/analytics/polymarket/speedbump), also on 5m markets when these began; removed on 18 February 2026 (odaily.news
 * 5209447); 250 ms from 25 February 2026 on, as reports of traders and the documentation of `itode` say.
 */
const TAKER_DELAYS: readonly TakerDelay[] = [
  { fromMs: Date.UTC(2026, 8, 4, 14), delayMs: 150, source: "the venue's changelog of 4 September 2026" },
  { fromMs: Date.UTC(2026, 7, 17, 11), delayMs: 50, source: "the venue's changelog of 17 August 2026" },
  { fromMs: Date.UTC(2026, 1, 25), delayMs: 250, source: 'reports of 25 February 2026' },
  { fromMs: Date.UTC(2026, 1, 18), delayMs: 0, source: 'reports of 18 February 2026' },
  {
    fromMs: Date.UTC(2025, 10, 14),
    delayMs: 500,
    source: 'reports of 14 November 2025',
    timeframes: ['5m', '15m', '1h'],
  },
];

/** The time for which the venue held marketable orders of a market at an instant, in ms, and the source of it. */
export function scheduledTakerDelay(
  timeframe: Timeframe,
  instantMs: InstantMs,
): { readonly delayMs: number; readonly source: string } {
  const found = TAKER_DELAYS.find(
    ({ fromMs, timeframes }) => instantMs >= fromMs && (timeframes === undefined || timeframes.includes(timeframe)),
  );
  return found ?? { delayMs: 0, source: 'no report of a delay before 14 November 2025' };
}
