import { formatInstant, type InstantMs } from '../domain/instant.ts';

/** An instant as the venue writes it: `2026-06-24T07:55:00Z`, with milliseconds unless they are 0. */
export function venueTime(instantMs: InstantMs): string {
  return formatInstant(instantMs).replace('.000Z', 'Z');
}

/** The time of closing as Gamma writes it: `2026-06-08 00:00:16+00`. */
export function closedTime(instantMs: InstantMs): string {
  return venueTime(instantMs).replace('T', ' ').replace('Z', '+00');
}

/** `2026-06-24`. */
export function venueDay(instantMs: InstantMs): string {
  return formatInstant(instantMs).slice(0, 'YYYY-MM-DD'.length);
}

/** The result of `convert`; undefined for an unknown instant. */
export function ifKnown<T>(instantMs: InstantMs | undefined, convert: (instantMs: InstantMs) => T): T | undefined {
  return instantMs === undefined ? undefined : convert(instantMs);
}
