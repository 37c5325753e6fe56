/**
 * The local time of New York, which defines the venue's hourly and daily markets. A local time is the Unix milliseconds that it
 * would be in UTC: `Date.UTC(2026, 2, 12, 8)` is eight in the morning there.
 */
const HOUR_MS = 3_600_000;
/** Hours from local time to UTC, in summer and in winter. */
const UTC_OFFSET_HOURS = [4, 5];
/** Made once: to make it takes longer than to use it a hundred times. */
const FORMAT = new Intl.DateTimeFormat('sv-SE', {
  ...{ timeZone: 'America/New_York', year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
});

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

/** Returns a function that gives the local time of an instant. */
export function newYorkClock(): (instantMs: number) => number {
  // Swedish dates are ISO 8601 with a space instead of the T.
  return (instantMs) => Date.parse(`${FORMAT.format(instantMs).replace(' ', 'T')}Z`) + (instantMs % 1000);
}
