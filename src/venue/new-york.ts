/**
 * The wall clock of New York, which the venue's hourly and daily markets keep. A wall time is written as the Unix
 * milliseconds that it would be in UTC: `Date.UTC(2026, 2, 12, 8)` is eight in the morning there.
 */
const HOUR_MS = 3_600_000;
/** Hours behind UTC in summer and in winter. */
const HOURS_BEHIND = [4, 5];

/** The instants at which the clocks show `wallMs`, ascending: two in the hour that autumn repeats, none in the one that spring leaves out. */
export function instantsAt(wallMs: number): number[] {
  const clock = newClock();
  return HOURS_BEHIND.map((hours) => wallMs + hours * HOUR_MS).filter(
    (instantMs) => shown(clock, instantMs) === wallMs,
  );
}

/** How far the clocks move on from one instant to the other. */
export function wallTimeBetween(fromMs: number, toMs: number): number {
  const clock = newClock();
  return shown(clock, toMs) - shown(clock, fromMs);
}

/** Made anew for each question, of which there are few: it costs 60 µs, and 20 ms of every start if made ahead. */
function newClock(): Intl.DateTimeFormat {
  const numeric = 'numeric';
  return new Intl.DateTimeFormat('en-US', {
    timeZone: 'America/New_York',
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
}

function shown(clock: Intl.DateTimeFormat, instantMs: number): number {
  const parts = clock.formatToParts(instantMs);
  const part = (type: Intl.DateTimeFormatPartTypes) =>
    Number(parts.find((candidate) => candidate.type === type)?.value);
  const wholeSecond = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return wholeSecond + (instantMs % 1000);
}
