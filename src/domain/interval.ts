import { parseDuration } from './duration.ts';

/**
 * A time series can be sampled: it then has only the last record of each bucket of this length. Buckets begin at multiples of
 * it (Unix time); the window of a request cuts off the first and the last one.
 */
export const [INTERVAL_MS_MIN, INTERVAL_MS_MAX] = [100, 86_400_000];
/** Describes a valid interval, as the end of a sentence that begins with `must be`. */
export const INTERVAL_FORM = 'a whole number with a unit (ms, s, m, h, d) from 100ms to 1d';

/** Milliseconds of a text in INTERVAL_FORM; undefined for other texts. */
export function parseInterval(text: string): number | undefined {
  const intervalMs = parseDuration(text);
  const isInBounds = intervalMs !== undefined && intervalMs >= INTERVAL_MS_MIN && intervalMs <= INTERVAL_MS_MAX;
  return isInBounds ? intervalMs : undefined;
}

/** The beginning of the bucket of an instant. */
export function bucketStartMs(timestampMs: number, intervalMs: number): number {
  return timestampMs - (timestampMs % intervalMs);
}
