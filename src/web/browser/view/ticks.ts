import type { Span } from './span.ts';

export interface Tick {
  readonly at: number;
  readonly text: string;
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const TIME_STEPS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND],
  ...[MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY],
];
const NICE = [1, 2, 5, 10];

/** At most `most` instants in UTC, at whole seconds, minutes or hours. */
export function timeTicks({ from, to }: Span, most: number): Tick[] {
  const least = (to - from) / most;
  const step = TIME_STEPS_MS.find((stepMs) => stepMs >= least) ?? Math.ceil(least / DAY) * DAY;
  return multiples({ from, to }, step).map((at) => ({ at, text: timeText(at, step) }));
}

/** At most about `most` values, at steps of 1, 2 or 5 times a power of ten. */
export function valueTicks({ from, to }: Span, most: number): Tick[] {
  const least = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * NICE.find((nice) => nice * power >= least * (1 - Number.EPSILON * 8))!;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return multiples({ from, to }, step).map((at) => ({ at, text: at.toFixed(decimals) }));
}

/** The time of day with as many parts as the step needs. */
function timeText(ms: number, stepMs: number): string {
  const text = new Date(ms).toISOString();
  if (stepMs >= DAY) return text.slice(0, 10);
  return text.slice(11, stepMs >= MINUTE ? 16 : stepMs >= SECOND ? 19 : 23);
}

function multiples({ from, to }: Span, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, nth) => (first + nth) * step);
}
