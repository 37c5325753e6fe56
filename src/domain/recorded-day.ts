import { type Static, Type } from 'typebox';
import { formatInstant, type InstantMs } from './instant.ts';

/** The markets of a coin whose windows start on one day (UTC). */
export interface RecordedDay {
  /** Midnight, when the day begins. */
  readonly startMs: InstantMs;
  markets: number;
  /** Markets with at least one order book snapshot. */
  recordedMarkets: number;
  /** Markets with a recorded gap within their window. */
  marketsWithGaps: number;
  snapshots: number;
}

/** Maximum number of days in an answer: about ten years. */
export const DAYS_MAX = 4000;

const count = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const DayResource = Type.Object(
  {
    day: Type.String({ format: 'date', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'The day, in UTC.' }),
    markets: count('Markets whose window starts on this day.'),
    recordedMarkets: count('Those with at least one order book snapshot.'),
    marketsWithGaps: count('Those with a recorded gap that touches their window.'),
    snapshots: count('Stored order book snapshots of these markets, including those of other days.'),
  },
  { $id: 'Day', description: 'How much is recorded of the markets of one day.' },
);
export type DayResource = Static<typeof DayResource>;

export function dayResource({ startMs, ...counts }: RecordedDay): DayResource {
  return { day: formatInstant(startMs).slice(0, 10), ...counts };
}
