import { integersBetween } from './integer-pattern.ts';

const DURATION = /^([1-9]\d{0,8})(ms|s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a whole number with a unit (ms, s, m, h, d) such as `100ms`, `5m`, `1d`; undefined for other texts. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}

/** A portable regular expression for the durations of `parseDuration` from `minMs` to `maxMs`. */
export function durationPattern(minMs: number, maxMs: number): string {
  const spellings = Object.entries(UNIT_MS).flatMap(([unit, unitMs]) => {
    const [least, most] = [Math.max(1, Math.ceil(minMs / unitMs)), Math.floor(maxMs / unitMs)];
    return least > most ? [] : [`(${integersBetween(least, most)})${unit}`];
  });
  return `^(${spellings.join('|')})$`;
}
