import { Type } from 'typebox';

/** How long a market's window lasts. */
export const TIMEFRAMES = ['5m', '15m', '1h', '4h', '24h'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

export const TimeframeName = Type.Union(
  TIMEFRAMES.map((timeframe) => Type.Literal(timeframe)),
  { description: 'How long the market’s window lasts.' },
);

export function parseTimeframe(text: string): Timeframe | undefined {
  return TIMEFRAMES.find((timeframe) => timeframe === text);
}
