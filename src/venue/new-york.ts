/**
 * The local time of New York, which defines the venue's hourly and daily markets. A local time is the Unix milliseconds that it
 * would be in UTC: `Date.UTC(2026, 2, 12, 8)` is eight in the morning there.
 */
const HOUR_MS = 3_600_000;
/** Hours from local time to UTC, in summer and in winter. */
const UTC_OFFSET_HOURS = [4, 5];

/** The instants of a local time, ascending: two in the hour that repeats in autumn, none in the hour that is skipped in spring. */
export function instantsAt(wallMs: number): number[] {
  const wallTime = newYorkClock();
  return UTC_OFFSET_HOURS.map((hours) => wallMs + hours * HOUR_MS).filter(
    (instantMs) => wallTime(instantMs) === wallMs,
  );
}

/** The difference between the local times of two instants, in milliseconds. */
export function wallTimeBetween(fromMs: number, toMs: number): number {
  const wallTime = newYorkClock();
  return wallTime(toMs) - wallTime(fromMs);
}

/** The local time of an instant; read it with the UTC methods of a date. */
export function localTimeOf(instantMs: number): Date {
  return new Date(newYorkClock()(instantMs));
}

/** Returns a function that gives the local time of an instant. Creating it takes longer than calling it a hundred times. */
export function newYorkClock(): (instantMs: number) => number {
  const [timeZone, numeric, digits] = ['America/New_York', 'numeric', '2-digit'] as const;
  const date = { year: numeric, month: digits, day: digits } as const;
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, ...date, hour: digits, minute: digits, second: digits });
  // Swedish dates are ISO 8601 with a space instead of the T.
  return (instantMs) => Date.parse(`${format.format(instantMs).replace(' ', 'T')}Z`) + (instantMs % 1000);
}
