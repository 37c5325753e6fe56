/**
 * The local time of New York, which defines the venue's hourly and daily markets. A local time is the Unix milliseconds that it
 * would be in UTC: `Date.UTC(2026, 2, 12, 8)` is eight in the morning there.
 */
const HOUR_MS = 3_600_000;
/** Hours from local time to UTC, in summer and in winter. */
const UTC_OFFSET_HOURS = [4, 5];

/** The instants of a local time, ascending: two in the hour that repeats in autumn, none in the hour that is skipped in spring. */
export function instantsAt(localMs: number): number[] {
  return UTC_OFFSET_HOURS.map((hours) => localMs + hours * HOUR_MS).filter(
    (instantMs) => localTime(instantMs) === localMs,
  );
}

/** Made once, at the first use: it takes 8 ms, as long as 8,000 uses, and no start of the program should wait for it. */
let format: Intl.DateTimeFormat | undefined;

export function localTime(instantMs: number): number {
  format ??= new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: 'America/New_York', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  // Swedish dates are ISO 8601 with a space instead of the T.
  return Date.parse(`${format.format(instantMs).replace(' ', 'T')}Z`) + (instantMs % 1000);
}

/** The local time of an instant as a Date, whose UTC methods give its parts. */
export function localDate(instantMs: number): Date {
  return new Date(localTime(instantMs));
}
