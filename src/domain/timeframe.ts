/** How long a market's window lasts. */
export const TIMEFRAMES = ['5m', '15m', '1h', '4h', '24h'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

export function parseTimeframe(text: string): Timeframe | undefined {
  return TIMEFRAMES.find((timeframe) => timeframe === text);
}
