/**
 * The wall clock of New York, which the venue's hourly and daily markets keep. A wall time is written as the Unix
 * milliseconds that it would be in UTC: `Date.UTC(2026, 2, 12, 8)` is eight in the morning there.
 */
const HOUR_MS = 3_600_000;
/** Hours behind UTC in summer and in winter. */
const HOURS_BEHIND = [4, 5];

/** The instants at which the clocks show `wallMs`, ascending: two in the hour that autumn repeats, none in the one that spring leaves out. */
export function instantsAt(wallMs: number): number[] {
  const wallTime = newClock();
  return HOURS_BEHIND.map((hours) => wallMs + hours * HOUR_MS).filter((instantMs) => wallTime(instantMs) === wallMs);
}

/** How far the clocks move on from one instant to the other. */
export function wallTimeBetween(fromMs: number, toMs: number): number {
  const wallTime = newClock();
  return wallTime(toMs) - wallTime(fromMs);
}

/** The wall time of an instant. Made anew for each question, of which there are few: made ahead it would slow down every start. */
function newClock(): (instantMs: number) => number {
  const [timeZone, numeric, digits] = ['America/New_York', 'numeric', '2-digit'] as const;
  const date = { year: numeric, month: digits, day: digits } as const;
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, ...date, hour: digits, minute: digits, second: digits });
  // Swedish dates are ISO 8601, with a blank in place of the T.
  return (instantMs) => Date.parse(`${format.format(instantMs).replace(' ', 'T')}Z`) + (instantMs % 1000);
}
