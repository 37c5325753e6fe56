import { integersBetween } from './integer-pattern.ts';

const DURATION = /^([1-9]\d{0,8})(ms|s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a whole number with a unit (ms, s, m, h, d), as `100ms`, `5m`, `1d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}

/** The durations that `parseDuration` takes from `minMs` to `maxMs`, as one regular expression that any dialect knows. */
export function durationPattern(minMs: number, maxMs: number): string {
  const forms = Object.entries(UNIT_MS).flatMap(([unit, unitMs]) => {
    const [least, most] = [Math.max(1, Math.ceil(minMs / unitMs)), Math.floor(maxMs / unitMs)];
    return least > most ? [] : [`(${integersBetween(least, most)})${unit}`];
  });
  return `^(${forms.join('|')})$`;
}
