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

const UNIT_MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 };
const LENGTH = /^(\d{1,4})[ -]?(m|mins?|minutes?|h|hrs?|hours?|d|days?)$/;
const WORDS = new Map<string, Timeframe>([
  ['hourly', '1h'],
  ['daily', '24h'],
]);

/** The timeframe that a text means in the words of others: `15 min`, `5M`, `60 minutes`, `1 day`, `hourly`. */
export function meantTimeframe(text: string): Timeframe | undefined {
  const words = text.trim().toLowerCase();
  const minutes = minutesIn(words);
  return WORDS.get(words) ?? TIMEFRAMES.find((timeframe) => minutesIn(timeframe) === minutes);
}

function minutesIn(text: string): number | undefined {
  const [, number, unit] = LENGTH.exec(text) ?? [];
  return unit === undefined ? undefined : Number(number) * UNIT_MINUTES[unit[0]!]!;
}
