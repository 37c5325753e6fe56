import { Type } from 'typebox';

/** The lengths of market windows, the shortest first. */
export const TIMEFRAMES = ['5m', '15m', '1h', '4h', '24h'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

export const TimeframeName = Type.Union(
  TIMEFRAMES.map((timeframe) => Type.Literal(timeframe)),
  { description: 'How long the market’s window lasts.' },
);

export function parseTimeframe(text: string): Timeframe | undefined {
  return TIMEFRAMES.find((timeframe) => timeframe === text);
}
