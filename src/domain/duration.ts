const DURATION = /^([1-9]\d{0,8})(ms|s|m|h|d)$/;
/** The length of each unit of a duration. */
export const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a whole number with a unit (ms, s, m, h, d) such as `100ms`, `5m`, `1d`; undefined for other texts. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}

/** `14 ms`, `95.4 s`, `12 min`, `3.5 h`, `2.0 d`: a length to look at, cut off. `ms`: at least 0. */
export function lengthText(ms: number): string {
  const cutOff = (unit: string) => (Math.floor((10 * ms) / UNIT_MS[unit]!) / 10).toFixed(1);
  if (ms < 100) return `${Math.floor(ms)} ms`;
  if (ms < 2 * UNIT_MS.m!) return `${cutOff('s')} s`;
  if (ms < UNIT_MS.h!) return `${Math.floor(ms / UNIT_MS.m!)} min`;
  return ms < UNIT_MS.d! ? `${cutOff('h')} h` : `${cutOff('d')} d`;
}
