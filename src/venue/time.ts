import { formatInstant, type InstantMs } from '../domain/instant.ts';

/** As the venue writes times: `2026-06-24T07:55:00Z`, with milliseconds where there are any. */
export function venueTime(instantMs: InstantMs): string {
  return formatInstant(instantMs).replace('.000Z', 'Z');
}

/** As Gamma writes when a market was closed: `2026-06-08 00:00:16+00`. */
export function closedTime(instantMs: InstantMs): string {
  return venueTime(instantMs).replace('T', ' ').replace('Z', '+00');
}

/** The day alone. */
export function venueDay(instantMs: InstantMs): string {
  return formatInstant(instantMs).slice(0, 'YYYY-MM-DD'.length);
}

/** The result of `convert`; undefined where the instant is not known. */
export function ifKnown<T>(instantMs: InstantMs | undefined, convert: (instantMs: InstantMs) => T): T | undefined {
  return instantMs === undefined ? undefined : convert(instantMs);
}
